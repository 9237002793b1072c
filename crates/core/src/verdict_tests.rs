//! The verdict over whole records: what passes, what bars a pass, and that nothing bars a fail.
#![allow(clippy::unwrap_used, clippy::type_complexity)]

use super::*;
use crate::canon::to_canonical;
use crate::confinement::{ConfinementRecord, Sandbox};
use crate::contract::{Format, ParseOptions, parse};
use crate::observation::*;
use crate::plan::PlanOptions;

const CONTRACT: &str = r"
jurat: contract/1
name: a button says hello
target: { url: 'http://127.0.0.1:4173/' }
steps:
  - navigate: /
  - click: { role: button, name: Greet }
  - expect: { visible: { text: hello } }
expect:
  - { id: gone, absent: { text: error } }
";

struct Story {
    contract: Contract,
    plan: Plan,
    record: Record,
}

fn element(role: &str, name: &str, text: &str) -> Element {
    let area = Rect {
        x: 0,
        y: 0,
        width: 5000,
        height: 2000,
    };
    Element {
        node: 7,
        frame: 0,
        tag: Untrusted::new("button"),
        path: Untrusted::new("body > button"),
        role: Untrusted::new(role),
        name: Untrusted::new(name),
        ax: true,
        text: Untrusted::new(text),
        text_cut: false,
        matched: None,
        css: false,
        value: None,
        checked: None,
        attributes: std::collections::BTreeMap::new(),
        enabled: true,
        editable: false,
        layout: Layout {
            rendered: true,
            boxes: vec![area],
            shown: Some(area),
            visibility: true,
            opacity: 1000,
            font_size: Some(1600),
            contrast: Some(255),
            tops: vec![Top {
                x: 1,
                y: 1,
                is: TopIs::Own,
                other: None,
            }],
            hit: Some(Top {
                x: 1,
                y: 1,
                is: TopIs::Own,
                other: None,
            }),
            stable: Some(true),
            ..Layout::default()
        },
    }
}

fn probe(elements: Vec<Element>) -> Fact {
    let matches = u32::try_from(elements.len()).unwrap();
    Fact::Probe(Probe {
        elements,
        matches,
        frames: 1,
        unread_frames: vec![],
        near: vec![],
    })
}

impl Story {
    /// The honest run of [`CONTRACT`]: every fact that a pass needs, and no other.
    fn honest() -> Self {
        let contract = parse(CONTRACT, Format::Yaml, &ParseOptions::default()).unwrap();
        let plan = Plan::new(
            &contract,
            &PlanOptions {
                url: None,
                accept_confinement: Level::GuardOnly,
            },
        )
        .unwrap();
        let mut story = Self {
            contract,
            plan,
            record: Record::default(),
        };
        story.event(
            None,
            Happening::Confinement(ConfinementRecord {
                level: Level::GuardOnly,
                sandbox: Sandbox::On,
                layers: vec![],
                not_enforced: vec![],
                argv: vec![],
                lane_argv: vec![],
                namespaces: std::collections::BTreeMap::new(),
                uid: None,
            }),
        );
        let document = DocumentFact {
            requested: Untrusted::new("http://127.0.0.1:4173/"),
            url: Untrusted::new("http://127.0.0.1:4173/"),
            status: Some(200),
            redirects: 0,
            error: None,
            loaded: true,
            unreachable: false,
        };
        let done = ActionFact {
            dispatched: true,
            acknowledged: true,
            ..ActionFact::default()
        };
        story.fact(
            "step-1",
            1,
            Fact::Action(ActionFact {
                action: 1,
                document: Some(document),
                ..done.clone()
            }),
        );
        story.fact("step-2", 2, probe(vec![element("button", "Greet", "Greet")]));
        let received = Some(Received { own: true, other: None });
        story.fact(
            "step-2",
            2,
            Fact::Action(ActionFact {
                action: 2,
                received,
                ..done
            }),
        );
        story.fact("step-3", 2, probe(vec![element("paragraph", "", "hello")]));
        story.fact("gone", 2, probe(vec![]));
        let painted = Painted {
            since_action: 2,
            before: 0,
            samples: vec![],
            frames: 9,
            longest_gap_us: 0,
            cut: 0,
            lost: false,
        };
        story.fact("gone", 2, Fact::Painted(painted));
        story.fact(
            "gone",
            2,
            Fact::Held(Held {
                window_us: 150_000,
                looks: 4,
            }),
        );
        story.fact(
            "gone",
            2,
            Fact::Settled(Settled {
                in_flight: 0,
                quiet_us: 1,
                waited_us: 1,
            }),
        );
        story.event(None, Happening::Canaries { hits: vec![] });
        story.event(None, Happening::Leftovers { processes: 0 });
        story
    }

    fn next(&self) -> u64 {
        let events = self.record.events.iter().map(|e| e.seq);
        self.record
            .observations
            .iter()
            .map(|o| o.seq)
            .chain(events)
            .max()
            .unwrap_or(0)
            + 1
    }

    fn event(&mut self, viewport: Option<&str>, what: Happening) {
        let seq = self.next();
        self.record.events.push(Event {
            seq,
            at_us: seq,
            viewport: viewport.map(String::from),
            what,
        });
    }

    fn fact(&mut self, criterion: &str, after_action: u32, fact: Fact) {
        let seq = self.next();
        let (viewport, criterion) = ("desktop".into(), criterion.into());
        self.record.observations.push(Observation {
            seq,
            at_us: seq,
            viewport,
            criterion,
            after_action,
            fact,
        });
    }

    /// Changes the facts of one criterion.
    fn change(&mut self, criterion: &str, change: impl Fn(&mut Observation)) {
        self.record
            .observations
            .iter_mut()
            .filter(|o| o.criterion == criterion)
            .for_each(change);
    }

    fn drop_facts(&mut self, drop: impl Fn(&Observation) -> bool) {
        self.record.observations.retain(|o| !drop(o));
    }

    fn judge(&self) -> Verdict {
        judge(&self.contract, &self.plan, &self.record)
    }

    fn of(&self, id: &str) -> (Answer, Vec<String>) {
        let verdict = self.judge();
        let criterion = verdict.criteria.iter().find(|c| c.id == id).unwrap();
        (criterion.outcome, criterion.reasons.clone())
    }
}

fn refused(url: &str, seq: u64) -> Happening {
    Happening::Guard(GuardRecord {
        seq,
        at_us: 0,
        listener: ListenerId(1),
        kind: GuardKind::Request,
        disposition: Disposition::Refused,
        reason: Some(GuardReason::OffOrigin),
        detail: None,
        method: "GET".into(),
        url: url.into(),
        url_cut: false,
        via_connect: false,
        tunnelled: false,
        status: Some(403),
        request_bytes: 0,
        response_bytes: 0,
        head_us: None,
        duration_us: 0,
        ended: true,
        aborted: false,
        resent: false,
        upstream: None,
        content_type: None,
        hints: RequestHints::default(),
    })
}

fn told(url: &str, owner: Owner) -> Happening {
    Happening::Request(RequestFact {
        id: "1".into(),
        owner,
        method: "GET".into(),
        url: Untrusted::new(url),
        kind: "Fetch".into(),
        document: false,
        initiator: None,
    })
}

#[test]
fn the_honest_run_passes_and_each_pass_cites_what_was_seen() {
    let verdict = Story::honest().judge();
    assert_eq!(verdict.verdict, Answer::Pass, "{verdict:#?}");
    assert!(verdict.reasons.is_empty());
    assert!(
        verdict
            .criteria
            .iter()
            .all(|c| !c.cites.is_empty() && c.basis == "proven")
    );
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let story = Story::honest();
    assert_eq!(
        to_canonical(&story.judge()).unwrap(),
        to_canonical(&story.judge()).unwrap()
    );
}

#[test]
fn without_any_one_observation_there_is_no_pass() {
    let honest = Story::honest();
    for seq in honest.record.observations.iter().map(|o| o.seq) {
        let mut story = Story::honest();
        // A click's own probe only says where it went; what it needs is that the input arrived.
        if story
            .record
            .observations
            .iter()
            .any(|o| o.seq == seq && o.criterion == "step-2" && matches!(o.fact, Fact::Probe(_)))
        {
            continue;
        }
        story.drop_facts(|o| o.seq == seq);
        assert_ne!(story.judge().verdict, Answer::Pass, "without o{seq}");
    }
}

#[test]
fn what_is_older_than_the_last_action_is_no_pass() {
    for id in ["step-1", "step-2", "step-3", "gone"] {
        let mut story = Story::honest();
        story.change(id, |o| o.after_action -= 1);
        assert_eq!(story.of(id).0, Answer::Inconclusive, "{id}");
    }
}

#[test]
fn after_a_step_that_did_not_pass_nothing_is_reached() {
    let mut story = Story::honest();
    story.change("step-2", |o| {
        if let Fact::Action(action) = &mut o.fact {
            action.received = Some(Received {
                own: false,
                other: Some(Untrusted::new("div.cover")),
            });
        }
    });
    assert_eq!(
        story.of("step-2"),
        (
            Answer::Fail,
            vec!["action_not_possible".into(), "hit_other_element".into()]
        )
    );
    assert_eq!(story.of("step-3"), (Answer::Inconclusive, vec!["not_reached".into()]));
    assert_eq!(story.of("gone"), (Answer::Inconclusive, vec!["not_reached".into()]));
    assert_eq!(story.judge().verdict, Answer::Fail);
}

#[test]
fn each_bar_holds_a_pass_back() {
    let bars: [(&str, fn(&mut Story)); 8] = [
        ("boundary_violation", |s| {
            s.event(Some("desktop"), refused("http://127.0.0.1:9/", 1))
        }),
        ("boundary_violation", |s| {
            s.event(Some("desktop"), told("http://127.0.0.1:9/x", Owner::Worker))
        }),
        ("evidence_missing", |s| {
            s.event(
                None,
                Happening::Gap {
                    at: "guard".into(),
                    count: 1,
                },
            )
        }),
        ("evidence_missing", |s| {
            s.event(
                None,
                Happening::ProtocolFault {
                    detail: Untrusted::new("x"),
                },
            )
        }),
        ("confinement_insufficient", |s| s.plan.accept_confinement = Level::Netns),
        ("canary_hit", |s| {
            for e in &mut s.record.events {
                if let Happening::Canaries { hits } = &mut e.what {
                    let (protocol, address) = (CanaryProtocol::Udp, "127.0.0.1".into());
                    hits.push(CanaryHit {
                        protocol,
                        address,
                        port: 1,
                        at_us: 1,
                        foreign: false,
                    });
                }
            }
        }),
        ("leftover_processes", |s| {
            for e in &mut s.record.events {
                if let Happening::Leftovers { processes } = &mut e.what {
                    *processes = 1;
                }
            }
        }),
        ("confinement_insufficient", |s| {
            s.record.events.retain(|e| !matches!(e.what, Happening::Confinement(_)))
        }),
    ];
    for (class, bar) in bars {
        let mut story = Story::honest();
        bar(&mut story);
        let verdict = story.judge();
        assert_eq!(verdict.verdict, Answer::Inconclusive, "{class}");
        assert_eq!(verdict.reasons, [class]);
        // It does not undo a fail.
        story.change("step-3", |o| o.fact = probe(vec![]));
        assert_eq!(story.judge().verdict, Answer::Fail, "{class}");
    }
}

#[test]
fn what_was_never_counted_is_not_zero() {
    for drop in ["canaries", "leftovers"] {
        let mut story = Story::honest();
        story.record.events.retain(|e| match &e.what {
            Happening::Canaries { .. } => drop != "canaries",
            Happening::Leftovers { .. } => drop != "leftovers",
            _ => true,
        });
        assert_eq!(story.judge().verdict, Answer::Inconclusive, "{drop}");
    }
}

#[test]
fn a_violation_after_the_last_look_still_bars() {
    let mut story = Story::honest();
    story.event(Some("desktop"), refused("http://127.0.0.1:9/beacon", 1));
    let verdict = story.judge();
    assert_eq!(verdict.verdict, Answer::Inconclusive);
    assert_eq!(verdict.violations[0].kind, ViolationKind::UnattributedRequest);
}

#[test]
fn an_escape_attempt_bars_every_criterion_and_finds_its_owner() {
    let escape = |port| {
        Happening::EscapeAttempt(EscapeAttempt {
            protocol: Transport::Udp,
            address: "::1".into(),
            port,
            name: None,
            count: 2,
        })
    };
    let mut story = Story::honest();
    story.event(Some("desktop"), told("https://[::1]:9/a", Owner::Worker));
    let without = story.judge().violations.len();
    story.event(None, escape(9));
    story.event(None, escape(10));
    let verdict = story.judge();
    assert_eq!(verdict.verdict, Answer::Inconclusive);
    let found: Vec<_> = verdict.violations[without..]
        .iter()
        .map(|v| (v.kind, v.url.raw().to_owned(), v.owner))
        .collect();
    let kind = ViolationKind::EscapeAttempt;
    assert_eq!(
        found,
        [
            (kind, "udp://[::1]:9".to_owned(), Owner::Worker),
            (kind, "udp://[::1]:10".to_owned(), Owner::Nobody)
        ]
    );
    let mut story = Story::honest();
    story.event(None, escape(9));
    let verdict = story.judge();
    assert_eq!(verdict.reasons, ["boundary_violation"]);
    assert!(verdict.criteria.iter().all(|c| c.outcome == Answer::Inconclusive));
}

#[test]
fn violations_have_owners_and_the_browsers_own_traffic_is_none() {
    let mut story = Story::honest();
    story.event(Some("desktop"), told("http://127.0.0.1:9/a", Owner::ServiceWorker));
    story.event(Some("desktop"), refused("http://127.0.0.1:9/a", 1));
    let verdict = story.judge();
    let owners: Vec<_> = verdict.violations.iter().map(|v| (v.kind, v.owner)).collect();
    assert_eq!(owners, [(ViolationKind::BlockedRequest, Owner::ServiceWorker)]);

    let mut story = Story::honest();
    story.event(Some("desktop"), told("http://127.0.0.1:9/a", Owner::Browser));
    story.event(Some("desktop"), refused("http://127.0.0.1:9/a", 1));
    assert!(story.judge().violations.is_empty());

    let mut story = Story::honest();
    let mut global = refused("http://update.example/", 1);
    if let Happening::Guard(g) = &mut global {
        g.listener = ListenerId::GLOBAL;
    }
    story.event(None, global);
    assert_eq!(story.judge().verdict, Answer::Pass);
}

#[test]
fn a_page_that_left_the_origin_is_never_passed() {
    let mut story = Story::honest();
    let before = story
        .record
        .observations
        .iter()
        .find(|o| o.criterion == "step-3")
        .unwrap()
        .seq;
    let url = Untrusted::new("http://localhost:4173/");
    let what = Happening::Navigation(NavigationFact {
        frame: "f".into(),
        main: true,
        owner: Owner::Page,
        url,
        same_document: false,
        error_page: false,
    });
    story
        .record
        .observations
        .iter_mut()
        .filter(|o| o.seq >= before)
        .for_each(|o| o.seq += 1);
    story.record.events.push(Event {
        seq: before,
        at_us: 0,
        viewport: Some("desktop".into()),
        what,
    });
    assert_eq!(
        story.of("step-3"),
        (
            Answer::Inconclusive,
            vec!["boundary_violation".into(), "origin_violation".into()]
        )
    );
    assert_eq!(story.of("gone").1, ["not_reached"]);
}

#[test]
fn a_toast_since_the_last_action_fails_a_negative_and_what_goes_away_does_not() {
    let with = |before, samples: Vec<(u32, u32)>| {
        let mut story = Story::honest();
        story.change("gone", |o| {
            if let Fact::Painted(painted) = &mut o.fact {
                painted.before = before;
                painted.samples = samples
                    .iter()
                    .map(|&(seen, unsure)| PaintedSample {
                        at_us: 1,
                        seen,
                        unsure,
                        text: None,
                    })
                    .collect();
            }
        });
        story.of("gone")
    };
    assert_eq!(with(0, vec![]).0, Answer::Pass);
    assert_eq!(
        with(0, vec![(1, 0), (0, 0)]).1,
        ["expectation_not_met", "seen_since_last_action"]
    );
    assert_eq!(with(1, vec![(0, 0)]).0, Answer::Pass);
    assert_eq!(with(1, vec![(1, 0), (0, 0)]).0, Answer::Pass);
    assert_eq!(with(1, vec![(0, 0), (1, 0), (0, 0)]).0, Answer::Fail);
    assert_eq!(
        with(0, vec![(0, 1), (0, 0)]).1,
        ["evidence_missing", "visibility_undecided"]
    );
}

#[test]
fn a_lost_watch_proves_no_absence() {
    let mut story = Story::honest();
    story.change("gone", |o| {
        if let Fact::Painted(painted) = &mut o.fact {
            painted.lost = true;
        }
    });
    assert_eq!(story.of("gone").1, ["evidence_missing", "events_lost"]);
}

#[test]
fn an_unread_frame_proves_no_absence() {
    let mut story = Story::honest();
    story.change("gone", |o| {
        if let Fact::Probe(probe) = &mut o.fact {
            probe.unread_frames.push(UnreadFrame {
                url: Untrusted::default(),
                why: UnreadWhy::NoAnswer,
            });
        }
    });
    assert_eq!(story.of("gone").1, ["evidence_missing", "frame_unread"]);
}

#[test]
fn unanswered_requests_hold_end_expectations_back() {
    let mut story = Story::honest();
    story.change("gone", |o| {
        if let Fact::Settled(settled) = &mut o.fact {
            settled.in_flight = 1;
        }
    });
    assert_eq!(story.of("gone").1, ["evidence_missing", "not_settled"]);
}

#[test]
fn documents_say_whose_fault_it_is() {
    let with = |change: fn(&mut DocumentFact)| {
        let mut story = Story::honest();
        story.change("step-1", |o| {
            if let Fact::Action(ActionFact {
                document: Some(document),
                ..
            }) = &mut o.fact
            {
                change(document);
            }
        });
        story.of("step-1").1
    };
    assert_eq!(with(|d| d.status = Some(404)), ["navigation_failed", "http_status"]);
    assert_eq!(with(|d| d.status = Some(400)), ["navigation_failed", "http_status"]);
    assert!(with(|d| d.status = Some(399)).is_empty());
    assert_eq!(
        with(|d| d.error = Some(Untrusted::new("net::ERR_TOO_MANY_REDIRECTS"))),
        ["navigation_failed", "redirect_loop"]
    );
    assert_eq!(
        with(|d| d.unreachable = true),
        ["target_unreachable", "connection_refused"]
    );
    assert_eq!(
        with(|d| d.error = Some(Untrusted::new("net::ERR_EMPTY_RESPONSE"))),
        ["target_unreachable", "empty_response"]
    );
    assert_eq!(with(|d| d.status = None), ["page_unresponsive", "no_answer"]);
    assert_eq!(
        with(|d| d.error = Some(Untrusted::new("net::ERR_ABORTED"))),
        ["navigation_failed", "no_document"]
    );
}

#[test]
fn each_unseen_has_its_class() {
    for (why, class) in [
        (Unseen::PageUnresponsive, "page_unresponsive"),
        (Unseen::RendererCrashed, "browser_crashed"),
        (Unseen::BrowserGone, "browser_crashed"),
        (Unseen::BudgetExhausted, "budget_exhausted"),
        (Unseen::PageClosed, "evidence_missing"),
        (Unseen::Cancelled, "cancelled"),
        (Unseen::GuardGone, "guard_failed"),
        (Unseen::EvidenceLost, "evidence_missing"),
    ] {
        let mut story = Story::honest();
        story.fact(
            "gone",
            2,
            Fact::NotObserved(NotObserved {
                what: "x".into(),
                why,
                detail: None,
            }),
        );
        let (answer, reasons) = story.of("gone");
        assert_eq!((answer, reasons[0].as_str()), (Answer::Inconclusive, class));
    }
}

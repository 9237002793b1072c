//! The connection against a peer that misbehaves: nothing is lost in silence, nothing blocks, nothing panics.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use jurat_browser::cdp::frame::FaultKind;
use jurat_browser::cdp::protocol::{browser, page, runtime};
use jurat_browser::cdp::{CallErrorKind, Connection, Event, Fault, Filter, Limits, Session, Stats, Subscription};
use jurat_testkit::peer::{Peer, Script};
use serde_json::json;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn version() -> serde_json::Value {
    json!({"protocolVersion": "1.3", "product": "Fake/1", "revision": "", "userAgent": "", "jsVersion": ""})
}

struct Rig {
    connection: Connection,
    events: Subscription,
    peer: Peer,
}

impl Rig {
    fn with(limits: Limits, script: impl FnOnce(&mut Script) -> io::Result<()> + Send + 'static) -> Self {
        let (peer, ends) = Peer::start(script).unwrap();
        let connection = Connection::open(ends.to_browser, ends.from_browser, limits).unwrap();
        let events = connection.subscribe(Filter::All);
        Self {
            connection,
            events,
            peer,
        }
    }

    fn new(script: impl FnOnce(&mut Script) -> io::Result<()> + Send + 'static) -> Self {
        Self::with(Limits::default(), script)
    }

    fn browser(&self) -> &Session {
        self.connection.browser()
    }

    /// Closes the client's side and gives all events that came, and the counts.
    async fn finish(mut self) -> (Vec<Event>, Stats) {
        let mut seen = Vec::new();
        while let Some(event) = self.events.next().await {
            if matches!(event, Event::Closed) {
                break;
            }
            seen.push(event);
        }
        let stats = self.connection.stats();
        drop(self.connection);
        self.peer.finish().unwrap();
        (seen, stats)
    }
}

fn faults(events: &[Event]) -> Vec<Fault> {
    events
        .iter()
        .filter_map(|event| {
            if let Event::Fault(fault) = event {
                Some(fault.clone())
            } else {
                None
            }
        })
        .collect()
}

fn messages(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .filter_map(Event::message)
        .map(|message| message.method.to_string())
        .collect()
}

#[tokio::test]
async fn commands_go_out_in_order_and_answers_find_their_callers() {
    let rig = Rig::new(|peer| {
        let first = peer.expect("Page.enable")?;
        let second = peer.expect("Runtime.enable")?;
        let third = peer.expect("Browser.getVersion")?;
        assert_eq!(
            (first.session_id.as_deref(), third.session_id.as_deref()),
            (Some("S"), None)
        );
        assert!(first.id < second.id && second.id < third.id);
        peer.answer(&third, &version())?;
        peer.event(Some("S"), "Page.loadEventFired", &json!({"timestamp": 1.0}))?;
        peer.answer(&second, &json!({}))?;
        peer.refuse(&first, -32000, "not now")
    });
    let session = rig.connection.session("S".into());
    let mut own = session.subscribe();
    let first = session.send(&page::Enable::default());
    let second = session.send(&runtime::Enable {});
    let third = rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap();
    assert_eq!(third.product, "Fake/1");
    second.wait(soon()).await.unwrap();
    let refused = first.wait(soon()).await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.method()),
        (CallErrorKind::Refused, "Page.enable")
    );
    let event = own.next().await.unwrap();
    assert!(
        event
            .message()
            .unwrap()
            .decode::<page::LoadEventFired>()
            .unwrap()
            .is_ok()
    );
    let (events, stats) = rig.finish().await;
    assert_eq!(messages(&events), ["Page.loadEventFired"]);
    assert!(stats.complete());
}

#[tokio::test]
async fn what_is_no_message_is_a_counted_fault_and_the_next_message_is_read() {
    let rig = Rig::new(|peer| {
        let call = peer.expect("Browser.getVersion")?;
        peer.raw(b"garbage\0[1]\0\0{}\0{\"id\":\0")?;
        peer.raw(b"{\"method\":\"Page.a\0b\",\"params\":{}}\0")?;
        peer.answer_id(4711, &json!({}))?;
        peer.answer(&call, &version())?;
        peer.answer(&call, &version())?;
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        peer.raw(format!("{{\"method\":\"Page.deep\",\"params\":{deep}}}\0").as_bytes())?;
        peer.event(None, "Page.later", &json!({"novelty": [1]}))?;
        peer.raw(b"{\"method\":\"Page.cut")
    });
    rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap();
    let (events, stats) = rig.finish().await;
    assert_eq!(messages(&events), ["Page.later"]);
    let kinds: Vec<_> = faults(&events)
        .into_iter()
        .map(|fault| match fault {
            Fault::Frame(frame) => format!("{:?}", frame.kind),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "Malformed",
        "NotAnObject",
        "Malformed",
        "Shapeless",
        "Malformed",
        "Malformed",
        "Malformed",
        "UnknownId { id: 4711 }",
        "ReusedId { id: 1 }",
        "TooDeep",
        "CutShort { bytes: 19 }",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(stats.faults, expected.len() as u64);
    assert!(!stats.complete());
}

#[tokio::test]
async fn a_broken_answer_fails_its_own_call_at_once() {
    let rig = Rig::new(|peer| {
        let cut = peer.expect("Browser.getVersion")?;
        peer.raw(format!("{{\"id\":{},\"result\":{{\"product\":\0", cut.id).as_bytes())?;
        let other = peer.expect("Browser.getVersion")?;
        peer.answer(&other, &json!({"product": "only"}))
    });
    let cut = rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap_err();
    assert_eq!(cut.kind(), CallErrorKind::Malformed);
    let other = rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap_err();
    assert_eq!(other.kind(), CallErrorKind::Decode);
    let (events, _) = rig.finish().await;
    assert!(
        matches!(&faults(&events)[..], [Fault::Frame(frame)] if frame.kind == FaultKind::Malformed && frame.id == Some(1))
    );
}

#[tokio::test]
async fn a_message_of_200_mb_is_dropped_while_it_streams_in() {
    let limits = Limits {
        message_bytes: 1024 * 1024,
        ..Limits::default()
    };
    let rig = Rig::with(limits, |peer| {
        let call = peer.expect("Browser.getVersion")?;
        peer.raw(b"{\"method\":\"Runtime.consoleAPICalled\",\"params\":{\"text\":\"")?;
        peer.repeat(b"x", 200_000_000)?;
        peer.raw(b"\"}}\0")?;
        peer.raw(format!("{{\"id\":{},\"result\":\"", call.id).as_bytes())?;
        peer.repeat(b"y", 2_000_000)?;
        peer.raw(b"\"}\0")?;
        peer.event(None, "Page.after", &json!({}))
    });
    let error = rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap_err();
    assert_eq!(error.kind(), CallErrorKind::TooLarge);
    let (events, stats) = rig.finish().await;
    assert_eq!(messages(&events), ["Page.after"]);
    let lost: Vec<_> = events
        .iter()
        .filter_map(|e| if let Event::Lost(lost) = e { Some(lost) } else { None })
        .collect();
    assert_eq!(lost.len(), 2);
    assert!(lost[0].bytes > 200_000_000 && lost[0].id.is_none());
    assert_eq!(lost[1].id, Some(1));
    assert_eq!((stats.lost_messages, stats.faults), (2, 0));
    assert!(
        stats.most_buffered <= 2 * 1024 * 1024,
        "{} bytes were held",
        stats.most_buffered
    );
}

#[tokio::test]
async fn a_lone_surrogate_costs_one_character() {
    let rig = Rig::new(|peer| {
        peer.raw(
            b"{\"method\":\"Page.windowOpen\",\"params\":{\"url\":\"a\\ud800b\",\"windowName\":\"\\ud83d\\ude00\",",
        )?;
        peer.raw(b"\"windowFeatures\":[],\"userGesture\":false}}\0")
    });
    let (events, stats) = rig.finish().await;
    let opened = events[0]
        .message()
        .unwrap()
        .decode::<page::WindowOpen>()
        .unwrap()
        .unwrap();
    assert_eq!(
        (opened.url.as_str(), opened.window_name.as_str()),
        ("a\u{fffd}b", "\u{1f600}")
    );
    assert_eq!((stats.repaired_surrogates, stats.faults), (1, 0));
}

#[tokio::test]
async fn a_flood_is_bounded_and_its_gap_is_marked() {
    const FLOOD: u64 = 200_000;
    let limits = Limits {
        queue_events: 1000,
        ..Limits::default()
    };
    let rig = Rig::with(limits, |peer| {
        peer.repeat(
            b"{\"method\":\"Log.entryAdded\",\"params\":{}}\0",
            usize::try_from(FLOOD).unwrap(),
        )?;
        peer.event(None, "Page.javascriptDialogOpening", &json!({}))?;
        let call = peer.expect("Browser.getVersion")?;
        peer.answer(&call, &version())
    });
    // Nobody reads events until the answer, which stands behind the flood, is here.
    rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap();
    let (events, stats) = rig.finish().await;
    let gaps: u64 = events
        .iter()
        .map(|event| if let Event::Gap { count } = event { *count } else { 0 })
        .sum();
    assert_eq!((gaps, stats.dropped_events), (FLOOD - 1000, FLOOD - 1000));
    assert!(matches!(events[1000], Event::Gap { .. }));
    assert_eq!(messages(&events).last().unwrap(), "Page.javascriptDialogOpening");
    assert_eq!(stats.messages, FLOOD + 2);
}

#[tokio::test]
async fn a_call_has_a_deadline_and_its_late_answer_is_no_fault() {
    let (go, wait) = mpsc::channel::<()>();
    let rig = Rig::new(move |peer| {
        let slow = peer.expect("Browser.getVersion")?;
        wait.recv().map_err(io::Error::other)?;
        peer.answer(&slow, &version())
    });
    let error = rig
        .browser()
        .call(&browser::GetVersion {}, Instant::now() + Duration::from_millis(30))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.method()),
        (CallErrorKind::Deadline, "Browser.getVersion")
    );
    go.send(()).unwrap();
    let (events, stats) = rig.finish().await;
    assert!(faults(&events).is_empty() && stats.complete());
}

fn attached(peer: &mut Script, parent: Option<&str>, session: &str) -> io::Result<()> {
    let info = json!({"targetId": session, "type": "page", "title": "", "url": "", "attached": true});
    let params = json!({"sessionId": session, "targetInfo": info, "waitingForDebugger": true});
    peer.event(parent, "Target.attachedToTarget", &params)
}

#[tokio::test]
async fn a_crash_and_a_detachment_fail_what_waits_for_them() {
    let rig = Rig::new(|peer| {
        attached(peer, None, "A")?;
        attached(peer, None, "B")?;
        attached(peer, Some("B"), "C")?;
        for _ in 0..3 {
            peer.expect("Runtime.evaluate")?;
        }
        peer.event(Some("A"), "Inspector.targetCrashed", &json!({}))?;
        peer.event(None, "Target.detachedFromTarget", &json!({"sessionId": "B"}))?;
        let unknown = peer.expect("Runtime.evaluate")?;
        assert_eq!(unknown.session_id.as_deref(), Some("B"));
        peer.refuse(&unknown, -32001, "Session with given id not found.")
    });
    let evaluate = runtime::Evaluate::new("1");
    let waiting: Vec<_> = ["A", "B", "C"]
        .map(|id| rig.connection.session(id.into()).send(&evaluate))
        .into_iter()
        .collect();
    let mut kinds = Vec::new();
    for pending in waiting {
        kinds.push(pending.wait(soon()).await.unwrap_err().kind());
    }
    assert_eq!(
        kinds,
        [
            CallErrorKind::TargetCrashed,
            CallErrorKind::SessionDetached,
            CallErrorKind::SessionDetached
        ]
    );
    let crashed = rig
        .connection
        .session("A".into())
        .call(&evaluate, soon())
        .await
        .unwrap_err();
    assert_eq!(crashed.kind(), CallErrorKind::TargetCrashed);
    let detached = rig
        .connection
        .session("B".into())
        .call(&evaluate, soon())
        .await
        .unwrap_err();
    assert_eq!(detached.kind(), CallErrorKind::SessionDetached);
    rig.finish().await;
}

#[tokio::test]
async fn a_peer_that_stops_reading_blocks_nobody() {
    let (go, wait) = mpsc::channel::<()>();
    let limits = Limits {
        write_bytes: 4 * 1024 * 1024,
        ..Limits::default()
    };
    let rig = Rig::with(limits, move |peer| {
        peer.event(None, "Page.before", &json!({}))?;
        wait.recv().map_err(io::Error::other)
    });
    let long = runtime::Evaluate::new("x".repeat(1024 * 1024));
    let mut kinds = Vec::new();
    let pending: Vec<_> = (0..8).map(|_| rig.browser().send(&long)).collect();
    for call in pending {
        kinds.push(
            call.wait(Instant::now() + Duration::from_millis(10))
                .await
                .unwrap_err()
                .kind(),
        );
    }
    assert_eq!(kinds[0], CallErrorKind::Deadline);
    assert_eq!(kinds[7], CallErrorKind::Backlog);
    go.send(()).unwrap();
    let (events, _) = rig.finish().await;
    assert_eq!(messages(&events), ["Page.before"]);
}

#[tokio::test]
async fn each_closed_half_fails_the_calls_and_what_was_sent_is_still_read() {
    let (go, wait) = mpsc::channel::<()>();
    let rig = Rig::new(move |peer| {
        peer.expect("Browser.getVersion")?;
        peer.close_reading();
        wait.recv().map_err(io::Error::other)?;
        peer.event(None, "Page.after", &json!({}))
    });
    let first = rig.browser().send(&browser::GetVersion {});
    let mut kind = CallErrorKind::Deadline;
    // The first writes may still fit into the pipe before the peer closes it.
    while kind == CallErrorKind::Deadline {
        let until = Instant::now() + Duration::from_millis(20);
        kind = rig
            .browser()
            .call(&browser::GetVersion {}, until)
            .await
            .unwrap_err()
            .kind();
    }
    assert_eq!(kind, CallErrorKind::ConnectionLost);
    assert_eq!(
        first.wait(soon()).await.unwrap_err().kind(),
        CallErrorKind::ConnectionLost
    );
    go.send(()).unwrap();
    let (events, _) = rig.finish().await;
    assert_eq!(messages(&events), ["Page.after"]);

    let rig = Rig::new(|peer| {
        peer.expect("Browser.getVersion")?;
        peer.close_writing();
        peer.read().map(|_| ())
    });
    let lost = rig.browser().call(&browser::GetVersion {}, soon()).await.unwrap_err();
    assert_eq!(lost.kind(), CallErrorKind::ConnectionLost);
    rig.finish().await;
}

#[tokio::test]
async fn the_table_of_calls_is_bounded() {
    let limits = Limits {
        pending_calls: 4,
        ..Limits::default()
    };
    let rig = Rig::with(limits, |peer| {
        for _ in 0..4 {
            peer.expect("Browser.getVersion")?;
        }
        Ok(())
    });
    let pending: Vec<_> = (0..5).map(|_| rig.browser().send(&browser::GetVersion {})).collect();
    let mut kinds = Vec::new();
    for call in pending {
        kinds.push(call.wait(soon()).await.unwrap_err().kind());
    }
    assert_eq!(kinds[4], CallErrorKind::Backlog);
    assert_eq!(kinds[0], CallErrorKind::ConnectionLost);
    rig.finish().await;
}

#[tokio::test]
async fn the_pipe_closes_with_the_last_handle() {
    let rig = Rig::new(|peer| {
        let call = peer.expect("Browser.close")?;
        peer.answer(&call, &json!({}))?;
        assert_eq!(peer.read()?, None);
        Ok(())
    });
    rig.browser().call(&browser::Close {}, soon()).await.unwrap();
    let Rig {
        connection,
        mut events,
        peer,
    } = rig;
    drop(connection);
    while events.next().await.is_some() {}
    peer.finish().unwrap();
}

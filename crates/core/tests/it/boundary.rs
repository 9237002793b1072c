//! Which traffic is a violation, and whose, on hand-made logs: the pure half of what the conformance cases show with a browser.

use jurat_core::boundary::{Violation, ViolationKind, is_allowed, is_expected_refusal, left_origin, violations};
use jurat_core::confinement::Level;
use jurat_core::contract::{Format, ParseOptions, parse};
use jurat_core::observation::guard::{Disposition, GuardKind, GuardReason, GuardRecord, ListenerId, RequestHints};
use jurat_core::observation::{Event, Happening, NavigationFact, Owner, RequestFact};
use jurat_core::plan::{Plan, PlanOptions};
use jurat_core::untrusted::Untrusted;
use url::Url;

const TEXT: &str = "jurat: contract/1
name: boundary
target: { url: 'http://127.0.0.1:4000/', allow: ['https://127.0.0.1:4443'], refuse: ['https://fonts.example.com', 'https://*.tracker.example'] }
steps: [{ navigate: / }]";

fn plan() -> Plan {
    let contract = parse(TEXT, Format::Yaml, &ParseOptions::default()).unwrap();
    Plan::new(
        &contract,
        &PlanOptions {
            url: None,
            accept_confinement: Level::GuardOnly,
        },
    )
    .unwrap()
}

fn at(url: &str) -> Url {
    Url::parse(url).unwrap()
}

/// A log: each entry with the next `seq`, of the viewport `desktop`.
fn log(all: Vec<Happening>) -> Vec<Event> {
    (1..)
        .zip(all)
        .map(|(seq, what)| Event {
            seq,
            at_us: seq,
            viewport: Some("desktop".into()),
            what,
        })
        .collect()
}

fn refused(kind: GuardKind, url: &str) -> Happening {
    Happening::Guard(GuardRecord {
        seq: 1,
        at_us: 0,
        listener: ListenerId(1),
        kind,
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

fn on_global(mut what: Happening) -> Happening {
    if let Happening::Guard(record) = &mut what {
        record.listener = ListenerId(0);
    }
    what
}

fn told(owner: Owner, url: &str) -> Happening {
    Happening::Request(RequestFact {
        id: url.into(),
        owner,
        method: "GET".into(),
        url: Untrusted::new(url),
        kind: "Fetch".into(),
        document: false,
        initiator: None,
    })
}

fn moved(main: bool, url: &str) -> Happening {
    Happening::Navigation(NavigationFact {
        frame: "F".into(),
        main,
        owner: Owner::Page,
        url: Untrusted::new(url),
        same_document: false,
        error_page: false,
    })
}

fn found(all: Vec<Happening>) -> Vec<(ViolationKind, String, Owner)> {
    let tell = |v: Violation| (v.kind, v.url.raw().to_owned(), v.owner);
    violations(&plan(), &log(all)).into_iter().map(tell).collect()
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    let plan = plan();
    for good in [
        "http://127.0.0.1:4000/x?y",
        "ws://127.0.0.1:4000/socket",
        "https://127.0.0.1:4443/",
        "wss://127.0.0.1:4443/",
    ] {
        assert!(is_allowed(&at(good), &plan), "{good}");
    }
    for bad in [
        "https://127.0.0.1:4000/",
        "http://127.0.0.1/",
        "http://127.0.0.1:4001/",
        "http://localhost:4000/",
        "http://127.0.0.1:4443/",
        "http://[::1]:4000/",
    ] {
        assert!(!is_allowed(&at(bad), &plan), "{bad}");
    }
}

#[test]
fn known_third_parties_are_expected_to_be_refused_and_no_others() {
    let plan = plan();
    for known in [
        "https://fonts.example.com/a.woff2",
        "https://a.tracker.example/",
        "https://b.a.tracker.example/",
    ] {
        assert!(is_expected_refusal(&at(known), &plan), "{known}");
    }
    for other in [
        "http://fonts.example.com/",
        "https://fonts.example.com:444/",
        "https://tracker.example/",
        "https://eviltracker.example/",
        "http://a.tracker.example/",
        "https://example.com/",
    ] {
        assert!(!is_expected_refusal(&at(other), &plan), "{other}");
    }
}

#[test]
fn a_refused_request_has_an_owner_or_is_nobodys() {
    let url = "http://127.0.0.1:5000/x";
    let blocked = |owner| vec![(ViolationKind::BlockedRequest, url.to_owned(), owner)];
    assert_eq!(
        found(vec![told(Owner::Worker, url), refused(GuardKind::Request, url)]),
        blocked(Owner::Worker)
    );
    // A fragment is not sent, and a socket's scheme is written as the guard sees it.
    let both = vec![
        told(Owner::Page, "http://127.0.0.1:5000/x#part"),
        refused(GuardKind::Request, url),
    ];
    assert_eq!(
        found(both),
        [(
            ViolationKind::BlockedRequest,
            "http://127.0.0.1:5000/x#part".to_owned(),
            Owner::Page
        )]
    );
    assert_eq!(
        found(vec![refused(GuardKind::Request, url)]),
        [(ViolationKind::UnattributedRequest, url.to_owned(), Owner::Nobody)]
    );
    // The browser's own is neither, whether it came to its own listener or to a context's.
    assert_eq!(found(vec![on_global(refused(GuardKind::Request, url))]), []);
    assert_eq!(
        found(vec![told(Owner::Browser, url), refused(GuardKind::Request, url)]),
        []
    );
    // Another URL, or another viewport, is another request.
    assert_eq!(
        found(vec![
            told(Owner::Browser, "http://127.0.0.1:5000/y"),
            refused(GuardKind::Request, url)
        ])
        .len(),
        1
    );
    let mut apart = log(vec![told(Owner::Browser, url), refused(GuardKind::Request, url)]);
    apart[0].viewport = Some("mobile".into());
    assert_eq!(violations(&plan(), &apart).len(), 1);
}

#[test]
fn a_tunnel_is_known_by_host_and_port() {
    let tunnel = refused(GuardKind::Tunnel, "127.0.0.1:5443");
    let url = "https://127.0.0.1:5443/deep?q";
    assert_eq!(
        found(vec![told(Owner::Frame, url), tunnel.clone()]),
        [(ViolationKind::BlockedRequest, url.to_owned(), Owner::Frame)]
    );
    assert_eq!(
        found(vec![told(Owner::Browser, "https://127.0.0.1:5444/"), tunnel.clone()]),
        [(
            ViolationKind::UnattributedRequest,
            "127.0.0.1:5443".to_owned(),
            Owner::Nobody
        )]
    );
    let socket = refused(GuardKind::Websocket, "http://127.0.0.1:5000/s");
    assert_eq!(
        found(vec![told(Owner::Page, "ws://127.0.0.1:5000/s"), socket])[0].2,
        Owner::Page
    );
}

#[test]
fn what_the_browser_refused_by_itself_counts_too() {
    let off = |url: &str| found(vec![told(Owner::Page, url)]);
    assert_eq!(off("http://user@127.0.0.1:5000/").len(), 1);
    assert_eq!(off("file:///etc/passwd").len(), 1);
    assert_eq!(off("ftp://127.0.0.1/x").len(), 1);
    for quiet in [
        "http://127.0.0.1:4000/own",
        "https://127.0.0.1:4443/allowed",
        "https://fonts.example.com/known",
        "data:text/plain,x",
        "blob:http://127.0.0.1:4000/0",
        "about:blank",
        "chrome-error://chromewebdata/",
    ] {
        assert_eq!(off(quiet), [], "{quiet}");
    }
    assert_eq!(found(vec![told(Owner::Browser, "http://127.0.0.1:5000/")]), []);
}

#[test]
fn only_a_main_frame_leaves_and_once() {
    let away = "http://localhost:4000/";
    let left = vec![(ViolationKind::OriginViolation, away.to_owned(), Owner::Page)];
    assert_eq!(found(vec![moved(true, away), moved(true, away)]), left);
    assert_eq!(found(vec![moved(false, away)]), []);
    assert_eq!(
        found(vec![
            moved(true, "http://127.0.0.1:4000/next"),
            moved(true, "about:blank")
        ]),
        []
    );
    // A third party whose requests are expected to be refused is still no place to go.
    assert_eq!(found(vec![moved(true, "https://fonts.example.com/")]).len(), 1);

    let events = log(vec![
        moved(true, "http://127.0.0.1:4000/"),
        moved(false, away),
        moved(true, away),
    ]);
    let plan = plan();
    let before = |viewport, seq| left_origin(&plan, &events, viewport, seq).map(Untrusted::raw);
    assert_eq!(before("desktop", 4), Some(away));
    assert_eq!(before("desktop", 3), None, "not yet");
    assert_eq!(before("mobile", 4), None, "another viewport");
}

#[test]
fn an_icon_of_a_refused_document_is_noise_and_no_other_request() {
    let icon = refused(GuardKind::Request, "http://localhost:4000/favicon.ico");
    let gone = moved(true, "http://localhost:4000/");
    let kinds = |all| found(all).into_iter().map(|(kind, ..)| kind).collect::<Vec<_>>();
    assert_eq!(
        kinds(vec![gone.clone(), icon.clone()]),
        [ViolationKind::OriginViolation]
    );
    assert_eq!(kinds(vec![icon]), [ViolationKind::UnattributedRequest]);
    let other = refused(GuardKind::Request, "http://localhost:4000/steal");
    assert_eq!(
        kinds(vec![gone, other]),
        [ViolationKind::OriginViolation, ViolationKind::UnattributedRequest]
    );
}

#![allow(clippy::unwrap_used)]

use super::*;
use crate::head;

const UPGRADE: &str =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Version: 13\r\n";

fn policy() -> Policy {
    Policy::new(
        Origin::parse("http://127.0.0.1:4173").unwrap(),
        vec![
            Origin::parse("http://127.0.0.1:4173/").unwrap(),
            Origin::parse("https://api.example").unwrap(),
            Origin::parse("http://[::1]:8080").unwrap(),
            Origin::parse("http://plain.example").unwrap(),
        ],
        [
            "https://fonts.example",
            "https://*.cdn.example",
            "*.ads.example",
            "stats.example",
            "http://one.example:81",
        ]
        .map(|text| ThirdParty::parse(text).unwrap())
        .to_vec(),
    )
}

fn judged(policy: &Policy, line: &str, host: &str, more: &str, inside: Option<usize>) -> Judged {
    let text = format!("{line} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    policy.judge(&head::parse(text.as_bytes()).unwrap(), inside)
}

fn get(target: &str, host: &str) -> Decision {
    judged(&policy(), &format!("GET {target}"), host, "", None).decision
}

fn connect(target: &str) -> Decision {
    judged(&policy(), &format!("CONNECT {target}"), target, "", None).decision
}

#[test]
fn origins_are_exact_and_canonical() {
    let show = |text: &str| Origin::parse(text).map(|o| o.to_string()).ok();
    assert_eq!(show("HTTP://LocalHost:80").as_deref(), Some("http://localhost"));
    assert_eq!(show("https://a.example:443/").as_deref(), Some("https://a.example"));
    assert_eq!(show("wss://a.example:444/").as_deref(), Some("https://a.example:444"));
    assert_eq!(show("ws://2130706433:1").as_deref(), Some("http://127.0.0.1:1"));
    assert_eq!(show("http://[0:0::1]:8").as_deref(), Some("http://[::1]:8"));
    assert_eq!(show("https://a.example:80").as_deref(), Some("https://a.example:80"));
    for bad in [
        "",
        "h",
        "ftp://h",
        "file:///x",
        "http://u@h",
        "http://:p@h",
        "http://h/x",
        "http://h/?q",
        "http://h/?",
        "http://h/#f",
        "http://h:99999",
        "http://",
        "data:,x",
    ] {
        assert_eq!(show(bad), None, "{bad:?}");
    }
    let origin = Origin::parse("https://[::1]:9").unwrap();
    assert_eq!(
        (origin.scheme(), origin.host(), origin.port()),
        (Scheme::Https, "[::1]", 9)
    );
    assert_eq!(Scheme::Http.default_port(), 80);
    assert!(Origin::parse("x y").unwrap_err().to_string().contains("x y"));
    assert_eq!(policy().origins().len(), 4, "the target is not listed twice");
}

#[test]
fn the_target_is_forwarded() {
    assert_eq!(get("http://127.0.0.1:4173/", "127.0.0.1:4173"), Decision::Forward(0));
    assert_eq!(get("http://127.0.0.1:4173", "127.0.0.1:4173"), Decision::Forward(0));
    assert_eq!(get("http://127.0.0.1:4173?q", "127.0.0.1:4173"), Decision::Forward(0));
    assert_eq!(get("http://[::1]:8080/a", "[::1]:8080"), Decision::Forward(2));
    assert_eq!(get("http://plain.example/", "plain.example"), Decision::Forward(3));
    assert_eq!(get("http://plain.example:80/", "plain.example"), Decision::Forward(3));
    assert_eq!(get("http://plain.example/", "plain.example:80"), Decision::Forward(3));
}

#[test]
fn odd_spellings_of_the_target_are_the_target() {
    for (target, host) in [
        ("HTTP://127.0.0.1:4173/", "127.0.0.1:4173"),
        ("http://127.1:4173/", "2130706433:4173"),
        ("http://0x7f.0.0.1:4173/", "127.0.0.1:4173"),
        ("http://0177.0.0.1:4173/", "127.0.0.1:4173"),
        ("http://127.0.0.1.:4173/", "127.0.0.1:4173"),
    ] {
        assert_eq!(get(target, host), Decision::Forward(0), "{target}");
    }
    assert_eq!(
        get("http://[0:0:0:0:0:0:0:1]:8080/", "[::0001]:8080"),
        Decision::Forward(2)
    );
    assert_eq!(get("http://PLAIN.example/", "plain.EXAMPLE"), Decision::Forward(3));
}

#[test]
fn neighbours_of_the_target_are_not() {
    for authority in [
        "127.0.0.1:4174",
        "127.0.0.1",
        "127.0.0.2:4173",
        "localhost:4173",
        "localhost.:4173",
        "a.localhost:4173",
        "0.0.0.0:4173",
        "[::1]:4173",
        "[::1]",
        "[::1]:80",
        "[::ffff:127.0.0.1]:4173",
        "127.0.0.1.example:4173",
        "plain.example.:80",
        "api.example",
        "api.example:443",
        "plain.example:443",
    ] {
        let target = format!("http://{authority}/");
        assert_eq!(
            get(&target, authority),
            Decision::Refuse(GuardReason::OffOrigin),
            "{target}"
        );
    }
}

#[test]
fn other_shapes_of_target() {
    for (target, host, want) in [
        ("http://u@127.0.0.1:4173/", "127.0.0.1:4173", GuardReason::Userinfo),
        ("http://u:p@127.0.0.1:4173/", "127.0.0.1:4173", GuardReason::Userinfo),
        (
            "http://127.0.0.1:4173@evil.example/",
            "evil.example",
            GuardReason::Userinfo,
        ),
        ("/", "127.0.0.1:4173", GuardReason::OriginForm),
        ("/http://127.0.0.1:4173/", "127.0.0.1:4173", GuardReason::Scheme),
        ("*", "127.0.0.1:4173", GuardReason::OriginForm),
        ("127.0.0.1:4173", "127.0.0.1:4173", GuardReason::BadUrl),
        ("https://127.0.0.1:4173/", "127.0.0.1:4173", GuardReason::Scheme),
        ("https://api.example/", "api.example", GuardReason::Scheme),
        ("ws://127.0.0.1:4173/", "127.0.0.1:4173", GuardReason::Scheme),
        ("ftp://127.0.0.1:4173/", "127.0.0.1:4173", GuardReason::Scheme),
        ("http://127.0.0.1:4173/", "127.0.0.1:4174", GuardReason::HostMismatch),
        ("http://127.0.0.1:4173/", "127.0.0.1", GuardReason::HostMismatch),
        ("http://127.0.0.1:4173/", "localhost:4173", GuardReason::HostMismatch),
        ("http://127.0.0.1:4173/", "u@127.0.0.1:4173", GuardReason::HostMismatch),
        ("http://127.0.0.1:4173/", "127.0.0.1:4173/x", GuardReason::HostMismatch),
        (
            "http://127.0.0.1:4173/",
            "127.0.0.1:4173, evil",
            GuardReason::HostMismatch,
        ),
        ("http://127.0.0.1:4173/", "127.0.0.1:4173 x", GuardReason::HostMismatch),
        ("http://127.0.0.1:4173/", "127.0.0.1:04173x", GuardReason::HostMismatch),
        ("http://evil.example/", "127.0.0.1:4173", GuardReason::HostMismatch),
        ("http://0x100000000:4173/", "127.0.0.1:4173", GuardReason::BadUrl),
        ("http://h:x/", "h:x", GuardReason::BadUrl),
        ("http://h:99999/", "h:99999", GuardReason::BadUrl),
    ] {
        assert_eq!(get(target, host), Decision::Refuse(want), "{target} with {host}");
    }
}

#[test]
fn path_and_query_are_sent_as_they_came_and_recorded_canonically() {
    let at = |target: &str| {
        judged(
            &policy(),
            &format!("GET http://127.0.0.1:4173{target}"),
            "127.0.0.1:4173",
            "",
            None,
        )
    };
    for (target, path, url) in [
        ("", "/", "/"),
        ("?q=/x", "/?q=/x", "/?q=/x"),
        ("/a/../b?c=%2e&d=@://", "/a/../b?c=%2e&d=@://", "/b?c=%2e&d=@://"),
        ("/a|b^c", "/a|b^c", "/a|b^c"),
        ("//evil.example/x", "//evil.example/x", "//evil.example/x"),
    ] {
        let judged = at(target);
        assert_eq!(judged.decision, Decision::Forward(0), "{target}");
        assert_eq!(judged.path, path);
        assert!(!judged.url_cut);
        assert_eq!(judged.kind, GuardKind::Request);
        assert_eq!(
            judged.url.replace("%7C", "|").replace("%5E", "^"),
            format!("http://127.0.0.1:4173{url}")
        );
    }
    let base = "http://127.0.0.1:4173/".len();
    let fits = at(&format!("/{}", "a".repeat(MAX_URL - base)));
    assert_eq!((fits.url.len(), fits.url_cut), (MAX_URL, false));
    let long = at(&format!("/{}", "a".repeat(MAX_URL - base + 1)));
    assert_eq!((long.url.len(), long.url_cut), (MAX_URL, true));
    assert_eq!(
        bounded(format!("{}\u{e9}", "a".repeat(MAX_URL - 1))),
        ("a".repeat(MAX_URL - 1), true)
    );
}

#[test]
fn handshakes_in_absolute_form() {
    for target in ["http://127.0.0.1:4173/s", "ws://127.0.0.1:4173/s"] {
        let judged = judged(&policy(), &format!("GET {target}"), "127.0.0.1:4173", UPGRADE, None);
        assert_eq!(judged.decision, Decision::Websocket(0));
        assert_eq!(judged.kind, GuardKind::Websocket);
        assert_eq!(judged.url, target);
    }
    let off = judged(&policy(), "GET ws://127.0.0.1:4174/s", "127.0.0.1:4174", UPGRADE, None);
    assert_eq!(off.decision, Decision::Refuse(GuardReason::OffOrigin));
    let tls = judged(&policy(), "GET wss://api.example/s", "api.example", UPGRADE, None);
    assert_eq!(tls.decision, Decision::Refuse(GuardReason::Scheme));
}

#[test]
fn connects() {
    assert_eq!(connect("api.example:443"), Decision::Tunnel(1));
    assert_eq!(connect("API.example:443"), Decision::Tunnel(1));
    assert_eq!(connect("127.0.0.1:4173"), Decision::ExpectWebsocket(0));
    assert_eq!(connect("[::1]:8080"), Decision::ExpectWebsocket(2));
    assert_eq!(connect("plain.example:80"), Decision::ExpectWebsocket(3));
    for target in [
        "api.example:444",
        "api.example:80",
        "evil.example:443",
        "127.0.0.1:4174",
        "localhost:4173",
    ] {
        assert_eq!(connect(target), Decision::Refuse(GuardReason::OffOrigin), "{target}");
    }
    assert_eq!(connect("u@api.example:443"), Decision::Refuse(GuardReason::Userinfo));
    for target in ["api.example", "[::1]", "http://api.example:443/", "/"] {
        assert_eq!(connect(target), Decision::Refuse(GuardReason::BadUrl), "{target}");
    }
    let other = |host: &str| judged(&policy(), "CONNECT api.example:443", host, "", None);
    for host in ["api.example", "api.example:80", "evil.example:443", "u@api.example:443"] {
        assert_eq!(
            other(host).decision,
            Decision::Refuse(GuardReason::HostMismatch),
            "{host}"
        );
    }
    let record = other("API.example:443");
    assert_eq!(
        (record.kind, record.url.as_str(), record.path.as_str()),
        (GuardKind::Tunnel, "api.example:443", "")
    );
    assert_eq!(judged(&policy(), "CONNECT u@x:1", "x:1", "", None).url, "u@x:1");
}

#[test]
fn plain_wins_where_both_schemes_are_named() {
    let both = Policy::new(
        Origin::parse("https://h.example:1").unwrap(),
        vec![Origin::parse("http://h.example:1").unwrap()],
        Vec::new(),
    );
    let connect = judged(&both, "CONNECT h.example:1", "h.example:1", "", None);
    assert_eq!(connect.decision, Decision::ExpectWebsocket(1));
}

#[test]
fn inside_a_connect_only_the_handshake_for_exactly_that_host() {
    let inside = |line: &str, host: &str, more: &str| judged(&policy(), line, host, more, Some(0));
    let good = inside("GET /s?x", "127.0.0.1:4173", UPGRADE);
    assert_eq!(good.decision, Decision::Websocket(0));
    assert_eq!(
        (good.kind, good.url.as_str()),
        (GuardKind::Websocket, "ws://127.0.0.1:4173/s?x")
    );
    assert_eq!(good.path, "/s?x");

    let plain = inside("GET /s", "127.0.0.1:4173", "");
    assert_eq!(plain.decision, Decision::Refuse(GuardReason::NotWebsocket));
    assert_eq!(
        (plain.kind, plain.url.as_str()),
        (GuardKind::Request, "http://127.0.0.1:4173/s")
    );
    for line in ["GET http://127.0.0.1:4173/s", "GET *", "CONNECT 127.0.0.1:4173"] {
        let refused = inside(line, "127.0.0.1:4173", UPGRADE).decision;
        assert_eq!(refused, Decision::Refuse(GuardReason::NotWebsocket), "{line}");
    }
    for host in [
        "127.0.0.1:4174",
        "localhost:4173",
        "127.0.0.1",
        "[::1]:8080",
        "u@127.0.0.1:4173",
    ] {
        let refused = inside("GET /s", host, UPGRADE).decision;
        assert_eq!(refused, Decision::Refuse(GuardReason::HostMismatch), "{host}");
    }
    let gone = judged(&policy(), "GET /s", "127.0.0.1:4173", UPGRADE, Some(9)).decision;
    assert_eq!(gone, Decision::Refuse(GuardReason::HostMismatch));
    let tls = judged(&policy(), "GET /s", "api.example:443", UPGRADE, Some(1)).decision;
    assert_eq!(
        tls,
        Decision::Refuse(GuardReason::HostMismatch),
        "a TLS origin is never spoken to in the clear"
    );
    let two = Policy::new(
        Origin::parse("http://h.example:1").unwrap(),
        vec![Origin::parse("https://h.example:1").unwrap()],
        Vec::new(),
    );
    let wrong = judged(&two, "GET /s", "h.example:1", UPGRADE, Some(1)).decision;
    assert_eq!(wrong, Decision::Refuse(GuardReason::HostMismatch));
}

#[test]
fn known_third_parties() {
    let expected = |authority: &str| get(&format!("http://{authority}/"), authority) == Decision::ExpectedRefusal;
    // https patterns do not cover plain requests, bare hosts cover all schemes and ports.
    for (authority, want) in [
        ("fonts.example", false),
        ("a.cdn.example", false),
        ("a.ads.example", true),
        ("a.b.ads.example:8080", true),
        ("ads.example", false),
        (".ads.example", false),
        ("badads.example", false),
        ("stats.example", true),
        ("stats.example:8443", true),
        ("a.stats.example", false),
        ("one.example:81", true),
        ("one.example", false),
    ] {
        assert_eq!(expected(authority), want, "{authority}");
    }
    for (target, want) in [
        ("fonts.example:443", true),
        ("fonts.example:444", false),
        ("a.fonts.example:443", false),
        ("a.cdn.example:443", true),
        ("cdn.example:443", false),
        ("xcdn.example:443", false),
        ("a.cdn.example:80", false),
        ("stats.example:443", true),
        ("one.example:81", true),
        ("one.example:443", false),
    ] {
        assert_eq!(connect(target) == Decision::ExpectedRefusal, want, "{target}");
    }
    for bad in [
        "",
        "*",
        "*.",
        "https://",
        "a*.example",
        "https://a/b",
        "https://u@a",
        "ftp://a",
        "https://*.*.a",
    ] {
        assert!(ThirdParty::parse(bad).is_err(), "{bad:?}");
    }
    assert_eq!(
        ThirdParty::parse("HTTPS://Fonts.Example/"),
        ThirdParty::parse("https://fonts.example")
    );
    let port = ThirdParty::parse("stats.example:81").unwrap();
    assert!(port.covers(None, "stats.example", 81) && !port.covers(None, "stats.example", 80));
}

#[test]
fn an_origin_beats_a_pattern_that_covers_it() {
    let policy = Policy::new(
        Origin::parse("http://a.example").unwrap(),
        Vec::new(),
        vec![ThirdParty::parse("a.example").unwrap()],
    );
    assert_eq!(
        judged(&policy, "GET http://a.example/", "a.example", "", None).decision,
        Decision::Forward(0)
    );
}

#[test]
fn the_global_listener_refuses_all() {
    let global = Policy::refuse_all();
    assert!(global.origins().is_empty());
    for (line, host) in [
        ("GET http://127.0.0.1:4173/", "127.0.0.1:4173"),
        ("CONNECT api.example:443", "api.example:443"),
        ("CONNECT api.example", "other"),
        ("GET /", "x"),
        ("GET http://u@x/", "x"),
    ] {
        let decision = judged(&global, line, host, "", None).decision;
        assert_eq!(decision, Decision::Refuse(GuardReason::GlobalListener), "{line}");
    }
    assert_eq!(judged(&global, "GET http://x/a", "x", "", None).url, "http://x/a");
}

#![allow(clippy::unwrap_used)]

use super::*;

fn with(lines: &str) -> String {
    format!("GET http://h:1/ HTTP/1.1\r\nHost: h:1\r\n{lines}\r\n")
}

fn fault(text: &str) -> HeadFault {
    parse(text.as_bytes()).unwrap_err()
}

#[test]
fn a_clean_head_and_what_follows_it() {
    let text = with("Accept: */*\r\n");
    let head = parse(format!("{text}GET next").as_bytes()).unwrap();
    assert_eq!(head.method, "GET");
    assert_eq!(head.target, "http://h:1/");
    assert_eq!(head.host, "h:1");
    assert_eq!(head.framing, Framing::None);
    assert_eq!(head.len, text.len());
    assert!(!head.websocket);
    assert!(head.hints.is_empty());
}

#[test]
fn every_prefix_is_incomplete_and_never_a_request() {
    let text = with("Content-Length: 3\r\n");
    for cut in 0..text.len() {
        assert_eq!(
            parse(&text.as_bytes()[..cut]),
            Err(HeadFault::Incomplete),
            "cut at {cut}"
        );
    }
    assert!(parse(text.as_bytes()).is_ok());
}

#[test]
fn lines_end_with_crlf() {
    assert_eq!(fault("GET http://h/ HTTP/1.1\nHost: h\n\n"), HeadFault::BareLf);
    assert_eq!(fault("GET http://h/ HTTP/1.1\r\nHost: h\r\n\n"), HeadFault::BareLf);
    assert_eq!(fault("GET http://h/ HTTP/1.1\r\nHost: h\n\r\n"), HeadFault::BareLf);
    assert_eq!(
        fault("GET http://h/ HTTP/1.1\r\nHost: h\rX: y\r\n\r\n"),
        HeadFault::BareCr
    );
    assert_eq!(fault("GET http://h/ HTTP/1.1\r\nHost: h\r\r\n\r\n"), HeadFault::BareCr);
    assert_eq!(
        fault("\r\nGET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n"),
        HeadFault::RequestLine
    );
}

#[test]
fn control_characters() {
    for byte in (0..=0x1f).chain([0x7f]).filter(|b| !b"\t\r\n".contains(b)) {
        let mut text = with("X: a?b\r\n").into_bytes();
        let at = text.iter().position(|b| *b == b'?').unwrap();
        text[at] = byte;
        assert_eq!(parse(&text), Err(HeadFault::Control), "{byte:#x}");
        assert_eq!(parse(&[byte]), Err(HeadFault::Control), "{byte:#x} alone");
    }
    for byte in [b'\t', b' ', b'~', 0x80, 0xff] {
        let mut text = with("X: a?b\r\n").into_bytes();
        let at = text.iter().position(|b| *b == b'?').unwrap();
        text[at] = byte;
        assert!(parse(&text).is_ok(), "{byte:#x}");
    }
}

#[test]
fn request_lines() {
    for (line, want) in [
        ("GET", HeadFault::RequestLine),
        ("GET http://h/", HeadFault::RequestLine),
        ("GET http://h/ HTTP/1.1 x", HeadFault::RequestLine),
        ("GET  http://h/ HTTP/1.1", HeadFault::RequestLine),
        (" http://h/ HTTP/1.1", HeadFault::Method),
        ("G(T http://h/ HTTP/1.1", HeadFault::Method),
        ("G\u{e9}T http://h/ HTTP/1.1", HeadFault::Method),
        ("GET  HTTP/1.1", HeadFault::Target),
        ("GET http://h/\u{e9} HTTP/1.1", HeadFault::Target),
        ("GET http://h/#x HTTP/1.1", HeadFault::Target),
        ("GET http://h/\t HTTP/1.1", HeadFault::Target),
        ("GET http://h/< HTTP/1.1", HeadFault::Target),
        ("GET http://[::1/ HTTP/1.1", HeadFault::Target),
        ("GET http://h/ HTTP/1.0", HeadFault::Version),
        ("GET http://h/ HTTP/2.0", HeadFault::Version),
        ("GET http://h/ http/1.1", HeadFault::Version),
        ("GET http://h/ HTTP/1.1\t", HeadFault::Version),
    ] {
        assert_eq!(fault(&format!("{line}\r\nHost: h\r\n\r\n")), want, "{line:?}");
    }
    for line in [
        "M-SEARCH http://h/ HTTP/1.1",
        "GET /~! HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "CONNECT h:1 HTTP/1.1",
    ] {
        assert!(
            parse(format!("{line}\r\nHost: h\r\n\r\n").as_bytes()).is_ok(),
            "{line:?}"
        );
    }
}

#[test]
fn limits_are_exact() {
    let method = |n| format!("{} http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", "A".repeat(n));
    assert!(parse(method(MAX_METHOD).as_bytes()).is_ok());
    assert_eq!(fault(&method(MAX_METHOD + 1)), HeadFault::Method);

    let target = |n: usize| format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(n - 1));
    assert!(parse(target(MAX_TARGET).as_bytes()).is_ok());
    assert_eq!(fault(&target(MAX_TARGET + 1)), HeadFault::Target);

    let fields = |n| with(&"X: y\r\n".repeat(n - 1));
    assert!(parse(fields(MAX_FIELDS).as_bytes()).is_ok());
    assert_eq!(fault(&fields(MAX_FIELDS + 1)), HeadFault::TooManyFields);

    let empty = with("X: \r\n").len();
    let head = |n: usize| with(&format!("X: {}\r\n", "a".repeat(n - empty)));
    assert_eq!(head(MAX_HEAD).len(), MAX_HEAD);
    assert!(parse(head(MAX_HEAD).as_bytes()).is_ok());
    assert_eq!(fault(&head(MAX_HEAD + 1)), HeadFault::HeadTooLarge);
    assert_eq!(fault(&head(MAX_HEAD + 1)[..MAX_HEAD]), HeadFault::HeadTooLarge);
    assert_eq!(fault(&head(MAX_HEAD + 1)[..MAX_HEAD - 1]), HeadFault::Incomplete);
}

#[test]
fn fields() {
    assert_eq!(fault(&with(" X: y\r\n")), HeadFault::ObsFold);
    assert_eq!(fault(&with("X: y\r\n\tz\r\n")), HeadFault::ObsFold);
    assert_eq!(fault(&with("X : y\r\n")), HeadFault::FieldName);
    assert_eq!(fault(&with(": y\r\n")), HeadFault::FieldName);
    assert_eq!(fault(&with("X y\r\n")), HeadFault::FieldName);
    assert_eq!(fault(&with("X\u{e9}: y\r\n")), HeadFault::FieldName);
    assert!(parse(with("X:\r\nY:y\r\nZ: \t z \t\r\n!#$%&'*+-.^_`|~09azAZ: y\r\n").as_bytes()).is_ok());
}

#[test]
fn hosts() {
    assert_eq!(fault("GET / HTTP/1.1\r\n\r\n"), HeadFault::NoHost);
    assert_eq!(fault("GET / HTTP/1.1\r\nHost:  \r\n\r\n"), HeadFault::EmptyHost);
    assert_eq!(fault(&with("Host: h:1\r\n")), HeadFault::DuplicateHost);
    assert_eq!(fault(&with("hOST: other\r\n")), HeadFault::DuplicateHost);
    assert_eq!(parse(b"GET / HTTP/1.1\r\nhOsT: \t h \r\n\r\n").unwrap().host, "h");
}

#[test]
fn framing() {
    let framing = |lines: &str| parse(with(lines).as_bytes()).map(|head| head.framing);
    assert_eq!(framing("Content-Length: 0\r\n"), Ok(Framing::Length(0)));
    assert_eq!(framing("content-length: 042\r\n"), Ok(Framing::Length(42)));
    assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
    assert_eq!(
        framing(&format!("Content-Length: {MAX_BODY}\r\n")),
        Ok(Framing::Length(MAX_BODY))
    );
    for (lines, want) in [
        (format!("Content-Length: {}\r\n", MAX_BODY + 1), HeadFault::BodyTooLarge),
        (
            "Content-Length: 99999999999999999999\r\n".to_owned(),
            HeadFault::BodyTooLarge,
        ),
        (
            "Content-Length: 1\r\nContent-Length: 1\r\n".to_owned(),
            HeadFault::DuplicateLength,
        ),
        ("Content-Length: 1, 1\r\n".to_owned(), HeadFault::DuplicateLength),
        ("Content-Length:\r\n".to_owned(), HeadFault::Length),
        ("Content-Length: +1\r\n".to_owned(), HeadFault::Length),
        ("Content-Length: -1\r\n".to_owned(), HeadFault::Length),
        ("Content-Length: 0x1\r\n".to_owned(), HeadFault::Length),
        ("Content-Length: 1 1\r\n".to_owned(), HeadFault::Length),
        (
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            HeadFault::LengthAndCoding,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n".to_owned(),
            HeadFault::LengthAndCoding,
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".to_owned(),
            HeadFault::Coding,
        ),
        ("Transfer-Encoding: gzip, chunked\r\n".to_owned(), HeadFault::Coding),
        ("Transfer-Encoding: chunked, chunked\r\n".to_owned(), HeadFault::Coding),
        ("Transfer-Encoding: identity\r\n".to_owned(), HeadFault::Coding),
        ("Transfer-Encoding: xchunked\r\n".to_owned(), HeadFault::Coding),
        ("Transfer-Encoding: \x0bchunked\r\n".to_owned(), HeadFault::Control),
        ("Transfer-Encoding:\r\n".to_owned(), HeadFault::Coding),
    ] {
        assert_eq!(framing(&lines), Err(want), "{lines:?}");
    }
    let connect = |lines: &str| parse(format!("CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n{lines}\r\n").as_bytes());
    assert!(connect("").is_ok());
    assert_eq!(connect("Content-Length: 0\r\n"), Err(HeadFault::ConnectBody));
    assert_eq!(connect("Transfer-Encoding: chunked\r\n"), Err(HeadFault::ConnectBody));
}

#[test]
fn a_handshake_needs_all_of_its_fields() {
    const FIELDS: [&str; 4] = [
        "Upgrade: WebSocket\r\n",
        "Connection: keep-alive, Upgrade\r\n",
        "Sec-WebSocket-Key: abc\r\n",
        "Sec-WebSocket-Version: 13\r\n",
    ];
    let websocket = |text: &str| parse(text.as_bytes()).unwrap().websocket;
    assert!(websocket(&with(&FIELDS.concat())));
    for (leave, field) in FIELDS.iter().enumerate() {
        let mut fields = FIELDS.to_vec();
        fields.remove(leave);
        assert!(!websocket(&with(&fields.concat())), "without {field:?}");
    }
    for (field, other) in [
        (0, "Upgrade: h2c\r\n"),
        (0, "Upgrade: websocket, h2c\r\n"),
        (1, "Connection: xupgrade\r\n"),
        (2, "Sec-WebSocket-Key:\r\n"),
        (3, "Sec-WebSocket-Version: 8\r\n"),
    ] {
        let mut fields = FIELDS.to_vec();
        fields[field] = other;
        assert!(!websocket(&with(&fields.concat())), "{other:?}");
    }
    assert!(websocket(&with(&(FIELDS.concat() + "Connection: close\r\n"))));
    assert!(websocket(&with(&(FIELDS.concat() + "Connection: upgrade\r\n"))));
    assert!(!websocket(&with(&(FIELDS.concat() + "Content-Length: 1\r\n"))));
    assert!(!websocket(&with(&FIELDS.concat()).replacen("GET", "POST", 1)));
}

#[test]
fn hints() {
    let head = parse(
        with("Sec-Fetch-Dest: a\r\nSec-Fetch-Mode: b\r\nSec-Fetch-Site: c\r\nSec-Purpose: d\r\nOrigin: e\r\nReferer: f\r\nService-Worker: script\r\n")
            .as_bytes(),
    )
    .unwrap();
    let some = |text: &str| Some(text.to_owned());
    let want = RequestHints {
        dest: some("a"),
        mode: some("b"),
        site: some("c"),
        purpose: some("d"),
        origin: some("e"),
        referer: some("f"),
        service_worker: true,
    };
    assert_eq!(head.hints, want);
    assert!(
        !parse(with("Service-Worker: x\r\n").as_bytes())
            .unwrap()
            .hints
            .service_worker
    );
    let long = parse(with(&format!("Referer: {}\r\n", "r".repeat(MAX_TEXT + 1))).as_bytes()).unwrap();
    assert_eq!(long.hints.referer.unwrap().len(), MAX_TEXT);
}

#[test]
fn faults_have_distinct_words_and_a_status() {
    use HeadFault as F;
    let all = [
        F::Incomplete,
        F::HeadTooLarge,
        F::TooManyFields,
        F::BareLf,
        F::BareCr,
        F::Control,
        F::RequestLine,
        F::Method,
        F::Target,
        F::Version,
        F::ObsFold,
        F::FieldName,
        F::NoHost,
        F::DuplicateHost,
        F::EmptyHost,
        F::DuplicateLength,
        F::Length,
        F::BodyTooLarge,
        F::LengthAndCoding,
        F::Coding,
        F::ConnectBody,
        F::Chunk,
        F::Truncated,
        F::HeadTimeout,
    ];
    let words: std::collections::BTreeSet<_> = all.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), all.len());
    assert!(words.iter().all(|word| word.len() > 3));
    assert_eq!(F::HeadTooLarge.status(), 431);
    assert_eq!(F::TooManyFields.status(), 431);
    assert_eq!(F::BodyTooLarge.status(), 413);
    assert_eq!(F::HeadTimeout.status(), 408);
    assert_eq!(F::BareLf.status(), 400);
}

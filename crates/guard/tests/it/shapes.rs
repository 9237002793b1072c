//! Requests that could be read in two ways or aim elsewhere, each beside a clean twin.

use std::time::{Duration, Instant};

use jurat_core::observation::guard::{Disposition, GuardKind, GuardReason, ListenerId};
use jurat_guard::head::MAX_HEAD;
use jurat_guard::policy::Policy;
use jurat_guard::{Guard, GuardEvent, Limits};

use super::http::{Client, Setup, policy};
use super::origin::Origin;

/// Sends `bad` on a fresh connection: it must be refused with `status`, recorded with `detail`, and not reach the origin.
/// Then the clean twin must pass.
async fn refused(setup: &mut Setup, bad: &[u8], clean: &str, status: u16, detail: &str) {
    let before = setup.origin.seen().len();
    let mut client = setup.connect().await;
    let answer = client.exchange(bad).await;
    let shown = String::from_utf8_lossy(&bad[..bad.len().min(200)]).into_owned();
    assert_eq!(answer.map(|a| a.status), Some(status), "{shown:?}");
    assert_eq!(client.rest().await, b"", "{shown:?}");
    let record = setup.finished().await;
    assert_eq!(record.kind, GuardKind::Malformed, "{shown:?}");
    assert_eq!(record.disposition, Disposition::Refused);
    assert_eq!(record.reason, Some(GuardReason::Malformed));
    assert_eq!(record.detail.as_deref(), Some(detail), "{shown:?}");
    assert_eq!(setup.origin.seen().len(), before, "{shown:?} reached the origin");

    let answer = setup.connect().await.exchange(clean).await.unwrap();
    assert_eq!(answer.status, 200, "the clean twin of {shown:?}");
    let record = setup.finished().await;
    assert_eq!(
        (record.disposition, record.ended, record.aborted),
        (Disposition::Forwarded, true, false)
    );
}

#[tokio::test]
async fn smuggling_shapes() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let post =
        |fields: &str, body: &str| format!("POST http://{host}/echo HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n{body}");
    let length = post("Content-Length: 5\r\n", "hello");
    let chunked = post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n");
    let plain = setup.get("/");
    for (bad, clean, status, detail) in [
        (
            post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            &length,
            400,
            "length_and_coding",
        ),
        (
            post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
            &chunked,
            400,
            "length_and_coding",
        ),
        (
            post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
            &length,
            400,
            "duplicate_length",
        ),
        (
            post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
            &length,
            400,
            "duplicate_length",
        ),
        (post("Content-Length: +5\r\n", "hello"), &length, 400, "length"),
        (
            post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
            &chunked,
            400,
            "coding",
        ),
        (
            post(
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                "0\r\n\r\n",
            ),
            &chunked,
            400,
            "coding",
        ),
        (
            post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
            &chunked,
            400,
            "field_name",
        ),
        (post("X: a\r\n folded\r\n", ""), &length, 400, "obs_fold"),
        (post("X: a\r\n\tContent-Length: 5\r\n", ""), &length, 400, "obs_fold"),
        (post("Host: other.example\r\n", ""), &length, 400, "duplicate_host"),
        (format!("POST http://{host}/ HTTP/1.1\r\n\r\n"), &length, 400, "no_host"),
        (post("X: a\nContent-Length: 5\r\n", ""), &length, 400, "bare_lf"),
        (post("X: a\rContent-Length: 5\r\n", ""), &length, 400, "bare_cr"),
        (post("X: a\0b\r\n", ""), &length, 400, "control_character"),
        (plain.replace("HTTP/1.1", "HTTP/1.0"), &plain, 400, "version"),
        (plain.replace("GET ", "GET  "), &plain, 400, "request_line"),
        (plain.replace("GET", "G\x7fT"), &plain, 400, "control_character"),
        (plain.replace("/ HTTP", "/#f HTTP"), &plain, 400, "target"),
        (
            post("Content-Length: 99999999999999999999\r\n", ""),
            &length,
            413,
            "body_too_large",
        ),
        (post(&"X: y\r\n".repeat(300), ""), &length, 431, "too_many_fields"),
        (
            post(&format!("X: {}\r\n", "y".repeat(MAX_HEAD)), ""),
            &length,
            431,
            "head_too_large",
        ),
    ] {
        refused(&mut setup, bad.as_bytes(), clean, status, detail).await;
    }
}

#[tokio::test]
async fn a_chunk_size_that_overflows_cuts_the_request() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let head = format!("POST http://{host}/echo HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n");
    for bad in [
        "FFFFFFFFFFFFFFFFF\r\n",
        "5;x\r\nhello\r\n",
        "5\nhello\r\n",
        "5\r\nhelloX",
        "0\r\nX: y\r\n\r\n",
    ] {
        let mut client = setup.connect().await;
        let answer = client.exchange(format!("{head}{bad}")).await;
        assert!(answer.is_none_or(|a| a.status == 400), "{bad:?}");
        let records = [setup.finished().await, setup.finished().await];
        assert!(
            records
                .iter()
                .any(|r| r.kind == GuardKind::Malformed && r.detail.as_deref() == Some("chunk")),
            "{bad:?}: {records:?}"
        );
        assert!(
            records.iter().any(|r| r.kind == GuardKind::Request && r.aborted),
            "{bad:?}: {records:?}"
        );
    }
    let answer = setup
        .connect()
        .await
        .exchange(format!("{head}5\r\nhello\r\n0\r\n\r\n"))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(setup.finished().await.request_bytes, 5);
}

/// Requests that are clear but aim elsewhere: refused with 403, and the connection goes on.
#[tokio::test]
async fn off_origin_requests_on_one_connection() {
    let mut setup = Setup::start().await;
    let (host, port) = (setup.host(), setup.origin.address.port());
    let other = Origin::start().await;
    let mut client = setup.connect().await;
    for (target, named, reason) in [
        (other.url(), other.address.to_string(), GuardReason::OffOrigin),
        (
            format!("http://localhost:{port}/"),
            format!("localhost:{port}"),
            GuardReason::OffOrigin,
        ),
        (
            format!("http://127.0.0.1.nip.example:{port}/"),
            format!("127.0.0.1.nip.example:{port}"),
            GuardReason::OffOrigin,
        ),
        (
            format!("http://127.0.0.2:{port}/"),
            format!("127.0.0.2:{port}"),
            GuardReason::OffOrigin,
        ),
        (
            format!("http://[::1]:{port}/"),
            format!("[::1]:{port}"),
            GuardReason::OffOrigin,
        ),
        (format!("http://u@{host}/"), host.clone(), GuardReason::Userinfo),
        (
            format!("http://{host}@{}/", other.address),
            other.address.to_string(),
            GuardReason::Userinfo,
        ),
        (
            format!("http://{host}/"),
            other.address.to_string(),
            GuardReason::HostMismatch,
        ),
        (other.url(), host.clone(), GuardReason::HostMismatch),
        (format!("https://{host}/"), host.clone(), GuardReason::Scheme),
        ("/".to_owned(), host.clone(), GuardReason::OriginForm),
    ] {
        let clean = client.exchange(setup.get("/")).await.unwrap();
        assert_eq!((clean.status, clean.body.as_slice()), (200, &b"hello"[..]));
        assert_eq!(setup.finished().await.disposition, Disposition::Forwarded);
        let answer = client
            .exchange(format!("GET {target} HTTP/1.1\r\nHost: {named}\r\n\r\n"))
            .await
            .unwrap();
        assert_eq!(answer.status, 403, "{target}");
        assert_eq!(answer.field("x-jurat-guard"), Some("refused"));
        assert!(answer.body.is_empty());
        let record = setup.finished().await;
        assert_eq!(
            (record.disposition, record.reason),
            (Disposition::Refused, Some(reason)),
            "{target}"
        );
        assert_eq!((record.status, record.ended), (Some(403), true));
    }
    assert_eq!(other.connections(), 0);
    let third = client
        .exchange("GET http://fonts.example/a HTTP/1.1\r\nHost: fonts.example\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(third.status, 403);
    let record = setup.finished().await;
    assert_eq!(
        (record.disposition, record.url.as_str()),
        (Disposition::ExpectedRefusal, "http://fonts.example/a")
    );
}

#[tokio::test]
async fn spellings_of_the_origin_are_the_origin() {
    let mut setup = Setup::start().await;
    let port = setup.origin.address.port();
    for (target, named) in [
        (format!("HTTP://127.0.0.1:{port}/"), format!("127.0.0.1:{port}")),
        (format!("http://127.1:{port}/"), format!("2130706433:{port}")),
        (format!("http://127.0.0.1.:{port}/"), format!("0x7f000001:{port}")),
    ] {
        let answer = setup
            .connect()
            .await
            .exchange(format!("GET {target} HTTP/1.1\r\nHost: {named}\r\n\r\n"))
            .await;
        assert_eq!(answer.unwrap().status, 200, "{target}");
        assert_eq!(setup.finished().await.url, format!("http://127.0.0.1:{port}/"));
    }
    let canonical = format!("Host: 127.0.0.1:{port}\r\n");
    assert!(
        setup.origin.seen().iter().all(|head| head.contains(&canonical)),
        "{:?}",
        setup.origin.seen()
    );
}

#[tokio::test]
async fn pipelined_requests_are_each_judged() {
    let mut setup = Setup::start().await;
    let mut client = setup.connect().await;
    let off = "GET http://off.example/ HTTP/1.1\r\nHost: off.example\r\n\r\n";
    client
        .send(format!("{}{off}{}", setup.get("/?1"), setup.get("/?2")))
        .await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(client.answer().await.unwrap().status);
    }
    assert_eq!(statuses, [200, 403, 200]);
    let mut urls = Vec::new();
    for _ in 0..3 {
        urls.push(setup.finished().await.disposition);
    }
    assert_eq!(
        urls,
        [Disposition::Forwarded, Disposition::Refused, Disposition::Forwarded]
    );
    assert_eq!(setup.origin.seen().len(), 2);
}

#[tokio::test]
async fn a_slow_head_is_cut_and_a_slow_but_whole_one_is_not() {
    let limits = Limits {
        head: Duration::from_millis(300),
        ..Limits::default()
    };
    let mut setup = Setup::with(limits).await;
    let mut client = setup.connect().await;
    client.send("GET http://x/ HT").await;
    let answer = client.answer().await.unwrap();
    assert_eq!(answer.status, 408);
    assert_eq!(setup.finished().await.detail.as_deref(), Some("head_timeout"));
    let mut clean = setup.connect().await;
    let text = setup.get("/");
    let (one, two) = text.split_at(20);
    clean.send(one).await;
    clean.stream.writable().await.unwrap();
    clean.send(two).await;
    assert_eq!(clean.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn the_global_listener_refuses_even_the_target() {
    let origin = Origin::start().await;
    let host = origin.address.to_string();
    let (guard, mut events) = Guard::open(Instant::now(), vec![policy(&origin.url(), &[], &[])], Limits::default())
        .await
        .unwrap();
    let mut client = Client::to(guard.port(ListenerId::GLOBAL).unwrap()).await;
    let answer = client
        .exchange(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"))
        .await
        .unwrap();
    assert_eq!(answer.status, 403);
    let Some(GuardEvent::Finished(record)) = events.recv().await else {
        panic!("a refusal has no start")
    };
    assert_eq!(
        (record.listener, record.reason),
        (ListenerId::GLOBAL, Some(GuardReason::GlobalListener))
    );
    assert_eq!(origin.connections(), 0);
}

#[tokio::test]
async fn listeners_have_their_own_policies() {
    let (one, two) = (Origin::start().await, Origin::start().await);
    let policies: Vec<Policy> = [&one, &two].map(|origin| policy(&origin.url(), &[], &[])).into();
    let (guard, _events) = Guard::open(Instant::now(), policies, Limits::default()).await.unwrap();
    for (listener, own, other) in [(1, &one, &two), (2, &two, &one)] {
        for (origin, status) in [(own, 200), (other, 403)] {
            let mut client = Client::to(guard.port(ListenerId(listener)).unwrap()).await;
            let host = origin.address;
            let answer = client
                .exchange(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"))
                .await;
            assert_eq!(answer.unwrap().status, status);
        }
    }
    assert_eq!((one.connections(), two.connections()), (1, 1));
}

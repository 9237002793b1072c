//! What passes, passes as it is: methods, statuses, bodies of every kind, and every way an origin can fail.

use std::time::{Duration, Instant};

use jurat_core::observation::guard::{GuardReason, ListenerId};
use jurat_guard::{Guard, GuardEvent, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::http::{Client, Setup, policy};
use super::origin::Origin;

#[tokio::test]
async fn an_exchange_is_announced_told_and_passed_on_as_it_was() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let mut client = setup.connect().await;
    let answer = client
        .exchange(format!(
            "GET http://{host}/a?b=%20|c HTTP/1.1\r\nHost: {host}\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: x\r\nX-WeirdCase: 1\r\nSec-Fetch-Dest: script\r\nTE: trailers\r\nConnection: X-Gone\r\nX-Gone: 1\r\n\r\n"
        ))
        .await
        .unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"hello"[..]));
    assert!(answer.head.contains("X-CamelCase: Kept\r\n"), "{}", answer.head);
    assert!(answer.field("date").is_none(), "nothing is added");
    let seen = setup.origin.seen().remove(0);
    assert!(seen.starts_with("GET /a?b=%20|c HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("X-WeirdCase: 1\r\n"), "{seen}");
    for gone in ["roxy", "TE:", "X-Gone", "onnection"] {
        assert!(!seen.contains(gone), "{gone} in {seen}");
    }
    let Some(GuardEvent::Started(started)) = setup.events.recv().await else {
        panic!("a start first")
    };
    assert_eq!((started.seq, started.ended, started.status), (1, false, None));
    let record = setup.finished().await;
    assert_eq!(
        (record.seq, record.status, record.ended, record.aborted),
        (1, Some(200), true, false)
    );
    assert_eq!((record.request_bytes, record.response_bytes), (0, 5));
    assert_eq!(record.upstream, Some(host));
    assert_eq!(record.content_type.as_deref(), Some("text/plain"));
    assert_eq!(record.hints.dest.as_deref(), Some("script"));
    assert!(record.head_us.unwrap() <= record.duration_us);
}

#[tokio::test]
async fn answers_of_every_kind() {
    let mut setup = Setup::start().await;
    let mut client = setup.connect().await;
    for (path, status, body) in [
        ("/", 200, "hello"),
        ("/chunked", 200, "abcdef"),
        ("/until-close", 200, "all of it"),
        ("/not-modified", 304, ""),
        ("/no-content", 204, ""),
        ("/early", 200, "ok"),
        ("/redirect", 302, ""),
        ("/once", 200, "ok"),
        ("/", 200, "hello"),
    ] {
        let answer = client.exchange(setup.get(path)).await.unwrap();
        assert_eq!(
            (answer.status, String::from_utf8(answer.body.clone()).unwrap().as_str()),
            (status, body),
            "{path}"
        );
        let record = setup.finished().await;
        assert_eq!(
            (record.status, record.aborted, record.response_bytes),
            (Some(status), false, body.len() as u64),
            "{path}"
        );
        if path == "/redirect" {
            assert_eq!(answer.field("location"), Some("http://elsewhere.example/"));
        }
        if path == "/not-modified" {
            assert_eq!(answer.field("etag"), Some("\"x\""));
        }
    }
    client.send(setup.get("/").replace("GET", "HEAD")).await;
    let head = client.head().await.unwrap();
    assert_eq!((head.status, head.field("content-length")), (200, Some("5")));
    assert!(!setup.finished().await.aborted);
    assert_eq!(
        client.exchange(setup.get("/")).await.unwrap().body,
        b"hello",
        "nothing was left over"
    );
}

#[tokio::test]
async fn the_origin_cannot_speak_for_the_guard() {
    let setup = Setup::start().await;
    let answer = setup.connect().await.exchange(setup.get("/spoof")).await.unwrap();
    assert_eq!(answer.status, 502);
    for field in ["x-jurat-guard", "proxy-authenticate", "x-hop"] {
        assert_eq!(answer.field(field), None, "{field}");
    }
}

#[tokio::test]
async fn uploads() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let mut client = setup.connect().await;
    let post = |path: &str, fields: &str| format!("POST http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
    let answer = client
        .exchange(post("/echo", "Content-Length: 5\r\n") + "hello")
        .await
        .unwrap();
    assert_eq!(answer.body, b"hello");
    assert_eq!(setup.finished().await.request_bytes, 5);
    let answer = client.exchange(post("/", "Content-Length: 0\r\n")).await.unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(setup.finished().await.request_bytes, 0);
    let chunks = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let answer = client
        .exchange(post("/echo", "Transfer-Encoding: chunked\r\n") + chunks)
        .await
        .unwrap();
    assert!(
        answer.status == 200 && answer.body.ends_with(b"0\r\n\r\n"),
        "{answer:?}"
    );
    assert_eq!(setup.finished().await.request_bytes, 5);

    client
        .send(post("/echo", "Content-Length: 2\r\nExpect: 100-continue\r\n"))
        .await;
    assert_eq!(client.head().await.unwrap().status, 100);
    assert_eq!(client.exchange("ok").await.unwrap().body, b"ok");
    assert!(!setup.origin.seen().last().unwrap().to_lowercase().contains("expect:"));
    setup.finished().await;

    let size = 64 << 20;
    client
        .send(post("/upload", &format!("Content-Length: {size}\r\n")))
        .await;
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        client.send(&piece).await;
    }
    assert_eq!(client.answer().await.unwrap().body, size.to_string().as_bytes());
    assert_eq!(setup.finished().await.request_bytes, size);
}

#[tokio::test]
async fn large_and_endless_answers_stream_in_bounded_memory() {
    let mut setup = Setup::start().await;
    let before = peak_kib();
    let mut client = setup.connect().await;
    client.send(setup.get("/large")).await;
    let head = client.head().await.unwrap();
    assert_eq!(head.field("content-length"), Some("209715200"));
    let mut left: usize = 209_715_200;
    while left > 0 {
        let take = left.min(1 << 20);
        client.bytes(take).await;
        left -= take;
    }
    assert_eq!(setup.finished().await.response_bytes, 209_715_200);

    client.send(setup.get("/endless")).await;
    assert_eq!(
        client.head().await.unwrap().field("content-type"),
        Some("text/event-stream")
    );
    client.bytes(1 << 20).await;
    assert_eq!(setup.guard.in_flight(), 1);
    drop(client);
    let record = setup.finished().await;
    assert_eq!(
        (record.aborted, record.reason),
        (true, Some(GuardReason::ClientAborted))
    );
    assert!(record.response_bytes >= 1 << 20);
    assert_eq!(setup.guard.in_flight(), 0);
    assert!(peak_kib() - before < 100 * 1024, "{} KiB more", peak_kib() - before);
}

fn peak_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_client_that_leaves_while_the_origin_thinks() {
    let mut setup = Setup::start().await;
    let mut client = setup.connect().await;
    client.send(setup.get("/hang")).await;
    let Some(GuardEvent::Started(_)) = setup.events.recv().await else {
        panic!("a start")
    };
    drop(client);
    let record = setup.finished().await;
    assert_eq!((record.status, record.reason), (None, Some(GuardReason::ClientAborted)));
}

#[tokio::test]
async fn origins_that_fail() {
    let mut setup = Setup::start().await;
    for path in ["/garbage", "/close"] {
        let mut client = setup.connect().await;
        let answer = client.exchange(setup.get(path)).await.unwrap();
        assert_eq!(
            (answer.status, answer.field("x-jurat-guard")),
            (502, Some("upstream_malformed")),
            "{path}"
        );
        let record = setup.finished().await;
        assert_eq!(
            (record.reason, record.aborted),
            (Some(GuardReason::UpstreamMalformed), true),
            "{path}"
        );
        assert_eq!(client.exchange(setup.get("/")).await.unwrap().status, 200);
        setup.finished().await;
    }
    let mut client = setup.connect().await;
    client.send(setup.get("/die")).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    assert_eq!(client.rest().await, b"half");
    let record = setup.finished().await;
    assert_eq!(
        (record.reason, record.status),
        (Some(GuardReason::UpstreamAborted), Some(200))
    );
    assert_eq!(record.response_bytes, 4);
}

#[tokio::test]
async fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let target = format!("http://127.0.0.1:{port}");
    let (guard, mut events) = Guard::open(Instant::now(), vec![policy(&target, &[], &[])], Limits::default())
        .await
        .unwrap();
    let mut client = Client::to(guard.port(ListenerId(1)).unwrap()).await;
    let request = format!("GET {target}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let answer = client.exchange(&request).await.unwrap();
    assert_eq!(
        (answer.status, answer.field("x-jurat-guard")),
        (502, Some("upstream_unreachable"))
    );
    let Some(GuardEvent::Started(_)) = events.recv().await else {
        panic!("a start")
    };
    let Some(GuardEvent::Finished(record)) = events.recv().await else {
        panic!("an end")
    };
    assert_eq!(
        (record.reason, record.status),
        (Some(GuardReason::UpstreamUnreachable), Some(502))
    );
    // It comes up later, at the address that was fixed.
    let _origin = Origin::on(&format!("127.0.0.1:{port}")).await;
    assert_eq!(client.exchange(&request).await.unwrap().status, 200);
}

#[tokio::test]
async fn localhost_is_fixed_to_the_family_that_answers() {
    for (address, other) in [("127.0.0.1:0", "[::1]"), ("[::1]:0", "127.0.0.1")] {
        let origin = Origin::on(address).await;
        let port = origin.address.port();
        let target = format!("http://localhost:{port}");
        let (guard, _events) = Guard::open(Instant::now(), vec![policy(&target, &[], &[])], Limits::default())
            .await
            .unwrap();
        let mut client = Client::to(guard.port(ListenerId(1)).unwrap()).await;
        let request = format!("GET {target}/ HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
        assert_eq!(client.exchange(&request).await.unwrap().status, 200);
        let info = guard.upstreams().remove(0);
        assert_eq!((info.fixed, info.ambiguous), (Some(origin.address), false));
        // A server on the other family later changes nothing.
        let late = Origin::on(&format!("{other}:{port}")).await;
        let fresh = format!("POST {target}/ HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(client.exchange(&fresh).await.unwrap().status, 200);
        assert_eq!(late.connections(), 0);
        let (both, _events) = Guard::open(Instant::now(), vec![policy(&target, &[], &[])], Limits::default())
            .await
            .unwrap();
        assert!(both.upstreams()[0].ambiguous);
    }
}

#[tokio::test]
async fn kept_alive_connections_are_reused_for_what_may_be_sent_twice() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let mut client = setup.connect().await;
    for _ in 0..20 {
        assert_eq!(client.exchange(setup.get("/")).await.unwrap().status, 200);
    }
    assert_eq!(setup.origin.connections(), 1);
    let post = format!("POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.exchange(&post).await.unwrap().status, 200);
    assert_eq!(setup.origin.connections(), 2);
    assert_eq!(client.exchange(setup.get("/")).await.unwrap().status, 200);
    assert_eq!(setup.origin.connections(), 2);
    for _ in 0..22 {
        assert!(!setup.finished().await.resent);
    }
}

/// Such as a small script's server: it reads its one connection until that is closed, and only then takes the next.
#[tokio::test]
async fn an_origin_that_serves_one_connection_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = Vec::new();
            while stream.read_buf(&mut buffer).await.unwrap_or(0) > 0 {
                if buffer.ends_with(b"\r\n\r\n") {
                    buffer.clear();
                    stream
                        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                        .await
                        .unwrap();
                }
            }
        }
    });
    let target = format!("http://{host}");
    let (guard, _events) = Guard::open(Instant::now(), vec![policy(&target, &[], &[])], Limits::default())
        .await
        .unwrap();
    let mut client = Client::to(guard.port(ListenerId(1)).unwrap()).await;
    for method in ["GET", "POST", "GET", "DELETE", "POST", "HEAD"] {
        client
            .send(format!("{method} {target}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        let answer = if method == "HEAD" {
            client.head().await
        } else {
            client.answer().await
        };
        assert_eq!(answer.unwrap().status, 200, "{method}");
    }
    server.abort();
}

#[tokio::test]
async fn an_event_that_nobody_reads_is_counted() {
    let setup = Setup::with(Limits {
        events: 1,
        ..Limits::default()
    })
    .await;
    let mut client = setup.connect().await;
    for _ in 0..3 {
        client.exchange(setup.get("/")).await.unwrap();
    }
    assert!(setup.guard.lost() > 0);
}

#[tokio::test]
async fn closing_leaves_nothing() {
    let mut setup = Setup::start().await;
    let port = setup.guard.port(ListenerId(1)).unwrap();
    let mut idle = setup.connect().await;
    assert_eq!(idle.exchange(setup.get("/")).await.unwrap().status, 200);
    let mut busy = setup.connect().await;
    busy.send(setup.get("/hang")).await;
    while setup.guard.in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(setup.guard.alive());
    setup.guard.close_listener(ListenerId(1)).await;
    assert!(setup.guard.alive(), "a listener that was closed is not a dead one");
    assert_eq!((busy.rest().await, idle.rest().await), (Vec::new(), Vec::new()));
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(setup.guard.in_flight(), 0);
    let handle = tokio::runtime::Handle::current();
    let Setup {
        guard,
        mut events,
        origin,
    } = setup;
    drop(origin);
    assert_eq!(guard.shutdown().await, 0);
    while events.recv().await.is_some() {}
    drop((idle, busy));
    // The origin's own connections end when the guard's are gone.
    let deadline = Instant::now() + Duration::from_secs(5);
    while handle.metrics().num_alive_tasks() > 1 && Instant::now() < deadline {
        tokio::task::yield_now().await;
    }
    assert!(
        handle.metrics().num_alive_tasks() <= 1,
        "{} tasks",
        handle.metrics().num_alive_tasks()
    );
}

#[tokio::test]
async fn the_guard_adds_little() {
    let setup = Setup::start().await;
    let mut through = setup.connect().await;
    let mut direct = Client::to(setup.origin.address.port()).await;
    let host = setup.host();
    let mut medians = Vec::new();
    for (client, request) in [
        (&mut direct, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")),
        (&mut through, setup.get("/")),
    ] {
        let mut times = Vec::new();
        for _ in 0..300 {
            let start = Instant::now();
            client.exchange(&request).await.unwrap();
            times.push(start.elapsed());
        }
        times.sort_unstable();
        medians.push(times[150]);
    }
    let added = medians[1].saturating_sub(medians[0]);
    assert!(
        added < Duration::from_millis(5),
        "the guard adds {added:?} in a debug build"
    );
}

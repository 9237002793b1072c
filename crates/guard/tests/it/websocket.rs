//! CONNECT and WebSockets: what may pass and what must not.

use std::time::Instant;

use jurat_core::observation::guard::{Disposition, GuardKind, GuardReason, ListenerId};
use jurat_guard::{Guard, GuardEvent, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::http::{Client, Setup, policy};
use super::origin::Origin;

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

fn connect(authority: &str) -> String {
    format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n")
}

async fn inside(setup: &Setup) -> Client {
    let mut client = setup.connect().await;
    client.send(connect(&setup.host())).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
}

#[tokio::test]
async fn a_websocket_echoes_through_both_ways_of_asking() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    for via_connect in [true, false] {
        let mut client = if via_connect {
            inside(&setup).await
        } else {
            setup.connect().await
        };
        let target = if via_connect {
            "/ws?x".to_owned()
        } else {
            format!("http://{host}/ws?x")
        };
        client
            .send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{UPGRADE}\r\n"))
            .await;
        let answer = client.head().await.unwrap();
        assert_eq!(answer.status, 101, "{}", answer.head);
        assert_eq!(answer.field("sec-websocket-accept"), Some("x"));
        assert_eq!(answer.field("upgrade"), Some("websocket"));
        let seen = setup.origin.seen().pop().unwrap();
        assert!(
            seen.starts_with("GET /ws?x HTTP/1.1\r\n") && seen.contains("Sec-WebSocket-Key: dGhl"),
            "{seen}"
        );
        assert!(
            seen.contains("Upgrade: websocket\r\n") && seen.contains("Connection: Upgrade\r\n"),
            "{seen}"
        );
        client.send("\x00\n\n frame bytes").await;
        assert_eq!(client.bytes(15).await, b"\x00\n\n frame bytes");
        assert_eq!(setup.guard.in_flight(), 1);
        drop(client);
        let record = setup.finished().await;
        assert_eq!(
            (record.kind, record.status, record.via_connect),
            (GuardKind::Websocket, Some(101), via_connect)
        );
        assert_eq!(
            (record.request_bytes, record.response_bytes, record.aborted),
            (15, 15, false)
        );
        let scheme = if via_connect { "ws" } else { "http" };
        assert_eq!(record.url, format!("{scheme}://{host}/ws?x"));
    }
}

#[tokio::test]
async fn a_handshake_that_the_origin_declines_ends_the_connection() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let mut client = inside(&setup).await;
    client
        .send(format!("GET /plain HTTP/1.1\r\nHost: {host}\r\n{UPGRADE}\r\n"))
        .await;
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status, answer.field("connection")), (200, Some("close")));
    client
        .send(format!("GET /smuggled HTTP/1.1\r\nHost: {host}\r\n\r\n"))
        .await;
    assert_eq!(client.rest().await, b"");
    assert_eq!(setup.origin.seen().len(), 1);
    assert_eq!(setup.finished().await.status, Some(200));
}

#[tokio::test]
async fn inside_a_connect_nothing_else_passes() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let other = Origin::start().await;
    for (text, status, kind, reason) in [
        (
            format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
            403,
            GuardKind::Request,
            GuardReason::NotWebsocket,
        ),
        (
            format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"),
            403,
            GuardKind::Request,
            GuardReason::NotWebsocket,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: {}\r\n{UPGRADE}\r\n", other.address),
            403,
            GuardKind::Websocket,
            GuardReason::HostMismatch,
        ),
        (
            format!(
                "GET http://{}/ HTTP/1.1\r\nHost: {host}\r\n{UPGRADE}\r\n",
                other.address
            ),
            403,
            GuardKind::Websocket,
            GuardReason::NotWebsocket,
        ),
        (connect(&host), 403, GuardKind::Request, GuardReason::NotWebsocket),
        (
            "\x16\x03\x01\x02\x00\x01".to_owned(),
            400,
            GuardKind::Malformed,
            GuardReason::Malformed,
        ),
        (
            "\x00\x01\x00\x00!\x12\u{a4}B".to_owned(),
            400,
            GuardKind::Malformed,
            GuardReason::Malformed,
        ),
    ] {
        let mut client = inside(&setup).await;
        client.send(&text).await;
        assert_eq!(client.answer().await.map(|a| a.status), Some(status), "{text:?}");
        client
            .send(format!("GET /ws HTTP/1.1\r\nHost: {host}\r\n{UPGRADE}\r\n"))
            .await;
        assert_eq!(client.rest().await, b"", "{text:?}");
        let record = setup.finished().await;
        assert_eq!(
            (record.kind, record.reason, record.via_connect),
            (kind, Some(reason), true),
            "{text:?}"
        );
        assert_eq!(record.disposition, Disposition::Refused);
    }
    assert!(setup.origin.seen().is_empty());
    assert_eq!((setup.origin.connections(), other.connections()), (0, 0));
    // And one that says nothing.
    drop(inside(&setup).await);
    let record = setup.finished().await;
    assert_eq!(
        (record.kind, record.reason),
        (GuardKind::Tunnel, Some(GuardReason::EmptyConnect))
    );
    assert_eq!(record.url, host);
}

#[tokio::test]
async fn connects_elsewhere() {
    let mut setup = Setup::start().await;
    let host = setup.host();
    let other = Origin::start().await;
    for (text, reason, disposition) in [
        (
            connect(&other.address.to_string()),
            GuardReason::OffOrigin,
            Disposition::Refused,
        ),
        (connect("example.com:443"), GuardReason::OffOrigin, Disposition::Refused),
        (
            connect("fonts.example:443"),
            GuardReason::KnownThirdParty,
            Disposition::ExpectedRefusal,
        ),
        (
            connect(&host).replacen(&host, &other.address.to_string(), 1),
            GuardReason::HostMismatch,
            Disposition::Refused,
        ),
        (connect("127.0.0.1"), GuardReason::BadUrl, Disposition::Refused),
    ] {
        let mut client = setup.connect().await;
        client.send(&text).await;
        let answer = client.head().await.unwrap();
        assert_eq!(
            (answer.status, answer.field("connection")),
            (403, Some("close")),
            "{text}"
        );
        client.send(setup.get("/")).await;
        client.rest().await;
        let record = setup.finished().await;
        assert_eq!(
            (record.kind, record.reason, record.disposition),
            (GuardKind::Tunnel, Some(reason), disposition)
        );
    }
    assert_eq!((setup.origin.connections(), other.connections()), (0, 0));
}

#[tokio::test]
async fn a_named_tls_origin_is_a_tunnel_of_bytes_and_times() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut got = [0; 5];
        stream.read_exact(&mut got).await.unwrap();
        stream.write_all(b"\x16reply").await.unwrap();
        got
    });
    let target = Origin::start().await;
    let https = format!("https://{address}");
    let (guard, mut events) = Guard::open(
        Instant::now(),
        vec![policy(&target.url(), &[&https], &[])],
        Limits::default(),
    )
    .await
    .unwrap();
    let mut client = Client::to(guard.port(ListenerId(1)).unwrap()).await;
    client.send(connect(&address.to_string())).await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client.send(b"\x16\x00\n\n!").await;
    assert_eq!(client.rest().await, b"\x16reply");
    assert_eq!(&server.await.unwrap(), b"\x16\x00\n\n!");
    let Some(GuardEvent::Started(started)) = events.recv().await else {
        panic!("a start")
    };
    assert!(started.tunnelled);
    let Some(GuardEvent::Finished(record)) = events.recv().await else {
        panic!("an end")
    };
    assert_eq!(
        (record.kind, record.tunnelled, record.status),
        (GuardKind::Tunnel, true, Some(200))
    );
    assert_eq!((record.request_bytes, record.response_bytes), (5, 6));
    assert_eq!(
        (record.url, record.upstream),
        (address.to_string(), Some(address.to_string()))
    );
}

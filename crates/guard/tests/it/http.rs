//! A guard in front of an origin, and a raw client.

use std::time::{Duration, Instant};

use jurat_core::observation::guard::{GuardRecord, ListenerId};
use jurat_guard::policy::{Origin as Exact, Policy, ThirdParty};
use jurat_guard::{Guard, GuardEvent, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::origin::Origin;

/// Nothing here takes this long; it turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Setup {
    pub(crate) guard: Guard,
    pub(crate) events: mpsc::Receiver<GuardEvent>,
    pub(crate) origin: Origin,
}

pub(crate) fn policy(target: &str, allow: &[&str], refuse: &[&str]) -> Policy {
    Policy::new(
        Exact::parse(target).unwrap(),
        allow.iter().map(|text| Exact::parse(text).unwrap()).collect(),
        refuse.iter().map(|text| ThirdParty::parse(text).unwrap()).collect(),
    )
}

impl Setup {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let origin = Origin::start().await;
        let policy = policy(&origin.url(), &[], &["https://fonts.example", "http://fonts.example"]);
        let (guard, events) = Guard::open(Instant::now(), vec![policy], limits).await.unwrap();
        Self { guard, events, origin }
    }

    pub(crate) fn host(&self) -> String {
        self.origin.address.to_string()
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::to(self.guard.port(ListenerId(1)).unwrap()).await
    }

    /// A GET of `path` at the origin, as a browser sends it to a proxy.
    pub(crate) fn get(&self, path: &str) -> String {
        let host = self.host();
        format!("GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
    }

    /// The next final record.
    pub(crate) async fn finished(&mut self) -> GuardRecord {
        loop {
            match timeout(PATIENCE, self.events.recv())
                .await
                .expect("an event in time")
                .expect("the guard to be there")
            {
                GuardEvent::Finished(record) => return record,
                GuardEvent::Started(_) => {}
            }
        }
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (field, value) = line.split_once(": ")?;
            field.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Client {
    pub(crate) async fn to(port: u16) -> Self {
        Self {
            stream: TcpStream::connect(("127.0.0.1", port)).await.unwrap(),
            buffer: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The guard may have closed already; what it did is in its answer and its records.
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    async fn more(&mut self) -> bool {
        self.buffer.reserve(64 * 1024);
        timeout(PATIENCE, self.stream.read_buf(&mut self.buffer))
            .await
            .expect("an answer in time")
            .unwrap_or(0)
            > 0
    }

    pub(crate) async fn head(&mut self) -> Option<Answer> {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.more().await {
                return None;
            }
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some(Answer {
            status,
            head,
            body: Vec::new(),
        })
    }

    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            assert!(self.more().await, "closed after {} of {count} bytes", self.buffer.len());
        }
        let rest = self.buffer.split_off(count);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Everything until the guard closes.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.buffer)
    }

    /// One whole answer to a request that may have a body in its answer; none if the guard closed.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let mut answer = self.head().await?;
        if answer.field("transfer-encoding") == Some("chunked") {
            loop {
                let mut line = Vec::new();
                while !line.ends_with(b"\r\n") {
                    line.extend(self.bytes(1).await);
                }
                let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
                let chunk = self.bytes(size + 2).await;
                if size == 0 {
                    break;
                }
                answer.body.extend_from_slice(&chunk[..size]);
            }
        } else if let Some(length) = answer
            .field("content-length")
            .filter(|_| ![204, 304].contains(&answer.status))
        {
            answer.body = self.bytes(length.parse().unwrap()).await;
        }
        Some(answer)
    }

    pub(crate) async fn exchange(&mut self, bytes: impl AsRef<[u8]>) -> Option<Answer> {
        self.send(bytes).await;
        self.answer().await
    }
}

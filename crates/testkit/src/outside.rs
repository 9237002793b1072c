//! The outside of an escape route: loopback listeners that nothing may reach, beside a site that may be reached.
//!
//! Invariants: it binds loopback only; a connection counts from the moment that it is accepted, whatever comes on it, a
//! datagram when it arrives; so does every request that reached the site under another name than the target's.
//!
//! | listener | where |
//! |---|---|
//! | `tcp1` | TCP on 127.0.0.1, and on ::1 at the same number where that is free; answers every request over HTTP |
//! | `tls` | TCP on 127.0.0.1, where pages expect TLS; answers nothing |
//! | `tcp6`, `loop2` | TCP on ::1 and on 127.0.0.2, like `tcp1` |
//! | `udp1`, `udp6` | UDP on 127.0.0.1 and on ::1 |
//! | `udp_same` | UDP on 127.0.0.1 and ::1 at the number of the target's own port |
//! | `same` | no listener: the site itself, reached as `localhost`, `[::1]`, or by another port of its own |

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use crate::site::{Content, Site, SiteSpec};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
const SECOND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The domain of names that stand for loopback; reserved for tests (RFC 6761, section 6.2).
pub const DOMAIN: &str = "escape.test";
/// What every request gets, whoever asks.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\naccess-control-allow-origin: *\r\n\
    access-control-allow-methods: *\r\naccess-control-allow-headers: *\r\ncontent-length: 7\r\n\
    connection: close\r\n\r\noutside";

/// What the placeholders of a page stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Outside listeners.
    Outside,
    /// The target itself; what cannot be asked of it is empty.
    Target,
}

/// A site, and the outside listeners beside it; gone when dropped.
#[derive(Debug)]
pub struct Outside {
    site: Site,
    hits: Arc<Hits>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Hits {
    names: Mutex<BTreeSet<&'static str>>,
    changed: Notify,
}

impl Hits {
    fn add(&self, name: &'static str) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        self.changed.notify_waiters();
    }
}

/// The ports of the listeners.
#[derive(Debug, Clone, Copy)]
struct Ports {
    tcp1: u16,
    tls: u16,
    tcp6: u16,
    loop2: u16,
    udp1: u16,
    udp6: u16,
}

impl Outside {
    /// Starts the listeners and the site, whose pages have their placeholders aimed as said.
    ///
    /// # Errors
    /// When a loopback port cannot be bound.
    pub async fn start(content: Content, spec: SiteSpec, aim: Aim) -> io::Result<Self> {
        let tcp1 = TcpListener::bind((V4, 0)).await?;
        let tls = TcpListener::bind((V4, 0)).await?;
        let tcp6 = TcpListener::bind((V6, 0)).await?;
        let loop2 = TcpListener::bind((SECOND, 0)).await?;
        let udp1 = UdpSocket::bind((V4, 0)).await?;
        let udp6 = UdpSocket::bind((V6, 0)).await?;
        let ports = Ports {
            tcp1: tcp1.local_addr()?.port(),
            tls: tls.local_addr()?.port(),
            tcp6: tcp6.local_addr()?.port(),
            loop2: loop2.local_addr()?.port(),
            udp1: udp1.local_addr()?.port(),
            udp6: udp6.local_addr()?.port(),
        };
        let mut streams = vec![("tcp1", tcp1), ("tls", tls), ("tcp6", tcp6), ("loop2", loop2)];
        if let Ok(twin) = TcpListener::bind((V6, ports.tcp1)).await {
            streams.push(("tcp1", twin));
        }
        let mut datagrams = vec![("udp1", udp1), ("udp6", udp6)];
        let site = Site::start_with(content, spec, |own| words(aim, ports, own)).await?;
        for address in [V4, V6] {
            if let Ok(socket) = UdpSocket::bind((address, site.port())).await {
                datagrams.push(("udp_same", socket));
            }
        }
        let hits = Arc::<Hits>::default();
        let streams = streams
            .into_iter()
            .map(|(name, listener)| tokio::spawn(accept(name, listener, Arc::clone(&hits))));
        let mut tasks: Vec<_> = streams.collect();
        tasks.extend(
            datagrams
                .into_iter()
                .map(|(name, socket)| tokio::spawn(receive(name, socket, Arc::clone(&hits)))),
        );
        Ok(Self { site, hits, tasks })
    }

    /// The site.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The listeners that were reached, by name.
    pub fn hits(&self) -> BTreeSet<&'static str> {
        let mut names = self.hits.names.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !self.site.strangers().is_empty() {
            names.insert("same");
        }
        names
    }

    /// Waits until all of these were reached.
    pub async fn reached(&self, names: &[String]) {
        loop {
            let changed = self.hits.changed.notified();
            let arrived = self.site.arrived();
            let hits = self.hits();
            if names.iter().all(|name| hits.contains(name.as_str())) {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = arrived => {}
            }
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// What the placeholders stand for: origins, their WebSocket forms (`…_ws`), and `HOST:PORT` (`…_at`, `udp…`).
fn words(aim: Aim, ports: Ports, own: u16) -> Vec<(String, String)> {
    let target = format!("127.0.0.1:{own}");
    let origins = [
        ("tcp1", "http", format!("127.0.0.1:{}", ports.tcp1)),
        ("tls", "https", format!("127.0.0.1:{}", ports.tls)),
        ("tcp6", "http", format!("[::1]:{}", ports.tcp6)),
        ("loop2", "http", format!("127.0.0.2:{}", ports.loop2)),
        ("zero", "http", format!("0.0.0.0:{}", ports.tcp1)),
        ("mapped", "http", format!("[::ffff:7f00:1]:{}", ports.tcp1)),
        ("dot_name", "http", format!("localhost.:{}", ports.tcp1)),
        ("dot_sub", "http", format!("a.localhost.:{}", ports.tcp1)),
        ("sub", "http", format!("a.localhost:{}", ports.tcp1)),
        ("name", "http", format!("name.{DOMAIN}:{}", ports.tcp1)),
        ("other_name", "http", format!("localhost:{}", ports.tcp1)),
        ("same_name", "http", format!("localhost:{own}")),
        ("same6", "http", format!("[::1]:{own}")),
    ];
    let addresses = [
        ("tcp1_at", format!("127.0.0.1:{}", ports.tcp1)),
        ("tls_at", format!("127.0.0.1:{}", ports.tls)),
        ("udp1", format!("127.0.0.1:{}", ports.udp1)),
        ("udp6", format!("[::1]:{}", ports.udp6)),
        ("udp_name", format!("stun.{DOMAIN}:{}", ports.udp1)),
        ("udp_local", format!("stun.localhost:{}", ports.udp1)),
        ("udp_same", target.clone()),
    ];
    let outside = aim == Aim::Outside;
    let mut words = vec![
        ("host".to_owned(), target.clone()),
        ("port1".to_owned(), if outside { ports.tcp1 } else { own }.to_string()),
    ];
    for (name, scheme, place) in origins {
        let (scheme, place) = if outside { (scheme, &place) } else { ("http", &target) };
        words.push((name.to_owned(), format!("{scheme}://{place}")));
        words.push((
            format!("{name}_ws"),
            format!("{}://{place}", scheme.replace("http", "ws")),
        ));
    }
    for (name, place) in addresses {
        words.push((name.to_owned(), if outside { place } else { String::new() }));
    }
    words
}

async fn accept(name: &'static str, listener: TcpListener, hits: Arc<Hits>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                hits.add(name);
                connections.spawn(answer(stream, name != "tls"));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Answers the first request; what goes wrong is the peer's affair.
async fn answer(mut stream: TcpStream, speaks: bool) {
    let mut scratch = [0; 4096];
    if !matches!(stream.read(&mut scratch).await, Ok(read) if read > 0) || !speaks {
        return;
    }
    if stream.write_all(ANSWER).await.is_ok() {
        drop(stream.shutdown().await);
        while matches!(stream.read(&mut scratch).await, Ok(read) if read > 0) {}
    }
}

async fn receive(name: &'static str, socket: UdpSocket, hits: Arc<Hits>) {
    let mut scratch = [0; 2048];
    loop {
        // An error is that of an answer that was not sent, and none of the next datagram.
        if socket.recv_from(&mut scratch).await.is_ok() {
            hits.add(name);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

    use std::net::SocketAddr;

    use super::*;

    async fn outside(aim: Aim) -> Outside {
        Outside::start(Content::default(), SiteSpec::default(), aim)
            .await
            .unwrap()
    }

    /// `HOST:PORT` of an origin.
    fn place(outside: &Outside, word: &str) -> SocketAddr {
        let text = outside.site().render(word);
        text.trim_start_matches("https://")
            .trim_start_matches("http://")
            .parse()
            .unwrap()
    }

    #[tokio::test]
    async fn every_listener_counts_what_reaches_it_and_nothing_else_does() {
        let outside = outside(Aim::Outside).await;
        assert!(outside.hits().is_empty());
        for word in ["{{tcp1}}", "{{tls}}", "{{tcp6}}", "{{loop2}}"] {
            TcpStream::connect(place(&outside, word)).await.unwrap();
        }
        for (word, from) in [("{{udp1}}", V4), ("{{udp6}}", V6), ("{{udp_same}}", V4)] {
            let socket = UdpSocket::bind((from, 0)).await.unwrap();
            socket.send_to(b"x", place(&outside, word)).await.unwrap();
        }
        let mut stream = TcpStream::connect(place(&outside, "{{self}}")).await.unwrap();
        stream
            .write_all(
                outside
                    .site()
                    .render("GET / HTTP/1.1\r\nhost: {{host}}\r\n\r\n")
                    .as_bytes(),
            )
            .await
            .unwrap();
        let all = ["loop2", "tcp1", "tcp6", "tls", "udp1", "udp6", "udp_same"];
        outside.reached(&all.map(str::to_owned)).await;
        assert_eq!(outside.hits(), BTreeSet::from(all));
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await
            .unwrap();
        outside.reached(&["same".to_owned()]).await;
    }

    #[tokio::test]
    async fn aimed_at_the_target_every_origin_is_its_own() {
        let outside = outside(Aim::Target).await;
        let own = outside.site().origin();
        for word in ["tcp1", "tls", "tcp6", "mapped", "name", "same_name", "same6"] {
            assert_eq!(outside.site().render(&format!("{{{{{word}}}}}")), own);
        }
        assert_eq!(outside.site().render("{{udp1}}{{udp_same}}{{tcp1_at}}"), "");
        assert_eq!(outside.site().render("http://127.0.0.1:{{port1}}"), own);
    }
}

//! Ports that nobody should know of.
//!
//! In every run jurat listens on a few loopback ports of its own, TCP and UDP, on both families and a second IPv4 address.
//! Nothing sends there: what arrives got past the guard, or somebody scans this machine. Either bars a pass.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jurat_core::observation::guard::{CanaryHit, CanaryProtocol};
use tokio::net::{TcpListener, UdpSocket};

use crate::record::micros_since;
use crate::tasks::Tasks;

/// Hits that are kept in full; more are only counted.
const MAX_HITS: usize = 1000;

/// The canaries of a run.
#[derive(Debug)]
pub struct Canaries {
    ports: Vec<(CanaryProtocol, SocketAddr)>,
    book: Arc<Book>,
    tasks: Tasks,
}

#[derive(Debug)]
struct Book {
    epoch: Instant,
    browser_uid: Option<u32>,
    hits: Mutex<(Vec<CanaryHit>, u64)>,
}

impl Canaries {
    /// Opens TCP on 127.0.0.1, 127.0.0.2 and `::1`, and UDP on 127.0.0.1 and `::1`, each on a port of the system's choice. An
    /// address that this machine does not have is left out. With `browser_uid`, a hit by another user is marked `foreign`.
    ///
    /// # Errors
    /// When not even 127.0.0.1 can be listened on.
    pub async fn open(epoch: Instant, browser_uid: Option<u32>) -> io::Result<Self> {
        const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
        const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
        let (tasks, spawner) = Tasks::new();
        let book = Arc::new(Book {
            epoch,
            browser_uid,
            hits: Mutex::default(),
        });
        let mut ports = Vec::new();
        for ip in [V4, OTHER, V6] {
            let socket = match TcpListener::bind((ip, 0)).await {
                Ok(socket) => socket,
                Err(error) if ip == V4 => return Err(error),
                Err(_) => continue,
            };
            let own = socket.local_addr()?;
            ports.push((CanaryProtocol::Tcp, own));
            let book = Arc::clone(&book);
            spawner.spawn(async move {
                loop {
                    match socket.accept().await {
                        Ok((_, peer)) => book.hit(CanaryProtocol::Tcp, own, peer),
                        Err(_) => tokio::task::yield_now().await,
                    }
                }
            });
        }
        for ip in [V4, V6] {
            let socket = match UdpSocket::bind((ip, 0)).await {
                Ok(socket) => socket,
                Err(error) if ip == V4 => return Err(error),
                Err(_) => continue,
            };
            let own = socket.local_addr()?;
            ports.push((CanaryProtocol::Udp, own));
            let book = Arc::clone(&book);
            spawner.spawn(async move {
                let mut datagram = [0; 64];
                loop {
                    match socket.recv_from(&mut datagram).await {
                        Ok((_, peer)) => book.hit(CanaryProtocol::Udp, own, peer),
                        Err(_) => tokio::task::yield_now().await,
                    }
                }
            });
        }
        Ok(Self { ports, book, tasks })
    }

    /// Where they listen.
    pub fn ports(&self) -> &[(CanaryProtocol, SocketAddr)] {
        &self.ports
    }

    /// The hits so far, in order, at most 1,000.
    pub fn hits(&self) -> Vec<CanaryHit> {
        self.book.lock().0.clone()
    }

    /// How many there were, also beyond those that were kept.
    pub fn count(&self) -> u64 {
        self.book.lock().1
    }

    /// Closes all; returns the hits.
    pub async fn shutdown(self) -> Vec<CanaryHit> {
        let Self { book, tasks, .. } = self;
        tasks.close().await;
        std::mem::take(&mut book.lock().0)
    }
}

impl Book {
    fn lock(&self) -> std::sync::MutexGuard<'_, (Vec<CanaryHit>, u64)> {
        self.hits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hit(&self, protocol: CanaryProtocol, own: SocketAddr, peer: SocketAddr) {
        let sender = self
            .browser_uid
            .and_then(|uid| Some((uid, sender_uid(protocol, own, peer)?)));
        let hit = CanaryHit {
            protocol,
            address: own.ip().to_string(),
            port: own.port(),
            at_us: micros_since(self.epoch),
            foreign: sender.is_some_and(|(browser, sender)| browser != sender),
        };
        let mut book = self.lock();
        book.1 += 1;
        if book.0.len() < MAX_HITS {
            book.0.push(hit);
        }
    }
}

/// The user of the socket at the other end, from the kernel's table (proc_pid_net(5)).
fn sender_uid(protocol: CanaryProtocol, own: SocketAddr, peer: SocketAddr) -> Option<u32> {
    let name = match (protocol, own.is_ipv4()) {
        (CanaryProtocol::Tcp, true) => "tcp",
        (CanaryProtocol::Tcp, false) => "tcp6",
        (CanaryProtocol::Udp, true) => "udp",
        (CanaryProtocol::Udp, false) => "udp6",
    };
    let table = fs::read_to_string(format!("/proc/net/{name}")).ok()?;
    let remote = (protocol == CanaryProtocol::Tcp).then(|| own.port());
    table.lines().skip(1).find_map(|row| row_uid(row, peer.port(), remote))
}

/// The uid of a row whose local port, and remote port if asked for, fit and that still has an owner.
fn row_uid(row: &str, local: u16, remote: Option<u16>) -> Option<u32> {
    let columns: Vec<&str> = row.split_whitespace().collect();
    let port = |column: usize| u16::from_str_radix(columns.get(column)?.rsplit_once(':')?.1, 16).ok();
    let fits = port(1)? == local && remote.is_none_or(|remote| port(2) == Some(remote));
    let owned = *columns.get(9)? != "0";
    if fits && owned {
        columns.get(7)?.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::net::TcpStream;

    use super::*;

    #[test]
    fn rows() {
        let row = "   7: 0100007F:1F90 0100007F:0050 01 00000000:00000000 00:00000000 00000000 65534        0 1234 1 0";
        assert_eq!(row_uid(row, 0x1f90, Some(80)), Some(65534));
        assert_eq!(row_uid(row, 0x1f90, None), Some(65534));
        assert_eq!(row_uid(row, 0x1f90, Some(81)), None);
        assert_eq!(row_uid(row, 0x1f91, None), None);
        assert_eq!(
            row_uid(&row.replace(" 1234 ", " 0 "), 0x1f90, None),
            None,
            "a socket in TIME_WAIT has no owner"
        );
        assert_eq!(row_uid("nonsense", 1, None), None);
    }

    #[tokio::test]
    async fn every_canary_sings_once_for_each_visit() {
        let own = rustix::process::getuid().as_raw();
        for (uid, foreign) in [(None, false), (Some(own), false), (Some(own + 1), true)] {
            let canaries = Canaries::open(Instant::now(), uid).await.unwrap();
            assert!(canaries.hits().is_empty());
            let mut held = Vec::new();
            let mut udp = Vec::new();
            for (protocol, address) in canaries.ports() {
                match protocol {
                    CanaryProtocol::Tcp => held.push(TcpStream::connect(address).await.unwrap()),
                    CanaryProtocol::Udp => {
                        let any = if address.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
                        let socket = UdpSocket::bind(any).await.unwrap();
                        socket.send_to(b"x", address).await.unwrap();
                        udp.push(socket);
                    }
                }
            }
            let all = canaries.ports().len();
            assert!(all >= 3);
            while canaries.count() < u64::try_from(all).unwrap() {
                tokio::task::yield_now().await;
            }
            let hits = canaries.shutdown().await;
            assert_eq!(hits.len(), all);
            assert!(hits.iter().all(|hit| hit.foreign == foreign), "{hits:?}");
            drop((held, udp));
        }
    }

    #[tokio::test]
    async fn left_alone_they_are_silent_and_leave_no_port() {
        let canaries = Canaries::open(Instant::now(), None).await.unwrap();
        let (_, address) = canaries.ports()[0];
        assert!(canaries.shutdown().await.is_empty());
        assert!(TcpStream::connect(address).await.is_err());
    }
}

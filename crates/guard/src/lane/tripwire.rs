//! The tripwire: what tried to leave the lane past the guard.
//!
//! A packet socket on the lane's own loopback sees every packet that opens something ([`super::filter`]), and every address is
//! a local one there, so that an attempt to reach anywhere appears. Invariants: an attempt that was sent before
//! [`Tripwire::attempts`] was called is in its answer; attempts are kept once for each protocol, address, port and name, with
//! their number; what could not be kept or was dropped by the kernel is counted ([`Tripwire::lost`]).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jurat_core::observation::guard::{EscapeAttempt, MAX_TEXT, Transport};
use jurat_core::untrusted::Untrusted;
use rustix::net::{RecvFlags, recv};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use super::filter;

/// Different attempts that are kept.
const MAX_ATTEMPTS: usize = 1024;
/// Ports of the domain name system: RFC 1035, RFC 6762, RFC 4795 (LLMNR).
const NAME_PORTS: [u16; 3] = [53, 5353, 5355];

/// One kind of attempt, with when it was seen first and last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What and how often.
    pub what: EscapeAttempt,
    /// When it was read first.
    pub first: Instant,
    /// When it was read last.
    pub last: Instant,
}

/// See the module.
#[derive(Debug)]
pub struct Tripwire {
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    /// The packet socket. To tokio a socket is a socket; nothing of UDP is asked of it.
    socket: UdpSocket,
    /// Listeners of the guard, on 127.0.0.1: what goes there is no attempt.
    ports: Vec<u16>,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    attempts: Vec<Attempt>,
    known: HashMap<Destination, usize>,
    lost: u64,
}

/// Where a packet is to go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Destination {
    protocol: Transport,
    address: IpAddr,
    port: u16,
    name: Option<String>,
}

impl Tripwire {
    /// Reads a packet socket from now on. `ports` are those of the guard's listeners. Needs a tokio runtime.
    ///
    /// # Errors
    /// The socket cannot be waited for.
    pub(crate) fn new(socket: OwnedFd, ports: Vec<u16>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            socket: UdpSocket::from_std(socket.into())?,
            ports,
            book: Mutex::default(),
        });
        let reading = Arc::clone(&shared);
        let reader = tokio::spawn(async move {
            while reading.socket.readable().await.is_ok() {
                // It would block when all is read: then tokio waits for more.
                let read = reading.socket.try_io(Interest::READABLE, || {
                    reading.drain()?;
                    Err::<(), _>(io::ErrorKind::WouldBlock.into())
                });
                if read.is_err_and(|e| e.kind() != io::ErrorKind::WouldBlock) {
                    return;
                }
            }
        });
        Ok(Self { shared, reader })
    }

    /// All attempts that were made by now, in the order of their first.
    pub fn attempts(&self) -> Vec<Attempt> {
        // An error is told by `lost`.
        let _ = self.shared.drain();
        self.shared.lock().attempts.clone()
    }

    /// Packets that were not kept. Not 0 is a gap in evidence.
    pub fn lost(&self) -> u64 {
        let _ = self.shared.drain();
        let dropped = filter::dropped(&self.shared.socket);
        let mut book = self.shared.lock();
        book.lost = book.lost.saturating_add(dropped.map_or(1, u64::from));
        book.lost
    }

    /// Whether it still watches.
    pub fn alive(&self) -> bool {
        !self.reader.is_finished()
    }
}

impl Drop for Tripwire {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until nothing is left.
    fn drain(&self) -> io::Result<()> {
        let mut packet = [0_u8; 1024];
        let mut book = self.lock();
        loop {
            match recv(&self.socket, &mut packet[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => match destination(packet.get(..length).unwrap_or_default()) {
                    Some(to) if self.is_guard(&to) => {}
                    Some(to) => book.add(to),
                    None => book.lost += 1,
                },
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    book.lost += 1;
                    return Err(error.into());
                }
            }
        }
    }

    fn is_guard(&self, to: &Destination) -> bool {
        to.protocol == Transport::Tcp && to.address == Ipv4Addr::LOCALHOST && self.ports.contains(&to.port)
    }
}

impl Book {
    fn add(&mut self, to: Destination) {
        let now = Instant::now();
        if let Some(known) = self.known.get(&to).and_then(|index| self.attempts.get_mut(*index)) {
            known.what.count += 1;
            known.last = now;
        } else if self.attempts.len() < MAX_ATTEMPTS {
            self.attempts.push(Attempt {
                what: EscapeAttempt {
                    protocol: to.protocol,
                    address: to.address.to_string(),
                    port: to.port,
                    name: to.name.as_deref().map(|name| Untrusted::bounded(name, MAX_TEXT).0),
                    count: 1,
                },
                first: now,
                last: now,
            });
            self.known.insert(to, self.attempts.len() - 1);
        } else {
            self.lost += 1;
        }
    }
}

/// Where a packet that begins with its network header goes (RFC 791, RFC 8200, RFC 9293, RFC 768).
fn destination(packet: &[u8]) -> Option<Destination> {
    let (address, protocol, transport): (IpAddr, u8, &[u8]) = match packet.first()? >> 4 {
        4 => {
            let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
            let length = usize::from(packet.first()? & 0xf) * 4;
            (Ipv4Addr::from(address).into(), *packet.get(9)?, packet.get(length..)?)
        }
        6 => {
            let address: [u8; 16] = packet.get(24..40)?.try_into().ok()?;
            (Ipv6Addr::from(address).into(), *packet.get(6)?, packet.get(40..)?)
        }
        _ => return None,
    };
    let protocol = match protocol {
        6 => Transport::Tcp,
        17 => Transport::Udp,
        _ => return None,
    };
    let port = u16::from_be_bytes(transport.get(2..4)?.try_into().ok()?);
    let asks = protocol == Transport::Udp && NAME_PORTS.contains(&port);
    let name = if asks { question(transport.get(8..)?) } else { None };
    Some(Destination {
        protocol,
        address,
        port,
        name,
    })
}

/// The name in the first question of a DNS message (RFC 1035, section 4.1), dots between its labels.
fn question(message: &[u8]) -> Option<String> {
    let answer = message.get(2)? & 0x80 != 0;
    let questions = u16::from_be_bytes(message.get(4..6)?.try_into().ok()?);
    if answer || questions == 0 {
        return None;
    }
    let mut labels = Vec::new();
    let mut rest = message.get(12..)?;
    loop {
        let (length, after) = rest.split_first()?;
        match usize::from(*length) {
            0 => break,
            // A pointer has nothing to point at in a first question.
            length @ 1..=63 => {
                labels.push(String::from_utf8_lossy(after.get(..length)?).into_owned());
                rest = after.get(length..)?;
            }
            _ => return None,
        }
        if labels.len() > 127 {
            return None;
        }
    }
    (!labels.is_empty()).then(|| labels.join("."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn v4(protocol: u8, to: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 28];
        packet[0] = 0x45;
        packet[9] = protocol;
        packet[16..20].copy_from_slice(&to);
        packet[22..24].copy_from_slice(&port.to_be_bytes());
        packet.extend(payload);
        packet
    }

    fn ask(name: &str) -> Vec<u8> {
        let mut message = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(label.as_bytes());
        }
        message.extend([0, 0, 1, 0, 1]);
        message
    }

    #[test]
    fn destinations() {
        let to = destination(&v4(17, [8, 8, 8, 8], 53, &ask("a.example.com"))).unwrap();
        assert_eq!((to.protocol, to.port), (Transport::Udp, 53));
        assert_eq!(to.address.to_string(), "8.8.8.8");
        assert_eq!(to.name.as_deref(), Some("a.example.com"));
        let to = destination(&v4(6, [127, 0, 0, 2], 80, &ask("a.b"))).unwrap();
        assert_eq!((to.protocol, to.port, to.name), (Transport::Tcp, 80, None));
        let mut packet = vec![0; 48];
        packet[0] = 0x60;
        packet[6] = 17;
        packet[39] = 1;
        packet[42..44].copy_from_slice(&9_u16.to_be_bytes());
        let to = destination(&packet).unwrap();
        assert_eq!((to.address.to_string(), to.port), ("::1".to_owned(), 9));
    }

    #[test]
    fn what_is_no_packet_or_no_question() {
        for bad in [&[][..], &[0x45], &[0x60; 30], &[0x12; 60], &v4(1, [1, 1, 1, 1], 1, &[])] {
            assert_eq!(destination(bad), None, "{bad:?}");
        }
        let whole = ask("a.example.com");
        for cut in 0..whole.len() - 5 {
            assert_eq!(question(&whole[..cut]), None, "cut at {cut}");
        }
        let mut answer = ask("a.b");
        answer[2] |= 0x80;
        assert_eq!(question(&answer), None);
        let mut pointer = ask("a.b");
        pointer[12] = 0xc0;
        assert_eq!(question(&pointer), None);
        // It is an attempt all the same.
        assert!(destination(&v4(17, [1, 1, 1, 1], 53, &[1, 2, 3])).is_some());
    }

    #[test]
    fn attempts_are_kept_once_and_bounded() {
        let mut book = Book::default();
        let to = |port| Destination {
            protocol: Transport::Tcp,
            address: Ipv4Addr::LOCALHOST.into(),
            port,
            name: None,
        };
        for _ in 0..3 {
            book.add(to(1));
        }
        assert_eq!((book.attempts.len(), book.attempts[0].what.count, book.lost), (1, 3, 0));
        for port in 0..1100 {
            book.add(to(port));
        }
        assert_eq!((book.attempts.len(), book.lost), (MAX_ATTEMPTS, 1100 - 1024));
    }
}

//! Listeners by asking the kernel for them: sock_diag(7) over netlink(7).
//!
//! One question for each address family. The kernel answers with the sockets in `TCP_LISTEN` at the port, and looks at no connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use jurat_core::observation::ListenerSocket;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// `SOCK_DIAG_BY_FAMILY`, of a question and of each answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const REQUEST_DUMP: u16 = 0x301;
/// `NLMSG_DONE`, the end of all answers.
const DONE: u16 = 3;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// `1 << TCP_LISTEN`.
const LISTENING: u32 = 1 << 10;
/// `struct nlmsghdr`.
const HEADER: usize = 16;
/// `struct inet_diag_req_v2`.
const QUESTION: usize = 56;
/// Where `struct inet_diag_msg` has the local port, the local address and the inode.
const PORT: usize = 4;
const ADDRESS: usize = 8;
const INODE: usize = 68;
/// Most datagrams of answers to one question.
const DATAGRAMS: usize = 64;

/// The listeners at `port` in our own network namespace; none where the kernel does not answer such questions.
pub(super) fn listeners(port: u16) -> Option<Vec<ListenerSocket>> {
    let mut sockets = of_family(AddressFamily::INET, port)?;
    // A kernel without IPv6 has no answer to this one.
    sockets.extend(of_family(AddressFamily::INET6, port).unwrap_or_default());
    sockets.sort_by_key(|socket| socket.inode);
    Some(sockets)
}

fn of_family(family: AddressFamily, port: u16) -> Option<Vec<ListenerSocket>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(SOCK_DIAG)).ok()?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &question(family, port)?, SendFlags::empty(), &kernel).ok()?;
    let mut sockets = Vec::new();
    let mut buffer = vec![0; 32 * 1024];
    for _ in 0..DATAGRAMS {
        let (read, _) = rustix::net::recv(&socket, &mut buffer, RecvFlags::empty()).ok()?;
        let mut rest = buffer.get(..read)?;
        while let Some((kind, message, after)) = message(rest) {
            match kind {
                DONE => return Some(sockets),
                BY_FAMILY => sockets.push(socket_of(message, family)?),
                // `NLMSG_ERROR` and what else there may be.
                _ => return None,
            }
            rest = after;
        }
    }
    None
}

/// The question, header and all.
fn question(family: AddressFamily, port: u16) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEADER + QUESTION);
    bytes.extend(u32::try_from(HEADER + QUESTION).ok()?.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([u8::try_from(family.as_raw()).ok()?, TCP, 0, 0]);
    bytes.extend(LISTENING.to_ne_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.resize(HEADER + QUESTION, 0);
    Some(bytes)
}

/// The first message of a datagram: its type, its payload, and what comes after it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let payload = bytes.get(HEADER..length)?;
    Some((
        kind,
        payload,
        bytes.get(length.next_multiple_of(4)..).unwrap_or_default(),
    ))
}

fn socket_of(message: &[u8], family: AddressFamily) -> Option<ListenerSocket> {
    let port = u16::from_be_bytes(message.get(PORT..PORT + 2)?.try_into().ok()?);
    let ip = if family == AddressFamily::INET {
        let bytes: [u8; 4] = message.get(ADDRESS..ADDRESS + 4)?.try_into().ok()?;
        IpAddr::V4(Ipv4Addr::from(bytes))
    } else {
        let bytes: [u8; 16] = message.get(ADDRESS..ADDRESS + 16)?.try_into().ok()?;
        IpAddr::V6(Ipv6Addr::from(bytes))
    };
    let inode = u32::from_ne_bytes(message.get(INODE..INODE + 4)?.try_into().ok()?);
    Some(ListenerSocket {
        address: SocketAddr::from((ip, port)).to_string(),
        inode: u64::from(inode),
        pid: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_cut_is_none() {
        let mut whole = Vec::from(20u32.to_ne_bytes());
        whole.extend(DONE.to_ne_bytes());
        whole.resize(20, 7);
        assert_eq!(message(&whole), Some((DONE, &[7; 4][..], &[][..])));
        assert_eq!(message(&whole[..19]), None);
        assert_eq!(message(&[]), None);
        assert!(socket_of(&[0; 71], AddressFamily::INET).is_none());
        assert!(socket_of(&[0; 72], AddressFamily::INET).is_some());
    }
}

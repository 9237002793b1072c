//! The tripwire's filter, run by the kernel: only what opens something is copied, so that no amount of ordinary traffic can
//! crowd an attempt out.

use std::io;
use std::os::fd::AsRawFd;

/// Bytes of each packet that are kept: enough for the question of a DNS look-up.
pub(super) const KEEP: u32 = 1024;

// Instructions of the classic packet filter (Documentation/networking/filter.rst), on a packet that begins with its network header.
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
/// X = 4 * (byte & 0xf): the length of an IPv4 header.
const LOAD_HEADER_LENGTH: u16 = 0xb1;
const LOAD_BYTE_AT_X: u16 = 0x50;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
/// `SKF_AD_OFF + SKF_AD_PKTTYPE` and `+ SKF_AD_PROTOCOL`.
const PACKET_TYPE: u32 = 0xffff_f004;
const PROTOCOL: u32 = 0xffff_f000;
const OUTGOING: u32 = 4;
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const TCP: u32 = 6;
const UDP: u32 = 17;
const SYN: u32 = 0x02;
const SYN_ACK: u32 = 0x12;

const fn op(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// Each packet of loopback is seen twice, sent and received: the sent one is taken. UDP in its first fragment, TCP with SYN and
/// without ACK.
static CODE: [libc::sock_filter; 22] = [
    op(LOAD_WORD, PACKET_TYPE, 0, 0),
    op(JUMP_EQUAL, OUTGOING, 0, 19),
    op(LOAD_HALF, PROTOCOL, 0, 0),
    op(JUMP_EQUAL, IPV4, 1, 0),
    op(JUMP_EQUAL, IPV6, 9, 16),
    // IPv4: the fragment's offset, the protocol, the flags of TCP.
    op(LOAD_HALF, 6, 0, 0),
    op(JUMP_BITS, 0x1fff, 14, 0),
    op(LOAD_BYTE, 9, 0, 0),
    op(JUMP_EQUAL, UDP, 11, 0),
    op(JUMP_EQUAL, TCP, 0, 11),
    op(LOAD_HEADER_LENGTH, 0, 0, 0),
    op(LOAD_BYTE_AT_X, 13, 0, 0),
    op(AND, SYN_ACK, 0, 0),
    op(JUMP_EQUAL, SYN, 6, 7),
    // IPv6: the next header, the flags of TCP.
    op(LOAD_BYTE, 6, 0, 0),
    op(JUMP_EQUAL, UDP, 4, 0),
    op(JUMP_EQUAL, TCP, 0, 4),
    op(LOAD_BYTE, 53, 0, 0),
    op(AND, SYN_ACK, 0, 0),
    op(JUMP_EQUAL, SYN, 0, 1),
    op(RETURN, KEEP, 0, 0),
    op(RETURN, 0, 0, 0),
];

/// The filter as `SO_ATTACH_FILTER` takes it. The kernel copies it and writes nothing there.
pub(super) fn program() -> libc::sock_fprog {
    libc::sock_fprog {
        len: u16::try_from(CODE.len()).unwrap_or(0),
        filter: CODE.as_ptr().cast_mut(),
    }
}

/// Packets that the kernel had no room for since this was asked last (packet(7), `PACKET_STATISTICS`).
///
/// # Errors
/// The socket is no packet socket.
#[expect(unsafe_code, reason = "rustix has no packet sockets")]
pub(super) fn dropped(socket: &impl AsRawFd) -> io::Result<u32> {
    // `struct tpacket_stats`: packets, drops.
    let mut counts = [0_u32; 2];
    let mut length = libc::socklen_t::try_from(size_of_val(&counts)).unwrap_or(0);
    // SAFETY: the kernel writes at most `length` bytes, which `counts` has.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done == 0 {
        Ok(counts[1])
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packet filter's machine, as far as the filter uses it.
    fn run(kind: u32, protocol: u32, packet: &[u8]) -> u32 {
        let byte = |at: usize| u32::from(packet.get(at).copied().unwrap_or(0));
        let (mut a, mut x, mut pc) = (0, 0, 0);
        loop {
            let op = CODE[pc];
            let k = usize::try_from(op.k).unwrap_or(0);
            pc += 1;
            let mut jump = |taken: bool| pc += usize::from(if taken { op.jt } else { op.jf });
            match op.code {
                LOAD_WORD if op.k == PACKET_TYPE => a = kind,
                LOAD_HALF if op.k == PROTOCOL => a = protocol,
                LOAD_HALF => a = byte(k) << 8 | byte(k + 1),
                LOAD_BYTE => a = byte(k),
                LOAD_HEADER_LENGTH => x = usize::try_from(4 * (byte(k) & 0xf)).unwrap_or(0),
                LOAD_BYTE_AT_X => a = byte(x + k),
                AND => a &= op.k,
                JUMP_EQUAL => jump(a == op.k),
                JUMP_BITS => jump(a & op.k != 0),
                RETURN => return op.k,
                other => unreachable!("{other:#x}"),
            }
        }
    }

    fn v4(options: usize, protocol: u8, fragment: u16, flags: u8) -> Vec<u8> {
        let mut packet = vec![0; 20 + options + 20];
        packet[0] = 0x40 | u8::try_from(5 + options / 4).unwrap_or(0);
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = protocol;
        packet[20 + options + 13] = flags;
        packet
    }

    fn v6(next: u8, flags: u8) -> Vec<u8> {
        let mut packet = vec![0; 60];
        packet[6] = next;
        packet[53] = flags;
        packet
    }

    #[test]
    fn what_opens_something_is_taken_and_nothing_else() {
        let taken = [
            (IPV4, v4(0, 6, 0, 0x02)),
            (IPV4, v4(8, 6, 0x4000, 0xc2)),
            (IPV4, v4(0, 17, 0x2000, 0)),
            (IPV6, v6(6, 0x02)),
            (IPV6, v6(17, 0)),
        ];
        for (protocol, packet) in &taken {
            assert_eq!(run(OUTGOING, *protocol, packet), KEEP, "{packet:?}");
            assert_eq!(run(0, *protocol, packet), 0, "the received twin");
        }
        let left = [
            (IPV4, v4(0, 6, 0, 0x12)),
            (IPV4, v4(0, 6, 0, 0x10)),
            (IPV4, v4(0, 6, 0, 0x04)),
            (IPV4, v4(0, 17, 0x0001, 0)),
            (IPV4, v4(0, 1, 0, 0x02)),
            (IPV6, v6(6, 0x12)),
            (IPV6, v6(58, 0x02)),
            (0x0806, v4(0, 6, 0, 0x02)),
        ];
        for (protocol, packet) in &left {
            assert_eq!(run(OUTGOING, *protocol, packet), 0, "{packet:?}");
        }
    }
}

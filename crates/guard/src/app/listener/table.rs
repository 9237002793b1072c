//! Listeners by the tables of proc_pid_net(5).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jurat_core::observation::ListenerSocket;

/// `TCP_LISTEN` as it stands in the table.
const LISTEN: &str = "0A";
/// Most readings of the table after the first.
const READINGS: usize = 8;

/// The listeners at `port` in the network namespace of `pid`, or our own; in order of inodes.
pub(super) fn listeners(pid: Option<i32>, port: u16) -> Option<Vec<ListenerSocket>> {
    // The table is no snapshot: while others open and close sockets, a row can be passed over or told twice. What two readings in a row
    // agree on stands; on a host that never rests, the last one.
    let mut sockets = read(pid, port)?;
    for _ in 0..READINGS {
        let again = read(pid, port)?;
        let agreed = again == sockets;
        sockets = again;
        if agreed {
            break;
        }
    }
    Some(sockets)
}

/// One reading of the table, in order of inodes, each once.
fn read(pid: Option<i32>, port: u16) -> Option<Vec<ListenerSocket>> {
    let process = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
    let table = |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}"));
    let (v4, v6) = (table("tcp").ok()?, table("tcp6").unwrap_or_default());
    let rows = v4.lines().chain(v6.lines());
    let mut sockets: Vec<ListenerSocket> = rows.filter_map(|row| listening(row, port)).collect();
    sockets.sort_by_key(|socket| socket.inode);
    sockets.dedup_by_key(|socket| socket.inode);
    Some(sockets)
}

/// A row of the table: `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …`.
fn listening(row: &str, port: u16) -> Option<ListenerSocket> {
    let mut fields = row.split_whitespace();
    let local = fields.nth(1)?;
    (fields.nth(1)? == LISTEN).then_some(())?;
    let inode = fields.nth(5)?.parse().ok()?;
    let (address, at) = local.split_once(':')?;
    (u16::from_str_radix(at, 16).ok()? == port).then_some(())?;
    let ip = ip(address)?;
    Some(ListenerSocket {
        address: std::net::SocketAddr::from((ip, port)).to_string(),
        inode,
        pid: None,
    })
}

/// An address as the kernel prints it: words in host order.
fn ip(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| Some(u32::from_str_radix(hex.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    if hex.len() == 8 {
        return Some(IpAddr::V4(Ipv4Addr::from(word(0)?)));
    }
    let mut bytes = [0; 16];
    for (i, chunk) in bytes.chunks_exact_mut(4).enumerate() {
        chunk.copy_from_slice(&word(i * 8)?);
    }
    Some(IpAddr::V6(Ipv6Addr::from(bytes)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rows_of_both_families_and_states() {
        let v4 = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 x";
        assert_eq!(listening(v4, 8080).unwrap().inode, 4711);
        assert_eq!(listening(v4, 8081), None);
        assert_eq!(listening(&v4.replace(" 0A ", " 01 "), 8080), None, "a connection");
        let v6 = v4.replace("0100007F", "00000000000000000000000001000000");
        assert_eq!(listening(&v6, 8080).unwrap().address, "[::1]:8080");
        assert_eq!(listening("  sl  local_address rem_address", 1), None);
    }
}

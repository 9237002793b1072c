//! Who listens at a port: sockets by their inode (proc_pid_net(5)), processes by their descriptors (proc_pid_fd(5)).

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jurat_core::observation::ListenerSocket;

/// `TCP_LISTEN` as it stands in the table.
const LISTEN: &str = "0A";
/// Most readings of the table after the first.
const READINGS: usize = 8;

/// The listening sockets at `port`, seen from the network namespace of `pid`, or from our own; in order of inodes. None where
/// the tables cannot be read. With `holders` a process is looked for that holds each, which reads much of /proc.
pub fn listeners(pid: Option<i32>, port: u16, holders: bool) -> Option<Vec<ListenerSocket>> {
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
    if holders && !sockets.is_empty() {
        hold(&mut sockets);
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

/// Finds a process for each socket, where its descriptors can be read.
fn hold(sockets: &mut [ListenerSocket]) {
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for (i, socket) in sockets.iter().enumerate() {
        wanted.insert(format!("socket:[{}]", socket.inode), i);
    }
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        for fd in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(fd.path()).unwrap_or_default();
            if let Some(i) = target.to_str().and_then(|target| wanted.remove(target)) {
                sockets[i].pid = Some(pid);
            }
        }
        if wanted.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_known_by_its_inode_and_process() {
        let own = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = own.local_addr().unwrap();
        let first = listeners(None, at.port(), true).unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].address, at.to_string());
        assert_eq!(first[0].pid, Some(std::process::id()));
        assert_eq!(listeners(None, at.port(), true).unwrap(), first, "it stays the same");
        drop(own);
        assert_eq!(listeners(None, at.port(), true).unwrap(), []);
        let other = TcpListener::bind(at).unwrap();
        let second = listeners(None, other.local_addr().unwrap().port(), false).unwrap();
        assert_ne!(second[0].inode, first[0].inode, "another socket is another listener");
    }

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

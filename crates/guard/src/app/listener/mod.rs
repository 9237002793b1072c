//! Who listens at a port: sockets by their inode, processes by their descriptors (proc_pid_fd(5)).
//!
//! The kernel is asked for listeners alone where it can be ([`diag`]); its tables, which it writes by walking over every place that a
//! connection could have, are read where it cannot ([`table`]).

mod diag;
mod table;

use std::collections::BTreeMap;
use std::fs;

use jurat_core::observation::ListenerSocket;

/// The listening sockets at `port`, seen from the network namespace of `pid`, or from our own; in order of inodes. None where
/// the tables cannot be read. With `holders` a process is looked for that holds each, which reads much of /proc.
pub fn listeners(pid: Option<i32>, port: u16, holders: bool) -> Option<Vec<ListenerSocket>> {
    let mut sockets = match pid {
        None => diag::listeners(port).or_else(|| table::listeners(None, port))?,
        // A netlink socket asks about its own namespace.
        Some(_) => table::listeners(pid, port)?,
    };
    sockets.sort_by_key(|socket| socket.inode);
    sockets.dedup_by_key(|socket| socket.inode);
    if holders && !sockets.is_empty() {
        hold(&mut sockets);
    }
    Some(sockets)
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
    fn the_kernel_and_its_tables_tell_the_same() {
        for at in ["127.0.0.1:0", "127.0.0.7:0", "[::1]:0", "[::]:0"] {
            let own = TcpListener::bind(at).unwrap();
            let port = own.local_addr().unwrap().port();
            let connected = std::net::TcpStream::connect(("127.0.0.1", port));
            let asked = diag::listeners(port).unwrap();
            assert_eq!(asked.len(), 1, "a listener, and no connection: {asked:?}");
            assert_eq!(asked, table::listeners(None, port).unwrap(), "{at}");
            drop((own, connected));
            assert_eq!(diag::listeners(port).unwrap(), []);
        }
    }
}

//! How the target is reached: an address of the host, or a socket that was made inside the app's network namespace.
//!
//! A socket stays in the namespace that it was made in. A short-lived child makes some there in advance
//! ([`crate::lane::enter`]) and they are connected here, so nothing of jurat runs beside the app and the app's port exists
//! nowhere on the host. Invariant: the address that answered first is the only one that is dialled from then on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::lane::enter::{Ask, Namespaces, Place, enter};

/// Sockets that one visit of the child makes.
const BATCH: usize = 32;

/// Dials the target. Clones share what is known and what is in stock.
#[derive(Debug, Clone)]
pub struct Dialler(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    addresses: Vec<SocketAddr>,
    fixed: OnceLock<SocketAddr>,
    place: Option<Stock>,
}

/// Unconnected sockets of a namespace.
#[derive(Debug)]
struct Stock {
    place: Place,
    v4: Mutex<Vec<OwnedFd>>,
    v6: Mutex<Vec<OwnedFd>>,
    /// One visit at a time: who waits finds what the other one brought.
    visiting: tokio::sync::Mutex<()>,
}

impl Dialler {
    /// To these addresses of the host.
    pub fn host(addresses: Vec<SocketAddr>) -> Self {
        Self(Arc::new(Inner {
            addresses,
            fixed: OnceLock::new(),
            place: None,
        }))
    }

    /// To these addresses inside namespaces; `builder` is a pidfd of who sets their loopback up.
    pub(super) fn lane(addresses: Vec<SocketAddr>, namespaces: Namespaces, builder: Arc<OwnedFd>) -> Self {
        let place = Place::Existing {
            namespaces: Arc::new(namespaces),
            builder: Some(builder),
        };
        Self(Arc::new(Inner {
            addresses,
            fixed: OnceLock::new(),
            place: Some(Stock {
                place,
                v4: Mutex::default(),
                v6: Mutex::default(),
                visiting: tokio::sync::Mutex::default(),
            }),
        }))
    }

    /// The addresses that are tried.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.0.addresses
    }

    /// The address that answered; none while none has.
    pub fn fixed(&self) -> Option<SocketAddr> {
        self.0.fixed.get().copied()
    }

    /// Fixes the address, unless one is.
    pub(crate) fn fix(&self, address: SocketAddr) {
        self.0.fixed.get_or_init(|| address);
    }

    /// Makes the first sockets, so that the first request does not wait for them.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub(super) async fn stock_up(&self) -> io::Result<()> {
        match &self.0.place {
            Some(stock) => {
                for v6 in self.0.addresses.iter().map(SocketAddr::is_ipv6) {
                    stock.visit(v6).await?;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Connects to the fixed address; where none is fixed yet, to the first that accepts, which then is.
    ///
    /// # Errors
    /// When nothing accepts in time: the last refusal.
    pub async fn dial(&self, each: Duration) -> io::Result<(TcpStream, SocketAddr)> {
        let fixed = self.0.fixed.get();
        let candidates = fixed.map_or(self.0.addresses.as_slice(), std::slice::from_ref);
        let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the target has no address");
        for address in candidates {
            match timeout(each, self.connect(*address)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    self.0.fixed.get_or_init(|| *address);
                    return Ok((stream, *address));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match &self.0.place {
            None => TcpStream::connect(address).await,
            Some(stock) => {
                let socket = std::net::TcpStream::from(stock.take(address.is_ipv6()).await?);
                TcpSocket::from_std_stream(socket).connect(address).await
            }
        }
    }
}

impl Stock {
    fn shelf(&self, v6: bool) -> &Mutex<Vec<OwnedFd>> {
        if v6 { &self.v6 } else { &self.v4 }
    }

    fn pop(&self, v6: bool) -> Option<OwnedFd> {
        self.shelf(v6).lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    async fn take(&self, v6: bool) -> io::Result<OwnedFd> {
        loop {
            if let Some(socket) = self.pop(v6) {
                return Ok(socket);
            }
            self.visit(v6).await?;
        }
    }

    async fn visit(&self, v6: bool) -> io::Result<()> {
        let _one = self.visiting.lock().await;
        if !self.shelf(v6).lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return Ok(());
        }
        let entered = enter(self.place.clone(), false, vec![Ask::Stream { v6 }; BATCH])
            .await
            .map_err(|error| io::Error::new(error.source.kind(), format!("{}: {}", error.stage, error.source)))?;
        let mut made = Vec::with_capacity(BATCH);
        for socket in entered.sockets {
            match socket {
                Ok(socket) => made.push(socket),
                // Out of descriptors: what there is will do.
                Err(_) if !made.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        *self.shelf(v6).lock().unwrap_or_else(PoisonError::into_inner) = made;
        Ok(())
    }
}

/// A way to the target that is opened when its app has started: the guard is there before.
#[derive(Debug, Clone, Default)]
pub struct Route(Arc<Mutex<Option<Dialler>>>);

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Route {}

impl Route {
    /// From here on, requests go this way.
    pub fn lead(&self, dialler: Dialler) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(dialler);
    }

    /// From here on, the target cannot be reached.
    pub fn cut(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The way that is open now.
    pub fn dialler(&self) -> Option<Dialler> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The addresses at which an app on loopback may listen for this host, in the order in which they are tried: 127.0.0.1, then
/// ::1, or the one that the host names.
pub fn loopback_addresses(host: &str, port: u16) -> Vec<SocketAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        // What listens at 127.0.0.1 by name may listen at ::1 as well; a written address is that address.
        Ok(ip) if ip != IpAddr::V4(Ipv4Addr::LOCALHOST) => vec![(ip, port).into()],
        _ => vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn where_an_app_may_listen() {
        let all = |host: &str| {
            let all = loopback_addresses(host, 80).into_iter();
            all.map(|a| a.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(all("localhost"), "127.0.0.1:80 [::1]:80");
        assert_eq!(all("127.0.0.1"), "127.0.0.1:80 [::1]:80");
        assert_eq!(all("[::1]"), "[::1]:80");
        assert_eq!(all("127.0.0.2"), "127.0.0.2:80");
    }

    #[tokio::test]
    async fn the_first_that_accepts_is_fixed() {
        let there = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (there_at, gone_at) = (there.local_addr().unwrap(), gone.local_addr().unwrap());
        drop(gone);
        let dialler = Dialler::host(vec![gone_at, there_at]);
        assert_eq!(dialler.fixed(), None);
        assert_eq!(dialler.dial(Duration::from_secs(5)).await.unwrap().1, there_at);
        assert_eq!(dialler.fixed(), Some(there_at));
        drop(there);
        let error = dialler.dial(Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let route = Route::default();
        assert!(route.dialler().is_none());
        route.lead(dialler);
        assert!(route.clone().dialler().is_some());
        route.cut();
        assert!(route.dialler().is_none());
    }
}

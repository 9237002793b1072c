//! Where an origin really is: addresses found once, and the one that is dialled from then on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Host;

use crate::policy::Origin;

/// What evidence says about the address of an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamInfo {
    /// The origin, as text.
    pub origin: String,
    /// The addresses found at start.
    pub addresses: Vec<SocketAddr>,
    /// The one that is dialled; none while nothing has answered yet.
    pub fixed: Option<SocketAddr>,
    /// More than one address answered at start (`localhost` over both families): they may be different servers.
    pub ambiguous: bool,
}

#[derive(Debug)]
pub(crate) struct Upstream {
    origin: Origin,
    addresses: Vec<SocketAddr>,
    fixed: OnceLock<SocketAddr>,
    ambiguous: bool,
    connect_timeout: Duration,
}

impl Upstream {
    /// Finds the addresses of an origin. `localhost` is both loopback addresses, IPv6 first as in Chromium, and the first
    /// that accepts is fixed at once; other names are resolved here and never again.
    pub(crate) async fn find(origin: Origin, connect_timeout: Duration) -> Self {
        let port = origin.port();
        let localhost = origin.host() == "localhost" || origin.host().ends_with(".localhost");
        let addresses: Vec<SocketAddr> = match Host::parse(origin.host()) {
            Ok(Host::Ipv4(ip)) => vec![(ip, port).into()],
            Ok(Host::Ipv6(ip)) => vec![(ip, port).into()],
            _ if localhost => [IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)]
                .map(|ip| (ip, port).into())
                .to_vec(),
            _ => lookup_host((origin.host(), port))
                .await
                .map(Iterator::collect)
                .unwrap_or_default(),
        };
        let fixed = OnceLock::new();
        let mut answering = 0;
        if addresses.len() > 1 {
            for address in &addresses {
                if matches!(timeout(connect_timeout, TcpStream::connect(address)).await, Ok(Ok(_))) {
                    answering += 1;
                    fixed.get_or_init(|| *address);
                }
            }
        } else if let Some(only) = addresses.first() {
            fixed.get_or_init(|| *only);
        }
        Self {
            origin,
            addresses,
            fixed,
            ambiguous: answering > 1,
            connect_timeout,
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn info(&self) -> UpstreamInfo {
        UpstreamInfo {
            origin: self.origin.to_string(),
            addresses: self.addresses.clone(),
            fixed: self.fixed.get().copied(),
            ambiguous: self.ambiguous,
        }
    }

    /// Connects to the fixed address; where none is fixed yet, to the first that accepts, which then is.
    pub(crate) async fn dial(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let fixed = self.fixed.get();
        let candidates = fixed.map_or(self.addresses.as_slice(), std::slice::from_ref);
        let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
        for address in candidates {
            match timeout(self.connect_timeout, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    self.fixed.get_or_init(|| *address);
                    return Ok((stream, *address));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

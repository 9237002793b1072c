//! Where an origin really is: addresses found once, and the one that is dialled from then on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use url::Host;

use crate::app::{Dialler, Route};
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
    way: Way,
    ambiguous: bool,
    connect_timeout: Duration,
}

/// How an origin is reached.
#[derive(Debug)]
enum Way {
    /// At an address of the host that was found at the start.
    Host(Dialler),
    /// By a way that is opened when its app has started, and cut when it ends.
    Route(Route),
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
        let dialler = Dialler::host(addresses);
        let mut answering = 0;
        match dialler.addresses() {
            [only] => dialler.fix(*only),
            several => {
                for address in several {
                    if matches!(timeout(connect_timeout, TcpStream::connect(address)).await, Ok(Ok(_))) {
                        answering += 1;
                        dialler.fix(*address);
                    }
                }
            }
        }
        Self {
            origin,
            way: Way::Host(dialler),
            ambiguous: answering > 1,
            connect_timeout,
        }
    }

    /// An origin whose app is started later.
    pub(crate) fn routed(origin: Origin, route: Route, connect_timeout: Duration) -> Self {
        Self {
            origin,
            way: Way::Route(route),
            ambiguous: false,
            connect_timeout,
        }
    }

    fn dialler(&self) -> Option<Dialler> {
        match &self.way {
            Way::Host(dialler) => Some(dialler.clone()),
            Way::Route(route) => route.dialler(),
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn info(&self) -> UpstreamInfo {
        let dialler = self.dialler();
        UpstreamInfo {
            origin: self.origin.to_string(),
            addresses: dialler
                .as_ref()
                .map_or_else(Vec::new, |dialler| dialler.addresses().to_vec()),
            fixed: dialler.as_ref().and_then(Dialler::fixed),
            ambiguous: self.ambiguous,
        }
    }

    /// Connects to the fixed address; where none is fixed yet, to the first that accepts, which then is.
    pub(crate) async fn dial(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self.dialler() {
            Some(dialler) => dialler.dial(self.connect_timeout).await,
            None => Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "the target's app is not running",
            )),
        }
    }
}

//! A short-lived child that goes into other namespaces, makes sockets there and hands them back.
//!
//! A socket stays in the network namespace that it was made in, whoever holds it: what is listening here is reached from
//! inside the lane only, and what is connected here goes out from inside the lane. Invariants: between fork and exit the
//! child makes system calls and nothing else (all that it needs is laid out before); it never outlives the call; this process
//! enters nothing.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::child::{self, Report};
use crate::supervise::forking;

/// The namespaces of a place, held open.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// The user namespace; none where it is our own.
    pub(crate) user: Option<OwnedFd>,
    /// The network namespace.
    pub(crate) net: OwnedFd,
}

impl Namespaces {
    /// The network namespace that a process is in (`/proc/PID/ns`), and the user namespace that it belongs to. That need not be
    /// the process's own: bwrap goes into one more, which has no say over the network.
    ///
    /// # Errors
    /// The process is gone, or is another user's.
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        let net = std::fs::File::open(format!("/proc/{pid}/ns/net")).map(OwnedFd::from)?;
        Ok(Self {
            user: Some(child::owner(&net)?),
            net,
        })
    }
}

/// Where to go.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Namespaces that are there.
    Existing {
        /// Which.
        namespaces: Arc<Namespaces>,
        /// A pidfd of who sets their loopback up: waiting for it ends when that process does. None where it is up.
        builder: Option<Arc<OwnedFd>>,
    },
    /// New ones, made by the child; loopback is set up.
    New {
        /// A user namespace too, in which this user stays who it is. Without it only root can.
        user: bool,
    },
}

/// A socket to make there. All are close-on-exec and do not block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// TCP, listening.
    Listen(SocketAddr),
    /// TCP, unconnected: whoever holds it can connect it to an address of that place.
    #[allow(dead_code, reason = "the app's lane dials with it")]
    Stream {
        /// IPv6, else IPv4.
        v6: bool,
    },
    /// Every first packet of the place's loopback: TCP without ACK and UDP, as they are sent (packet(7)).
    Packets,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Entered {
    /// The namespaces; new ones if they were to be made.
    pub(crate) namespaces: Arc<Namespaces>,
    /// Whether every address there is local now, IPv4 and IPv6, so that a packet to anywhere appears on loopback; none if
    /// that was not asked for.
    pub(crate) routes: Option<[io::Result<()>; 2]>,
    /// One for each that was asked for, in order.
    pub(crate) sockets: Vec<io::Result<OwnedFd>>,
}

/// Why the child could not get there.
#[derive(Debug, thiserror::Error)]
#[error("{stage}")]
pub(crate) struct EnterError {
    /// What it was doing.
    pub(crate) stage: &'static str,
    /// The system's answer.
    #[source]
    pub(crate) source: io::Error,
}

impl From<io::Error> for EnterError {
    fn from(source: io::Error) -> Self {
        Self {
            stage: "fork into the lane",
            source,
        }
    }
}

/// Sends a child there for these sockets. With `routes`, it first makes every address of the place a local one.
///
/// # Errors
/// The place cannot be made or entered. A socket that cannot be made is an error of its own.
pub(crate) async fn enter(place: Place, routes: bool, asks: Vec<Ask>) -> Result<Entered, EnterError> {
    forking(move || Ok(visit(&place, routes, &asks))).await?
}

/// Forks, takes what the child sends, and reaps it. Blocks.
fn visit(place: &Place, routes: bool, asks: &[Ask]) -> Result<Entered, EnterError> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(io::Error::from)?;
    let plan = child::Plan::new(place, routes, asks);
    let pid = plan.fork(theirs.as_raw_fd())?;
    drop(theirs);
    let told = collect(&ours, place, routes, asks.len());
    drop(ours);
    if let Some(pid) = Pid::from_raw(pid) {
        // It exits as soon as it has told all, or its socket is gone.
        while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
    }
    told
}

fn collect(socket: &OwnedFd, place: &Place, routes: bool, asks: usize) -> Result<Entered, EnterError> {
    let mut made = (None, None);
    let mut routed = Vec::new();
    let mut sockets = Vec::with_capacity(asks);
    while sockets.len() < asks
        || (routes && routed.len() < 2)
        || (matches!(place, Place::New { .. }) && made.1.is_none())
    {
        let Some((report, fd)) = receive(socket)? else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        };
        let error = || io::Error::from_raw_os_error(report.errno);
        match (child::Tag::from(report.tag), fd) {
            (child::Tag::Stage(stage), _) => return Err(EnterError { stage, source: error() }),
            (child::Tag::User, fd) => made.0 = fd,
            (child::Tag::Net, fd) => made.1 = fd,
            (child::Tag::Route, _) => routed.push(if report.errno == 0 { Ok(()) } else { Err(error()) }),
            (child::Tag::Socket, Some(fd)) => sockets.push(Ok(fd)),
            (child::Tag::Socket, None) => sockets.push(Err(error())),
        }
    }
    let namespaces = match (place, made) {
        (Place::Existing { namespaces, .. }, _) => Arc::clone(namespaces),
        (Place::New { .. }, (user, Some(net))) => Arc::new(Namespaces { user, net }),
        (Place::New { .. }, (_, None)) => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
    };
    let mut routed = routed.into_iter();
    Ok(Entered {
        namespaces,
        routes: routed.next().zip(routed.next()).map(|(v4, v6)| [v4, v6]),
        sockets,
    })
}

/// One report with the descriptor that came along; none when the child is gone.
fn receive(socket: &OwnedFd) -> io::Result<Option<(Report, Option<OwnedFd>)>> {
    let mut bytes = [0; Report::SIZE];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = loop {
        let mut parts = [io::IoSliceMut::new(&mut bytes)];
        match recvmsg(socket.as_fd(), &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if message.bytes == 0 {
        return Ok(None);
    }
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok(Some((Report::from_bytes(bytes), fd)))
}

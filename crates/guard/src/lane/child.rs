//! What the child of [`super::enter`] does. With `supervise/fork.rs` and one call in `filter.rs` the crate's only unsafe code.
//!
//! After a fork of a process with threads only async-signal-safe calls are allowed: everything here is laid out in a
//! [`Plan`] first, and the child reads that, makes system calls and exits. It neither allocates, locks, nor unwinds.
#![expect(unsafe_code, reason = "system calls between fork and exit")]

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{from_mut, from_ref};

use super::enter::{Ask, Place};
use super::filter;

/// How long the place's loopback may take to be up, in milliseconds; bwrap needs less than ten.
const LOOPBACK_MS: i64 = 5_000;
/// Loopback's index: the first interface of every network namespace.
pub(super) const LOOPBACK: i32 = 1;
/// Connections that may wait at a listener.
const BACKLOG: i32 = 1024;
/// Bytes of packets that may wait for the tripwire; the kernel caps it at `net.core.rmem_max`.
const PACKET_BUFFER: i32 = 4 << 20;

/// What a message of the child says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) tag: i32,
    /// 0 for success.
    pub(super) errno: i32,
}

impl Report {
    pub(super) const SIZE: usize = 8;

    pub(super) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let both = u64::from_ne_bytes(bytes);
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0).cast_signed();
        Self {
            tag: half(both >> 32),
            errno: half(both),
        }
    }

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let half = |number: i32| u64::from(number.cast_unsigned());
        (half(self.tag) << 32 | half(self.errno)).to_ne_bytes()
    }
}

/// What a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// The child got no further.
    Stage(&'static str),
    User,
    Net,
    Route,
    Socket,
}

const USER: i32 = 100;
const NET: i32 = 101;
const ROUTE: i32 = 102;
const SOCKET: i32 = 103;
/// Stages by number.
const STAGES: [&str; 6] = [
    "enter the user namespace",
    "enter the network namespace",
    "make namespaces",
    "map the user",
    "set loopback up",
    "wait for loopback",
];

impl From<i32> for Tag {
    fn from(tag: i32) -> Self {
        match tag {
            USER => Self::User,
            NET => Self::Net,
            ROUTE => Self::Route,
            SOCKET => Self::Socket,
            other => Self::Stage(
                usize::try_from(other)
                    .ok()
                    .and_then(|index| STAGES.get(index).copied())
                    .unwrap_or("unknown"),
            ),
        }
    }
}

/// One socket, ready for its system calls.
struct Step {
    family: i32,
    kind: i32,
    address: libc::sockaddr_storage,
    length: libc::socklen_t,
}

/// Everything that the child needs.
pub(super) struct Plan {
    user: Option<RawFd>,
    net: Option<RawFd>,
    builder: Option<RawFd>,
    make: i32,
    uid_map: Vec<u8>,
    gid_map: Vec<u8>,
    routes: bool,
    steps: Vec<Step>,
    parent: i32,
}

impl Plan {
    pub(super) fn new(place: &Place, routes: bool, asks: &[Ask]) -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let (user, net, builder, make) = match place {
            Place::Existing { namespaces, builder } => (
                namespaces.user.as_ref().map(AsRawFd::as_raw_fd),
                Some(namespaces.net.as_raw_fd()),
                builder.as_deref().map(AsRawFd::as_raw_fd),
                0,
            ),
            Place::New { user: true } => (None, None, None, libc::CLONE_NEWUSER | libc::CLONE_NEWNET),
            Place::New { user: false } => (None, None, None, libc::CLONE_NEWNET),
        };
        Self {
            user,
            net,
            builder,
            make,
            uid_map: format!("{uid} {uid} 1\n").into_bytes(),
            gid_map: format!("{gid} {gid} 1\n").into_bytes(),
            routes,
            steps: asks.iter().map(|ask| step(*ask)).collect(),
            parent: rustix::process::getpid().as_raw_pid(),
        }
    }

    /// Forks the child, which reports to `socket`; gives its pid. The caller reaps it.
    pub(super) fn fork(&self, socket: RawFd) -> io::Result<i32> {
        // SAFETY: the child runs `run` only, which makes system calls on what was laid out before and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: this is the forked child.
            0 => unsafe { self.run(socket) },
            pid => Ok(pid),
        }
    }

    /// # Safety
    /// Only in a forked child: it exits the process.
    unsafe fn run(&self, socket: RawFd) -> ! {
        // SAFETY: plain system calls with valid arguments; pointers are to live locals of the right size.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() == self.parent {
                let failed = self.arrive(socket);
                if failed.tag >= 0 {
                    send(socket, failed, None);
                } else {
                    self.serve(socket);
                }
            }
            libc::_exit(0)
        }
    }

    /// Gets to the place; a negative tag is success.
    unsafe fn arrive(&self, socket: RawFd) -> Report {
        const DONE: Report = Report { tag: -1, errno: 0 };
        let failed = |stage: i32| Report {
            tag: stage,
            errno: errno(),
        };
        // SAFETY: as in `run`.
        unsafe {
            if let Some(user) = self.user
                && libc::setns(user, libc::CLONE_NEWUSER) != 0
            {
                return failed(0);
            }
            if let Some(net) = self.net {
                if libc::setns(net, libc::CLONE_NEWNET) != 0 {
                    return failed(1);
                }
                return match self.builder {
                    Some(builder) if !wait_for_loopback(builder) => failed(5),
                    _ => DONE,
                };
            }
            if libc::unshare(self.make) != 0 {
                return failed(2);
            }
            if self.make & libc::CLONE_NEWUSER != 0 {
                // user_namespaces(7): without privileges setgroups must be given up before the group map is written.
                let mapped = write_file(c"/proc/self/setgroups", b"deny")
                    && write_file(c"/proc/self/uid_map", &self.uid_map)
                    && write_file(c"/proc/self/gid_map", &self.gid_map);
                if !mapped {
                    return failed(3);
                }
                send_file(socket, USER, c"/proc/self/ns/user");
            }
            if !loopback_up() {
                return failed(4);
            }
            send_file(socket, NET, c"/proc/self/ns/net");
            DONE
        }
    }

    /// Makes the routes and sockets and sends each.
    unsafe fn serve(&self, socket: RawFd) {
        // SAFETY: as in `run`.
        unsafe {
            if self.routes {
                for family in [libc::AF_INET, libc::AF_INET6] {
                    let errno = add_local_route(family);
                    send(socket, Report { tag: ROUTE, errno }, None);
                }
            }
            for step in &self.steps {
                let (made, errno) = make(step);
                send(socket, Report { tag: SOCKET, errno }, (made >= 0).then_some(made));
                if made >= 0 {
                    libc::close(made);
                }
            }
        }
    }
}

/// The user namespace that another namespace belongs to (ioctl_ns(2), `NS_GET_USERNS`).
pub(super) fn owner(namespace: &OwnedFd) -> io::Result<OwnedFd> {
    /// `_IO(0xb7, 0x1)` of linux/nsfs.h.
    const NS_GET_USERNS: libc::Ioctl = 0xb701;
    // SAFETY: the call takes no further argument and gives a new descriptor, close-on-exec, that nobody else owns.
    unsafe {
        let found = libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS);
        if found < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(found))
    }
}

fn step(ask: Ask) -> Step {
    // SAFETY: all zeros is a valid value of this plain C structure.
    let mut address: libc::sockaddr_storage = unsafe { zeroed() };
    let target = from_mut(&mut address);
    let (family, kind, length) = match ask {
        Ask::Listen(SocketAddr::V4(at)) => {
            let raw = libc::sockaddr_in {
                sin_family: family(libc::AF_INET),
                sin_port: at.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(at.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage is large enough for, and aligned as, every socket address.
            unsafe { target.cast::<libc::sockaddr_in>().write(raw) };
            (libc::AF_INET, libc::SOCK_STREAM, size_of::<libc::sockaddr_in>())
        }
        Ask::Listen(SocketAddr::V6(at)) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: at.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr {
                    s6_addr: at.ip().octets(),
                },
                sin6_scope_id: at.scope_id(),
            };
            // SAFETY: as above.
            unsafe { target.cast::<libc::sockaddr_in6>().write(raw) };
            (libc::AF_INET6, libc::SOCK_STREAM, size_of::<libc::sockaddr_in6>())
        }
        Ask::Stream { v6 } => (if v6 { libc::AF_INET6 } else { libc::AF_INET }, libc::SOCK_STREAM, 0),
        Ask::Packets => {
            // SAFETY: all zeros is a valid value of this plain C structure.
            let mut raw: libc::sockaddr_ll = unsafe { zeroed() };
            raw.sll_family = family(libc::AF_PACKET);
            raw.sll_protocol = every_protocol();
            raw.sll_ifindex = LOOPBACK;
            // SAFETY: as above.
            unsafe { target.cast::<libc::sockaddr_ll>().write(raw) };
            (libc::AF_PACKET, libc::SOCK_DGRAM, size_of::<libc::sockaddr_ll>())
        }
    };
    Step {
        family,
        kind,
        address,
        length: libc::socklen_t::try_from(length).unwrap_or(0),
    }
}

/// A family as it stands in a socket address.
fn family(family: i32) -> libc::sa_family_t {
    libc::sa_family_t::try_from(family).unwrap_or(0)
}

/// `ETH_P_ALL` in network order.
fn every_protocol() -> u16 {
    u16::try_from(libc::ETH_P_ALL).unwrap_or(3).to_be()
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// A socket as asked for, or -1 and why not.
unsafe fn make(step: &Step) -> (RawFd, i32) {
    // SAFETY: plain system calls; the address is `length` valid bytes.
    unsafe {
        // A packet socket sees nothing before it is bound, and then its filter is in place.
        let made = libc::socket(step.family, step.kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0);
        if made < 0 {
            return (-1, errno());
        }
        let mut good = true;
        if step.family == libc::AF_PACKET {
            set(made, libc::SOL_SOCKET, libc::SO_RCVBUF, &PACKET_BUFFER);
            let program = filter::program();
            good = set(made, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program);
        }
        if good && step.length > 0 {
            good = libc::bind(made, from_ref(&step.address).cast(), step.length) == 0;
            if good && step.kind == libc::SOCK_STREAM {
                good = libc::listen(made, BACKLOG) == 0;
            }
        }
        if good {
            (made, 0)
        } else {
            let why = errno();
            libc::close(made);
            (-1, why)
        }
    }
}

unsafe fn set<T>(socket: RawFd, level: i32, option: i32, value: &T) -> bool {
    let length = libc::socklen_t::try_from(size_of::<T>()).unwrap_or(0);
    // SAFETY: the value is `length` valid bytes.
    unsafe { libc::setsockopt(socket, level, option, from_ref(value).cast(), length) == 0 }
}

/// Sends a report, with a descriptor if there is one (unix(7), `SCM_RIGHTS`).
unsafe fn send(socket: RawFd, report: Report, fd: Option<RawFd>) {
    let mut bytes = report.to_bytes();
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // Aligned as a control message has to be.
    let mut control = MaybeUninit::<[u64; 8]>::zeroed();
    // SAFETY: the message's pointers are to live locals; the control buffer has room for one descriptor (24 bytes).
    unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = from_mut(&mut part);
        message.msg_iovlen = 1;
        if let Some(fd) = fd {
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(4) as _;
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            if !head.is_null() {
                (*head).cmsg_level = libc::SOL_SOCKET;
                (*head).cmsg_type = libc::SCM_RIGHTS;
                (*head).cmsg_len = libc::CMSG_LEN(4) as _;
                libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(fd);
            }
        }
        while libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) < 0 && errno() == libc::EINTR {}
    }
}

unsafe fn send_file(socket: RawFd, tag: i32, path: &std::ffi::CStr) {
    // SAFETY: plain system calls on a string that ends.
    unsafe {
        let opened = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let errno = if opened < 0 { errno() } else { 0 };
        send(socket, Report { tag, errno }, (opened >= 0).then_some(opened));
        if opened >= 0 {
            libc::close(opened);
        }
    }
}

unsafe fn write_file(path: &std::ffi::CStr, bytes: &[u8]) -> bool {
    // SAFETY: plain system calls on a string that ends and live bytes.
    unsafe {
        let opened = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if opened < 0 {
            return false;
        }
        let written = libc::write(opened, bytes.as_ptr().cast(), bytes.len());
        let why = errno();
        libc::close(opened);
        *libc::__errno_location() = why;
        usize::try_from(written) == Ok(bytes.len())
    }
}

/// The flags of loopback (netdevice(7)), written first if they are given.
unsafe fn loopback_flags(with: Option<libc::c_short>) -> Option<libc::c_short> {
    // SAFETY: the request is a live local of the size that the ioctl wants, with a name that ends.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return None;
        }
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = libc::c_char::try_from(*from).unwrap_or(0);
        }
        let mut done = libc::ioctl(socket, libc::SIOCGIFFLAGS, from_mut(&mut request)) == 0;
        let mut flags = request.ifr_ifru.ifru_flags;
        if let (true, Some(with)) = (done, with) {
            flags |= with;
            request.ifr_ifru.ifru_flags = flags;
            done = libc::ioctl(socket, libc::SIOCSIFFLAGS, from_mut(&mut request)) == 0;
        }
        let why = errno();
        libc::close(socket);
        *libc::__errno_location() = why;
        done.then_some(flags)
    }
}

/// `IFF_UP`, as it stands in a request.
fn up() -> libc::c_short {
    libc::c_short::try_from(libc::IFF_UP).unwrap_or(1)
}

unsafe fn loopback_up() -> bool {
    // SAFETY: as its callee.
    unsafe { loopback_flags(Some(up())).is_some() }
}

/// Waits until bwrap has set loopback up; setting it up here would make bwrap's own address a duplicate, which it dies of.
unsafe fn wait_for_loopback(builder: RawFd) -> bool {
    // SAFETY: plain system calls; pointers are to live locals.
    unsafe {
        let changes = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        );
        let mut address: libc::sockaddr_nl = zeroed();
        address.nl_family = family(libc::AF_NETLINK);
        address.nl_groups = u32::try_from(libc::RTMGRP_LINK).unwrap_or(1);
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_nl>()).unwrap_or(0);
        if changes < 0 || libc::bind(changes, from_ref(&address).cast(), length) != 0 {
            return false;
        }
        let deadline = now_ms() + LOOPBACK_MS;
        loop {
            // Listening before looking: a change in between is not missed.
            match loopback_flags(None) {
                Some(flags) if flags & up() != 0 => return true,
                Some(_) => {}
                None => return false,
            }
            let mut wanted = [changes, builder].map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            });
            let left = i32::try_from(deadline - now_ms()).unwrap_or(0).max(0);
            let ready = libc::poll(wanted.as_mut_ptr(), 2, left);
            if ready == 0 || wanted[1].revents != 0 {
                *libc::__errno_location() = if ready == 0 { libc::ETIMEDOUT } else { libc::ESRCH };
                return false;
            }
            let mut read = MaybeUninit::<[u8; 4096]>::uninit();
            libc::recv(changes, read.as_mut_ptr().cast(), 4096, libc::MSG_DONTWAIT);
        }
    }
}

unsafe fn now_ms() -> i64 {
    // SAFETY: the call fills a live local.
    unsafe {
        let mut now: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, from_mut(&mut now));
        now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
    }
}

/// A route by which every address is this host's own ("AnyIP"; rtnetlink(7), `RTM_NEWROUTE` of type `RTN_LOCAL`).
#[repr(C)]
struct NewRoute {
    head: libc::nlmsghdr,
    family: u8,
    destination_bits: u8,
    source_bits: u8,
    tos: u8,
    table: u8,
    protocol: u8,
    scope: u8,
    kind: u8,
    flags: u32,
    attribute_length: u16,
    attribute: u16,
    interface: i32,
}

/// What the kernel answers a request with (netlink(7), `NLMSG_ERROR`).
#[repr(C)]
struct Answer {
    head: libc::nlmsghdr,
    error: i32,
    rest: [u8; 512],
}

/// Adds it; 0 or an errno.
unsafe fn add_local_route(family: i32) -> i32 {
    let length = u32::try_from(size_of::<NewRoute>()).unwrap_or(0);
    let bits = |flags: i32| u16::try_from(flags).unwrap_or(0);
    let request = NewRoute {
        head: libc::nlmsghdr {
            nlmsg_len: length,
            nlmsg_type: libc::RTM_NEWROUTE,
            nlmsg_flags: bits(libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE),
            nlmsg_seq: 1,
            nlmsg_pid: 0,
        },
        family: u8::try_from(family).unwrap_or(0),
        destination_bits: 0,
        source_bits: 0,
        tos: 0,
        table: libc::RT_TABLE_LOCAL,
        protocol: libc::RTPROT_STATIC,
        scope: if family == libc::AF_INET {
            libc::RT_SCOPE_HOST
        } else {
            libc::RT_SCOPE_UNIVERSE
        },
        kind: libc::RTN_LOCAL,
        flags: 0,
        attribute_length: 8,
        attribute: libc::RTA_OIF,
        interface: LOOPBACK,
    };
    // SAFETY: plain system calls; the request is `length` valid bytes and the answer a live local.
    unsafe {
        let socket = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_ROUTE,
        );
        if socket < 0 {
            return errno();
        }
        let mut answer: Answer = zeroed();
        let sent = libc::send(socket, from_ref(&request).cast(), size_of::<NewRoute>(), 0);
        let came = libc::recv(socket, from_mut(&mut answer).cast(), size_of::<Answer>(), 0);
        let why = errno();
        libc::close(socket);
        if sent < 0 || came < 20 {
            return why;
        }
        if i32::from(answer.head.nlmsg_type) == libc::NLMSG_ERROR {
            -answer.error
        } else {
            libc::EPROTO
        }
    }
}

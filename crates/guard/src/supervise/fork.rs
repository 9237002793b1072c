//! What happens between fork and exec, and nothing else.
//!
//! After fork only async-signal-safe calls are allowed: each closure here makes plain system calls and neither allocates nor
//! locks.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::keeper;
use crate::lane::enter::Namespaces;

/// Prepares the child: a session of its own, death with its parent, no core dumps, private files, nothing inherited but what
/// is mapped later.
///
/// `parent` is this process. The death signal follows the *thread* that forks, so that thread must live as long as the child
/// may.
///
/// With `namespaces` the child enters those first, as the user that we are, and becomes `user` there; without, the command
/// changes user itself. With `kept` a keeper stays between us and the program ([`super::keeper`]).
#[expect(unsafe_code, reason = "pre_exec runs in the forked child")]
pub(super) fn prepare(
    command: &mut Command,
    parent: Pid,
    no_new_privs: bool,
    namespaces: Option<(Arc<Namespaces>, Option<super::User>)>,
    kept: bool,
) {
    let child = move || -> io::Result<()> {
        rustix::process::setsid()?;
        if let Some((namespaces, user)) = &namespaces {
            enter(namespaces)?;
            if let Some(user) = user {
                become_user(*user)?;
            }
        }
        // After the change of user, which would clear it.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(parent) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        rustix::process::setrlimit(
            Resource::Core,
            Rlimit {
                current: Some(0),
                maximum: Some(0),
            },
        )?;
        rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
        if no_new_privs {
            rustix::thread::set_no_new_privs(true)?;
        }
        if kept {
            keeper::stay_behind(parent)?;
        }
        close_on_exec()
    };
    // SAFETY: the closure only makes system calls (setsid, setns, setgroups, setresgid, setresuid, prctl, getppid, setrlimit,
    // umask, close_range) and reads what it captured; errors are built from a number without allocating.
    unsafe {
        command.pre_exec(child);
    }
}

/// Enters namespaces that are held open (setns(2)).
fn enter(namespaces: &Namespaces) -> io::Result<()> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    if let Some(user) = &namespaces.user {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    move_into_link_name_space(namespaces.net.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// Gives up this user for another, for good.
#[expect(unsafe_code, reason = "rustix changes the user of one thread only")]
fn become_user(user: super::User) -> io::Result<()> {
    // SAFETY: plain system calls; the list of groups is empty.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(user.gid, user.gid, user.gid) == 0
            && libc::setresuid(user.uid, user.uid, user.uid) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Marks every descriptor from 3 up, so that what our own parent leaked to us goes no further.
#[expect(unsafe_code, reason = "rustix has no close_range")]
fn close_on_exec() -> io::Result<()> {
    // SAFETY: with CLOSE_RANGE_CLOEXEC the call closes nothing now and reads no memory.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether a process of this user can make a user namespace, found by trying in a child that never runs a program.
#[expect(unsafe_code, reason = "pre_exec runs in the forked child")]
pub(super) fn can_unshare_user(user: Option<super::User>) -> io::Result<()> {
    // Says "it worked" without an exec. No call made before it can give this error.
    const WORKED: i32 = libc::EXFULL;
    let mut command = Command::new("/proc/self/exe");
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    let child = || -> io::Result<()> {
        // SAFETY: the child is single-threaded and only fails or exits afterwards.
        let done = unsafe { libc::unshare(libc::CLONE_NEWUSER) };
        let error = io::Error::last_os_error();
        Err(if done == 0 {
            io::Error::from_raw_os_error(WORKED)
        } else {
            error
        })
    };
    // SAFETY: one system call; errors are built from a number without allocating.
    unsafe {
        command.pre_exec(child);
    }
    match command.spawn() {
        Err(error) if error.raw_os_error() == Some(WORKED) => Ok(()),
        Err(error) => Err(error),
        Ok(mut child) => {
            // Cannot be: the closure always fails.
            let _ = child.kill();
            let _ = child.wait();
            Err(io::ErrorKind::Other.into())
        }
    }
}

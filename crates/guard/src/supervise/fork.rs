//! What happens between fork and exec, and nothing else. The only unsafe code of the crate.
//!
//! After fork only async-signal-safe calls are allowed: each closure here makes plain system calls and neither allocates nor
//! locks.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// Prepares the child: a session of its own, death with its parent, no core dumps, private files, nothing inherited but what
/// is mapped later.
///
/// `parent` is this process. The death signal follows the *thread* that forks, so that thread must live as long as the child
/// may.
#[expect(unsafe_code, reason = "pre_exec runs in the forked child")]
pub(super) fn prepare(command: &mut Command, parent: Pid, no_new_privs: bool) {
    let child = move || -> io::Result<()> {
        rustix::process::setsid()?;
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
        close_on_exec()
    };
    // SAFETY: the closure only makes system calls (setsid, prctl, getppid, setrlimit, umask, close_range) and captures two
    // plain values; errors are built from a number without allocating.
    unsafe {
        command.pre_exec(child);
    }
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

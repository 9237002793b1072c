//! The keeper: a process that stays between us and a program that builds a lane, so that nothing of a lane outlives us.
//!
//! bwrap asks for its lane's death with its own only at the end of its work, and does not look whether it is too late: killed
//! in between, it leaves a lane that nobody ends. The keeper is there first. It is the subreaper of all that comes after, is told
//! when we die (`PR_SET_PDEATHSIG`), and then kills every child it has until none is left; it does the same when the program
//! ends. Invariant: it only makes system calls, holds no descriptor, and cannot be looked into by others of its user.
#![expect(unsafe_code, reason = "system calls in a forked child that runs no program")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

use rustix::process::Pid;

/// Forks: the keeper stays in this process and never returns, the child returns and goes on to its program. `parent` is
/// whose death ends all.
///
/// Only between fork and exec, after the change of user.
pub(super) fn stay_behind(parent: Pid) -> io::Result<()> {
    let dead = || io::Error::from_raw_os_error(libc::ESRCH);
    // SAFETY: plain system calls; pointers are to live locals. The fork is of a process with one thread.
    unsafe {
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut waited = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(waited.as_mut_ptr());
        libc::sigaddset(waited.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(waited.as_mut_ptr(), libc::SIGCHLD);
        // Before the death signal is asked for: it must wait until it is looked for.
        if libc::sigprocmask(libc::SIG_BLOCK, waited.as_ptr(), before.as_mut_ptr()) != 0
            || libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) != 0
            || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0
        {
            return Err(io::Error::last_os_error());
        }
        if libc::getppid() != parent.as_raw_pid() {
            return Err(dead());
        }
        let keeper = libc::getpid();
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != keeper {
                    return Err(dead());
                }
                if libc::sigprocmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) != 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            }
            program => keep(program, waited.as_ptr()),
        }
    }
}

/// Waits for the end of the program or of our parent, and lets nothing outlive it. Exits as the program did.
unsafe fn keep(program: libc::pid_t, waited: *const libc::sigset_t) -> ! {
    // SAFETY: plain system calls; pointers are to live locals; nothing that is closed is used again.
    unsafe {
        libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, 0_u32);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        let mut code = 0;
        let mut ending = false;
        loop {
            if libc::sigwaitinfo(waited, null_mut()) == libc::SIGTERM {
                ending = true;
            }
            loop {
                let mut status = 0;
                match libc::waitpid(-1, &raw mut status, libc::WNOHANG) {
                    -1 => libc::_exit(code),
                    0 => break,
                    pid if pid == program => {
                        ending = true;
                        code = if libc::WIFEXITED(status) {
                            libc::WEXITSTATUS(status)
                        } else {
                            128 + libc::WTERMSIG(status)
                        };
                    }
                    _ => {}
                }
            }
            if ending {
                // What the dead had as children is ours now; each death brings another round.
                kill_children(program);
            }
        }
    }
}

/// Kills every child (proc_tid_children(5)); the program alone where the kernel does not list them.
unsafe fn kill_children(program: libc::pid_t) {
    let mut text = [0_u8; 4096];
    // SAFETY: plain system calls on a string that ends and a live buffer; every pid is a child that nobody else reaps.
    unsafe {
        let list = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let read = if list < 0 {
            -1
        } else {
            libc::read(list, text.as_mut_ptr().cast(), text.len())
        };
        libc::close(list);
        let Ok(length @ 1..) = usize::try_from(read) else {
            libc::kill(program, libc::SIGKILL);
            return;
        };
        let mut pid: libc::pid_t = 0;
        for byte in text.iter().take(length) {
            if byte.is_ascii_digit() {
                pid = pid.wrapping_mul(10).wrapping_add(libc::pid_t::from(byte - b'0'));
            } else {
                if pid > 1 {
                    libc::kill(pid, libc::SIGKILL);
                }
                pid = 0;
            }
        }
    }
}

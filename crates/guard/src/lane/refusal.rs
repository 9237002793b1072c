//! Why namespaces are refused here, read from the kernel's own switches, and what to do about it.

use std::fs;
use std::io;

/// The switches that turn unprivileged user namespaces off, each with the value that does, and the way back.
const SWITCHES: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows userns",
    ),
];

/// Why user namespaces are refused, as far as the system tells, and what to do.
pub(super) fn user_namespaces() -> String {
    explain(|path| fs::read_to_string(path).ok())
}

fn explain(read: impl Fn(&str) -> Option<String>) -> String {
    let off: Vec<_> = SWITCHES
        .iter()
        .filter(|(path, off, _)| read(path).is_some_and(|value| value.trim() == *off))
        .map(|(_, _, todo)| *todo)
        .collect();
    if off.is_empty() {
        return "user namespaces are refused, and no sysctl says so: in a container its seccomp profile does; allow unshare and clone there \
                (Docker: --security-opt seccomp=unconfined, or a profile of your own)"
            .to_owned();
    }
    format!("user namespaces are turned off: {}", off.join("; "))
}

/// Why a namespace could not be made or entered.
pub(super) fn namespaces(stage: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSPC | libc::EACCES | libc::EUSERS) => {
            format!("{} ({stage}: {error})", user_namespaces())
        }
        _ => format!("{stage}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_is_named_with_the_way_back() {
        for (path, off, todo) in SWITCHES {
            let text = explain(|asked| (asked == path).then(|| format!("{off}\n")));
            assert!(text.contains(todo), "{text}");
        }
        assert!(explain(|_| None).contains("seccomp"));
        assert!(explain(|_| Some("7".into())).contains("seccomp"), "no switch is off");
    }
}

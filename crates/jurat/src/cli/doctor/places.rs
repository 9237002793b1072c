//! Directories and shared memory: whether they are there, writable, private and large enough.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jurat_browser::flags::SMALL_SHM;
use jurat_evidence::Root;
use jurat_guard::scratch::Scratch;
use rustix::fs::statvfs;

use super::{Finding, State};
use crate::engine::shm_bytes;

/// Below this much free space a run may end for want of it, in bytes.
const SMALL_SPACE: u64 = 200 * 1024 * 1024;

/// `/dev/shm`, where the browser's processes share memory.
pub(super) fn shared_memory() -> Finding {
    const NAME: &str = "/dev/shm";
    match shm_bytes() {
        Some(bytes) if bytes >= SMALL_SHM => Finding::new(NAME, State::Good, size(bytes)),
        Some(bytes) => Finding::new(
            NAME,
            State::Warn,
            format!(
                "{}: small, so that the browser is told to share memory through files, which is slower",
                size(bytes)
            ),
        )
        .todo("in a container: --shm-size=1g"),
        None => Finding::new(
            NAME,
            State::Warn,
            "not there: the browser is told to share memory through files, which is slower",
        ),
    }
}

/// Where a run's browser has its profile.
pub(super) fn temporary() -> Finding {
    const NAME: &str = "temp";
    let base = std::env::temp_dir();
    let made = Scratch::create(&base, None).and_then(|scratch| {
        scratch
            .dir("home")
            .and_then(|home| std::fs::write(home.join("file"), "x"))
    });
    match made {
        Ok(()) => space(NAME, &base, "writable"),
        Err(error) => Finding::new(NAME, State::Bad, format!("{}: {error}", base.display()))
            .todo("set TMPDIR to a directory that can be written to"),
    }
}

/// Where bundles go.
pub(super) fn evidence(path: &Path) -> Finding {
    const NAME: &str = "evidence";
    let todo = "name another directory with --evidence-root or JURAT_EVIDENCE_ROOT";
    if !path.exists() {
        // Looking does not make it: the first run does.
        let above = path.ancestors().find(|p| p.exists()).unwrap_or(Path::new("/"));
        let writable = rustix::fs::access(above, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK);
        return match writable {
            Ok(()) => space(NAME, above, &format!("{} will be made, 0700", path.display())),
            Err(error) => {
                Finding::new(NAME, State::Bad, format!("{} cannot be made: {error}", path.display())).todo(todo)
            }
        };
    }
    if let Err(error) = Root::open(path) {
        return Finding::new(NAME, State::Bad, error.to_string()).todo(todo);
    }
    if let Err(error) = rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK) {
        return Finding::new(
            NAME,
            State::Bad,
            format!("{} cannot be written to: {error}", path.display()),
        )
        .todo(todo);
    }
    let mode = std::fs::metadata(path).map_or(0, |m| m.mode() & 0o777);
    if mode & 0o077 != 0 {
        return Finding::new(
            NAME,
            State::Warn,
            format!("{}: others can look into it (mode {mode:04o})", path.display()),
        )
        .todo(format!("chmod 700 {}", path.display()));
    }
    space(NAME, path, &format!("writable, {mode:04o}"))
}

/// A directory that is good but for the room in it.
fn space(name: &'static str, path: &Path, what: &str) -> Finding {
    let found = |free: &str| format!("{}: {what}, {free} free", path.display());
    match statvfs(path).map(|s| s.f_bavail * s.f_frsize) {
        Ok(free) if free < SMALL_SPACE => {
            Finding::new(name, State::Warn, found(&size(free))).todo("make room: a long run may fill it")
        }
        Ok(free) => Finding::new(name, State::Good, found(&size(free))),
        Err(error) => Finding::new(
            name,
            State::Warn,
            format!("{}: {what}; free space unknown: {error}", path.display()),
        ),
    }
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size(12), "12 bytes");
        assert_eq!(size(64 << 20), "64.0 MiB");
        assert_eq!(size((3 << 30) + (1 << 29)), "3.5 GiB");
    }

    #[test]
    fn looking_for_the_evidence_root_does_not_make_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("deep/evidence");
        assert_ne!(evidence(&root).state, State::Bad);
        assert!(!dir.path().join("deep").exists());
    }

    #[test]
    fn an_evidence_root_that_others_can_read_or_write_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("evidence");
        std::fs::create_dir(&root).unwrap();
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(evidence(&root).state, State::Warn);
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(evidence(&root).state, State::Bad);
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_ne!(evidence(&root).state, State::Bad);
    }
}

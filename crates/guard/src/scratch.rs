//! Private directories of a run, and the sweeping of those that a killed run left.
//!
//! A scratch directory's own name says whose it is (pid and birth), so that no file inside can claim otherwise. It belongs to us
//! and can be entered by all; what is inside belongs to the browser's user and only that user can look. A sweep touches only
//! directories of our own user with such a name, whose process is gone, and follows no link.

use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rustix::process::{geteuid, getpid};

use crate::supervise::{User, birth};

const PREFIX: &str = "jurat-scratch";

/// A private directory; removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    user: Option<User>,
    kept: bool,
}

impl Scratch {
    /// Makes a directory under `base`. `user` is who will own what [`Scratch::dir`] makes; none for ourselves.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn create(base: &Path, user: Option<User>) -> io::Result<Self> {
        let pid = getpid().as_raw_pid();
        let birth = birth(pid).unwrap_or(0);
        let random = RandomState::new().build_hasher().finish();
        let path = base.join(format!("{PREFIX}-{pid}-{birth}-{random:016x}"));
        // Fails if anything has this name already.
        DirBuilder::new().mode(0o700).create(&path)?;
        let scratch = Self {
            path,
            user,
            kept: false,
        };
        if user.is_some() {
            // The other user must be able to pass, not to list.
            fs::set_permissions(&scratch.path, Permissions::from_mode(0o711))?;
        }
        Ok(scratch)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory inside, mode 0700, owned by the browser's user.
    ///
    /// # Errors
    /// When it cannot be made or given away.
    pub fn dir(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        if let Some(user) = self.user {
            chown(&path, Some(user.uid), Some(user.gid))?;
        }
        Ok(path)
    }

    /// Removes it now.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn remove(mut self) -> io::Result<()> {
        self.kept = true;
        fs::remove_dir_all(&self.path)
    }

    /// Leaves it for a person to look at; the next sweep takes it.
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        self.path.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "a scratch directory stays for the next sweep");
        }
    }
}

/// Removes directories under `base` that processes of ours left which are gone. Returns those that were removed.
pub fn sweep(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| orphaned(path) && fs::remove_dir_all(path).is_ok())
        .collect()
}

fn orphaned(path: &Path) -> bool {
    let Some((pid, begun)) = path.file_name().and_then(|name| name.to_str()).and_then(owner) else {
        return false;
    };
    let ours = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
    ours && birth(pid) != Some(begun)
}

/// The pid and birth that a scratch directory's name tells.
fn owner(name: &str) -> Option<(i32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
    let (pid, begun, random) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = parts.next().is_none() && random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit());
    if whole {
        Some((pid.parse().ok()?, begun.parse().ok()?))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn names() {
        assert_eq!(owner("jurat-scratch-12-345-0123456789abcdef"), Some((12, 345)));
        for bad in [
            "jurat-scratch",
            "jurat-scratch-1-2",
            "jurat-scratch-1-2-xyz",
            "jurat-scratch-1-2-0123456789abcdef-x",
            "jurat-scratch-a-2-0123456789abcdef",
            "other-1-2-0123456789abcdef",
        ] {
            assert_eq!(owner(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_sweep_takes_only_what_a_dead_process_left() {
        let base = tempfile::tempdir().unwrap();
        let alive = Scratch::create(base.path(), None).unwrap();
        alive.dir("profile").unwrap();
        let dead = base.path().join("jurat-scratch-1-1-0123456789abcdef");
        fs::create_dir_all(dead.join("profile/deep")).unwrap();
        let precious = base.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        symlink(&precious, dead.join("profile/link")).unwrap();
        symlink(&precious, base.path().join("jurat-scratch-1-1-fedcba9876543210")).unwrap();

        assert_eq!(sweep(base.path()), std::slice::from_ref(&dead));
        assert!(!dead.exists() && alive.path().exists());
        assert!(precious.join("file").exists(), "no link is followed");
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
        assert!(sweep(&base.path().join("absent")).is_empty());
    }

    #[test]
    fn only_the_browsers_user_can_look_inside() {
        let base = tempfile::tempdir().unwrap();
        let user = geteuid().is_root().then_some(User::NOBODY);
        let scratch = Scratch::create(base.path(), user).unwrap();
        let dir = fs::metadata(scratch.dir("home").unwrap()).unwrap();
        assert_eq!(dir.mode() & 0o777, 0o700);
        assert_eq!(dir.uid(), user.map_or(geteuid().as_raw(), |user| user.uid));
        let outer = fs::metadata(scratch.path()).unwrap();
        assert_eq!(outer.mode() & 0o066, 0, "nobody else lists or writes");
        assert!(scratch.dir("home").is_err(), "a name is used once");
        let kept = scratch.keep();
        assert!(kept.exists());
    }
}

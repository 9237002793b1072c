//! Trees of files: the private copy that an app may write to, and the digest that says which app was verified.
//!
//! Both walk a folder without following a link, in the order of names.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use jurat_core::canon::Digest;
use jurat_core::observation::SourceFact;
use sha2::{Digest as _, Sha256};

/// Folders that are not the app's own source: what was installed, the history, and what was built by Cargo.
const NOT_SOURCE: [&str; 3] = ["node_modules", ".git", "target"];
/// Most files that are looked at.
const MOST_FILES: u64 = 200_000;
/// Most bytes that are looked at.
const MOST_BYTES: u64 = 4 << 30;

/// Copies a folder, `.git` left out; links stay links. Gives the bytes. Blocks.
///
/// # Errors
/// More than `most` bytes or 200,000 files, a file that cannot be read, a full disk.
pub(super) fn copy(from: &Path, to: &Path, most: u64) -> io::Result<u64> {
    let (mut files, mut bytes) = (0, 0);
    walk(from, &[".git"], &mut |path, kind| {
        let target = to.join(path.strip_prefix(from).unwrap_or(path));
        match kind {
            Kind::Folder => {
                fs::create_dir_all(&target)?;
            }
            Kind::Link => symlink(fs::read_link(path)?, &target)?,
            Kind::File => {
                files += 1;
                // Shares the blocks where the file system can (copy_file_range(2)).
                bytes += fs::copy(path, &target)?;
                let mode = fs::metadata(path)?.permissions().mode();
                fs::set_permissions(&target, fs::Permissions::from_mode(mode | 0o200))?;
            }
            Kind::Other => {}
        }
        if files > MOST_FILES || bytes > most {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{} holds more than a copy is made of ({most} bytes)", from.display()),
            ));
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// What an app's folder is made of. Blocks.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn source(folder: &Path) -> io::Result<SourceFact> {
    let mut listing = Sha256::new();
    let mut fact = SourceFact {
        commit: commit(folder),
        tree: Digest::of(b""),
        files: 0,
        bytes: 0,
        cut: false,
    };
    walk(folder, &NOT_SOURCE, &mut |path, kind| {
        if fact.cut {
            return Ok(());
        }
        let name = path.strip_prefix(folder).unwrap_or(path);
        let name = std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str());
        let (size, digest) = match kind {
            Kind::Folder | Kind::Other => return Ok(()),
            Kind::Link => {
                let target = fs::read_link(path)?;
                let target = std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str());
                (target.len() as u64, Sha256::digest(target))
            }
            Kind::File => hash(path)?,
        };
        // Length before name: no name can be taken for the end of another entry.
        listing.update((name.len() as u64).to_be_bytes());
        listing.update(name);
        listing.update([u8::from(matches!(kind, Kind::Link))]);
        listing.update(size.to_be_bytes());
        listing.update(digest);
        fact.files += 1;
        fact.bytes += size;
        fact.cut = fact.files >= MOST_FILES || fact.bytes >= MOST_BYTES;
        Ok(())
    })?;
    let mut hex = String::from("sha256:");
    for byte in listing.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    fact.tree = Digest::parse(&hex).unwrap_or(fact.tree);
    Ok(fact)
}

/// The bytes of a folder, as far as they can be counted now. Blocks.
pub(super) fn bytes_in(folder: &Path) -> u64 {
    let mut bytes = 0;
    // What goes away meanwhile is not counted.
    let _ = walk(folder, &[], &mut |path, kind| {
        if matches!(kind, Kind::File) {
            bytes += fs::symlink_metadata(path).map_or(0, |m| std::os::unix::fs::MetadataExt::blocks(&m) * 512);
        }
        Ok(())
    });
    bytes
}

fn hash(path: &Path) -> io::Result<(u64, sha2::digest::Output<Sha256>)> {
    let mut file = File::open(path)?;
    let (mut hash, mut size) = (Sha256::new(), 0);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok((size, hash.finalize()));
        }
        hash.update(&chunk[..read]);
        size += read as u64;
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Folder,
    File,
    Link,
    /// A socket, device or FIFO.
    Other,
}

fn walk(folder: &Path, leave: &[&str], visit: &mut impl FnMut(&Path, Kind) -> io::Result<()>) -> io::Result<()> {
    visit(folder, Kind::Folder)?;
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        let path = entry.path();
        if leave.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_dir() {
            walk(&path, leave, visit)?;
        } else if kind.is_symlink() {
            visit(&path, Kind::Link)?;
        } else if kind.is_file() {
            visit(&path, Kind::File)?;
        } else {
            visit(&path, Kind::Other)?;
        }
    }
    Ok(())
}

/// The folder of the git work tree that `folder` lies in, if it does.
pub fn work_tree(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .find(|above| above.join(".git").exists())
        .map(Path::to_owned)
}

/// The commit that is checked out (gitrepository-layout(5)); git itself is not run.
fn commit(folder: &Path) -> Option<String> {
    let tree = work_tree(folder)?;
    let mut git = tree.join(".git");
    if git.is_file() {
        // A worktree or submodule names its folder.
        let named = fs::read_to_string(&git).ok()?;
        git = tree.join(named.strip_prefix("gitdir: ")?.trim());
    }
    let common = fs::read_to_string(git.join("commondir")).map_or_else(|_| git.clone(), |c| git.join(c.trim()));
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let is_commit = |text: &str| text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let Some(reference) = head.trim().strip_prefix("ref: ") else {
        return Some(head.trim().to_owned()).filter(|text| is_commit(text));
    };
    let loose = [&git, &common]
        .into_iter()
        .find_map(|base| fs::read_to_string(base.join(reference)).ok());
    let found = loose.map(|text| text.trim().to_owned()).or_else(|| {
        let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
        let line = packed.lines().find(|line| line.ends_with(&format!(" {reference}")))?;
        line.split(' ').next().map(str::to_owned)
    });
    found.filter(|text| is_commit(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src")).unwrap();
        fs::create_dir_all(folder.path().join("node_modules/x")).unwrap();
        fs::write(folder.path().join("src/a.js"), "a").unwrap();
        fs::write(folder.path().join("node_modules/x/b.js"), "b").unwrap();
        symlink("src/a.js", folder.path().join("link")).unwrap();
        folder
    }

    #[test]
    fn a_tree_is_known_by_what_is_in_it() {
        let first = folder();
        let tree = |folder: &Path| source(folder).unwrap().tree;
        let known = source(first.path()).unwrap();
        assert_eq!((known.files, known.commit.as_deref(), known.cut), (2, None, false));
        assert_eq!(tree(folder().path()), known.tree, "wherever it lies");
        fs::write(first.path().join("node_modules/x/b.js"), "c").unwrap();
        assert_eq!(tree(first.path()), known.tree, "what is installed is not its own");
        fs::write(first.path().join("src/a.js"), "b").unwrap();
        assert_ne!(tree(first.path()), known.tree, "one byte");
        fs::write(first.path().join("src/a.js"), "a").unwrap();
        assert_eq!(tree(first.path()), known.tree);
        fs::rename(first.path().join("src/a.js"), first.path().join("src/b.js")).unwrap();
        assert_ne!(tree(first.path()), known.tree, "one name");
    }

    #[test]
    fn a_commit_is_found_loose_and_packed() {
        let base = folder();
        let git = base.path().join(".git");
        let id = "0123456789abcdef0123456789abcdef01234567";
        fs::create_dir_all(git.join("refs/heads")).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(commit(base.path()), None, "before the first commit");
        fs::write(git.join("packed-refs"), format!("# pack-refs\n{id} refs/heads/main\n")).unwrap();
        assert_eq!(commit(&base.path().join("src")).as_deref(), Some(id));
        let other = id.replace('0', "1");
        fs::write(git.join("refs/heads/main"), format!("{other}\n")).unwrap();
        assert_eq!(commit(base.path()), Some(other));
        fs::write(git.join("HEAD"), id).unwrap();
        assert_eq!(commit(base.path()).as_deref(), Some(id));
    }

    #[test]
    fn a_copy_is_whole_and_bounded() {
        let from = folder();
        let to = tempfile::tempdir().unwrap();
        let copied = to.path().join("copy");
        assert_eq!(copy(from.path(), &copied, 100).unwrap(), 2);
        assert_eq!(fs::read_to_string(copied.join("link")).unwrap(), "a");
        assert!(fs::symlink_metadata(copied.join("link")).unwrap().is_symlink());
        assert!(copied.join("node_modules/x/b.js").exists());
        assert!(bytes_in(&copied) > 0);
        let error = copy(from.path(), &to.path().join("other"), 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}

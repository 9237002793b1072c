//! The argument vector of bubblewrap, which is the lane's whole policy (bwrap(1)).
//!
//! Invariants: every namespace is the lane's own; what is not named here does not exist inside; nothing of the host can be
//! written to but what [`Argv::bind`] names; the program's own words come after `--`, so that none of them is an option.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// User and group inside every lane.
pub(crate) const LANE_ID: &str = "1000";
/// Descriptor on which bwrap tells the pid of the lane's init (`--info-fd`).
pub(crate) const INFO_FD: i32 = 5;
/// Descriptor that bwrap waits on before it runs the program (`--block-fd`).
pub(crate) const BLOCK_FD: i32 = 6;
/// Where the home of a lane's program is.
pub(crate) const HOME: &str = "/home/jurat";

/// The size of a lane's /dev/shm.
pub(crate) const SHM_BYTES: u64 = 2 << 30;

/// Folders of the system's libraries and data; programs are not among them.
const SYSTEM: [&str; 6] = [
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/share",
    "/usr/local/share/fonts",
];
/// The same where they are not links into `/usr`.
const ROOT_LIBRARIES: [&str; 4] = ["/lib", "/lib32", "/lib64", "/libx32"];
/// Of /etc and /var: how libraries and fonts are found.
const LOOKUP: [&str; 6] = [
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/var/cache/fontconfig",
];

/// An argument vector in the making. bwrap carries its operations out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argv(Vec<OsString>);

impl Argv {
    /// A lane with nothing in it but /proc, a private /dev, bounded memory in /tmp, /run, /dev/shm and the home, no environment
    /// but `HOME`, `PATH` (which leads nowhere), `LANG` and `TMPDIR`, and no way to outlive the process that starts bwrap.
    pub(crate) fn new(hostname: &str) -> Self {
        const MIB: u64 = 1 << 20;
        let mut argv = Self(Vec::new());
        argv.words([
            "--unshare-user",
            "--unshare-net",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--uid",
            LANE_ID,
            "--gid",
            LANE_ID,
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--hostname",
            hostname,
            "--proc",
            "/proc",
            "--dev",
            "/dev",
        ]);
        argv.tmpfs("/dev/shm", SHM_BYTES)
            .tmpfs("/tmp", 1024 * MIB)
            .tmpfs("/run", 64 * MIB)
            .tmpfs("/home", 2048 * MIB)
            .dir(HOME)
            .env("HOME", HOME)
            .env("TMPDIR", "/tmp")
            .env("PATH", "/nonexistent")
            .env("LANG", "C.UTF-8")
            .chdir(HOME)
            .clone()
    }

    /// The system's libraries, fonts and data, read-only.
    pub(crate) fn system(&mut self) -> &mut Self {
        for folder in SYSTEM {
            self.ro_bind_try(folder);
        }
        for folder in ROOT_LIBRARIES {
            match fs::read_link(folder) {
                Ok(target) => {
                    self.words([OsStr::new("--symlink"), target.as_os_str(), OsStr::new(folder)]);
                }
                Err(_) => {
                    self.ro_bind_try(folder);
                }
            }
        }
        for found in LOOKUP {
            self.ro_bind_try(found);
        }
        self
    }

    /// A program and what lies beside it, read-only, unless the system's folders have it already.
    pub(crate) fn program(&mut self, program: &Path) -> &mut Self {
        let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        if real.starts_with("/nix/store") {
            self.ro_bind_try("/nix/store");
        }
        for path in [program, &real] {
            let there = SYSTEM.iter().any(|folder| path.starts_with(folder));
            // A folder of programs would bring all of them in.
            let among_others = path
                .parent()
                .is_some_and(|folder| folder.ends_with("bin") || folder.ends_with("sbin"));
            match path.parent() {
                Some(folder) if !there && !among_others => self.ro_bind(folder, folder),
                _ if !there => self.ro_bind(path, path),
                _ => self,
            };
        }
        self
    }

    /// `from` of the host at `to`, read-only.
    pub(crate) fn ro_bind(&mut self, from: &Path, to: &Path) -> &mut Self {
        self.words([OsStr::new("--ro-bind"), from.as_os_str(), to.as_os_str()])
    }

    /// `from` of the host at `to`, writable.
    #[allow(dead_code, reason = "the app's lane has a writable folder")]
    pub(crate) fn bind(&mut self, from: &Path, to: &Path) -> &mut Self {
        self.words([OsStr::new("--bind"), from.as_os_str(), to.as_os_str()])
    }

    /// Something of the host at the same place, read-only, if it is there.
    pub(crate) fn ro_bind_try(&mut self, path: &str) -> &mut Self {
        self.words(["--ro-bind-try", path, path])
    }

    /// A file system in memory of at most so many bytes.
    pub(crate) fn tmpfs(&mut self, at: &str, bytes: u64) -> &mut Self {
        self.words(["--size", &bytes.to_string(), "--tmpfs", at])
    }

    /// An empty folder.
    pub(crate) fn dir(&mut self, at: &str) -> &mut Self {
        self.words(["--dir", at])
    }

    /// A variable of the environment.
    pub(crate) fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.words(["--setenv", name, value])
    }

    /// The working directory.
    pub(crate) fn chdir(&mut self, at: &str) -> &mut Self {
        self.words(["--chdir", at])
    }

    /// The whole vector, without bwrap itself: told on [`INFO_FD`], blocked on [`BLOCK_FD`], then the program.
    pub(crate) fn finish(mut self, program: &Path, args: &[OsString]) -> Vec<OsString> {
        let (info, block) = (INFO_FD.to_string(), BLOCK_FD.to_string());
        self.words(["--info-fd", &info, "--block-fd", &block, "--"]);
        self.0.push(program.into());
        self.0.extend(args.iter().cloned());
        self.0
    }

    fn words<W: Into<OsString>>(&mut self, words: impl IntoIterator<Item = W>) -> &mut Self {
        self.0.extend(words.into_iter().map(Into::into));
        self
    }
}

/// Where bwrap is: what was named, else the first in `PATH` and the usual folders.
///
/// # Errors
/// None is there; the text says what to do.
pub(crate) fn find(named: Option<&Path>) -> Result<PathBuf, String> {
    const USUAL: [&str; 2] = ["/usr/bin", "/usr/local/bin"];
    let runs = |path: &Path| fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let found = if let Some(named) = named {
        Some(named.to_owned()).filter(|path| runs(path))
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain(USUAL.map(PathBuf::from))
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("bwrap"))
            .find(|path| runs(path))
    };
    found.ok_or_else(|| {
        "bubblewrap is not installed: install it (Debian, Ubuntu: apt-get install bubblewrap)".to_owned()
    })
}

/// What bwrap's own words mean and what to do about it.
pub(crate) fn explain(stderr: &str) -> String {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("");
    let said = jurat_core::untrusted::escape(last, 200);
    if last.contains("nknown option") {
        return format!("bubblewrap is too old ({said}): install 0.8 or newer");
    }
    // "No permissions to create new namespace", "setting up uid map", "Creating new namespace failed", "loopback: Failed RTM_NEWADDR".
    let refused = [
        "namespace",
        "uid map",
        "loopback",
        "Operation not permitted",
        "No space left",
    ];
    if refused.iter().any(|word| last.contains(word)) {
        return format!("{} (bubblewrap: {said})", super::refusal::user_namespaces());
    }
    if last.is_empty() {
        "bubblewrap ended without a word".to_owned()
    } else {
        format!("bubblewrap failed: {said}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn line(argv: Vec<OsString>) -> Vec<String> {
        argv.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn words_of_the_program_are_never_options() {
        let argv = Argv::new("jurat").finish(Path::new("/bin/x"), &["--bind".into(), "/".into()]);
        let line = line(argv);
        let end = line.iter().position(|word| word == "--").unwrap();
        assert_eq!(line[end + 1..], ["/bin/x", "--bind", "/"]);
        for needed in [
            "--unshare-net",
            "--unshare-user",
            "--unshare-pid",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        ] {
            assert!(line[..end].iter().any(|word| word == needed), "{needed}");
        }
        assert!(!line[..end].iter().any(|word| word == "--bind" || word == "--share-net"));
    }

    #[test]
    fn a_program_brings_its_folder_and_never_all_programs() {
        let binds = |program: &str| {
            let mut argv = Argv(Vec::new());
            argv.program(Path::new(program));
            line(argv.0)
        };
        assert_eq!(binds("/usr/lib/chromium/chromium"), Vec::<String>::new());
        assert_eq!(
            binds("/opt/none/chrome/chrome")[..3],
            ["--ro-bind", "/opt/none/chrome", "/opt/none/chrome"]
        );
        assert_eq!(
            binds("/opt/none/bin/chrome")[..3],
            ["--ro-bind", "/opt/none/bin/chrome", "/opt/none/bin/chrome"]
        );
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        assert!(
            find(Some(Path::new("/nonexistent/bwrap")))
                .unwrap_err()
                .contains("apt-get install bubblewrap")
        );
        assert!(explain("bwrap: Unknown option --block-fd\n").contains("too old"));
        assert!(explain("bwrap: No permissions to create new namespace, likely because …").contains("sysctl"));
        assert!(explain("bwrap: Can't find source path /x: No such file").starts_with("bubblewrap failed"));
        assert!(explain("").contains("without a word"));
    }
}

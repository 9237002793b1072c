//! What an app sees of the host: its files read-only, without credentials, and a /tmp and a home of its own.
//!
//! Unlike the browser's lane, which has nothing but what it needs, an app's lane has the host's files, because nobody can
//! list what an app needs. What a person would not hand out is masked: homes, secrets of the system, sockets of its services.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use jurat_core::contract::Network;

use crate::lane::bwrap::{BLOCK_FD, HOME, INFO_FD, LANE_ID};

/// Folders that are empty and private inside, with the bytes that each can hold.
const PRIVATE: [(&str, u64); 6] = [
    ("/tmp", 1 << 30),
    ("/var/tmp", 256 << 20),
    ("/run", 64 << 20),
    ("/home", 512 << 20),
    ("/root", 64 << 20),
    ("/dev/shm", 512 << 20),
];
/// Folders of the system that hold secrets.
const SECRET_FOLDERS: [&str; 14] = [
    "/etc/ssh",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/NetworkManager",
    "/etc/wireguard",
    "/etc/docker",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/lib/docker",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/spool",
    "/var/mail",
    "/var/backups",
];
/// Files of the system that hold secrets.
const SECRET_FILES: [&str; 6] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/krb5.keytab",
];
/// Hidden folders of a home that hold programs and no credentials: version managers and package managers.
const TOOLS: [&str; 24] = [
    ".nvm",
    ".volta",
    ".pyenv",
    ".asdf",
    ".fnm",
    ".nodenv",
    ".rbenv",
    ".rvm",
    ".goenv",
    ".sdkman",
    ".rustup",
    ".proto",
    ".nix-profile",
    ".linuxbrew",
    ".npm-global",
    ".cargo/bin",
    ".deno/bin",
    ".bun/bin",
    ".yarn/berry/cache",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
];
/// Hidden files of a home that hold credentials, for a home that cannot be replaced as a whole.
const CREDENTIALS: [&str; 14] = [
    ".ssh",
    ".aws",
    ".azure",
    ".config",
    ".docker",
    ".gnupg",
    ".kube",
    ".npmrc",
    ".netrc",
    ".pypirc",
    ".git-credentials",
    ".jurat",
    ".password-store",
    ".cargo/credentials.toml",
];

/// What is laid out for an app.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The home of who starts jurat.
    pub(super) home: Option<PathBuf>,
    /// The app's folder.
    pub(super) folder: &'a Path,
    /// The private copy that stands there instead.
    pub(super) copy: Option<&'a Path>,
    /// The work tree around it, which it may read.
    pub(super) around: Option<PathBuf>,
    /// What it can reach.
    pub(super) network: Network,
}

/// Why a folder cannot be an app's.
pub(super) fn refuse(folder: &Path, home: Option<&Path>) -> Option<String> {
    let home = home.filter(|home| *home != Path::new("/"));
    let too_much = folder == Path::new("/") || home.is_some_and(|home| home.starts_with(folder));
    too_much.then(|| {
        format!(
            "{} holds a home with its credentials: give the app a folder of its own",
            folder.display()
        )
    })
}

impl View<'_> {
    /// bwrap's arguments, then the program and its own.
    pub(super) fn argv(&self, program: &Path, args: &[OsString]) -> Vec<OsString> {
        let mut argv = Argv(Vec::new());
        argv.words(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
        argv.words(["--unshare-cgroup-try", "--die-with-parent", "--new-session"]);
        argv.words(["--uid", LANE_ID, "--gid", LANE_ID, "--hostname", "jurat"]);
        if self.network == Network::None {
            argv.words(["--unshare-net"]);
        }
        argv.words(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]);
        for (folder, bytes) in PRIVATE {
            if real_folder(Path::new(folder)) {
                argv.words(["--size", &bytes.to_string(), "--tmpfs", folder]);
            }
        }
        for folder in SECRET_FOLDERS.iter().filter(|folder| real_folder(Path::new(folder))) {
            argv.words(["--size", "1048576", "--tmpfs", folder]);
        }
        for file in SECRET_FILES.iter().filter(|file| Path::new(file).exists()) {
            argv.words(["--ro-bind", "/dev/null", file]);
        }
        self.home(&mut argv);
        argv.words(["--dir", HOME]);
        if let Some(around) = &self.around {
            argv.bind("--ro-bind", around, around);
        }
        match self.copy {
            Some(copy) => argv.bind("--bind", copy, self.folder),
            None => argv.bind("--ro-bind", self.folder, self.folder),
        }
        argv.words([OsStr::new("--chdir"), self.folder.as_os_str()]);
        argv.words([
            "--info-fd",
            &INFO_FD.to_string(),
            "--block-fd",
            &BLOCK_FD.to_string(),
            "--",
        ]);
        argv.0.push(program.into());
        argv.0.extend(args.iter().cloned());
        argv.0
    }

    /// The home without what is hidden in it, but for tools.
    fn home(&self, argv: &mut Argv) {
        let Some(home) = self.home.as_deref().filter(|home| real_folder(home)) else {
            return;
        };
        if home == Path::new("/") {
            for name in CREDENTIALS {
                let path = home.join(name);
                if real_folder(&path) {
                    argv.words([OsStr::new("--tmpfs"), path.as_os_str()]);
                } else if path.is_file() {
                    argv.bind("--ro-bind", Path::new("/dev/null"), &path);
                }
            }
            return;
        }
        if !PRIVATE.iter().any(|(folder, _)| Path::new(folder) == home) {
            argv.words([OsStr::new("--tmpfs"), home.as_os_str()]);
        }
        let hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
        let shown = fs::read_dir(home).into_iter().flatten().flatten().filter(|entry| {
            let kind = entry.file_type();
            !hidden(&entry.file_name()) && kind.is_ok_and(|kind| kind.is_dir() || kind.is_file())
        });
        for path in shown
            .map(|entry| entry.path())
            .chain(TOOLS.iter().map(|name| home.join(name)))
        {
            if path.exists() {
                argv.bind("--ro-bind-try", &path, &path);
            }
        }
    }
}

/// Whether a mask can stand here: what is a link leads to where another mask stands, or is none of ours.
fn real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

struct Argv(Vec<OsString>);

impl Argv {
    fn words<W: Into<OsString>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.0.extend(words.into_iter().map(Into::into));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.words([OsStr::new(how), from.as_os_str(), to.as_os_str()]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn line(view: &View<'_>) -> String {
        let argv = view.argv(Path::new("/bin/app"), &["--bind".into(), "/".into()]);
        let words: Vec<String> = argv.into_iter().map(|word| word.into_string().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn hidden_folders_of_a_home_stay_outside_and_tools_do_not() {
        let home = tempfile::tempdir().unwrap();
        for name in [".ssh", ".config/gh", ".nvm", ".cargo/bin", "projects"] {
            fs::create_dir_all(home.path().join(name)).unwrap();
        }
        fs::write(home.path().join(".npmrc"), "secret").unwrap();
        let folder = home.path().join("projects");
        let view = View {
            home: Some(home.path().to_owned()),
            folder: &folder,
            copy: None,
            around: None,
            network: Network::None,
        };
        let told = line(&view);
        let at = |name: &str| format!("{}/{name} ", home.path().display());
        assert!(told.contains(&at("projects")) && told.contains(&at(".nvm")) && told.contains(&at(".cargo/bin")));
        for hidden in [".ssh", ".config", ".npmrc"] {
            assert!(!told.contains(&format!("/{hidden}")), "{hidden}");
        }
        assert!(
            told.contains("--unshare-net") && !told.contains(" --bind / ") || told.ends_with("-- /bin/app --bind /")
        );
        let open = View {
            network: Network::Host,
            ..view
        };
        assert!(!line(&open).contains("--unshare-net"));
    }

    #[test]
    fn a_folder_that_holds_a_home_is_refused() {
        let refused = |folder: &str| refuse(Path::new(folder), Some(Path::new("/home/ada"))).is_some();
        assert!(refused("/") && refused("/home") && refused("/home/ada"));
        assert!(!refused("/home/ada/app") && !refused("/srv/app"));
        assert!(
            refuse(Path::new("/app"), Some(Path::new("/"))).is_none(),
            "a home that is no home"
        );
    }
}

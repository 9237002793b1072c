//! Finding Chromium. Nothing is downloaded: what is there is listed, and each entry says why it was or was not taken.
//!
//! The order is `--browser`, `JURAT_BROWSER`, the installed `chromium-headless-shell`, `chromium` and
//! `google-chrome`, then the caches of Playwright, Puppeteer and agent-browser, newest first. What was named is taken
//! or refused, never replaced by something else. The program itself is preferred to a distribution's shell script
//! around it, which adds flags of its own.
//!
//! The search is a pure function of a [`View`] of the machine.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What the search may know about the machine.
pub trait View {
    /// An environment variable; `None` when unset or empty.
    fn env(&self, name: &str) -> Option<OsString>;
    /// What is at a path, links followed.
    fn look(&self, path: &Path) -> Entry;
    /// The names in a folder, in any order; none when it cannot be read.
    fn list(&self, folder: &Path) -> Vec<String>;
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Nothing, or nothing that can be seen.
    Absent,
    /// A folder, a device, or a file that is not executable.
    NotExecutable,
    /// An executable that begins with `#!`.
    Script {
        /// Whether it only starts, or asks for, a snap.
        snap: bool,
    },
    /// Any other executable.
    Program,
}

/// Which browser it is. It decides on flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The headless shell: the old headless mode as a program of its own. Small and fast; no frame out of process.
    HeadlessShell,
    /// Chromium or Chrome, which can show a window too.
    Full,
}

/// Why a path was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// `--browser`.
    Argument,
    /// `JURAT_BROWSER`.
    Environment,
    /// A usual place of an installed browser, or `PATH`.
    Installed,
    /// Playwright's cache.
    Playwright,
    /// Puppeteer's cache.
    Puppeteer,
    /// agent-browser's cache.
    AgentBrowser,
}

/// Why a path was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// Nothing is there.
    #[error("nothing is there")]
    Absent,
    /// It cannot be executed.
    #[error("it is not an executable file")]
    NotExecutable,
    /// A script around a snap, which does not pass the DevTools pipe on.
    #[error("it starts a snap, which does not pass the DevTools pipe on")]
    Snap,
    /// A script, and the program behind it was not found.
    #[error("it is a script around a browser that was not found; name the browser itself")]
    Script,
}

/// One path that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The path.
    pub path: PathBuf,
    /// Why it was looked at.
    pub source: Source,
    /// What it is, if it was usable.
    pub found: Result<Kind, Refusal>,
}

/// A browser that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browser {
    /// Its program.
    pub path: PathBuf,
    /// Which one it is.
    pub kind: Kind,
    /// Where it was found.
    pub source: Source,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// All that was looked at and is there, or was named, in order.
    pub candidates: Vec<Candidate>,
}

impl Search {
    /// The browser to use: the first usable candidate.
    ///
    /// # Errors
    /// [`NotFound`] with the first refusal, when nothing is usable.
    pub fn chosen(&self) -> Result<Browser, NotFound> {
        let usable = |candidate: &Candidate| {
            let kind = candidate.found.ok()?;
            Some(Browser {
                path: candidate.path.clone(),
                kind,
                source: candidate.source,
            })
        };
        self.candidates.iter().find_map(usable).ok_or_else(|| NotFound {
            first: self.candidates.first().cloned(),
        })
    }
}

/// No browser can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The first path that was refused, if any.
    pub first: Option<Candidate>,
}

impl std::error::Error for NotFound {}

impl std::fmt::Display for NotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.first {
            Some(Candidate {
                path,
                found: Err(refusal),
                ..
            }) => write!(f, "no usable browser: {}: {refusal}", path.display()),
            _ => f.write_str("no browser was found; install chromium, or name one with --browser or JURAT_BROWSER"),
        }
    }
}

/// The names of installed browsers in the order of preference, each with the places of the program itself.
const INSTALLED: [(&str, &[&str]); 6] = [
    (
        "chromium-headless-shell",
        &["/usr/lib/chromium/chromium-headless-shell"],
    ),
    (
        "chromium",
        &[
            "/usr/lib/chromium/chromium",
            "/usr/lib64/chromium-browser/chromium-browser",
            "/usr/lib/chromium-browser/chromium-browser",
            "/Applications/Chromium.app/Contents/MacOS/Chromium",
        ],
    ),
    ("chromium-browser", &[]),
    (
        "google-chrome",
        &[
            "/opt/google/chrome/chrome",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        ],
    ),
    ("google-chrome-stable", &["/opt/google/chrome/chrome"]),
    ("chrome-headless-shell", &[]),
];

/// Looks for a browser. `named` is the value of `--browser`: a path, or one of the names above.
pub fn search(view: &impl View, named: Option<&Path>) -> Search {
    let environment = view.env("JURAT_BROWSER").map(PathBuf::from);
    let candidates = match (named, environment) {
        (Some(path), _) => explicit(view, path, Source::Argument),
        (None, Some(path)) => explicit(view, &path, Source::Environment),
        (None, None) => {
            let mut candidates = Vec::new();
            for (name, programs) in INSTALLED {
                installed(view, name, programs, Source::Installed, &mut candidates);
            }
            cached(view, &mut candidates);
            candidates
        }
    };
    Search { candidates }
}

/// What was named: a path is taken as it is, but for a known script around a program that is there.
fn explicit(view: &impl View, named: &Path, source: Source) -> Vec<Candidate> {
    let name = named.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let programs = INSTALLED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, programs)| *programs);
    let mut candidates = Vec::new();
    let bare = named.components().count() == 1 && !named.is_absolute();
    if bare {
        installed(view, name, programs.unwrap_or_default(), source, &mut candidates);
    } else if let (Some(programs), Entry::Script { .. }) = (programs, view.look(named)) {
        let behind = programs
            .iter()
            .map(Path::new)
            .find(|path| view.look(path) == Entry::Program);
        candidates.extend(behind.map(|path| candidate(view, path, source)));
    }
    if candidates.is_empty() {
        let mut candidate = candidate(view, named, source);
        if candidate.found == Err(Refusal::Script) {
            // Whoever names a script knows what it starts.
            candidate.found = Ok(kind(named));
        }
        candidates.push(candidate);
    }
    candidates
}

/// A browser by name: the usual places of its program, then `PATH`.
fn installed(view: &impl View, name: &str, programs: &[&str], source: Source, candidates: &mut Vec<Candidate>) {
    let path = view.env("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name));
    for path in programs.iter().map(PathBuf::from).chain(on_path) {
        let candidate = candidate(view, &path, source);
        let known = candidates.iter().any(|other| other.path == path);
        if candidate.found != Err(Refusal::Absent) && !known {
            candidates.push(candidate);
        }
    }
}

fn candidate(view: &impl View, path: &Path, source: Source) -> Candidate {
    let found = match view.look(path) {
        Entry::Absent => Err(Refusal::Absent),
        Entry::NotExecutable => Err(Refusal::NotExecutable),
        Entry::Script { snap: true } => Err(Refusal::Snap),
        Entry::Script { snap: false } => Err(Refusal::Script),
        Entry::Program if path.starts_with("/snap") => Err(Refusal::Snap),
        Entry::Program => Ok(kind(path)),
    };
    Candidate {
        path: path.to_owned(),
        source,
        found,
    }
}

fn kind(path: &Path) -> Kind {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name.contains("headless-shell") || name.contains("headless_shell") {
        Kind::HeadlessShell
    } else {
        Kind::Full
    }
}

/// Where the programs stand within one download of a cache.
const SHELLS: [&str; 6] = [
    "chrome-headless-shell-linux64/chrome-headless-shell",
    "chrome-linux/headless_shell",
    "chrome-headless-shell-linux/chrome-headless-shell",
    "chrome-headless-shell-mac-arm64/chrome-headless-shell",
    "chrome-headless-shell-mac-x64/chrome-headless-shell",
    "chrome-mac/headless_shell",
];
const CHROMES: [&str; 7] = [
    "chrome-linux64/chrome",
    "chrome-linux/chrome",
    "chrome",
    "Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "chrome-mac-x64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "chrome-mac/Chromium.app/Contents/MacOS/Chromium",
];

/// The downloads of other tools, the headless shell first.
fn cached(view: &impl View, candidates: &mut Vec<Candidate>) {
    let home = view.env("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let in_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let set = |name: &str| view.env(name).map(PathBuf::from).filter(|path| path.is_absolute());

    let playwright = match set("PLAYWRIGHT_BROWSERS_PATH") {
        Some(path) => vec![path],
        None => [".cache/ms-playwright", "Library/Caches/ms-playwright"]
            .into_iter()
            .filter_map(in_home)
            .collect(),
    };
    for folder in &playwright {
        downloads(
            view,
            folder,
            "chromium_headless_shell-",
            &SHELLS,
            Source::Playwright,
            candidates,
        );
        downloads(view, folder, "chromium-", &CHROMES, Source::Playwright, candidates);
    }
    if let Some(folder) = set("PUPPETEER_CACHE_DIR").or_else(|| in_home(".cache/puppeteer")) {
        downloads(
            view,
            &folder.join("chrome-headless-shell"),
            "",
            &SHELLS,
            Source::Puppeteer,
            candidates,
        );
        downloads(
            view,
            &folder.join("chrome"),
            "",
            &CHROMES,
            Source::Puppeteer,
            candidates,
        );
    }
    if let Some(folder) = set("AGENT_BROWSER_HOME").or_else(|| in_home(".agent-browser")) {
        downloads(
            view,
            &folder.join("browsers"),
            "chrome-",
            &CHROMES,
            Source::AgentBrowser,
            candidates,
        );
    }
}

/// The programs in those folders of a cache whose names begin so, newest version first.
fn downloads(
    view: &impl View,
    cache: &Path,
    prefix: &str,
    programs: &[&str],
    source: Source,
    candidates: &mut Vec<Candidate>,
) {
    let mut folders: Vec<_> = view
        .list(cache)
        .into_iter()
        .filter(|name| name.starts_with(prefix))
        .collect();
    folders.sort_by_key(|name| std::cmp::Reverse(version(name)));
    for folder in folders {
        let found = programs
            .iter()
            .map(|program| candidate(view, &cache.join(&folder).join(program), source));
        candidates.extend(found.filter(|candidate| candidate.found != Err(Refusal::Absent)));
    }
}

/// The numbers in a name, to compare versions by.
fn version(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

/// This machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine;

impl View for Machine {
    fn env(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name).filter(|value| !value.is_empty())
    }

    fn look(&self, path: &Path) -> Entry {
        let Ok(metadata) = fs::metadata(path) else {
            return Entry::Absent;
        };
        if !metadata.is_file() || !executable(&metadata) {
            return Entry::NotExecutable;
        }
        // Scripts are short: what decides is within their first page.
        let mut head = Vec::new();
        let read = fs::File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
        match read {
            Ok(_) if head.starts_with(b"#!") => Entry::Script {
                snap: memchr::memmem::find(&head, b"snap").is_some(),
            },
            Ok(_) => Entry::Program,
            Err(_) => Entry::NotExecutable,
        }
    }

    fn list(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()
    }
}

#[cfg(unix)]
fn executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn executable(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests;

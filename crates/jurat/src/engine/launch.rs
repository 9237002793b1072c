//! Starting the browser behind the guard, and ending both.
//!
//! Order: canaries, guard with a listener for every planned context, scratch directory, browser, connection. Everything is
//! ended in the opposite order; what cannot be ended is counted.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jurat_browser::context::Browser;
use jurat_browser::find::{self, Kind};
use jurat_browser::flags;
use jurat_core::confinement::{ConfinementRecord, Level, Sandbox};
use jurat_core::observation::{Begun, BrowserFact, CanaryHit, Happening};
use jurat_core::plan::Plan;
use jurat_core::untrusted::Untrusted;
use jurat_guard::canary::Canaries;
use jurat_guard::lane::Confinement;
use jurat_guard::policy::{Origin, Policy, ThirdParty};
use jurat_guard::scratch::{self, Scratch};
use jurat_guard::supervise::{Ownership, SandboxPlan, Spawn, Supervised, Supervisor, User};
use jurat_guard::{Guard, Limits};
use tokio::task::JoinHandle;

use super::error::EngineError;
use super::plugs::Plugs;
use super::settings::Settings;

/// How long the browser may take to answer first.
const START: Duration = Duration::from_secs(30);

/// How long an https origin on loopback may take to show its certificate.
const PIN: Duration = Duration::from_secs(2);

/// The browser and everything around it.
#[derive(Debug)]
pub(super) struct Launched {
    guard: Guard,
    canaries: Canaries,
    supervised: Mutex<Option<Supervised>>,
    scratch: Mutex<Option<Scratch>>,
    /// The removal of the scratch directory, once the browser has ended.
    removing: Mutex<Option<JoinHandle<()>>>,
    confinement: ConfinementRecord,
    browser: BrowserFact,
    staged: AtomicU32,
    epoch: Instant,
}

impl Launched {
    /// Starts everything for these plans, one context each.
    ///
    /// # Errors
    /// What of the surroundings does not allow it, and what to do.
    pub(super) async fn new(plans: &[&Plan], settings: &Settings) -> Result<(Self, Browser, Plugs), EngineError> {
        let epoch = Instant::now();
        let found = find_browser(settings.browser.as_deref())?;
        let helper = found.path.parent().map(|folder| folder.join("chrome-sandbox"));
        let sandbox = SandboxPlan::probe(User::NOBODY, helper.as_deref());
        check_sandbox(&sandbox, settings)?;
        let uid = sandbox.user.map(|user| user.uid);
        let canaries = Canaries::open(epoch, uid)
            .await
            .map_err(|e| EngineError::environment(format!("no canary port can be opened: {e}"), None))?;
        let policies = plans.iter().map(|plan| policy(plan)).collect::<Result<Vec<_>, _>>()?;
        let (guard, log) = Guard::open(epoch, policies, Limits::default())
            .await
            .map_err(|e| EngineError::environment(e.to_string(), None))?;
        let ports = guard.ports();
        let global = ports.first().copied().unwrap_or(0);
        let plugs = Plugs::new(ports.get(1..).unwrap_or_default().to_vec(), epoch, log);
        let base = std::env::temp_dir();
        scratch::sweep(&base);
        let scratch = Scratch::create(&base, sandbox.user).map_err(|e| temp_error(&base, &e))?;
        let home = scratch.dir("home").map_err(|e| temp_error(&base, &e))?;
        let launch = flags::Launch {
            kind: found.kind,
            headed: settings.headed,
            profile: home.join("profile"),
            guard_port: global,
            sandbox: if sandbox.sandbox == Sandbox::On {
                flags::Sandbox::On
            } else {
                flags::Sandbox::Off
            },
            shm_bytes: shm_bytes(),
            window: window(plans),
        };
        let mut args = launch.arguments();
        args.extend(pinned_certificates(&guard).await);
        let argv = std::iter::once(found.path.display().to_string())
            .chain(args.iter().map(|a| a.to_string_lossy().into_owned()))
            .collect::<Vec<_>>();
        let ownership = if settings.sole_owner {
            Ownership::Process
        } else {
            Ownership::Marked
        };
        let supervisor = Supervisor::new(ownership)
            .map_err(|e| EngineError::environment(format!("orphans cannot be followed here: {e}"), None))?;
        let spawn = Spawn {
            program: found.path.clone(),
            args,
            env: environment(&home, settings.headed),
            cwd: home.clone(),
            user: sandbox.user,
            pipes: true,
            fds: Vec::new(),
            no_new_privs: sandbox.no_new_privs,
        };
        let mut supervised = supervisor
            .spawn(spawn)
            .await
            .map_err(|e| EngineError::environment(format!("{e}: {}", e.io()), Some("look at `jurat doctor`".into())))?;
        let pipes = supervised
            .take_pipes()
            .ok_or_else(|| EngineError::environment("the browser has no DevTools pipe".into(), None))?;
        let browser = match Browser::connect(pipes.to_browser, pipes.from_browser, Instant::now() + START).await {
            Ok(browser) => browser,
            Err(error) => return Err(not_started(&found.path, &error.to_string(), &supervised)),
        };
        let version = browser.version();
        let bounded = |text: &str| Untrusted::bounded(text, 256).0;
        let fact = BrowserFact {
            product: bounded(&version.product),
            revision: bounded(&version.revision),
            user_agent: bounded(&version.user_agent),
            program: found.path.display().to_string(),
            kind: match found.kind {
                Kind::HeadlessShell => "headless-shell".into(),
                Kind::Full => "chromium".into(),
            },
            argv: argv.clone(),
        };
        let launched = Self {
            confinement: Confinement::GuardOnly(sandbox).record(argv),
            guard,
            canaries,
            supervised: Mutex::new(Some(supervised)),
            scratch: Mutex::new(Some(scratch)),
            removing: Mutex::default(),
            browser: fact,
            staged: AtomicU32::new(0),
            epoch,
        };
        Ok((launched, browser, plugs))
    }

    /// What is known when a run begins.
    pub(super) fn opening_facts(&self, at: &str, origin: &str) -> [Happening; 3] {
        let upstreams = self.guard.upstreams();
        let target = upstreams.iter().find(|u| u.origin == origin);
        let address = target.and_then(|u| u.fixed.or_else(|| u.addresses.first().copied()));
        let begun = Begun {
            jurat: env!("CARGO_PKG_VERSION").into(),
            at: at.into(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            target_address: address.map(|a| a.to_string()),
        };
        [
            Happening::Begun(begun),
            Happening::Browser(self.browser.clone()),
            Happening::Confinement(self.confinement.clone()),
        ]
    }

    /// The browser that answered.
    pub(super) fn browser_fact(&self) -> BrowserFact {
        self.browser.clone()
    }

    /// The confinement that holds.
    pub(super) fn confinement(&self) -> ConfinementRecord {
        self.confinement.clone()
    }

    /// When the guard was opened: its records count from here.
    pub(super) fn epoch(&self) -> Instant {
        self.epoch
    }

    pub(super) fn guard_alive(&self) -> bool {
        self.guard.alive()
    }

    pub(super) fn guard_lost(&self) -> u64 {
        self.guard.lost()
    }

    pub(super) fn canary_hits(&self) -> Vec<CanaryHit> {
        self.canaries.hits()
    }

    /// Copies files to where the browser's user can read them.
    ///
    /// # Errors
    /// A file that is not there, or a full disk.
    pub(super) fn stage_files(&self, files: &[PathBuf]) -> std::io::Result<Vec<PathBuf>> {
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(scratch) = scratch.as_ref() else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        let number = self.staged.fetch_add(1, Ordering::SeqCst);
        let folder = scratch.dir(&format!("upload-{number}"))?;
        let copy = |file: &PathBuf| {
            let name = file.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
            let copy = folder.join(name);
            std::fs::write(&copy, std::fs::read(file)?)?;
            Ok(copy)
        };
        files.iter().map(copy).collect()
    }

    /// Processes that came out of the browser's tree while it still runs.
    pub(super) fn strays(&self) -> u32 {
        let supervised = self.supervised.lock().unwrap_or_else(PoisonError::into_inner);
        let strays = supervised.as_ref().map_or(0, Supervised::strays);
        u32::try_from(strays).unwrap_or(u32::MAX)
    }

    /// Kills the browser and what it forked; gives the number of processes that are left.
    pub(super) async fn end_browser(&self) -> u32 {
        let supervised = self.supervised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let left = match supervised {
            Some(supervised) => supervised.end().await.processes_left,
            None => 0,
        };
        if let Some(scratch) = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let removal = tokio::task::spawn_blocking(move || {
                // What stays is swept by the next run.
                let _ = scratch.remove();
            });
            *self.removing.lock().unwrap_or_else(PoisonError::into_inner) = Some(removal);
        }
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Takes away what is left: a browser that still runs, and its directory.
    pub(super) async fn close(&self) {
        self.end_browser().await;
        let removing = self.removing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(removing) = removing {
            let _ = removing.await;
        }
    }
}

/// The browser to use.
///
/// # Errors
/// None is found, or the one that was named cannot be used.
fn find_browser(named: Option<&Path>) -> Result<find::Browser, EngineError> {
    find::search(&find::Machine, named).chosen().map_err(|e| {
        let hint =
            "install chromium or chromium-headless-shell, or name a browser with --browser; `jurat doctor` says more";
        EngineError::environment(e.to_string(), Some(hint.into()))
    })
}

/// Without Chromium's own sandbox a browser is started only when the operator accepted a weaker confinement in so many words.
fn check_sandbox(plan: &SandboxPlan, settings: &Settings) -> Result<(), EngineError> {
    if plan.sandbox == Sandbox::On || settings.accept_confinement == Level::GuardOnly {
        return Ok(());
    }
    Err(EngineError::environment(
        format!("Chromium's own sandbox cannot be on here: {}", plan.reasons.join("; ")),
        Some("allow user namespaces, or accept the risk with --accept-confinement guard_only".into()),
    ))
}

fn policy(plan: &Plan) -> Result<Policy, EngineError> {
    let refused = |e: jurat_guard::policy::OriginError| EngineError::refused(e.to_string());
    let target = Origin::parse(&plan.origin).map_err(refused)?;
    let allow = plan
        .allow
        .iter()
        .map(|o| Origin::parse(o))
        .collect::<Result<_, _>>()
        .map_err(refused)?;
    let refuse = plan
        .refuse
        .iter()
        .map(|o| ThirdParty::parse(o))
        .collect::<Result<_, _>>()
        .map_err(refused)?;
    Ok(Policy::new(target, allow, refuse))
}

/// The flag that makes the browser take exactly the certificates that https origins on loopback show at the start.
async fn pinned_certificates(guard: &Guard) -> Option<std::ffi::OsString> {
    let mut pins = Vec::new();
    for upstream in guard.upstreams() {
        let Ok(origin) = url::Url::parse(&upstream.origin) else {
            continue;
        };
        let Some(host) = origin.host_str().filter(|_| origin.scheme() == "https") else {
            continue;
        };
        let address = upstream.fixed.or_else(|| upstream.addresses.first().copied());
        if let Some(address) = address.filter(|a| a.ip().is_loopback())
            && let Ok(pin) = jurat_guard::pin::spki_pin(address, host, PIN).await
        {
            pins.push(pin);
        }
    }
    (!pins.is_empty()).then(|| format!("--ignore-certificate-errors-spki-list={}", pins.join(",")).into())
}

/// The whole environment of the browser.
fn environment(home: &Path, headed: bool) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let mut env: Vec<(std::ffi::OsString, std::ffi::OsString)> = vec![
        ("HOME".into(), home.into()),
        ("TMPDIR".into(), home.into()),
        ("PATH".into(), "/nonexistent".into()),
        ("LANG".into(), "C.UTF-8".into()),
    ];
    if headed {
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"] {
            env.extend(std::env::var_os(name).map(|value| (name.into(), value)));
        }
    }
    env
}

fn window(plans: &[&Plan]) -> (u32, u32) {
    plans
        .first()
        .and_then(|p| p.viewports.first())
        .map_or((1440, 900), |v| (v.width, v.height))
}

/// The size of /dev/shm, as far as the system tells.
pub(crate) fn shm_bytes() -> Option<u64> {
    let found = rustix::fs::statvfs("/dev/shm").ok()?;
    Some(found.f_blocks * found.f_frsize)
}

fn temp_error(base: &Path, error: &std::io::Error) -> EngineError {
    let hint = "set TMPDIR to a directory that can be written to";
    EngineError::environment(
        format!("no directory can be made in {}: {error}", base.display()),
        Some(hint.into()),
    )
}

/// Why the browser did not start, with the end of what it wrote.
fn not_started(program: &Path, error: &str, supervised: &Supervised) -> EngineError {
    let (tail, _) = supervised.stderr();
    let last: Vec<_> = tail
        .lines()
        .rev()
        .take(3)
        .map(|l| jurat_core::untrusted::escape(l, 300))
        .collect();
    let said = if last.is_empty() {
        String::new()
    } else {
        format!("; it wrote: {}", last.into_iter().rev().collect::<Vec<_>>().join(" / "))
    };
    EngineError::environment(
        format!("{} does not start: {error}{said}", program.display()),
        Some("look at `jurat doctor`".into()),
    )
}

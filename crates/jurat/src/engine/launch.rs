//! Starting the browser behind the guard, in the strongest lane that can be had, and ending both.
//!
//! Order: canaries, origins, lane (in which the guard's listeners are made for every planned context), browser, connection. Starting is the probe of
//! a level: one that cannot be had is recorded with why, and the next is tried. Everything is ended in the opposite order;
//! what cannot be ended is counted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jurat_browser::context::Browser;
use jurat_browser::find::{self, Kind};
use jurat_browser::flags;
use jurat_core::confinement::{ConfinementRecord, Level, Sandbox};
use jurat_core::observation::{Begun, BrowserFact, CanaryHit, EscapeAttempt, Happening};
use jurat_core::plan::Plan;
use jurat_core::untrusted::Untrusted;
use jurat_guard::app::Route;
use jurat_guard::canary::Canaries;
use jurat_guard::lane::{self, Lane, Unavailable};
use jurat_guard::policy::{Origin, Policy, ThirdParty};
use jurat_guard::scratch;
use jurat_guard::supervise::{Ownership, SandboxPlan, Supervisor, User};
use jurat_guard::{Guard, Limits, UpstreamInfo};

use super::error::EngineError;
use super::plugs::Plugs;
use super::settings::Settings;

pub(crate) use jurat_guard::lane::shm_bytes;

/// How long the browser may take to answer first.
const START: Duration = Duration::from_secs(30);

/// How long an https origin on loopback may take to show its certificate.
const PIN: Duration = Duration::from_secs(2);

/// The browser and everything around it.
#[derive(Debug)]
pub(super) struct Launched {
    guard: Guard,
    canaries: Canaries,
    lane: Lane,
    confinement: ConfinementRecord,
    browser: BrowserFact,
    /// For each context the way to the app that is started for it.
    routes: Vec<Option<Route>>,
    epoch: Instant,
}

/// Why a browser did not start at one level.
enum Stop {
    /// The next level may do.
    Level(Unavailable),
    /// No other level would do.
    All(EngineError),
}

/// What every level has in common.
struct Start<'a> {
    plans: &'a [&'a Plan],
    settings: &'a Settings,
    found: find::Browser,
    supervisor: Supervisor,
    routes: Vec<Option<Route>>,
    epoch: Instant,
}

impl Launched {
    /// Starts everything for these plans, one context each.
    ///
    /// # Errors
    /// What of the surroundings does not allow it, and what to do.
    pub(super) async fn new(plans: &[&Plan], settings: &Settings) -> Result<(Self, Browser, Plugs), EngineError> {
        let epoch = Instant::now();
        let ownership = if settings.sole_owner {
            Ownership::Process
        } else {
            Ownership::Marked
        };
        let start = Start {
            plans,
            settings,
            found: find_browser(settings.browser.as_deref())?,
            supervisor: Supervisor::new(ownership)
                .map_err(|e| EngineError::environment(format!("orphans cannot be followed here: {e}"), None))?,
            routes: plans
                .iter()
                .map(|plan| plan.start.is_some().then(Route::default))
                .collect(),
            epoch,
        };
        scratch::sweep(&std::env::temp_dir());
        let uid = rustix::process::geteuid().is_root().then_some(User::NOBODY.uid);
        let canaries = Canaries::open(epoch, uid)
            .await
            .map_err(|e| EngineError::environment(format!("no canary port can be opened: {e}"), None))?;
        let mut missing = Vec::new();
        for level in levels(settings) {
            match start.at(level, &missing).await {
                Ok((guard, lane, confinement, browser, plugs)) => {
                    let launched = Self {
                        browser: fact(&start.found, &browser, confinement.argv.clone()),
                        guard,
                        canaries,
                        lane,
                        confinement,
                        routes: start.routes,
                        epoch,
                    };
                    return Ok((launched, browser, plugs));
                }
                Err(Stop::Level(unavailable)) => missing.push(unavailable),
                Err(Stop::All(error)) => return Err(error),
            }
        }
        let why = missing.last().map_or_else(String::new, |last| last.why.clone());
        Err(EngineError::environment(
            format!("{} does not start: {why}", start.found.path.display()),
            Some("look at `jurat doctor`".into()),
        ))
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

    /// The way to the app that is started for a context.
    pub(super) fn route(&self, slot: usize) -> Option<&Route> {
        self.routes.get(slot)?.as_ref()
    }

    /// Where the guard dials an origin.
    pub(super) fn address(&self, origin: &str) -> Vec<std::net::SocketAddr> {
        let upstreams = self.guard.upstreams();
        let found = upstreams.into_iter().find(|u| u.origin == origin);
        found.map_or_else(Vec::new, |u| u.fixed.map_or(u.addresses, |fixed| vec![fixed]))
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

    /// What tried to leave the lane past the guard since a moment, each with when it was seen in that time.
    pub(super) fn escapes(&self, since: Instant) -> Vec<(Instant, EscapeAttempt)> {
        let all = self.lane.tripwire().map(lane::Tripwire::attempts).unwrap_or_default();
        all.into_iter()
            .filter(|attempt| attempt.last >= since)
            .map(|attempt| (attempt.first.max(since), attempt.what))
            .collect()
    }

    /// Packets that the tripwire did not see through; one more if it has ended.
    pub(super) fn tripwire_lost(&self) -> u64 {
        self.lane
            .tripwire()
            .map_or(0, |tripwire| tripwire.lost() + u64::from(!tripwire.alive()))
    }

    /// Copies files to where the browser can read them; gives their paths as the browser sees them.
    ///
    /// # Errors
    /// A file that is not there, or a full disk.
    pub(super) fn stage_files(&self, files: &[PathBuf]) -> std::io::Result<Vec<PathBuf>> {
        self.lane.stage_files(files)
    }

    /// Processes that came out of the browser's tree while it still runs.
    pub(super) fn strays(&self) -> u32 {
        u32::try_from(self.lane.strays()).unwrap_or(u32::MAX)
    }

    /// Kills the browser and what it forked; gives the number of processes that are left.
    pub(super) async fn end_browser(&self) -> u32 {
        u32::try_from(self.lane.end().await).unwrap_or(u32::MAX)
    }

    /// Takes away what is left: a browser that still runs, and its directory.
    pub(super) async fn close(&self) {
        self.lane.close().await;
    }
}

type Started = (Guard, Lane, ConfinementRecord, Browser, Plugs);

impl Start<'_> {
    /// Starts the browser at one level.
    async fn at(&self, level: Level, missing: &[Unavailable]) -> Result<Started, Stop> {
        let policies = self
            .plans
            .iter()
            .zip(&self.routes)
            .map(|(plan, route)| {
                let policy = policy(plan)?;
                Ok(match route {
                    Some(route) => policy.routed(route.clone()),
                    None => policy,
                })
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(Stop::All)?;
        let (prepared, log) = Guard::prepare(self.epoch, policies, Limits::default()).await;
        let order = lane::Order {
            program: self.found.path.clone(),
            listeners: prepared.listeners(),
            temporary: std::env::temp_dir(),
            display: if self.settings.headed { display() } else { Vec::new() },
        };
        let ground = lane::prepare(level, order, &self.settings.lane)
            .await
            .map_err(Stop::Level)?;
        check_sandbox(ground.sandbox(), self.settings).map_err(Stop::All)?;
        let launch = flags::Launch {
            kind: self.found.kind,
            headed: self.settings.headed,
            profile: ground.home().join("profile"),
            guard_port: ground.guard_port(),
            sandbox: match ground.sandbox().sandbox {
                Sandbox::On => flags::Sandbox::On,
                Sandbox::Off => flags::Sandbox::Off,
            },
            shm_bytes: ground.shm_bytes(),
            window: window(self.plans),
        };
        let mut args = launch.arguments();
        args.extend(pinned_certificates(&prepared.upstreams()).await);
        let argv = std::iter::once(self.found.path.display().to_string())
            .chain(args.iter().map(|a| a.to_string_lossy().into_owned()))
            .collect();
        let lane = ground.start(&self.supervisor, args).await.map_err(Stop::Level)?;
        let guard = prepared
            .serve(lane.take_listeners())
            .map_err(|e| Stop::All(EngineError::environment(e.to_string(), None)))?;
        let ports = guard.ports();
        let plugs = Plugs::new(ports.get(1..).unwrap_or_default().to_vec(), self.epoch, log);
        let pipes = lane.take_pipes().ok_or_else(|| {
            Stop::All(EngineError::environment(
                "the browser has no DevTools pipe".into(),
                None,
            ))
        })?;
        let deadline = Instant::now() + START;
        match Browser::connect(pipes.to_browser, pipes.from_browser, deadline).await {
            Ok(browser) => {
                let confinement = lane.record(argv, missing);
                Ok((guard, lane, confinement, browser, plugs))
            }
            Err(error) => {
                let why = format!("{error}{}", last_words(&lane));
                lane.close().await;
                if Instant::now() >= deadline {
                    // One that hangs would hang again.
                    return Err(Stop::All(EngineError::environment(
                        format!("{} does not start: {why}", self.found.path.display()),
                        Some("look at `jurat doctor`".into()),
                    )));
                }
                Err(Stop::Level(Unavailable { level, why }))
            }
        }
    }
}

/// The levels to try, strongest first. A window needs the user's display, which no lane has.
fn levels(settings: &Settings) -> Vec<Level> {
    match settings.level {
        Some(level) => vec![level],
        None if settings.headed => vec![Level::Netns, Level::GuardOnly],
        None => vec![Level::Lane, Level::Netns, Level::GuardOnly],
    }
}

/// What is said of the browser that answered.
fn fact(found: &find::Browser, browser: &Browser, argv: Vec<String>) -> BrowserFact {
    let version = browser.version();
    let bounded = |text: &str| Untrusted::bounded(text, 256).0;
    BrowserFact {
        product: bounded(&version.product),
        revision: bounded(&version.revision),
        user_agent: bounded(&version.user_agent),
        program: found.path.display().to_string(),
        kind: match found.kind {
            Kind::HeadlessShell => "headless-shell".into(),
            Kind::Full => "chromium".into(),
        },
        argv,
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
async fn pinned_certificates(upstreams: &[UpstreamInfo]) -> Option<OsString> {
    let mut pins = Vec::new();
    for upstream in upstreams {
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

/// What a window on the user's display needs of the environment.
fn display() -> Vec<(OsString, OsString)> {
    ["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect()
}

fn window(plans: &[&Plan]) -> (u32, u32) {
    plans
        .first()
        .and_then(|p| p.viewports.first())
        .map_or((1440, 900), |v| (v.width, v.height))
}

/// The end of what a browser wrote before it ended.
fn last_words(lane: &Lane) -> String {
    let tail = lane.stderr();
    let last: Vec<_> = tail
        .lines()
        .rev()
        .take(3)
        .map(|l| jurat_core::untrusted::escape(l, 300))
        .collect();
    if last.is_empty() {
        return String::new();
    }
    format!("; it wrote: {}", last.into_iter().rev().collect::<Vec<_>>().join(" / "))
}

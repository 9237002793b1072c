//! The app under test in a run: started afresh for each viewport where jurat starts it, watched, asked by plain HTTP, and ended.
//!
//! Invariants: what of the app is known stands in the record of its viewport, also when it never was ready; when
//! [`Cast::leave`] returns, the app and all that it forked are gone and counted.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jurat_core::contract::{EnvEntry, ReadyWhen};
use jurat_core::observation::{
    AppReady, AppStarted, Edge, EndedBy, Fact, Happening, ListenerFact, ListenerSocket, NotObserved, SourceFact, Unseen,
};
use jurat_core::plan::Plan;
use jurat_core::untrusted::Untrusted;
use jurat_core::verdict::NO_VIEWPORT;
use jurat_guard::app::{
    self, App, AppLimits, AppSpec, Death, Dialler, NotReady, Route, find_program, listeners, loopback_addresses,
};
use jurat_guard::supervise::{Ownership, Supervisor};
use tokio::task::JoinHandle;

use super::cancel::Cancel;
use super::error::EngineError;
use super::launch::Launched;
use super::recorder::Recorder;
use super::run::Job;

/// Why something did not come about, as it stands in an observation.
pub(super) type Why = (Unseen, Option<Untrusted>);

/// Waits until the app that jurat started is gone; forever where it started none.
pub(super) async fn died(app: Option<&Death>) -> Unseen {
    match app {
        Some(death) => unseen(death.wait().await, true),
        None => std::future::pending().await,
    }
}

fn unseen(by: EndedBy, was_ready: bool) -> Unseen {
    match by {
        EndedBy::Memory => Unseen::AppOutOfMemory,
        EndedBy::Processes => Unseen::AppTooManyProcesses,
        EndedBy::Disk => Unseen::AppDiskFull,
        EndedBy::Itself | EndedBy::Jurat if was_ready => Unseen::AppExited,
        EndedBy::Itself | EndedBy::Jurat => Unseen::AppExitedBeforeReady,
    }
}

/// Refuses, before anything is run, a contract whose app cannot be started here.
///
/// # Errors
/// No such folder, no such program, or a target that is not on loopback.
pub(super) fn check(job: &Job, plan: &Plan) -> Result<(), EngineError> {
    if (plan.start.is_some() || !plan.http.is_empty()) && !plan.url.starts_with("http:") {
        return Err(EngineError::refused(format!(
            "{}: an app that jurat starts, or asks by plain HTTP, is reached by http, not at {}",
            job.name, plan.url
        )));
    }
    if plan.start.is_none() {
        return Ok(());
    }
    let (host, _) = place(plan);
    let loopback = url::Host::parse(&host).is_ok_and(|host| match host {
        url::Host::Ipv4(ip) => ip.is_loopback(),
        url::Host::Ipv6(ip) => ip.is_loopback(),
        url::Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
    });
    if !loopback {
        return Err(EngineError::refused(format!(
            "{}: an app that jurat starts is on loopback, not at {host}",
            job.name
        )));
    }
    spec(job, plan).map(|_| ())
}

/// Host and port of the target.
fn place(plan: &Plan) -> (String, u16) {
    let url = url::Url::parse(&plan.url).ok();
    let host = url
        .as_ref()
        .and_then(|url| url.host_str())
        .unwrap_or_default()
        .to_owned();
    (host, url.and_then(|url| url.port_or_known_default()).unwrap_or(80))
}

/// The target's authority, as it stands in `Host`.
fn authority(plan: &Plan) -> String {
    plan.origin
        .split_once("://")
        .map_or(&*plan.origin, |(_, rest)| rest)
        .to_owned()
}

/// What to start, if the contract says so.
fn spec(job: &Job, plan: &Plan) -> Result<Option<AppSpec>, EngineError> {
    let Some(start) = &job.contract.target.start else {
        return Ok(None);
    };
    let base = if job.folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        job.folder.clone()
    };
    let folder = base.join(start.cwd.as_deref().unwrap_or("."));
    let folder = std::fs::canonicalize(&folder)
        .map_err(|e| EngineError::refused(format!("{}: target.start.cwd: {}: {e}", job.name, folder.display())))?;
    let (program, args) = start
        .command
        .split_first()
        .ok_or_else(|| EngineError::refused(format!("{}: target.start.command: it is empty", job.name)))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = find_program(program, &path, &folder).ok_or_else(|| {
        EngineError::environment(
            format!("{}: target.start.command: {program} is no program in PATH", job.name),
            Some("install it, or write the path of a program in the app's folder, such as ./serve".into()),
        )
    })?;
    let (host, port) = place(plan);
    let env = start.env.iter().filter_map(|entry| match entry {
        EnvEntry::Set(name, value) => Some((name.into(), value.into())),
        EnvEntry::Pass(name) => Some((name.into(), std::env::var_os(name)?)),
    });
    Ok(Some(AppSpec {
        program,
        args: args.iter().map(Into::into).collect(),
        env: env.collect(),
        folder,
        writable: start.writable,
        network: start.network,
        addresses: loopback_addresses(&host, port),
        wanted: match &start.ready.when {
            ReadyWhen::Log { log } => Some(log.clone()),
            ReadyWhen::Http { .. } => None,
        },
        limits: AppLimits::default(),
        home: std::env::home_dir(),
        lane: true,
    }))
}

/// The apps of one run.
pub(super) struct Cast<'a> {
    job: &'a Job,
    plan: &'a Plan,
    spec: Option<AppSpec>,
    supervisor: Option<Supervisor>,
    /// Where a target that jurat did not start is reached.
    host: Dialler,
    playing: Option<Playing>,
    source: Option<JoinHandle<std::io::Result<SourceFact>>>,
    /// Who listened at the start, where the user runs the app.
    stood: Option<JoinHandle<Option<Vec<ListenerSocket>>>>,
    logs: Vec<Vec<u8>>,
    left: u32,
}

/// The app of the current viewport.
struct Playing {
    app: App,
    death: Death,
    route: Option<Route>,
    begin: Option<JoinHandle<Option<Vec<ListenerSocket>>>>,
}

impl<'a> Cast<'a> {
    /// Looks at what is there before the first viewport.
    pub(super) fn begin(job: &'a Job, plan: &'a Plan, launched: &Launched, sole_owner: bool) -> Self {
        // It could be read when the run was planned.
        let spec = spec(job, plan).ok().flatten();
        let addresses = launched.address(&plan.origin);
        let ownership = if sole_owner {
            Ownership::Process
        } else {
            Ownership::Marked
        };
        let source = spec.as_ref().map(|spec| {
            let folder = spec.folder.clone();
            tokio::task::spawn_blocking(move || app::source(&folder))
        });
        let stood = (plan.start.is_none() && addresses.iter().any(|a| a.ip().is_loopback()))
            .then(|| look(None, &addresses, true));
        Self {
            supervisor: spec.as_ref().and_then(|_| Supervisor::new(ownership).ok()),
            job,
            plan,
            spec,
            host: Dialler::host(addresses),
            playing: None,
            source,
            stood,
            logs: Vec::new(),
            left: 0,
        }
    }

    /// Tells when the app of this viewport is gone.
    pub(super) fn death(&self) -> Option<&Death> {
        self.playing.as_ref().map(|playing| &playing.death)
    }

    /// Starts the app for the viewport that the recorder has entered, and waits until it is ready.
    ///
    /// # Errors
    /// Why the page cannot be opened.
    pub(super) async fn enter(
        &mut self,
        recorder: &mut Recorder,
        route: Option<&Route>,
        wall: Instant,
        cancel: &Cancel,
    ) -> Result<(), Why> {
        let Some(start) = &self.job.contract.target.start else {
            return Ok(());
        };
        let not_started = |why: String| (Unseen::AppNotStarted, Some(Untrusted::bounded(&why, 1024).0));
        let (Some(spec), Some(supervisor)) = (&self.spec, &self.supervisor) else {
            return Err(not_started("its folder or program is no longer there".into()));
        };
        let temporary = std::env::temp_dir();
        let starting = App::start(supervisor, spec, &temporary);
        let app = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err((Unseen::Cancelled, None)),
            () = tokio::time::sleep_until(wall.into()) => return Err((Unseen::BudgetExhausted, None)),
            started = starting => started.map_err(|e| not_started(e.to_string()))?,
        };
        recorder.here(Happening::AppStarted(AppStarted {
            command: start.command.clone(),
            program: spec.program.display().to_string(),
            env: spec
                .env
                .iter()
                .map(|(name, _)| name.to_string_lossy().into_owned())
                .collect(),
            writable: spec.writable,
            network: spec.network.as_str().into(),
            layers: app.layers().to_vec(),
        }));
        let death = app.death();
        let playing = self.playing.insert(Playing {
            app,
            death,
            route: route.cloned(),
            begin: None,
        });
        let deadline = wall.min(Instant::now() + Duration::from_millis(start.ready.within.0));
        let authority = authority(self.plan);
        let ready = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err((Unseen::Cancelled, None)),
            ready = playing.app.ready(&start.ready.when, &authority, deadline) => ready,
        };
        let told = |what: String| {
            let tail = playing.app.tail();
            let tail = tail.raw().trim_end();
            let text = if tail.is_empty() {
                what
            } else {
                format!("{what}; it wrote: {tail}")
            };
            Some(Untrusted::bounded(&text, 1024).0)
        };
        match ready {
            Ok(after) => {
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                recorder.here(Happening::AppReady(AppReady { after_ms }));
                playing.begin = Some(look(playing.app.inside(), playing.app.dialler().addresses(), true));
                if let Some(route) = &playing.route {
                    route.lead(playing.app.dialler());
                }
                Ok(())
            }
            Err(NotReady::Gone(by)) => Err((unseen(by, false), told("it ended before it was ready".into()))),
            Err(NotReady::Late(_)) if Instant::now() >= wall => Err((Unseen::BudgetExhausted, None)),
            Err(NotReady::Late(seen)) => Err((Unseen::AppNotReady, told(seen))),
        }
    }

    /// Ends the app of the viewport that the recorder is still in, and records what became of it.
    pub(super) async fn leave(&mut self, recorder: &mut Recorder) {
        let Some(playing) = self.playing.take() else { return };
        let gone = playing.death.now().is_some();
        if let Some(begin) = playing.begin
            && !gone
            && let Ok(Some(begin)) = begin.await
        {
            let end = playing.app.listeners(false).unwrap_or_default();
            record_listeners(recorder, begin, end, true);
        }
        if let Some(route) = &playing.route {
            route.cut();
        }
        let ended = playing.app.end().await;
        self.left = self.left.saturating_add(ended.fact.processes_left);
        self.logs.extend(ended.log);
        recorder.here(Happening::AppEnded(ended.fact));
    }

    /// After the last viewport: what the app is made of, and who listens now. Gives the logs, and how many processes were left.
    pub(super) async fn end(mut self, recorder: &mut Recorder) -> (Vec<Vec<u8>>, u32) {
        self.leave(recorder).await;
        if let Some(source) = self.source.take() {
            match source.await {
                Ok(Ok(fact)) => recorder.event(Happening::Source(fact)),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the app's folder could not be read whole; its digest is missing")
                }
                Err(error) => tracing::warn!(%error, "the digest of the app's folder is missing"),
            }
        }
        if let Some(stood) = self.stood.take()
            && let Ok(Some(begin)) = stood.await
            && let Ok(Some(end)) = look(None, self.host.addresses(), false).await
        {
            record_listeners(recorder, begin, end, false);
        }
        (self.logs, self.left)
    }

    fn dialler(&self) -> Dialler {
        match &self.playing {
            Some(playing) => playing.app.dialler(),
            None => self.host.clone(),
        }
    }
}

/// Who listens at a target's addresses, read on another thread.
fn look(inside: Option<i32>, addresses: &[SocketAddr], holders: bool) -> JoinHandle<Option<Vec<ListenerSocket>>> {
    let port = addresses.first().map_or(0, SocketAddr::port);
    let addresses = addresses.to_vec();
    tokio::task::spawn_blocking(move || {
        let mut sockets = listeners(inside, port, holders)?;
        sockets.retain(|socket| answers(&socket.address, &addresses));
        Some(sockets)
    })
}

/// Whether a listener answers at one of these addresses: by its own, or as one for all. The same port of another address is somebody
/// else's.
fn answers(listener: &str, addresses: &[SocketAddr]) -> bool {
    listener
        .parse::<SocketAddr>()
        .is_ok_and(|at| at.ip().is_unspecified() || addresses.iter().any(|wanted| wanted.ip() == at.ip()))
}

fn record_listeners(recorder: &mut Recorder, begin: Vec<ListenerSocket>, end: Vec<ListenerSocket>, here: bool) {
    for (edge, sockets) in [(Edge::Begin, begin), (Edge::End, end)] {
        let what = Happening::Listener(ListenerFact { edge, sockets });
        if here {
            recorder.here(what);
        } else {
            recorder.event(what);
        }
    }
}

/// Looks at the plain HTTP criteria, once and before a page is opened. `came` is whether the app came up.
pub(super) async fn plain_http(
    plan: &Plan,
    cast: &Cast<'_>,
    came: &Result<(), Why>,
    recorder: &mut Recorder,
    wall: Instant,
    cancel: &Cancel,
) {
    let (dialler, authority) = (cast.dialler(), authority(plan));
    for (criterion, wanted) in plan.http.iter().zip(&cast.job.contract.target.http) {
        let deadline = wall.min(Instant::now() + Duration::from_millis(plan.step_ms));
        let missing = |(why, detail): Why| {
            Fact::NotObserved(NotObserved {
                what: format!("GET {}", wanted.path),
                why,
                detail,
            })
        };
        let fact = if let Err(why) = came {
            missing(why.clone())
        } else {
            tokio::select! {
                biased;
                () = cancel.cancelled() => missing((Unseen::Cancelled, None)),
                by = died(cast.death()) => missing((by, None)),
                fact = app::get(&dialler, &authority, &wanted.path, deadline) => {
                    if fact.status.is_none() && Instant::now() >= wall {
                        missing((Unseen::BudgetExhausted, None))
                    } else {
                        Fact::Http(fact)
                    }
                }
            }
        };
        let mut observation = recorder.observe(&criterion.id, fact);
        NO_VIEWPORT.clone_into(&mut observation.viewport);
        recorder.keep(vec![observation]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_listener_at_another_address_is_somebody_elses() {
        let target = ["127.0.0.1:4000".parse().unwrap()];
        for own in ["127.0.0.1:4000", "0.0.0.0:4000", "[::]:4000"] {
            assert!(answers(own, &target), "{own}");
        }
        for other in ["127.0.0.2:4000", "[::1]:4000", "192.0.2.1:4000"] {
            assert!(!answers(other, &target), "{other}");
        }
    }
}

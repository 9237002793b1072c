//! Running contracts: one browser, many fresh contexts, some at the same time.
//!
//! Every context that will be needed has its own listener at the guard before the browser starts. While one viewport is
//! played the next context is opened. A run is judged and sealed when its last viewport is done; the last run of all when
//! the browser is gone.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jurat_browser::context::{ActError, Browser, Context, ContextOptions};
use jurat_core::contract::Contract;
use jurat_core::observation::{Fact, Happening, NotObserved, Unseen};
use jurat_core::plan::{Plan, PlanOptions};
use jurat_core::untrusted::Untrusted;
use jurat_core::verdict::{Verdict, http_held};
use jurat_evidence::{Root, RunId};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::app::{Cast, plain_http};
use super::bundle;
use super::cancel::Cancel;
use super::error::EngineError;
use super::launch::Launched;
use super::plugs::Plugs;
use super::progress::{Listener, Progress};
use super::recorder::Recorder;
use super::scene::{Scene, Still, photograph};
use super::settings::Settings;

/// How long a context may take to open.
const OPEN: Duration = Duration::from_secs(20);
/// How long a context may take to close.
const CLOSE: Duration = Duration::from_secs(2);

/// One contract to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The contract.
    pub contract: Contract,
    /// How it was named, for results.
    pub name: String,
    /// Its folder, for files to upload.
    pub folder: PathBuf,
    /// Replaces `target.url` of this one; goes before [`Settings::url`].
    pub url: Option<String>,
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// How the contract was named.
    pub contract: String,
    /// The run's id.
    pub run_id: String,
    /// Absolute path of its bundle.
    pub bundle: PathBuf,
    /// Its verdict.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}

/// One planned run.
#[derive(Debug)]
struct Planned {
    job: Job,
    plan: Plan,
    /// Index of its first context.
    first: usize,
}

/// All that the runs share.
struct Stage {
    runs: Vec<Planned>,
    launched: Launched,
    browser: Browser,
    plugs: Plugs,
    root: Root,
    opening: Mutex<HashMap<usize, JoinHandle<Result<Context, ActError>>>>,
    next: AtomicUsize,
    left: AtomicUsize,
    listener: Listener,
    cancel: Cancel,
    debug: bool,
    sole_owner: bool,
}

/// Runs contracts; the reports come in the order of the jobs, repetitions together.
///
/// # Errors
/// [`EngineError::Refused`] when a contract cannot be run, [`EngineError::Environment`] when no browser starts: in both cases nothing was run.
pub async fn run(
    jobs: Vec<Job>,
    settings: &Settings,
    listener: Listener,
    cancel: Cancel,
) -> Result<Vec<RunReport>, EngineError> {
    let runs = plan_all(jobs, settings)?;
    let root = Root::open(&settings.evidence_root).map_err(|e| EngineError::environment(e.to_string(), None))?;
    root.sweep()
        .map_err(|e| EngineError::environment(e.to_string(), None))?;
    let plans = runs
        .iter()
        .flat_map(|r| r.plan.viewports.iter().map(move |_| &r.plan))
        .collect::<Vec<_>>();
    let begun = Instant::now();
    let (launched, browser, plugs) = Launched::new(&plans, settings).await?;
    listener(Progress::BrowserReady {
        product: browser.version().product.clone(),
        after: begun.elapsed(),
    });
    let count = runs.len();
    let stage = Arc::new(Stage {
        runs,
        launched,
        browser,
        plugs,
        root,
        opening: Mutex::default(),
        next: AtomicUsize::new(0),
        left: AtomicUsize::new(count),
        listener,
        cancel,
        debug: settings.debug,
        sole_owner: settings.sole_owner,
    });
    let workers: Vec<_> = (0..settings.jobs.clamp(1, count.max(1)))
        .map(|_| tokio::spawn(Arc::clone(&stage).work()))
        .collect();
    let mut sealing = Vec::with_capacity(count);
    for worker in workers {
        sealing.extend(worker.await.map_err(|e| EngineError::evidence(e.to_string()))?);
    }
    let mut reports = Vec::with_capacity(count);
    for (index, sealed) in sealing {
        let report = sealed.await.map_err(|e| EngineError::evidence(e.to_string()))?;
        reports.push((index, report));
    }
    stage.launched.close().await;
    reports.sort_by_key(|(index, _)| *index);
    reports.into_iter().map(|(_, report)| report).collect()
}

fn plan_all(jobs: Vec<Job>, settings: &Settings) -> Result<Vec<Planned>, EngineError> {
    let mut runs = Vec::new();
    let mut first = 0;
    for job in jobs {
        let not_built = job.contract.not_built_yet();
        if let Some((path, message)) = not_built.first() {
            return Err(EngineError::refused(format!("{}: {path}: {message}", job.name)));
        }
        let options = PlanOptions {
            url: job.url.clone().or_else(|| settings.url.clone()),
            accept_confinement: settings.accept_confinement,
        };
        let plan =
            Plan::new(&job.contract, &options).map_err(|e| EngineError::refused(format!("{}: {e}", job.name)))?;
        super::app::check(&job, &plan)?;
        for _ in 0..settings.repeat.max(1) {
            runs.push(Planned {
                job: job.clone(),
                plan: plan.clone(),
                first,
            });
            first += plan.viewports.len();
        }
    }
    Ok(runs)
}

/// A run whose criteria have been played.
struct Scenes {
    started: Instant,
    recorder: Recorder,
    pictures: Vec<Vec<u8>>,
    /// What the apps that were started for it wrote.
    logs: Vec<Vec<u8>>,
    /// Processes of these apps that were left.
    app_left: u32,
    /// Its contexts, closing.
    closing: Vec<Closing>,
    run_id: RunId,
    at: String,
}

/// A context that closes, once the picture of its end has been taken.
struct Closing {
    viewport: String,
    still: Option<(Still, oneshot::Receiver<Vec<u8>>)>,
    closed: Option<JoinHandle<()>>,
}

impl Closing {
    fn begin(context: Context, viewport: &str, still: Option<Still>) -> Self {
        let (taken, picture) = oneshot::channel();
        let wanted = still.is_some();
        let closed = tokio::spawn(async move {
            if wanted && let Some(png) = photograph(context.main()).await {
                // Nobody waits for it any more only when the run was given up.
                let _ = taken.send(png);
            } else {
                drop(taken);
            }
            // One that does not close in time dies with the browser.
            let _ = context.close(Instant::now() + CLOSE).await;
        });
        Self {
            viewport: viewport.to_owned(),
            still: still.map(|still| (still, picture)),
            closed: Some(closed),
        }
    }

    /// Waits until it is closed.
    async fn done(&mut self) {
        if let Some(closed) = self.closed.take() {
            let _ = closed.await;
        }
    }
}

type Sealing = (usize, JoinHandle<Result<RunReport, EngineError>>);

impl Stage {
    async fn work(self: Arc<Self>) -> Vec<Sealing> {
        let mut sealing = Vec::new();
        loop {
            let index = self.next.fetch_add(1, Ordering::SeqCst);
            if index >= self.runs.len() {
                return sealing;
            }
            let scenes = self.play(index).await;
            // The next run begins while this one's contexts close and its bundle is written.
            sealing.push((index, tokio::spawn(Arc::clone(&self).conclude(index, scenes))));
        }
    }

    /// Plays all criteria of one run.
    async fn play(self: &Arc<Self>, index: usize) -> Scenes {
        let run = &self.runs[index];
        let started = Instant::now();
        let wall = started + Duration::from_millis(run.plan.wall_ms);
        let criteria = run.plan.criteria.len() * run.plan.viewports.len();
        (self.listener)(Progress::RunBegun {
            run: index,
            name: run.job.name.clone(),
            criteria,
        });
        let mut recorder = Recorder::new(started, self.launched.epoch());
        let mut pictures = Vec::new();
        let mut closing = Vec::new();
        let (run_id, at) = name_of_run();
        for fact in self.launched.opening_facts(&at, &run.plan.origin) {
            recorder.event(fact);
        }
        let mut cast = Cast::begin(&run.job, &run.plan, &self.launched, self.sole_owner);
        for (v, viewport) in run.plan.viewports.iter().enumerate() {
            let slot = run.first + v;
            if let Some(events) = self.plugs.take(slot) {
                recorder.enter(&viewport.name, events);
            }
            let came = cast
                .enter(&mut recorder, self.launched.route(slot), wall, &self.cancel)
                .await;
            if v == 0 {
                plain_http(&run.plan, &cast, &came, &mut recorder, wall, &self.cancel).await;
                if !http_held(&run.job.contract, &run.plan, recorder.record()) || run.plan.criteria.is_empty() {
                    cast.leave(&mut recorder).await;
                    recorder.leave();
                    break;
                }
            }
            let context = match came {
                Ok(()) => self.context(slot, wall).await,
                Err(why) => Err(why),
            };
            match context {
                Ok(context) => {
                    self.open_ahead(index, v);
                    let stage_files = |files: &[PathBuf]| self.launched.stage_files(files);
                    let guard_alive = || self.launched.guard_alive();
                    let mut scene = Scene {
                        contract: &run.job.contract,
                        plan: &run.plan,
                        viewport: &viewport.name,
                        context: &context,
                        recorder: &mut recorder,
                        pictures: &mut pictures,
                        criterion: String::new(),
                        watch: None,
                        armed: Vec::new(),
                        wall,
                        cancel: &self.cancel,
                        folder: &run.job.folder,
                        stage_files: &stage_files,
                        app: cast.death(),
                        guard_alive: &guard_alive,
                        listener: &self.listener,
                        run: index,
                        debug: self.debug,
                    };
                    let still = scene.play().await;
                    closing.push(Closing::begin(context, &viewport.name, still));
                }
                Err(why) => {
                    let criterion = run.plan.criteria.first().map_or("", |c| c.id.as_str());
                    let fact = NotObserved {
                        what: "open a fresh context".into(),
                        why: why.0,
                        detail: why.1,
                    };
                    let observation = recorder.observe(criterion, Fact::NotObserved(fact));
                    recorder.keep(vec![observation]);
                }
            }
            // An app that jurat ends is there as long as its page: else the picture of the end could show the end of the app.
            if cast.death().is_some()
                && let Some(closing) = closing.last_mut()
            {
                closing.done().await;
            }
            cast.leave(&mut recorder).await;
            recorder.leave();
        }
        let (logs, app_left) = cast.end(&mut recorder).await;
        Scenes {
            started,
            recorder,
            pictures,
            logs,
            app_left,
            closing,
            run_id,
            at,
        }
    }

    /// Ends a run: what its closing pages still do, what is left, the verdict, the bundle.
    async fn conclude(self: Arc<Self>, index: usize, scenes: Scenes) -> Result<RunReport, EngineError> {
        let Scenes {
            started,
            mut recorder,
            mut pictures,
            logs,
            app_left,
            mut closing,
            run_id,
            at,
        } = scenes;
        for context in &mut closing {
            let Some((still, picture)) = context.still.take() else {
                continue;
            };
            if let Ok(png) = picture.await
                && let Some(observation) = still.observation(&context.viewport, recorder.now(), &png)
            {
                recorder.keep_late(observation);
                pictures.push(png);
            }
        }
        let begun = {
            let (stage, run_id) = (Arc::clone(&self), run_id.clone());
            let observations = recorder.observations().to_vec();
            tokio::task::spawn_blocking(move || {
                let run = &stage.runs[index];
                bundle::begin(
                    &stage.root,
                    &run_id,
                    (&run.job.contract, &run.plan),
                    &observations,
                    &pictures,
                    &logs,
                )
            })
        };
        for mut context in closing {
            context.done().await;
        }
        let last = self.left.fetch_sub(1, Ordering::SeqCst) == 1;
        let leftovers = app_left.saturating_add(if last {
            self.launched.end_browser().await
        } else {
            self.launched.strays()
        });
        recorder.drain_past();
        for (at, record) in self.plugs.background(started) {
            recorder.event_at(at, Happening::Guard(record));
        }
        let run = &self.runs[index];
        let slots = run.first..run.first + run.plan.viewports.len();
        let lost = self.plugs.lost(slots) + self.launched.guard_lost();
        if lost > 0 {
            recorder.event(Happening::Gap {
                at: "guard".into(),
                count: lost,
            });
        }
        for (at, escape) in self.launched.escapes(started) {
            recorder.event_at(at, Happening::EscapeAttempt(escape));
        }
        let unseen = self.launched.tripwire_lost();
        if unseen > 0 {
            recorder.event(Happening::Gap {
                at: "tripwire".into(),
                count: unseen,
            });
        }
        recorder.event(Happening::Canaries {
            hits: self.launched.canary_hits(),
        });
        recorder.event(Happening::Leftovers { processes: leftovers });
        let (record, took) = (recorder.finish(), started.elapsed());
        let broken = |e: &dyn std::fmt::Display| EngineError::evidence(e.to_string());
        let writer = begun.await.map_err(|e| broken(&e))?.map_err(|e| broken(&e))?;
        let stage = Arc::clone(&self);
        let sealing = tokio::task::spawn_blocking(move || {
            let run = &stage.runs[index];
            bundle::seal(&stage.root, writer, (&run.job.contract, &run.plan), &record, at)
        });
        let (verdict, bundle) = sealing.await.map_err(|e| broken(&e))?.map_err(|e| broken(&e))?;
        (self.listener)(Progress::RunEnded {
            run: index,
            verdict: verdict.verdict,
            took,
            criteria: verdict.criteria.clone(),
        });
        let contract = self.runs[index].job.name.clone();
        Ok(RunReport {
            contract,
            run_id: run_id.as_str().to_owned(),
            bundle,
            verdict,
            took,
        })
    }

    /// The context in a slot: the one that was opened ahead, or a new one.
    async fn context(self: &Arc<Self>, slot: usize, wall: Instant) -> Result<Context, (Unseen, Option<Untrusted>)> {
        if self.cancel.is_cancelled() {
            return Err((Unseen::Cancelled, None));
        }
        let ahead = self
            .opening
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&slot);
        let opening = ahead.unwrap_or_else(|| self.open(slot));
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err((Unseen::Cancelled, None)),
            () = tokio::time::sleep_until(wall.into()) => Err((Unseen::BudgetExhausted, None)),
            opened = opening => match opened {
                Ok(Ok(context)) => Ok(context),
                Ok(Err(error)) => Err((error.unseen(), Some(Untrusted::bounded(&error.to_string(), 1024).0))),
                Err(_) => Err((Unseen::EvidenceLost, None)),
            },
        }
    }

    fn open(self: &Arc<Self>, slot: usize) -> JoinHandle<Result<Context, ActError>> {
        let stage = Arc::clone(self);
        tokio::spawn(async move {
            let run = stage
                .runs
                .iter()
                .rev()
                .find(|r| r.first <= slot)
                .unwrap_or(&stage.runs[0]);
            let viewport = &run.job.contract.viewports[slot - run.first];
            let options = ContextOptions {
                proxy_port: stage.plugs.port(slot),
                viewport,
                emulate: &run.job.contract.emulate,
                origin: &run.plan.origin,
                events: stage.plugs.sender(slot),
            };
            stage.browser.new_context(options, Instant::now() + OPEN).await
        })
    }

    /// Opens the context that is needed next: of the next viewport, or of the next run.
    fn open_ahead(self: &Arc<Self>, run: usize, viewport: usize) {
        let planned = &self.runs[run];
        let slot = if viewport + 1 < planned.plan.viewports.len() {
            planned.first + viewport + 1
        } else {
            match self.runs.get(self.next.load(Ordering::SeqCst)) {
                Some(next) => next.first,
                None => return,
            }
        };
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.cancel.is_cancelled() && !self.plugs.taken(slot) {
            opening.entry(slot).or_insert_with(|| self.open(slot));
        }
    }
}

/// A fresh run id and the wall clock, RFC 3339 in UTC.
fn name_of_run() -> (RunId, String) {
    let now = jiff::Timestamp::now();
    let mut random = [0; 4];
    if getrandom::fill(&mut random).is_err() {
        random = std::process::id().to_be_bytes();
    }
    let since_epoch = Duration::from_millis(u64::try_from(now.as_millisecond()).unwrap_or(0));
    (
        RunId::new(since_epoch, random),
        now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
    )
}

//! Exploring: one fresh context in the engine's own browser, driven freely. For `jurat doctor`, which wants to know that a browser
//! starts, and for `jurat init`, which wants to know what a page does.
//!
//! What is seen here is no evidence and becomes none: a contract that comes of it is proven by [`super::run()`] like any other.

use std::time::{Duration, Instant};

use jurat_browser::act::ClickHow;
use jurat_browser::context::{ActError, Browser, Context, ContextOptions, ElementHandle, Settle, Tab};
use jurat_browser::page::{self, Look, ReadError};
use jurat_core::aria::Node;
use jurat_core::confinement::ConfinementRecord;
use jurat_core::contract::{Action, Budget, Capture, Contract, ContractVersion, Emulate, Locator, Target, Viewport};
use jurat_core::evaluate::{Needs, Sight, matching, ready, sight};
use jurat_core::observation::{BrowserFact, DocumentFact, Element, GuardReason, Happening, PageFact};
use jurat_core::plan::{Plan, PlanOptions};

use super::error::EngineError;
use super::launch::Launched;
use super::recorder::Recorder;
use super::settings::Settings;

/// How long a context may take to open.
const OPEN: Duration = Duration::from_secs(20);
/// How long one action or one look may take.
const STEP: Duration = Duration::from_secs(5);
/// How long a navigation may take.
const NAVIGATION: Duration = Duration::from_secs(15);
/// How long a context may take to close.
const CLOSE: Duration = Duration::from_secs(2);
/// How long the end of a request is waited for: a body that nobody reads ends late.
const ANSWERS: Duration = Duration::from_secs(1);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(30);

/// A browser that was started and ended again, to see that it does.
#[derive(Debug, Clone)]
pub struct Tried {
    /// What it said of itself.
    pub browser: BrowserFact,
    /// How it was confined.
    pub confinement: ConfinementRecord,
    /// How long it took to answer.
    pub took: Duration,
}

/// Starts the browser as a run would, asks it for its version, and ends it.
///
/// # Errors
/// Why a run could not start, and what to do.
pub async fn try_browser(settings: &Settings) -> Result<Tried, EngineError> {
    let plan = plan_for("http://127.0.0.1:9/", settings)?;
    let begun = Instant::now();
    let (launched, browser, _plugs) = Launched::new(&[&plan], settings).await?;
    let tried = Tried {
        browser: launched.browser_fact(),
        confinement: launched.confinement(),
        took: begun.elapsed(),
    };
    drop(browser);
    launched.close().await;
    Ok(tried)
}

/// What a page shows at one moment.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its address and title.
    pub page: PageFact,
    /// Its accessibility tree.
    pub tree: Vec<Node>,
}

/// A request that the page made, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its method.
    pub method: String,
    /// Its absolute URL.
    pub url: String,
    /// Its status, once it was answered.
    pub status: Option<u16>,
    /// Whether it brought the main frame's document.
    pub document: bool,
    /// Whether a script made it (`fetch`, `XMLHttpRequest`).
    pub script: bool,
}

/// A page that is being explored.
#[derive(Debug)]
pub struct Explorer {
    launched: Launched,
    context: Context,
    recorder: Recorder,
    url: String,
    /// Events before this one are of earlier actions.
    since: usize,
    _browser: Browser,
}

impl Explorer {
    /// Starts the browser and opens a fresh context for the page. Nothing is loaded yet.
    ///
    /// # Errors
    /// Why a run could not start, and what to do.
    pub async fn start(url: &str, settings: &Settings) -> Result<Self, EngineError> {
        let plan = plan_for(url, settings)?;
        let (launched, browser, plugs) = Launched::new(&[&plan], settings).await?;
        let (viewport, emulate) = (Viewport::desktop(), Emulate::default());
        let options = ContextOptions {
            proxy_port: plugs.port(0),
            viewport: &viewport,
            emulate: &emulate,
            origin: &plan.origin,
            events: plugs.sender(0),
        };
        let context = match browser.new_context(options, Instant::now() + OPEN).await {
            Ok(context) => context,
            Err(error) => {
                launched.close().await;
                return Err(EngineError::environment(
                    format!("no context could be opened: {error}"),
                    None,
                ));
            }
        };
        let mut recorder = Recorder::new(Instant::now(), Instant::now());
        if let Some(events) = plugs.take(0) {
            recorder.enter(&viewport.name, events);
        }
        Ok(Self {
            launched,
            context,
            recorder,
            url: plan.url.clone(),
            since: 0,
            _browser: browser,
        })
    }

    /// Loads the page.
    ///
    /// # Errors
    /// When it does not answer at all.
    pub async fn open(&mut self) -> Result<DocumentFact, ReadError> {
        self.begin();
        let mut document = self.tab().navigate(&self.url, Instant::now() + NAVIGATION).await?;
        let since = self.since;
        document.unreachable |= self.recorder.record().events.iter().skip(since).any(|e| match &e.what {
            Happening::Guard(g) => g.reason == Some(GuardReason::UpstreamUnreachable),
            _ => false,
        });
        Ok(document)
    }

    /// Loads the page again.
    ///
    /// # Errors
    /// When it does not answer at all.
    pub async fn reload(&mut self) -> Result<DocumentFact, ReadError> {
        self.begin();
        Ok(self.tab().reload(Instant::now() + NAVIGATION).await?)
    }

    /// Waits for rest, then reads address, title and accessibility tree.
    ///
    /// # Errors
    /// When the page cannot be read.
    pub async fn shown(&mut self) -> Result<Shown, ReadError> {
        let (tab, deadline) = (self.tab(), Instant::now() + STEP);
        tab.settle(Settle::default(), deadline).await?;
        let page = tab.page_fact(deadline).await?;
        let tree = page::aria(&tab, None, deadline).await?;
        Ok(Shown { page, tree: tree.nodes })
    }

    /// The one element that a locator matches, with these attributes; nothing when there is none or more than one.
    pub async fn element(&self, locator: &Locator, attributes: &[&str]) -> Option<Element> {
        let look = Look {
            attributes: attributes.iter().map(|&a| a.to_owned()).collect(),
            layout: true,
            ..Look::default()
        };
        let seen = page::look(&self.tab(), locator, &look, Instant::now() + STEP)
            .await
            .ok()?;
        matching::one(locator, &seen.probe).ok().cloned()
    }

    /// How many elements a locator matches.
    pub async fn count(&self, locator: &Locator) -> Option<u32> {
        let seen = page::look(&self.tab(), locator, &Look::default(), Instant::now() + STEP)
            .await
            .ok()?;
        Some(seen.probe.matches)
    }

    /// Whether a person could see the one element that a locator matches.
    pub async fn is_visible(&self, locator: &Locator) -> bool {
        let seen = page::look(&self.tab(), locator, &Look::for_sight(), Instant::now() + STEP).await;
        seen.is_ok_and(|seen| matching::one(locator, &seen.probe).is_ok_and(|e| sight(&e.layout) == Sight::Visible))
    }

    /// Fills or clicks, as soon as that can be done. Says whether it was done and arrived.
    ///
    /// # Errors
    /// When the page cannot be read.
    pub async fn act(&mut self, action: &Action) -> Result<bool, ReadError> {
        let deadline = Instant::now() + STEP;
        let (Some(locator), Some(needs)) = (action.locator(), Needs::of(action)) else {
            return Ok(false);
        };
        self.begin();
        let tab = self.tab();
        loop {
            match act_once(&tab, action, locator, needs, deadline).await {
                Ok(true) => return Ok(true),
                Err(error) if !error.retryable() => return Err(error),
                _ if Instant::now() + PAUSE >= deadline => return Ok(false),
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// The requests since the last action, waited for a moment until they are answered.
    pub async fn requests(&mut self) -> Vec<Made> {
        let until = Instant::now() + ANSWERS;
        loop {
            let made = self.requests_now();
            if made.iter().all(|made| made.status.is_some()) || Instant::now() >= until {
                return made;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn requests_now(&mut self) -> Vec<Made> {
        let since = self.since;
        let events = &self.recorder.record().events;
        let recent = || events.iter().skip(since).map(|e| &e.what);
        let status = |id: &str| {
            recent().find_map(|what| match what {
                Happening::RequestEnd(end) if end.id == id => end.status,
                _ => None,
            })
        };
        recent()
            .filter_map(|what| match what {
                Happening::Request(r) => Some(Made {
                    method: r.method.clone(),
                    url: r.url.raw().to_owned(),
                    status: status(&r.id),
                    document: r.document,
                    script: matches!(r.kind.as_str(), "Fetch" | "XHR"),
                }),
                _ => None,
            })
            .collect()
    }

    /// Ends the browser and takes everything away.
    pub async fn close(self) {
        let _ = self.context.close(Instant::now() + CLOSE).await;
        self.launched.close().await;
    }

    fn tab(&self) -> Tab {
        self.context.main().clone()
    }

    fn begin(&mut self) {
        self.context.begin_step(None);
        self.since = self.recorder.record().events.len();
    }
}

async fn act_once(
    tab: &Tab,
    action: &Action,
    locator: &Locator,
    needs: Needs,
    deadline: Instant,
) -> Result<bool, ReadError> {
    let pointer = needs.hit || needs.stable;
    let look = Look {
        layout: true,
        scroll: pointer,
        stable: needs.stable,
        ..Look::default()
    };
    let seen = page::look(tab, locator, &look, deadline).await?;
    let Ok(element) = ready(locator, &seen.probe, needs) else {
        return Ok(false);
    };
    let at = element.layout.hit.as_ref().map(|hit| (hit.x, hit.y));
    let Some(index) = seen.probe.elements.iter().position(|e| std::ptr::eq(e, element)) else {
        return Ok(false);
    };
    let handle: ElementHandle = seen.handle(tab, index, deadline).await?;
    let fact = match action {
        Action::Fill(v) => tab.fill(&handle, &v.value, deadline).await?,
        Action::Click(c) => {
            let how = ClickHow {
                count: c.count,
                button: c.button,
                modifiers: &c.modifiers,
            };
            tab.click(&handle, at, how, deadline).await?
        }
        _ => {
            return Err(ActError::Refused {
                what: "explore",
                message: "only fill and click".into(),
            }
            .into());
        }
    };
    Ok(fact.dispatched && fact.obstacle.is_none() && fact.received.is_none_or(|r| r.own))
}

/// A plan of one desktop viewport, which is all that a launch needs to know.
fn plan_for(url: &str, settings: &Settings) -> Result<Plan, EngineError> {
    let target = Target {
        url: url.into(),
        allow: Vec::new(),
        refuse: Vec::new(),
        start: None,
        http: Vec::new(),
    };
    let contract = Contract {
        jurat: ContractVersion::V1,
        name: "explore".into(),
        target,
        viewports: vec![Viewport::desktop()],
        emulate: Emulate::default(),
        steps: Vec::new(),
        expect: Vec::new(),
        checks: Vec::new(),
        accept: None,
        budget: Budget::default(),
        capture: Capture::default(),
    };
    let options = PlanOptions {
        url: None,
        accept_confinement: settings.accept_confinement,
    };
    Plan::new(&contract, &options).map_err(|e| EngineError::refused(e.to_string()))
}

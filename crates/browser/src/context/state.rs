//! What is known of one context: its tabs, frames, workers and sessions, as the events tell it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jurat_core::contract::DialogAnswer;
use jurat_core::observation::{DialogFact, Owner};
use tokio::sync::watch;

use super::network::Requests;
use super::outlet::Outlet;
use crate::cdp::Session;
use crate::cdp::protocol::{BrowserContextId, FrameId, LoaderId, SessionId, TargetId};

/// How a tab is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TabStatus {
    /// It can be spoken to.
    Open,
    /// It opened more dialogs in one step than are answered; calls on it fail at once.
    Unresponsive,
    /// Its renderer died.
    Crashed,
    /// It was closed, by the page or by us.
    Closed,
    /// The browser is gone.
    BrowserGone,
}

/// The part of a context that the pump and the tabs share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) id: BrowserContextId,
    /// The browser's own session.
    pub(super) browser: Session,
    pub(super) setup: super::attach::Setup,
    state: Mutex<State>,
    version: watch::Sender<u64>,
}

impl Shared {
    pub(super) fn new(id: BrowserContextId, browser: Session, setup: super::attach::Setup, outlet: Outlet) -> Self {
        let state = Mutex::new(State::new(outlet));
        Self {
            id,
            browser,
            setup,
            state,
            version: watch::Sender::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all that wait for a change.
    pub(super) fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Waits until the state gives something, or the deadline passes.
    pub(super) async fn until<T>(&self, deadline: Instant, mut look: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut version = self.version.subscribe();
        loop {
            version.mark_unchanged();
            if let Some(found) = look(&mut self.lock()) {
                return Some(found);
            }
            if !matches!(
                tokio::time::timeout_at(deadline.into(), version.changed()).await,
                Ok(Ok(()))
            ) {
                return look(&mut self.lock());
            }
        }
    }
}

/// See [`Shared`].
#[derive(Debug)]
pub(crate) struct State {
    pub(super) tabs: Vec<TabState>,
    pub(super) sessions: HashMap<SessionId, SessionState>,
    pub(super) requests: Requests,
    pub(super) outlet: Outlet,
    pub(super) step: Step,
    /// Answers of the page script by their token, as they came through the binding.
    pub(super) reports: Vec<Report>,
    pub(super) browser_gone: bool,
}

/// What the page script said through its binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Which call it belongs to.
    pub(crate) token: u64,
    /// What it said, JSON.
    pub(crate) payload: String,
}

/// What holds for the current step.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) answer: Option<DialogAnswer>,
    pub(super) dialogs: Vec<DialogFact>,
    pub(super) opened: u32,
}

/// What is behind a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Page,
    Frame,
    Worker,
    ServiceWorker,
    /// Attached a second time, or nothing that is reported on.
    Muted,
}

/// One session.
#[derive(Debug, Clone)]
pub(super) struct SessionState {
    pub(super) target: TargetId,
    pub(super) kind: Kind,
    /// The tab that it belongs to, if any.
    pub(super) tab: Option<TargetId>,
    pub(super) parent: Option<SessionId>,
}

/// Whether a session's first commands were acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ready {
    No,
    Yes,
    Failed(super::ActError),
}

/// One tab.
#[derive(Debug)]
pub(super) struct TabState {
    pub(super) target: TargetId,
    pub(super) session: SessionId,
    /// Opened by a page.
    pub(super) popup: bool,
    pub(super) status: TabStatus,
    pub(super) ready: Ready,
    /// In the order of their coming, the main frame first.
    pub(super) frames: Vec<FrameState>,
    /// Documents of the main frame that were asked for, the latest last.
    pub(super) documents: Vec<DocumentState>,
    /// Documents that the main frame showed, the latest last, and how many there were.
    pub(super) committed: Vec<LoaderId>,
    pub(super) commits: u64,
    /// How often the main frame moved within its document.
    pub(super) moves: u64,
    /// A `beforeunload` dialog that was dismissed: the navigation was given up.
    pub(super) stayed: u64,
}

/// A document of a main frame as the network tells it.
#[derive(Debug, Clone)]
pub(super) struct DocumentState {
    pub(super) loader: LoaderId,
    pub(super) url: String,
    pub(super) status: Option<u16>,
    pub(super) redirects: u32,
    pub(super) error: Option<String>,
    pub(super) at: Instant,
}

/// The isolated world of a frame.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) session: SessionId,
    pub(super) id: i64,
    pub(super) unique: String,
}

/// One frame.
#[derive(Debug)]
pub(super) struct FrameState {
    pub(super) id: FrameId,
    pub(super) parent: Option<FrameId>,
    pub(super) session: SessionId,
    pub(super) out_of_process: bool,
    pub(super) url: String,
    pub(super) loader: Option<LoaderId>,
    pub(super) loaded: bool,
    pub(super) error_page: bool,
    pub(super) crashed: bool,
    pub(super) world: Option<World>,
}

impl FrameState {
    pub(super) fn new(id: FrameId, parent: Option<FrameId>, session: SessionId) -> Self {
        Self {
            id,
            parent,
            session,
            out_of_process: false,
            url: String::new(),
            loader: None,
            loaded: false,
            error_page: false,
            crashed: false,
            world: None,
        }
    }
}

impl State {
    /// Frames kept for one tab; a page that makes more is read without them, and the reader says so.
    pub(super) const MAX_FRAMES: usize = 2000;

    fn new(outlet: Outlet) -> Self {
        Self {
            tabs: Vec::new(),
            sessions: HashMap::new(),
            requests: Requests::default(),
            outlet,
            step: Step::default(),
            reports: Vec::new(),
            browser_gone: false,
        }
    }

    pub(super) fn tab(&self, target: &TargetId) -> Option<&TabState> {
        self.tabs.iter().find(|tab| tab.target == *target)
    }

    pub(super) fn tab_mut(&mut self, target: &TargetId) -> Option<&mut TabState> {
        self.tabs.iter_mut().find(|tab| tab.target == *target)
    }

    /// The tab that a session belongs to.
    pub(super) fn tab_of(&mut self, session: &SessionId) -> Option<&mut TabState> {
        let target = self.sessions.get(session)?.tab.clone()?;
        self.tab_mut(&target)
    }

    /// A tab as it is, also when it was forgotten.
    pub(super) fn status(&self, target: &TargetId) -> TabStatus {
        if self.browser_gone {
            return TabStatus::BrowserGone;
        }
        self.tab(target).map_or(TabStatus::Closed, |tab| tab.status)
    }

    /// Whose something is that a session tells of a frame.
    pub(super) fn owner(&self, session: &SessionState, frame: Option<&FrameId>) -> Owner {
        let tab = session.tab.as_ref().and_then(|target| self.tab(target));
        match session.kind {
            Kind::Worker => Owner::Worker,
            Kind::ServiceWorker => Owner::ServiceWorker,
            Kind::Muted => Owner::Browser,
            _ if tab.is_some_and(|tab| tab.popup) => Owner::Popup,
            Kind::Frame => Owner::Frame,
            Kind::Page => match (frame, tab) {
                (Some(frame), Some(tab)) if frame.as_str() != tab.target.as_str() => Owner::Frame,
                _ => Owner::Page,
            },
        }
    }
}

impl TabState {
    pub(super) fn new(target: TargetId, session: SessionId, popup: bool, url: &str) -> Self {
        let mut main = FrameState::new(target.as_str().into(), None, session.clone());
        url.clone_into(&mut main.url);
        Self {
            target,
            session,
            popup,
            status: TabStatus::Open,
            ready: Ready::No,
            frames: vec![main],
            documents: Vec::new(),
            committed: Vec::new(),
            commits: 0,
            moves: 0,
            stayed: 0,
        }
    }

    /// The main frame shows a new document.
    pub(super) fn commit(&mut self, loader: LoaderId) {
        if self.committed.len() >= 16 {
            self.committed.remove(0);
        }
        self.committed.push(loader);
        self.commits += 1;
    }

    pub(super) fn main(&self) -> Option<&FrameState> {
        self.frames.first()
    }

    pub(super) fn frame(&self, id: &FrameId) -> Option<&FrameState> {
        self.frames.iter().find(|frame| frame.id == *id)
    }

    pub(super) fn frame_mut(&mut self, id: &FrameId) -> Option<&mut FrameState> {
        self.frames.iter_mut().find(|frame| frame.id == *id)
    }

    pub(super) fn is_main(&self, id: &FrameId) -> bool {
        id.as_str() == self.target.as_str()
    }

    pub(super) fn document(&self, loader: &LoaderId) -> Option<&DocumentState> {
        self.documents.iter().rev().find(|document| document.loader == *loader)
    }

    pub(super) fn document_mut(&mut self, loader: &LoaderId) -> Option<&mut DocumentState> {
        self.documents
            .iter_mut()
            .rev()
            .find(|document| document.loader == *loader)
    }

    /// Removes what hangs below a frame.
    pub(super) fn remove_below(&mut self, id: &FrameId) {
        let mut gone = vec![id.clone()];
        let mut at = 0;
        while let Some(parent) = gone.get(at).cloned() {
            gone.extend(
                self.frames
                    .iter()
                    .filter(|f| f.parent.as_ref() == Some(&parent))
                    .map(|f| f.id.clone()),
            );
            at += 1;
        }
        gone.remove(0);
        self.frames.retain(|frame| !gone.contains(&frame.id));
    }

    /// Removes a frame and what hangs below it.
    pub(super) fn remove(&mut self, id: &FrameId) {
        self.remove_below(id);
        self.frames.retain(|frame| frame.id != *id);
    }
}

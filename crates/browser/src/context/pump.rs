//! The task that reads every event of the browser and keeps the contexts by it.
//!
//! It never waits for anything but the next event: commands that an event calls for (the first burst of a new session, the
//! answer to a dialog, the end of a popup too many) are sent and left to others to await.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jurat_core::observation::{Happening, NavigationFact, Owner, TargetFact};
use jurat_core::untrusted::Untrusted;

use super::console::bounded_url;
use super::error::ActError;
use super::network::full_url;
use super::outlet::Class;
use super::state::{FrameState, Kind, Ready, Report, SessionState, Shared, State, TabState, TabStatus, World};
use super::world::{BINDING, WORLD};
use crate::cdp::protocol::page::{
    DocumentOpened, FrameAttached, FrameDetached, FrameNavigated, FrameTree, JavascriptDialogOpening,
    NavigatedWithinDocument,
};
use crate::cdp::protocol::runtime::{
    BindingCalled, ExecutionContextCreated, ExecutionContextDestroyed, RunIfWaitingForDebugger,
};
use crate::cdp::protocol::target::{AttachedToTarget, CloseTarget, DetachedFromTarget, TargetCrashed, TargetInfo};
use crate::cdp::protocol::{BrowserContextId, FrameId, SessionId, TargetId, browser};
use crate::cdp::{Event, Message, Session, Subscription};

/// Popups that are open at once in one context; one more is closed as it comes.
const MOST_POPUPS: usize = 10;

/// Targets of one context; one more is not reported on, which bars a pass.
const MOST_SESSIONS: usize = 2000;

/// Reports of the page script that wait to be fetched.
const MOST_REPORTS: usize = 256;

/// How often what has no event is looked at (bodies that stay open).
const TICK: Duration = Duration::from_millis(500);

/// The contexts of a browser.
#[derive(Debug, Default)]
pub(super) struct Registry {
    contexts: Mutex<HashMap<BrowserContextId, Arc<Shared>>>,
}

impl Registry {
    pub(super) fn add(&self, context: &Arc<Shared>) {
        self.lock().insert(context.id.clone(), Arc::clone(context));
    }

    pub(super) fn remove(&self, id: &BrowserContextId) {
        self.lock().remove(id);
    }

    fn get(&self, id: &BrowserContextId) -> Option<Arc<Shared>> {
        self.lock().get(id).cloned()
    }

    fn all(&self) -> Vec<Arc<Shared>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<BrowserContextId, Arc<Shared>>> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task's state.
#[derive(Debug)]
pub(super) struct Pump {
    events: Subscription,
    browser: Session,
    registry: Arc<Registry>,
    /// Which context a session belongs to.
    sessions: HashMap<SessionId, Arc<Shared>>,
}

impl Pump {
    pub(super) fn new(events: Subscription, browser: Session, registry: Arc<Registry>) -> Self {
        Self {
            events,
            browser,
            registry,
            sessions: HashMap::new(),
        }
    }

    /// Runs until the connection ends.
    pub(super) async fn run(mut self) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => {
                    let Some(event) = event else { break };
                    self.take(&event);
                }
                _ = tick.tick() => {
                    let now = Instant::now();
                    for context in self.registry.all() {
                        let mut state = context.lock();
                        state.tell_streams(now);
                        state.outlet.tell_lost(now);
                    }
                }
            }
        }
        self.gone();
    }

    fn gone(&self) {
        for context in self.registry.all() {
            context.lock().browser_gone = true;
            context.changed();
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Message(message) => self.message(message),
            Event::Gap { count } => self.lost(*count),
            // A reply that was too long is its caller's affair, who is told.
            Event::Lost(lost) if lost.id.is_some() => {}
            Event::Lost(_) => self.lost(1),
            Event::Fault(fault) => {
                let now = Instant::now();
                for context in self.registry.all() {
                    let detail = Untrusted::new(fault.to_string());
                    context
                        .lock()
                        .outlet
                        .emit(Class::Faults, now, Happening::ProtocolFault { detail });
                }
            }
            Event::Closed => self.gone(),
        }
    }

    fn lost(&self, count: u64) {
        let now = Instant::now();
        for context in self.registry.all() {
            context.lock().outlet.gap(now, count);
        }
    }

    fn message(&mut self, event: &Message) {
        match &*event.method {
            "Target.attachedToTarget" => return self.attached(event),
            "Target.detachedFromTarget" => return self.detached(event),
            "Target.targetCrashed" => return self.target_crashed(event),
            "Browser.downloadWillBegin" => return self.download(event),
            _ => {}
        }
        let Some(id) = &event.session else { return };
        let Some(context) = self.sessions.get(id) else { return };
        let mut state = context.lock();
        let Some(session) = state.sessions.get(id).cloned() else {
            return;
        };
        if session.kind == Kind::Muted {
            return;
        }
        let changed = match &*event.method {
            "Page.javascriptDialogOpening" => {
                let command = match event.decode::<JavascriptDialogOpening>() {
                    Some(Ok(opened)) => state.dialog(event, id, &opened),
                    _ => {
                        state.fault(event);
                        None
                    }
                };
                if let Some(command) = command {
                    drop(self.browser.with_id(Some(id.clone())).send(&command));
                }
                true
            }
            "Inspector.targetCrashed" => {
                state.crashed(&session, event.at);
                true
            }
            _ => state.observe(event, id, &session),
        };
        drop(state);
        if changed {
            context.changed();
        }
    }

    fn attached(&mut self, event: &Message) {
        let Some(Ok(attached)) = event.decode::<AttachedToTarget>() else {
            return;
        };
        let session = self.browser.with_id(Some(attached.session_id.clone()));
        let info = attached.target_info;
        let parent = event.session.clone();
        let context = match &parent {
            Some(parent) => self.sessions.get(parent).cloned(),
            None => info.browser_context_id.as_ref().and_then(|id| self.registry.get(id)),
        };
        let Some(context) = context else {
            // A target of the browser's own: it is none of ours, and must not wait for us.
            drop(session.send(&RunIfWaitingForDebugger {}));
            return;
        };
        let (kind, close) = context.lock().attach(&attached.session_id, parent, &info, event.at);
        self.sessions.insert(attached.session_id.clone(), Arc::clone(&context));
        if close {
            drop(self.browser.send(&CloseTarget::new(&info.target_id)));
        }
        let burst = context.setup.send(&session, kind);
        context.changed();
        let (id, target) = (attached.session_id, info.target_id);
        tokio::spawn(async move {
            let acknowledged = burst.acknowledged().await;
            context.lock().acknowledged(&id, &target, kind, acknowledged);
            context.changed();
        });
    }

    fn detached(&mut self, event: &Message) {
        let Some(Ok(detached)) = event.decode::<DetachedFromTarget>() else {
            return;
        };
        let Some(context) = self.sessions.remove(&detached.session_id) else {
            return;
        };
        let gone = context.lock().detach(&detached.session_id, event.at);
        for session in gone {
            self.sessions.remove(&session);
        }
        context.changed();
    }

    fn target_crashed(&self, event: &Message) {
        let Some(Ok(crashed)) = event.decode::<TargetCrashed>() else {
            return;
        };
        for context in self.registry.all() {
            let mut state = context.lock();
            let session = state
                .sessions
                .values()
                .find(|session| session.target == crashed.target_id)
                .cloned();
            if let Some(session) = session {
                state.crashed(&session, event.at);
                drop(state);
                context.changed();
            }
        }
    }

    fn download(&self, event: &Message) {
        let Some(Ok(download)) = event.decode::<browser::DownloadWillBegin>() else {
            return;
        };
        for context in self.registry.all() {
            let mut state = context.lock();
            if state.tabs.iter().any(|tab| tab.frame(&download.frame_id).is_some()) {
                let url = bounded_url(&download.url);
                state
                    .outlet
                    .emit(Class::Downloads, event.at, Happening::Download { url });
            }
        }
    }
}

impl State {
    /// Takes a new session; gives what it is, and whether it is a popup too many.
    fn attach(&mut self, id: &SessionId, parent: Option<SessionId>, info: &TargetInfo, at: Instant) -> (Kind, bool) {
        let parent_tab = parent
            .as_ref()
            .and_then(|p| self.sessions.get(p))
            .and_then(|p| p.tab.clone());
        let known = self
            .sessions
            .values()
            .any(|session| session.target == info.target_id && session.kind != Kind::Muted);
        let mut kind = match info.r#type.as_str() {
            // Told by the browser's session and by each page's: the browser's, which outlives pages, is the one to listen to.
            "service_worker" | "shared_worker" if parent.is_some() => Kind::Muted,
            _ if known => Kind::Muted,
            "page" => Kind::Page,
            "iframe" => Kind::Frame,
            "service_worker" => Kind::ServiceWorker,
            "worker" | "shared_worker" | "worklet" | "shared_storage_worklet" | "auction_worklet" => Kind::Worker,
            _ => Kind::Muted,
        };
        if kind != Kind::Muted && self.sessions.len() >= MOST_SESSIONS {
            kind = Kind::Muted;
            self.outlet.gap(at, 1);
        }
        let tab = if kind == Kind::Page {
            Some(info.target_id.clone())
        } else {
            parent_tab
        };
        let session = SessionState {
            target: info.target_id.clone(),
            kind,
            tab: tab.clone(),
            parent,
        };
        self.sessions.insert(id.clone(), session.clone());
        let mut close = false;
        match (kind, &tab) {
            (Kind::Page, _) => {
                let popup = !self.tabs.is_empty();
                close = popup
                    && self
                        .tabs
                        .iter()
                        .filter(|tab| tab.popup && tab.status == TabStatus::Open)
                        .count()
                        >= MOST_POPUPS;
                self.tabs
                    .push(TabState::new(info.target_id.clone(), id.clone(), popup, &info.url));
            }
            (Kind::Frame, Some(tab)) => {
                let frame: FrameId = info.target_id.as_str().into();
                let parent = info.parent_frame_id.clone();
                if let Some(tab) = self.tab_mut(tab) {
                    tab.remove_below(&frame);
                    if tab.frame(&frame).is_none() {
                        tab.frames.push(FrameState::new(frame.clone(), parent, id.clone()));
                    }
                    if let Some(frame) = tab.frame_mut(&frame) {
                        frame.session = id.clone();
                        frame.out_of_process = true;
                        frame.crashed = false;
                        frame.world = None;
                    }
                }
            }
            _ => {}
        }
        if kind != Kind::Muted {
            let owner = self.owner(&session, None);
            let (kind, _) = Untrusted::bounded(&info.r#type, 32);
            let fact = TargetFact {
                target: info.target_id.to_string(),
                kind: kind.raw().to_owned(),
                owner,
                url: bounded_url(&info.url),
            };
            self.outlet.emit(Class::Targets, at, Happening::Target(fact));
        }
        (kind, close)
    }

    /// The first commands of a session were acknowledged, or not.
    fn acknowledged(
        &mut self,
        id: &SessionId,
        target: &TargetId,
        kind: Kind,
        acknowledged: Result<Option<FrameTree>, ActError>,
    ) {
        let tree = match acknowledged {
            Ok(tree) => tree,
            Err(error) => {
                let alive = self.sessions.contains_key(id) && !self.browser_gone;
                if let Some(tab) = self.tab_mut(target)
                    && kind == Kind::Page
                {
                    tab.ready = Ready::Failed(error.clone());
                }
                // A session that went away meanwhile has nothing more to tell. One that stands and did not answer may have.
                let crashed = matches!(error, ActError::Crashed { .. } | ActError::Closed { .. });
                if alive && !crashed && kind != Kind::Muted {
                    self.outlet.gap(Instant::now(), 1);
                }
                return;
            }
        };
        let Some(tab) = self.tab_of(id) else { return };
        if let Some(tree) = tree {
            tab.merge(&tree, id);
        }
        if kind == Kind::Page && tab.ready == Ready::No {
            tab.ready = Ready::Yes;
        }
    }

    /// A session ended; gives those that end with it.
    fn detach(&mut self, id: &SessionId, at: Instant) -> Vec<SessionId> {
        let mut gone = vec![id.clone()];
        let mut next = 0;
        while let Some(parent) = gone.get(next).cloned() {
            gone.extend(
                self.sessions
                    .iter()
                    .filter(|(_, s)| s.parent.as_ref() == Some(&parent))
                    .map(|(id, _)| id.clone()),
            );
            next += 1;
        }
        for id in &gone {
            let Some(session) = self.sessions.remove(id) else {
                continue;
            };
            match (session.kind, &session.tab) {
                (Kind::Muted, _) => continue,
                (Kind::Page, _) => {
                    for end in self.requests.forget(&session.target) {
                        self.outlet.send(at, Happening::RequestEnd(end));
                    }
                    self.tabs.retain(|tab| tab.target != session.target);
                }
                (Kind::Frame, Some(tab)) => {
                    let frame: FrameId = session.target.as_str().into();
                    if let Some(tab) = self.tab_mut(tab)
                        && tab.frame(&frame).is_some_and(|frame| frame.session == *id)
                    {
                        tab.remove(&frame);
                    }
                }
                _ => {}
            }
            let what = Happening::TargetGone {
                target: session.target.to_string(),
                crashed: false,
            };
            self.outlet.emit(Class::Targets, at, what);
        }
        gone
    }

    /// A renderer died.
    fn crashed(&mut self, session: &SessionState, at: Instant) {
        let frame: FrameId = session.target.as_str().into();
        let Some(tab) = session.tab.clone().and_then(|target| self.tab_mut(&target)) else {
            return;
        };
        let news = match session.kind {
            Kind::Page => std::mem::replace(&mut tab.status, TabStatus::Crashed) != TabStatus::Crashed,
            _ => tab
                .frame_mut(&frame)
                .is_some_and(|frame| !std::mem::replace(&mut frame.crashed, true)),
        };
        if news {
            let what = Happening::TargetGone {
                target: session.target.to_string(),
                crashed: true,
            };
            self.outlet.emit(Class::Targets, at, what);
        }
    }

    /// Takes an event of a session; says whether something that may be waited for changed.
    fn observe(&mut self, event: &Message, id: &SessionId, session: &SessionState) -> bool {
        match &*event.method {
            "Network.requestWillBeSent" => self.request_sent(event, session),
            "Network.requestServedFromCache" => self.served_from_cache(event),
            "Network.responseReceived" => self.response(event),
            "Network.loadingFinished" => self.finished(event),
            "Network.loadingFailed" => self.failed(event),
            "Network.webSocketCreated" => self.websocket(event, session),
            "Network.webSocketHandshakeResponseReceived" => self.websocket_answered(event),
            "Network.webSocketClosed" => self.websocket_closed(event),
            "Network.webSocketFrameError" => self.websocket_failed(event),
            "Network.webTransportCreated" => self.webtransport(event, session),
            "Page.frameAttached" => self.frame_attached(event, id),
            "Page.frameDetached" => self.frame_detached(event, id),
            "Page.frameNavigated" => self.frame_navigated(event, id, session),
            "Page.navigatedWithinDocument" => self.moved_within(event, session),
            "Page.documentOpened" => self.document_opened(event, id),
            "Page.loadEventFired" => self.loaded(id, session),
            "Runtime.executionContextCreated" => self.world_created(event, id),
            "Runtime.executionContextDestroyed" => self.world_destroyed(event, id),
            "Runtime.executionContextsCleared" => self.worlds_cleared(id),
            "Runtime.bindingCalled" => self.report(event, id),
            "Runtime.consoleAPICalled" => {
                self.console(event);
                return false;
            }
            "Runtime.exceptionThrown" => {
                self.exception(event);
                return false;
            }
            "Log.entryAdded" => {
                self.log_entry(event);
                return false;
            }
            _ => return false,
        }
        true
    }

    fn frame_attached(&mut self, event: &Message, id: &SessionId) {
        let Some(Ok(attached)) = event.decode::<FrameAttached>() else {
            return self.fault(event);
        };
        let Some(tab) = self.tab_of(id) else { return };
        if let Some(frame) = tab.frame_mut(&attached.frame_id) {
            // It comes back into its parent's process.
            frame.session = id.clone();
            frame.out_of_process = false;
            frame.world = None;
            tab.remove_below(&attached.frame_id);
        } else if tab.frames.len() < Self::MAX_FRAMES {
            tab.frames.push(FrameState::new(
                attached.frame_id,
                Some(attached.parent_frame_id),
                id.clone(),
            ));
        } else {
            self.outlet.gap(event.at, 1);
        }
    }

    fn frame_detached(&mut self, event: &Message, id: &SessionId) {
        let Some(Ok(detached)) = event.decode::<FrameDetached>() else {
            return self.fault(event);
        };
        let Some(tab) = self.tab_of(id) else { return };
        // A frame that went on in another process is told by its own session already.
        if tab.frame(&detached.frame_id).is_none_or(|frame| frame.session != *id) {
            return;
        }
        if detached.reason.as_deref() == Some("swap") {
            tab.remove_below(&detached.frame_id);
            if let Some(frame) = tab.frame_mut(&detached.frame_id) {
                frame.world = None;
            }
        } else {
            tab.remove(&detached.frame_id);
        }
    }

    fn frame_navigated(&mut self, event: &Message, id: &SessionId, session: &SessionState) {
        let Some(Ok(navigated)) = event.decode::<FrameNavigated>() else {
            return self.fault(event);
        };
        let frame = navigated.frame;
        let restored = navigated.r#type.as_deref() == Some("BackForwardCacheRestore");
        let url = full_url(&frame.url, frame.url_fragment.as_deref());
        let error_page = frame.unreachable_url.is_some();
        let Some(tab) = self.tab_of(id) else { return };
        let main = tab.is_main(&frame.id);
        tab.remove_below(&frame.id);
        if tab.frame(&frame.id).is_none() {
            if tab.frames.len() >= Self::MAX_FRAMES {
                return self.outlet.gap(event.at, 1);
            }
            tab.frames
                .push(FrameState::new(frame.id.clone(), frame.parent_id.clone(), id.clone()));
        }
        if let Some(known) = tab.frame_mut(&frame.id) {
            known.session = id.clone();
            known.url.clone_from(&url);
            known.loader = Some(frame.loader_id.clone());
            known.loaded = restored;
            known.error_page = error_page;
            known.crashed = false;
        }
        if main {
            tab.commit(frame.loader_id.clone());
            if tab.status == TabStatus::Crashed {
                tab.status = TabStatus::Open;
            }
        }
        let shown = frame.unreachable_url.clone().unwrap_or_else(|| url.clone());
        self.navigated(event.at, session, &frame.id, main, &shown, false, error_page);
    }

    fn moved_within(&mut self, event: &Message, session: &SessionState) {
        let Some(Ok(moved)) = event.decode::<NavigatedWithinDocument>() else {
            return self.fault(event);
        };
        let Some(tab) = session.tab.clone().and_then(|target| self.tab_mut(&target)) else {
            return;
        };
        let main = tab.is_main(&moved.frame_id);
        if let Some(frame) = tab.frame_mut(&moved.frame_id) {
            frame.url.clone_from(&moved.url);
        }
        if main {
            tab.moves += 1;
        }
        self.navigated(event.at, session, &moved.frame_id, main, &moved.url, true, false);
    }

    fn document_opened(&mut self, event: &Message, id: &SessionId) {
        let Some(Ok(opened)) = event.decode::<DocumentOpened>() else {
            return self.fault(event);
        };
        let url = full_url(&opened.frame.url, opened.frame.url_fragment.as_deref());
        if let Some(frame) = self.tab_of(id).and_then(|tab| tab.frame_mut(&opened.frame.id)) {
            frame.url = url;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one fact")]
    fn navigated(
        &mut self,
        at: Instant,
        session: &SessionState,
        frame: &FrameId,
        main: bool,
        url: &str,
        same_document: bool,
        error_page: bool,
    ) {
        let owner = self.owner(session, Some(frame));
        let class = if self.outlet.at_home(url) {
            Class::Navigations
        } else {
            Class::Away
        };
        let owner = if main && owner == Owner::Frame {
            Owner::Page
        } else {
            owner
        };
        let url = bounded_url(url);
        let fact = NavigationFact {
            frame: frame.to_string(),
            main,
            owner,
            url,
            same_document,
            error_page,
        };
        self.outlet.emit(class, at, Happening::Navigation(fact));
    }

    fn loaded(&mut self, id: &SessionId, session: &SessionState) {
        let frame: FrameId = session.target.as_str().into();
        if let Some(frame) = self.tab_of(id).and_then(|tab| tab.frame_mut(&frame)) {
            frame.loaded = true;
        }
    }

    fn world_created(&mut self, event: &Message, id: &SessionId) {
        let Some(Ok(created)) = event.decode::<ExecutionContextCreated>() else {
            return self.fault(event);
        };
        let context = created.context;
        if context.name != WORLD {
            return;
        }
        let Some(frame) = context.aux_data.and_then(|aux| aux.frame_id) else {
            return;
        };
        if let Some(frame) = self.tab_of(id).and_then(|tab| tab.frame_mut(&frame)) {
            frame.world = Some(World {
                session: id.clone(),
                id: context.id,
                unique: context.unique_id,
            });
        }
    }

    fn world_destroyed(&mut self, event: &Message, id: &SessionId) {
        let Some(Ok(destroyed)) = event.decode::<ExecutionContextDestroyed>() else {
            return self.fault(event);
        };
        let Some(tab) = self.tab_of(id) else { return };
        for frame in &mut tab.frames {
            let same = |world: &World| {
                world.session == *id
                    && match &destroyed.execution_context_unique_id {
                        Some(unique) => world.unique == *unique,
                        None => world.id == destroyed.execution_context_id,
                    }
            };
            if frame.world.as_ref().is_some_and(same) {
                frame.world = None;
            }
        }
    }

    fn worlds_cleared(&mut self, id: &SessionId) {
        let Some(tab) = self.tab_of(id) else { return };
        for frame in &mut tab.frames {
            if frame.world.as_ref().is_some_and(|world| world.session == *id) {
                frame.world = None;
            }
        }
    }

    fn report(&mut self, event: &Message, id: &SessionId) {
        let Some(Ok(called)) = event.decode::<BindingCalled>() else {
            return self.fault(event);
        };
        if called.name != BINDING {
            return;
        }
        // Only the isolated worlds have the binding; one that is not known (any more) has nothing to report.
        let ours = |world: &World| world.session == *id && world.id == called.execution_context_id;
        let known = self
            .tab_of(id)
            .is_some_and(|tab| tab.frames.iter().any(|f| f.world.as_ref().is_some_and(ours)));
        if !known {
            return;
        }
        #[derive(serde::Deserialize)]
        struct Token {
            token: u64,
        }
        let Ok(Token { token }) = serde_json::from_str(&called.payload) else {
            return;
        };
        if self.reports.len() >= MOST_REPORTS {
            self.reports.remove(0);
        }
        self.reports.push(Report {
            token,
            payload: called.payload,
        });
    }
}

impl TabState {
    /// Adds what a frame tree tells beyond the events: frames that were there before the session.
    fn merge(&mut self, tree: &FrameTree, session: &SessionId) {
        let frame = &tree.frame;
        if self.frame(&frame.id).is_none() && self.frames.len() < State::MAX_FRAMES {
            self.frames.push(FrameState::new(
                frame.id.clone(),
                frame.parent_id.clone(),
                session.clone(),
            ));
        }
        if let Some(known) = self.frame_mut(&frame.id)
            && known.session == *session
            && known.loader.is_none()
        {
            known.url = full_url(&frame.url, frame.url_fragment.as_deref());
            known.loader = Some(frame.loader_id.clone());
        }
        for child in &tree.child_frames {
            self.merge(child, session);
        }
    }
}

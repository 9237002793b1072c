//! The task that reads every event of the browser and keeps the contexts by it.
//!
//! It never waits for anything but the next event: commands that an event calls for (the first burst of a new session, the
//! answer to a dialog, the end of a popup too many) are sent and left to others to await.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jurat_core::observation::Happening;
use jurat_core::untrusted::Untrusted;

use super::console::bounded_url;
use super::outlet::Class;
use super::state::{Kind, Shared};
use crate::cdp::protocol::page::JavascriptDialogOpening;
use crate::cdp::protocol::runtime::RunIfWaitingForDebugger;
use crate::cdp::protocol::target::{AttachedToTarget, CloseTarget, DetachedFromTarget, TargetCrashed};
use crate::cdp::protocol::{BrowserContextId, SessionId, browser};
use crate::cdp::{Event, Message, Session, Subscription};

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

    fn lock(&self) -> MutexGuard<'_, HashMap<BrowserContextId, Arc<Shared>>> {
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
                if let Some(Ok(opened)) = event.decode::<JavascriptDialogOpening>() {
                    if let Some(command) = state.dialog(event, id, &opened) {
                        drop(self.browser.with_id(Some(id.clone())).send(&command));
                    }
                } else {
                    state.fault(event);
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
        let parent_is_none = parent.is_none();
        let (kind, close) = context.lock().attach(&attached.session_id, parent, &info, event.at);
        self.sessions.insert(attached.session_id.clone(), Arc::clone(&context));
        // The context's own first tab is left for the page under test; nothing in its empty document is ever read.
        let first = parent_is_none && context.lock().tabs.len() == 1;
        let burst = context.setup.send(&session, kind, first);
        context.changed();
        let (id, target) = (attached.session_id, info.target_id);
        tokio::spawn(async move {
            let acknowledged = burst.acknowledged().await;
            if close {
                // Only now: a popup that is closed while it waits for us leaves the page that opened it waiting for ever.
                drop(context.browser.send(&CloseTarget::new(&target)));
            }
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

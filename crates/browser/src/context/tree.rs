//! The frames of a tab as its sessions tell them: documents, addresses, worlds, and what the page script reports.

use std::time::Instant;

use jurat_core::observation::{Happening, NavigationFact, Owner};
use serde::Deserialize;

use super::console::bounded_url;
use super::network::full_url;
use super::outlet::Class;
use super::state::{FrameState, Report, SessionState, State, TabStatus, World};
use super::world::{BINDING, WORLD};
use crate::cdp::Message;
use crate::cdp::protocol::page::{
    DocumentOpened, FrameAttached, FrameDetached, FrameNavigated, NavigatedWithinDocument,
};
use crate::cdp::protocol::runtime::{BindingCalled, ExecutionContextCreated, ExecutionContextDestroyed};
use crate::cdp::protocol::{FrameId, SessionId};

/// Reports of the page script that wait to be fetched.
const MOST_REPORTS: usize = 256;

/// What every report has.
#[derive(Deserialize)]
struct Token {
    token: u64,
}

impl State {
    /// Takes an event of a session; says whether something that may be waited for changed.
    pub(super) fn observe(&mut self, event: &Message, id: &SessionId, session: &SessionState) -> bool {
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

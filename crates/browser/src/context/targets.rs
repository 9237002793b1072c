//! Targets of a context as they come and go: tabs, frames out of process, workers.

use std::time::Instant;

use jurat_core::observation::{Happening, TargetFact};
use jurat_core::untrusted::Untrusted;

use super::console::bounded_url;
use super::error::ActError;
use super::network::full_url;
use super::outlet::Class;
use super::state::{FrameState, Kind, Ready, SessionState, State, TabState, TabStatus};
use crate::cdp::protocol::page::FrameTree;
use crate::cdp::protocol::target::TargetInfo;
use crate::cdp::protocol::{FrameId, SessionId, TargetId};

/// Popups that are open at once in one context; one more is closed as it comes.
const MOST_POPUPS: usize = 10;

/// Targets of one context; one more is not reported on, which bars a pass.
const MOST_SESSIONS: usize = 2000;

impl State {
    /// Takes a new session; gives what it is, and whether it is a popup too many.
    pub(super) fn attach(
        &mut self,
        id: &SessionId,
        parent: Option<SessionId>,
        info: &TargetInfo,
        at: Instant,
    ) -> (Kind, bool) {
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
    pub(super) fn acknowledged(
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
    pub(super) fn detach(&mut self, id: &SessionId, at: Instant) -> Vec<SessionId> {
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
    pub(super) fn crashed(&mut self, session: &SessionState, at: Instant) {
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

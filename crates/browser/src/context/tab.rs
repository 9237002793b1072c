//! A tab: what a step acts in.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use jurat_core::observation::{PageFact, Px100};
use jurat_core::untrusted::Untrusted;

use super::error::ActError;
use super::frame::{FrameRef, Placement};
use super::state::{FrameState, Ready, Shared, State, TabStatus};
use crate::cdp::protocol::{Command, FrameId, LoaderId, SessionId, TargetId, dom, target};
use crate::cdp::{CallError, Session};

/// A tab. Cheap to clone; stays valid, and useless, after the tab has gone.
#[derive(Debug, Clone)]
pub struct Tab {
    pub(super) shared: Arc<Shared>,
    target: TargetId,
    session: SessionId,
}

impl Tab {
    pub(super) fn new(shared: Arc<Shared>, target: TargetId, session: SessionId) -> Self {
        Self {
            shared,
            target,
            session,
        }
    }

    /// `Target.TargetID`; also the id of the main frame.
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// The session with the top of the tab: input, dialogs and captures go here.
    pub fn session(&self) -> Session {
        self.shared.browser.with_id(Some(self.session.clone()))
    }

    /// How the tab is.
    pub fn status(&self) -> TabStatus {
        self.shared.lock().status(&self.target)
    }

    /// Waits until the tab reports on everything; before that it runs nothing.
    ///
    /// # Errors
    /// When it did not come to that.
    pub async fn ready(&self, deadline: Instant) -> Result<(), ActError> {
        const WHAT: &str = "attach to the tab";
        let ready = self.shared.until(deadline, |state| {
            match state.status(&self.target) {
                TabStatus::Open | TabStatus::Unresponsive => {}
                status => return Some(Err(broken(status, WHAT))),
            }
            match &state.tab(&self.target)?.ready {
                Ready::No => None,
                Ready::Yes => Some(Ok(())),
                Ready::Failed(error) => Some(Err(error.clone())),
            }
        });
        ready.await.unwrap_or(Err(ActError::Unresponsive { what: WHAT }))
    }

    /// The frames of the tab now, in tree order (a parent before its children, siblings in the order of their coming), the main
    /// frame first.
    pub fn frames(&self) -> Vec<FrameRef> {
        let state = self.shared.lock();
        let Some(tab) = state.tab(&self.target) else {
            return Vec::new();
        };
        let mut out = Vec::with_capacity(tab.frames.len());
        if let Some(main) = tab.main() {
            self.collect(&tab.frames, main, None, &mut out);
        }
        out
    }

    fn collect(&self, all: &[FrameState], frame: &FrameState, parent: Option<usize>, out: &mut Vec<FrameRef>) {
        let index = out.len();
        out.push(self.frame_ref(frame, parent));
        for child in all.iter().filter(|child| child.parent.as_ref() == Some(&frame.id)) {
            self.collect(all, child, Some(index), out);
        }
    }

    fn frame_ref(&self, frame: &FrameState, parent: Option<usize>) -> FrameRef {
        let world = frame.world.as_ref().filter(|world| world.session == frame.session);
        FrameRef {
            frame_id: frame.id.clone(),
            session: self.shared.browser.with_id(Some(frame.session.clone())),
            world: world.map(|world| world.unique.clone()),
            world_id: world.map(|world| world.id),
            parent,
            url: frame.url.clone(),
            loader: frame.loader.clone(),
            out_of_process: frame.out_of_process,
            crashed: frame.crashed,
        }
    }

    /// One frame as it is now; its `parent` is not filled in.
    pub fn frame(&self, id: &FrameId) -> Option<FrameRef> {
        let state = self.shared.lock();
        Some(self.frame_ref(state.tab(&self.target)?.frame(id)?, None))
    }

    /// The document load that the main frame shows.
    pub fn loader(&self) -> Option<LoaderId> {
        self.shared.lock().tab(&self.target)?.main()?.loader.clone()
    }

    /// Address and title, from the browser process (`Target.getTargetInfo`): no page can forge or delay it.
    ///
    /// # Errors
    /// When the tab or the browser is gone.
    pub async fn page_fact(&self, deadline: Instant) -> Result<PageFact, ActError> {
        let asked = target::GetTargetInfo {
            target_id: Some(self.target.clone()),
        };
        let info = match self.shared.browser.call(&asked, deadline).await {
            Ok(answer) => answer.target_info,
            // The browser refuses only a target that it does not have.
            Err(CallError::Refused { method, .. }) => return Err(ActError::Closed { what: method }),
            Err(error) => return Err(error.into()),
        };
        let (url, _) = Untrusted::bounded(&info.url, 2048);
        let (title, _) = Untrusted::bounded(&info.title, 4096);
        Ok(PageFact { url, title })
    }

    /// Where a frame's viewport lies in the tab's viewport. For the main frame no call is made.
    ///
    /// A frame in process is asked for at its local root, whose viewport Chromium's quads are relative to; one out of process
    /// is then placed by its owner element in the parent's process, and so on up to the tab.
    ///
    /// # Errors
    /// [`ActError::Gone`] when the frame went away; a frame without layout has no place either.
    pub async fn placement(&self, frame: &FrameId, deadline: Instant) -> Result<Placement, ActError> {
        const WHAT: &str = "place a frame";
        let gone = || ActError::Gone { what: WHAT };
        let mut placed: Option<Placement> = None;
        let mut at = frame.clone();
        while at.as_str() != self.target.as_str() {
            // The owner element is in the parent; its quads are relative to the local root of the parent's process.
            let (owner, root) = {
                let state = self.shared.lock();
                let tab = state.tab(&self.target).ok_or_else(gone)?;
                let parent = tab
                    .frame(&at)
                    .and_then(|f| f.parent.clone())
                    .and_then(|p| tab.frame(&p))
                    .ok_or_else(gone)?;
                (parent.session.clone(), local_root(&state, parent).ok_or_else(gone)?)
            };
            let session = self.shared.browser.with_id(Some(owner));
            drop(session.send(&dom::Enable {}));
            let owner = self.call(&session, &dom::GetFrameOwner::new(&at), deadline).await?;
            let asked = dom::GetBoxModel {
                backend_node_id: Some(owner.backend_node_id),
                ..Default::default()
            };
            let model = match self.call(&session, &asked, deadline).await {
                Err(ActError::Refused { .. }) => return Err(gone()),
                other => other?.model,
            };
            let outer = between(&model.content, &model);
            placed = Some(match placed {
                None => outer,
                Some(inner) => {
                    let (x, y) = outer.to_tab((inner.x, inner.y));
                    let by = |length: Px100| length * i64::from(outer.scale) / 1000;
                    let scale = inner.scale * outer.scale / 1000;
                    Placement {
                        x,
                        y,
                        width: by(inner.width),
                        height: by(inner.height),
                        scale,
                    }
                }
            });
            at = root;
        }
        Ok(placed.unwrap_or(Placement::MAIN))
    }

    /// The parent of a frame, with the session that the frame's owner element is in.
    pub(crate) fn parent(&self, frame: &FrameId) -> Option<(Session, FrameId)> {
        let state = self.shared.lock();
        let tab = state.tab(&self.target)?;
        let parent = tab.frame(tab.frame(frame)?.parent.as_ref()?)?;
        Some((
            self.shared.browser.with_id(Some(parent.session.clone())),
            parent.id.clone(),
        ))
    }

    /// What the page script reported under a token, once it has.
    pub(crate) async fn report(&self, token: u64, deadline: Instant) -> Option<String> {
        let report = self.shared.until(deadline, |state| {
            let index = state.reports.iter().position(|report| report.token == token)?;
            Some(state.reports.remove(index).payload)
        });
        report.await
    }

    /// Closes the tab. A `beforeunload` handler is not asked.
    ///
    /// # Errors
    /// When the browser does not answer; kill it then.
    pub async fn close(&self, deadline: Instant) -> Result<(), ActError> {
        match self
            .shared
            .browser
            .call(&target::CloseTarget::new(&self.target), deadline)
            .await
        {
            Ok(_) | Err(CallError::Refused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Calls a command on one of the tab's sessions. A crash, a closed tab and a page that opens dialogs without end resolve it.
    ///
    /// # Errors
    /// [`ActError`], naming the method.
    pub async fn call<C: Command>(
        &self,
        session: &Session,
        command: &C,
        deadline: Instant,
    ) -> Result<C::Response, ActError> {
        self.race(C::METHOD, async { Ok(session.call(command, deadline).await?) })
            .await
    }

    /// Waits for the result or for the tab to become one that cannot give any.
    pub(crate) async fn race<T>(
        &self,
        what: &'static str,
        result: impl Future<Output = Result<T, ActError>>,
    ) -> Result<T, ActError> {
        let far = Instant::now() + std::time::Duration::from_hours(24);
        let broken = self.shared.until(far, |state| match state.status(&self.target) {
            TabStatus::Open => None,
            status => Some(status),
        });
        tokio::select! {
            biased;
            result = result => result,
            status = broken => Err(self::broken(status.unwrap_or(TabStatus::Closed), what)),
        }
    }
}

/// The error that a call on a tab in this state has.
pub(super) fn broken(status: TabStatus, what: &'static str) -> ActError {
    match status {
        TabStatus::Open | TabStatus::Unresponsive => ActError::Unresponsive { what },
        TabStatus::Crashed => ActError::Crashed { what },
        TabStatus::Closed => ActError::Closed { what },
        TabStatus::BrowserGone => ActError::BrowserGone { what },
    }
}

/// The frame at the top of a frame's process.
fn local_root(state: &State, frame: &FrameState) -> Option<FrameId> {
    Some(state.sessions.get(&frame.session)?.target.as_str().into())
}

/// A frame's place by its owner element's content quad, which is in hundredths after this.
fn between(quad: &dom::Quad, model: &dom::BoxModel) -> Placement {
    let xs = [quad[0], quad[2], quad[4], quad[6]];
    let ys = [quad[1], quad[3], quad[5], quad[7]];
    let low = |all: &[f64; 4]| all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = |all: &[f64; 4]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (x, y) = (low(&xs), low(&ys));
    let (width, height) = (high(&xs) - x, high(&ys) - y);
    // `width` of the model is the border box as it is laid out, before any transform.
    let border = [model.border[0], model.border[2], model.border[4], model.border[6]];
    let drawn = high(&border) - low(&border);
    #[expect(clippy::cast_precision_loss, reason = "a layout width is far below 2^52")]
    let laid_out = model.width as f64;
    let scale = if laid_out > 0.0 && drawn > 0.0 {
        drawn / laid_out
    } else {
        1.0
    };
    Placement {
        x: px(x),
        y: px(y),
        width: px(width),
        height: px(height),
        scale: thousandths(scale),
    }
}

/// Hundredths of a CSS pixel.
fn px(pixels: f64) -> Px100 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounded and clamped to what any layout can have"
    )]
    let hundredths = (pixels * 100.0).round().clamp(-1e12, 1e12) as i64;
    hundredths
}

/// CSS pixels for the protocol.
pub(crate) fn pixels(px: Px100) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "layout lengths are far below 2^52")]
    let pixels = px as f64 / 100.0;
    pixels
}

fn thousandths(factor: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the type's range"
    )]
    let thousandths = (factor * 1000.0).round().clamp(1.0, 1e6) as u32;
    if (995..=1005).contains(&thousandths) {
        1000
    } else {
        thousandths
    }
}

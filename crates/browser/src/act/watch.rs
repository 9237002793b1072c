//! Seeing where input arrives, from inside the page.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jurat_core::observation::{ActionFact, Received};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::json;

use super::Point;
use crate::cdp::Pending;
use crate::cdp::protocol::Done;
use crate::context::{ActError, Arg, ElementHandle, FrameRef, Tab};

/// How long the report of an event that was acknowledged may take.
const REPORT: Duration = Duration::from_millis(150);

/// What is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    Press,
    Move,
    Drop,
}

impl Watched {
    fn name(self) -> &'static str {
        match self {
            Self::Press => "press",
            Self::Move => "move",
            Self::Drop => "drop",
        }
    }
}

/// An element that input is about to be sent to.
#[derive(Debug)]
pub(super) struct Aim {
    pub(super) at: Point,
    token: u64,
    kind: Watched,
    frame: FrameRef,
    element: ElementHandle,
    /// Frames around it, in which the event must not arrive.
    around: Vec<FrameRef>,
}

#[derive(Debug, Deserialize)]
struct Told {
    own: bool,
    other: Option<String>,
}

impl From<Told> for Received {
    fn from(told: Told) -> Self {
        Self {
            own: told.own,
            other: told.other.map(|other| Untrusted::bounded(&other, 256).0),
        }
    }
}

const ARM: &str = "(t, k, e) => juratAct.arm(t, k, e)";
const DISARM: &str = "(t) => juratAct.disarm(t)";
const HIT: &str = "(x, y, e) => juratAct.hit(x, y, e)";

impl Tab {
    /// The frame that an element is in.
    pub(super) fn frame_of(&self, element: &ElementHandle) -> Result<FrameRef, ActError> {
        self.frame(&element.frame_id).ok_or(ActError::Gone {
            what: "find the frame of an element",
        })
    }

    /// Finds the point (the middle of what can be seen, where none is given) and begins to watch.
    pub(super) async fn aim(
        &self,
        element: &ElementHandle,
        at: Option<Point>,
        kind: Watched,
        deadline: Instant,
    ) -> Result<Aim, ActError> {
        static TOKENS: AtomicU64 = AtomicU64::new(1);
        const WHAT: &str = "aim at an element";
        let token = TOKENS.fetch_add(1, Ordering::Relaxed);
        let frame = self.frame_of(element)?;
        let at = if let Some(at) = at {
            at
        } else {
            let args = vec![Arg::from(&element.object_id)];
            let shown: Option<Point> = self
                .call_world(&frame, "(e) => juratAct.reveal(e)", args, deadline)
                .await?;
            let shown = shown.ok_or(ActError::Gone { what: WHAT })?;
            self.placement(&element.frame_id, deadline).await?.to_tab(shown)
        };
        let args = vec![
            json!(token).into(),
            json!(kind.name()).into(),
            Arg::from(&element.object_id),
        ];
        if !self.call_world::<bool>(&frame, ARM, args, deadline).await? {
            return Err(ActError::Gone { what: WHAT });
        }
        let around = self.ancestors(&frame);
        for frame in &around {
            let args = vec![
                json!(token).into(),
                json!(kind.name()).into(),
                Arg::Value(serde_json::Value::Null),
            ];
            self.call_world::<bool>(frame, ARM, args, deadline).await?;
        }
        Ok(Aim {
            at,
            token,
            kind,
            frame,
            element: element.clone(),
            around,
        })
    }

    fn ancestors(&self, frame: &FrameRef) -> Vec<FrameRef> {
        let frames = self.frames();
        let mut out = Vec::new();
        let mut at = frames.iter().position(|other| other.frame_id == frame.frame_id);
        while let Some(parent) = at.and_then(|at| frames.get(at)).and_then(|frame| frame.parent) {
            out.extend(frames.get(parent).cloned());
            at = Some(parent);
        }
        out
    }

    /// Waits for what was sent, and tells how that went and where it arrived.
    pub(super) async fn sent(
        &self,
        aim: &Aim,
        pending: Vec<Pending<Done>>,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let acknowledged = self.acknowledged(pending, deadline).await?;
        let received = self.received(aim, deadline).await;
        let own = received.as_ref().is_some_and(|received| received.own);
        // What closed or left the page by this very input cannot acknowledge it.
        let acknowledged = acknowledged.unwrap_or(own);
        Ok(ActionFact {
            dispatched: true,
            acknowledged,
            received,
            ..ActionFact::default()
        })
    }

    /// Whether all was acknowledged; `None` when the page went away meanwhile.
    pub(super) async fn acknowledged(
        &self,
        pending: Vec<Pending<Done>>,
        deadline: Instant,
    ) -> Result<Option<bool>, ActError> {
        let mut all = Some(true);
        for one in pending {
            let what = one.method();
            match self.race(what, async { Ok(one.wait(deadline).await?) }).await {
                Ok(_) => {}
                Err(error @ (ActError::Crashed { .. } | ActError::BrowserGone { .. } | ActError::Lost { .. })) => {
                    return Err(error);
                }
                Err(ActError::Closed { .. } | ActError::Gone { .. } | ActError::Refused { .. }) => all = all.and(None),
                Err(_) => return Ok(Some(false)),
            }
        }
        Ok(all)
    }

    /// Where the event arrived: as it was reported during the event, else as the page's worlds remember, else nowhere.
    async fn received(&self, aim: &Aim, deadline: Instant) -> Option<Received> {
        let soon = deadline.min(Instant::now() + REPORT);
        let report = self.race("watch an event", async {
            let report = self.report(aim.token, soon).await;
            report.ok_or(ActError::Gone { what: "watch an event" })
        });
        if let Ok(payload) = report.await {
            let told: Told = serde_json::from_str(&payload).ok()?;
            if !told.own {
                self.disarm(aim);
            }
            return Some(told.into());
        }
        let soon = deadline.min(Instant::now() + Duration::from_secs(2));
        for frame in std::iter::once(&aim.frame).chain(&aim.around) {
            match self
                .call_world::<Option<Told>>(frame, DISARM, vec![json!(aim.token).into()], soon)
                .await
            {
                Ok(Some(told)) => return Some(told.into()),
                Ok(None) => {}
                // The document is another one: nobody remembers.
                Err(_) => return None,
            }
        }
        let placement = self.placement(&aim.element.frame_id, soon).await.ok()?;
        let (x, y) = placement.to_frame(aim.at);
        let args = vec![json!(x).into(), json!(y).into(), Arg::from(&aim.element.object_id)];
        let told = self.call_world::<Told>(&aim.frame, HIT, args, soon).await.ok()?;
        // A pointer that is there already moves nowhere; a press that nobody saw was not received.
        Some(Received {
            own: told.own && aim.kind == Watched::Move,
            ..told.into()
        })
    }

    fn disarm(&self, aim: &Aim) {
        let (tab, frame, token) = (self.clone(), aim.frame.clone(), aim.token);
        tokio::spawn(async move {
            let deadline = Instant::now() + Duration::from_secs(2);
            let args = vec![json!(token).into()];
            drop(
                tab.call_world::<serde_json::Value>(&frame, DISARM, args, deadline)
                    .await,
            );
        });
    }
}

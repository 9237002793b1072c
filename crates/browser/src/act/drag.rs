//! Dragging: by the pointer, and by HTML drag and drop where the page starts one.
//!
//! Chromium hands a drag of HTML drag and drop to us instead of to the desktop (`Input.setInterceptDrags`); it then goes
//! on by drag events. Whether the page starts one is seen by its `dragstart` event.

use std::time::{Duration, Instant};

use jurat_core::observation::{ActionFact, Px100};

use super::Point;
use super::mouse::Mouse;
use super::watch::Watched;
use crate::cdp::protocol::input::{
    DispatchDragEvent, DragData, DragEventType, DragIntercepted, MouseButton, MouseEventType, SetInterceptDrags,
};
use crate::cdp::{Message, Subscription};
use crate::context::{ActError, ElementHandle, Tab, pixels};

/// Moves between the two ends: enough for what starts a drag only after some way.
const STEPS: i64 = 5;

/// Moves that begin a drag before the page is scrolled under it, hundredths of a CSS pixel: beyond what Chromium takes for an unsteady hand.
const NUDGES: [Px100; 3] = [400, 800, 1200];

/// A coordinate moved by a nudge, to the side that is surely in the viewport.
fn inward(at: Px100, by: Px100) -> Px100 {
    if at > 2000 { at - by } else { at + by }
}

/// How long the browser may take to hand over a drag that the page started.
const PATIENCE: Duration = Duration::from_secs(2);

impl Tab {
    /// Drags one element onto another. Points are of the viewport as it is now; where the second element has none, it is scrolled to while the button is
    /// held, as a person would do it with the wheel, and dropped on the middle of what is then shown. Received says where the press arrived, and where it was dropped when that is not the second element.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn drag(
        &self,
        from: &ElementHandle,
        from_at: Option<Point>,
        to: &ElementHandle,
        to_at: Option<Point>,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let session = self.session();
        let mut events = session.subscribe();
        self.call(&session, &SetInterceptDrags::new(true), deadline).await?;
        let result = self
            .drag_with(&mut events, (from, from_at), (to, to_at), deadline)
            .await;
        drop(session.send(&SetInterceptDrags::new(false)));
        result
    }

    async fn drag_with(
        &self,
        events: &mut Subscription,
        (from, from_at): (&ElementHandle, Option<Point>),
        (to, to_at): (&ElementHandle, Option<Point>),
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let source = self.aim(from, from_at, Watched::Press, deadline).await?;
        let press = Mouse {
            kind: MouseEventType::MousePressed,
            at: source.at,
            button: MouseButton::Left,
            count: 1,
            modifiers: 0,
            down: 1,
        };
        let pending = vec![self.move_to(source.at, 0), self.mouse(press)];
        let pressed = self.sent(&source, pending, deadline).await?;
        let let_go = Mouse {
            kind: MouseEventType::MouseReleased,
            down: 0,
            ..press
        };
        if !pressed.acknowledged || pressed.received.as_ref().is_some_and(|received| !received.own) {
            self.acknowledged(vec![self.mouse(let_go)], deadline).await?;
            return Ok(pressed);
        }
        if to_at.is_none() {
            // Chromium asks what lies where the button went down when the drag begins: that is before anything scrolls.
            let nudges = NUDGES.map(|by| {
                self.mouse(Mouse {
                    kind: MouseEventType::MouseMoved,
                    at: (inward(source.at.0, by), inward(source.at.1, by)),
                    count: 0,
                    ..press
                })
            });
            self.acknowledged(nudges.into(), deadline).await?;
        }
        let target = match self.aim(to, to_at, Watched::Drop, deadline).await {
            Ok(target) => target,
            Err(error) => {
                self.acknowledged(vec![self.mouse(let_go)], deadline).await?;
                return Err(error);
            }
        };
        let at = |step: i64| {
            let along = |a: i64, b: i64| a + (b - a) * step / STEPS;
            (along(source.at.0, target.at.0), along(source.at.1, target.at.1))
        };
        let glide = |step| Mouse {
            kind: MouseEventType::MouseMoved,
            at: at(step),
            count: 0,
            ..press
        };
        let first: Vec<_> = (1..STEPS).map(|step| self.mouse(glide(step))).collect();
        self.acknowledged(first, deadline).await?;
        let frame = self.frame_of(from)?;
        let started = match self
            .call_world::<bool>(&frame, "() => juratAct.drags()", Vec::new(), deadline)
            .await
        {
            Ok(started) => started,
            Err(ActError::Gone { .. }) => false,
            Err(error) => return Err(error),
        };
        let data = if started {
            intercepted(events, deadline.min(Instant::now() + PATIENCE)).await
        } else {
            None
        };
        let native = data.is_some();
        let pending = match data {
            None => {
                let release = Mouse {
                    at: target.at,
                    ..let_go
                };
                vec![self.mouse(glide(STEPS)), self.mouse(release)]
            }
            Some(data) => {
                let session = self.session();
                let (x, y) = (pixels(target.at.0), pixels(target.at.1));
                let event = |kind| session.send(&DispatchDragEvent::new(kind, x, y, data.clone()));
                // A page decides on the second `dragover` only, if it lays itself out anew on the first. The drop is the release.
                let kinds = [
                    DragEventType::DragEnter,
                    DragEventType::DragOver,
                    DragEventType::DragOver,
                    DragEventType::Drop,
                ];
                kinds.map(event).into()
            }
        };
        let mut dropped = self.sent(&target, pending, deadline).await?;
        // A page that captures the pointer gets the release where it took hold, and one that refuses the drop gets none: only a drop that
        // something else took went astray.
        let astray = dropped
            .received
            .as_ref()
            .is_some_and(|r| !r.own && r.other.as_ref().is_some_and(|o| !o.is_empty()));
        if !(native && astray) {
            dropped.received = pressed.received;
        }
        Ok(dropped)
    }
}

async fn intercepted(events: &mut Subscription, deadline: Instant) -> Option<DragData> {
    let next = async {
        while let Some(event) = events.next().await {
            if let Some(Ok(drag)) = event.message().and_then(Message::decode::<DragIntercepted>) {
                return Some(drag.data);
            }
        }
        None
    };
    tokio::time::timeout_at(deadline.into(), next).await.ok().flatten()
}

//! The pointer: click, hover, scroll.

use std::time::Instant;

use jurat_core::contract::{Modifier, MouseButton};
use jurat_core::observation::ActionFact;

use super::Point;
use super::watch::Watched;
use crate::cdp::Pending;
use crate::cdp::protocol::input::{self, DispatchMouseEvent, MouseEventType};
use crate::cdp::protocol::{Done, dom};
use crate::context::{ActError, Arg, ElementHandle, Tab, pixels};

/// How a click is made.
#[derive(Debug, Clone, Copy)]
pub struct ClickHow<'a> {
    /// 1 to 3.
    pub count: u32,
    /// Which button.
    pub button: MouseButton,
    /// Keys held down.
    pub modifiers: &'a [Modifier],
}

impl Default for ClickHow<'_> {
    fn default() -> Self {
        Self {
            count: 1,
            button: MouseButton::Left,
            modifiers: &[],
        }
    }
}

/// `Input` modifiers: a sum of 1 alt, 2 control, 4 meta, 8 shift.
pub(super) fn mask(modifiers: &[Modifier]) -> u32 {
    modifiers.iter().fold(0, |sum, modifier| {
        sum | match modifier {
            Modifier::Alt => 1,
            Modifier::Control => 2,
            Modifier::Meta => 4,
            Modifier::Shift => 8,
        }
    })
}

/// One mouse event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mouse {
    pub(super) kind: MouseEventType,
    pub(super) at: Point,
    pub(super) button: input::MouseButton,
    pub(super) count: u32,
    pub(super) modifiers: u32,
    /// Buttons that are down during the event.
    pub(super) down: u32,
}

impl Tab {
    /// Sends one mouse event.
    pub(super) fn mouse(&self, mouse: Mouse) -> Pending<Done> {
        let (x, y) = mouse.at;
        self.session().send(&DispatchMouseEvent {
            modifiers: (mouse.modifiers != 0).then_some(mouse.modifiers),
            button: Some(mouse.button),
            buttons: Some(mouse.down),
            click_count: (mouse.count > 0).then_some(mouse.count),
            ..DispatchMouseEvent::new(mouse.kind, pixels(x), pixels(y))
        })
    }

    /// Moves the pointer without a button.
    pub(super) fn move_to(&self, at: Point, modifiers: u32) -> Pending<Done> {
        let kind = MouseEventType::MouseMoved;
        self.mouse(Mouse {
            kind,
            at,
            button: input::MouseButton::None,
            count: 0,
            modifiers,
            down: 0,
        })
    }

    /// Clicks an element at a point of the tab's viewport (from the reader's hit test; the middle of what is shown where none is given).
    ///
    /// # Errors
    /// [`ActError::Gone`] when the element is gone before anything was sent; a crash; a lost browser.
    pub async fn click(
        &self,
        element: &ElementHandle,
        at: Option<Point>,
        how: ClickHow<'_>,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let aim = self.aim(element, at, Watched::Press, deadline).await?;
        let (button, bit) = match how.button {
            MouseButton::Left => (input::MouseButton::Left, 1),
            MouseButton::Right => (input::MouseButton::Right, 2),
            MouseButton::Middle => (input::MouseButton::Middle, 4),
        };
        let modifiers = mask(how.modifiers);
        let at = aim.at;
        let mut pending = vec![self.move_to(at, modifiers)];
        for count in 1..=how.count.clamp(1, 3) {
            let press = Mouse {
                kind: MouseEventType::MousePressed,
                at,
                button,
                count,
                modifiers,
                down: bit,
            };
            pending.push(self.mouse(press));
            pending.push(self.mouse(Mouse {
                kind: MouseEventType::MouseReleased,
                down: 0,
                ..press
            }));
        }
        self.sent(&aim, pending, deadline).await
    }

    /// Moves the pointer over an element.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn hover(
        &self,
        element: &ElementHandle,
        at: Option<Point>,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let aim = self.aim(element, at, Watched::Move, deadline).await?;
        let pending = vec![self.move_to(aim.at, 0)];
        self.sent(&aim, pending, deadline).await
    }

    /// Scrolls an element into view, through all frames around it.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn scroll(&self, element: &ElementHandle, deadline: Instant) -> Result<ActionFact, ActError> {
        let frame = self.frame_of(element)?;
        let args = vec![Arg::from(&element.object_id)];
        // An element without a box stays where it is; the caller's probe says so.
        self.call_world::<Option<Point>>(&frame, "(e) => juratAct.reveal(e)", args, deadline)
            .await?;
        let mut at = frame.frame_id.clone();
        while let Some((owner_session, parent)) = self.parent(&at) {
            let owner = self
                .call(&owner_session, &dom::GetFrameOwner::new(&at), deadline)
                .await?;
            let into_view = dom::ScrollIntoViewIfNeeded {
                backend_node_id: Some(owner.backend_node_id),
                ..Default::default()
            };
            match self.call(&owner_session, &into_view, deadline).await {
                Ok(_) | Err(ActError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
            at = parent;
        }
        Ok(ActionFact {
            dispatched: true,
            acknowledged: true,
            ..ActionFact::default()
        })
    }
}

//! Keys: pressing one or a chord, typing a text key by key.

use std::time::Instant;

use jurat_core::contract::Modifier;
use jurat_core::observation::{ActionFact, Obstacle};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;

use super::keys::{Key, chord, modifier, typing};
use super::mouse::mask;
use crate::cdp::Pending;
use crate::cdp::protocol::Done;
use crate::cdp::protocol::input::{DispatchKeyEvent, InsertText, KeyEventType};
use crate::context::{ActError, Arg, ElementHandle, Tab};

/// Keys that are sent before their answers are waited for.
const BURST: usize = 32;

#[derive(Debug, Deserialize)]
struct Typing {
    how: String,
    before: Option<String>,
}

impl Tab {
    /// Presses a key or a chord, on an element that is focused first, or on what has the focus.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn press(
        &self,
        element: Option<&ElementHandle>,
        key: &str,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let Some(chord) = chord(key) else {
            return Ok(obstacle(Obstacle::BadValue));
        };
        if let Some(element) = element {
            let frame = self.frame_of(element)?;
            let args = vec![Arg::from(&element.object_id)];
            let focused: String = self
                .call_world(&frame, "(e) => juratAct.focus(e)", args, deadline)
                .await?;
            if focused == "gone" {
                return Err(ActError::Gone {
                    what: "focus an element",
                });
            }
        }
        let mut pending = Vec::new();
        let mut held = Vec::new();
        for one in &chord.modifiers {
            held.push(*one);
            pending.push(self.key(KeyEventType::RawKeyDown, &modifier(*one), &held));
        }
        self.stroke(&chord.key, &held, &mut pending);
        while let Some(one) = held.pop() {
            pending.push(self.key(KeyEventType::KeyUp, &modifier(one), &held));
        }
        let acknowledged = self.acknowledged(pending, deadline).await?.unwrap_or(true);
        Ok(ActionFact {
            dispatched: true,
            acknowledged,
            ..ActionFact::default()
        })
    }

    /// Types a text key by key into an element that is focused first. What no key types is put in as a whole character.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn type_text(
        &self,
        element: &ElementHandle,
        text: &str,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let frame = self.frame_of(element)?;
        let args = vec![Arg::from(&element.object_id)];
        let typed: Typing = self
            .call_world(&frame, "(e) => juratAct.typing(e)", args, deadline)
            .await?;
        match typed.how.as_str() {
            "gone" => {
                return Err(ActError::Gone {
                    what: "focus an element",
                });
            }
            "no" => return Ok(obstacle(Obstacle::NotEditable)),
            _ => {}
        }
        let chars: Vec<char> = text.chars().collect();
        let mut acknowledged = true;
        for burst in chars.chunks(BURST) {
            let mut pending = Vec::with_capacity(burst.len() * 2);
            for c in burst {
                match typing(*c) {
                    Some(key) => {
                        let held: &[Modifier] = if key.shifted { &[Modifier::Shift] } else { &[] };
                        self.stroke(&key, held, &mut pending);
                    }
                    // To the widget that has the focus: the frame's own when it is out of process.
                    None => pending.push(frame.session.send(&InsertText::new(c.to_string()))),
                }
            }
            acknowledged &= self.acknowledged(pending, deadline).await?.unwrap_or(true);
        }
        let after = if acknowledged {
            self.value(element, deadline).await?
        } else {
            None
        };
        Ok(ActionFact {
            dispatched: true,
            acknowledged,
            before: typed.before.map(Untrusted::new),
            after,
            ..ActionFact::default()
        })
    }

    /// A key down and up again.
    pub(super) fn stroke(&self, key: &Key, held: &[Modifier], pending: &mut Vec<Pending<Done>>) {
        pending.push(self.key(KeyEventType::KeyDown, key, held));
        pending.push(self.key(KeyEventType::KeyUp, key, held));
    }

    fn key(&self, kind: KeyEventType, key: &Key, held: &[Modifier]) -> Pending<Done> {
        let modifiers = mask(held);
        let down = matches!(kind, KeyEventType::KeyDown | KeyEventType::RawKeyDown);
        // With control, alt or meta a key types nothing.
        let text = (down && !key.text.is_empty() && modifiers.trailing_zeros() >= 3).then(|| key.text.clone());
        let kind = if down && text.is_none() {
            KeyEventType::RawKeyDown
        } else {
            kind
        };
        // Where the browser's own shortcuts are not there to do it.
        let select_all = down && modifiers == 2 && key.code == "KeyA";
        self.session().send(&DispatchKeyEvent {
            modifiers: Some(modifiers),
            unmodified_text: text.clone(),
            text,
            code: Some(key.code.clone()),
            key: Some(key.name.clone()),
            windows_virtual_key_code: Some(key.number),
            location: (key.location > 0).then_some(key.location),
            commands: select_all.then(|| vec!["selectAll".to_owned()]),
            ..DispatchKeyEvent::new(kind)
        })
    }

    /// The value of a control or the text of an editable element; `None` when it is gone or has none.
    pub(super) async fn value(
        &self,
        element: &ElementHandle,
        deadline: Instant,
    ) -> Result<Option<Untrusted>, ActError> {
        let Ok(frame) = self.frame_of(element) else {
            return Ok(None);
        };
        let args = vec![Arg::from(&element.object_id)];
        match self
            .call_world::<Option<String>>(&frame, "(e) => juratAct.value(e)", args, deadline)
            .await
        {
            Ok(value) => Ok(value.map(Untrusted::new)),
            // The handle died with its document, by what was just done.
            Err(ActError::Gone { .. } | ActError::Closed { .. } | ActError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// An action that could not be sent.
pub(super) fn obstacle(obstacle: Obstacle) -> ActionFact {
    ActionFact {
        obstacle: Some(obstacle),
        ..ActionFact::default()
    }
}

//! Filling: a value put in at once, as by pasting over what was there.

use std::time::Instant;

use jurat_core::observation::{ActionFact, Obstacle};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::json;

use super::keyboard::obstacle;
use super::keys::chord;
use crate::cdp::protocol::input::InsertText;
use crate::context::{ActError, Arg, ElementHandle, Tab};

#[derive(Debug, Deserialize)]
struct Prepared {
    how: String,
    before: Option<String>,
    after: Option<String>,
}

impl Tab {
    /// Puts a value into a control. Text goes in by the browser's own editing, over what was selected first; dates, times, colours and ranges are set as their pickers do, with `input` and `change` events.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn fill(&self, element: &ElementHandle, value: &str, deadline: Instant) -> Result<ActionFact, ActError> {
        let frame = self.frame_of(element)?;
        let args = vec![Arg::from(&element.object_id), json!(value).into()];
        let ready: Prepared = self
            .call_world(&frame, "(e, v) => juratAct.fill(e, v)", args, deadline)
            .await?;
        let given = Some(Untrusted::new(value));
        let before = ready.before.map(Untrusted::new);
        match ready.how.as_str() {
            "gone" => {
                return Err(ActError::Gone {
                    what: "fill an element",
                });
            }
            "no" => {
                return Ok(ActionFact {
                    given,
                    ..obstacle(Obstacle::NotEditable)
                });
            }
            "bad" => {
                return Ok(ActionFact {
                    given,
                    before,
                    ..obstacle(Obstacle::BadValue)
                });
            }
            "set" => {
                let after = ready.after.map(Untrusted::new);
                return Ok(ActionFact {
                    dispatched: true,
                    acknowledged: true,
                    before,
                    after,
                    given,
                    ..ActionFact::default()
                });
            }
            _ => {}
        }
        let mut pending = Vec::new();
        if value.is_empty() {
            if let Some(delete) = chord("Delete") {
                self.stroke(&delete.key, &[], &mut pending);
            }
        } else {
            pending.push(frame.session.send(&InsertText::new(value)));
        }
        let acknowledged = self.acknowledged(pending, deadline).await?.unwrap_or(true);
        let after = if acknowledged {
            self.value(element, deadline).await?
        } else {
            None
        };
        Ok(ActionFact {
            dispatched: true,
            acknowledged,
            before,
            after,
            given,
            ..ActionFact::default()
        })
    }
}

//! Checkboxes, radios and switches.

use std::time::{Duration, Instant};

use jurat_core::observation::{ActionFact, Obstacle};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::json;

use super::keyboard::obstacle;
use super::{ClickHow, Point};
use crate::context::{ActError, Arg, ElementHandle, Tab};

/// How long a box that was clicked may take to show it.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
struct Box {
    how: String,
    checked: Option<String>,
}

impl Tab {
    /// Makes a checkbox, radio or switch checked or not: by a click, unless it is so already (then nothing is sent).
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn check(
        &self,
        element: &ElementHandle,
        at: Option<Point>,
        checked: bool,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let frame = self.frame_of(element)?;
        let args = vec![Arg::from(&element.object_id)];
        let now: Box = self
            .call_world(&frame, "(e) => juratAct.box(e)", args, deadline)
            .await?;
        let wanted = if checked { "true" } else { "false" };
        let given = Some(Untrusted::new(wanted));
        match now.how.as_str() {
            "gone" => {
                return Err(ActError::Gone {
                    what: "check an element",
                });
            }
            "no" => {
                return Ok(ActionFact {
                    given,
                    ..obstacle(Obstacle::NotCheckable)
                });
            }
            _ => {}
        }
        let before = now.checked.map(Untrusted::new);
        if before.as_ref().is_some_and(|before| before.raw() == wanted) {
            let after = before.clone();
            return Ok(ActionFact {
                dispatched: true,
                acknowledged: true,
                before,
                after,
                given,
                ..ActionFact::default()
            });
        }
        if now.how == "radio" && !checked {
            return Ok(ActionFact {
                given,
                before,
                ..obstacle(Obstacle::NotCheckable)
            });
        }
        let clicked = self.click(element, at, ClickHow::default(), deadline).await?;
        let own = clicked.received.as_ref().is_none_or(|received| received.own);
        let patience = if own {
            PATIENCE.min(deadline.saturating_duration_since(Instant::now()) / 2)
        } else {
            Duration::ZERO
        };
        let patience = u64::try_from(patience.as_millis()).unwrap_or(0);
        let args = vec![
            Arg::from(&element.object_id),
            json!(wanted).into(),
            json!(patience).into(),
        ];
        let shown = self
            .call_world::<Box>(&frame, "(e, w, p) => juratAct.boxed(e, w, p)", args, deadline)
            .await;
        let after = match shown {
            Ok(shown) => shown.checked.map(Untrusted::new),
            Err(ActError::Gone { .. } | ActError::Closed { .. } | ActError::Refused { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(ActionFact {
            before,
            after,
            given,
            ..clicked
        })
    }
}

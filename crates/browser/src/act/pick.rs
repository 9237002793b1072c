//! Choosing options of a native `select`. Its list is no part of the page, so no input event reaches it: options are chosen as
//! the list would, with `input` and `change` events.

use std::time::Instant;

use jurat_core::observation::{ActionFact, Obstacle};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::json;

use super::keyboard::obstacle;
use crate::context::{ActError, Arg, ElementHandle, Tab};

#[derive(Debug, Deserialize)]
struct Picked {
    how: String,
    before: Option<String>,
    given: Option<String>,
    after: Option<String>,
}

impl Tab {
    /// Chooses exactly these options, each by its label or value. In the fact stand option values, one a line.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn select(
        &self,
        element: &ElementHandle,
        options: &[&str],
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let frame = self.frame_of(element)?;
        let args = vec![Arg::from(&element.object_id), json!(options).into()];
        let picked: Picked = self
            .call_world(&frame, "(e, o) => juratAct.select(e, o)", args, deadline)
            .await?;
        let given = Some(Untrusted::new(picked.given.unwrap_or_else(|| options.join("\n"))));
        let before = picked.before.map(Untrusted::new);
        let why = match picked.how.as_str() {
            "gone" => {
                return Err(ActError::Gone {
                    what: "select an option",
                });
            }
            "no" => Obstacle::NotASelect,
            "bad" => Obstacle::BadValue,
            "missing" | "disabled" => Obstacle::NoSuchOption,
            _ => {
                // A page may take the choice back at once.
                let after = self
                    .value(element, deadline)
                    .await?
                    .or(picked.after.map(Untrusted::new));
                return Ok(ActionFact {
                    dispatched: true,
                    acknowledged: true,
                    before,
                    after,
                    given,
                    ..ActionFact::default()
                });
            }
        };
        Ok(ActionFact {
            before,
            given,
            ..obstacle(why)
        })
    }
}

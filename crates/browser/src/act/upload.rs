//! Giving files: to a file input, or to the chooser that a click opens.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jurat_core::observation::{ActionFact, Obstacle};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;

use super::keyboard::obstacle;
use super::{ClickHow, Point};
use crate::cdp::protocol::dom::SetFileInputFiles;
use crate::cdp::protocol::page::{FileChooserOpened, SetInterceptFileChooserDialog};
use crate::cdp::protocol::{BackendNodeId, ObjectId};
use crate::cdp::{Message, Session};
use crate::context::{ActError, Arg, ElementHandle, Tab};

/// How long a chooser may take to open after the click was acknowledged.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct Target {
    how: String,
    before: Option<String>,
}

impl Tab {
    /// Gives files to a file input (`element`, or what its label names), or clicks the element and gives them to the chooser that opens. Paths
    /// are as the browser process sees them: that they are there is the caller's to check.
    ///
    /// # Errors
    /// As [`Tab::click`].
    pub async fn upload(
        &self,
        element: &ElementHandle,
        at: Option<Point>,
        files: &[PathBuf],
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let names = files.iter().map(|file| {
            file.file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        });
        let given = Some(Untrusted::new(names.collect::<Vec<_>>().join("\n")));
        let paths: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        let frame = self.frame_of(element)?;
        let args = vec![Arg::from(&element.object_id)];
        let target: Target = self
            .call_world(&frame, "(e) => juratAct.upload(e)", args, deadline)
            .await?;
        let before = target.before.map(Untrusted::new);
        match target.how.as_str() {
            "gone" => return Err(ActError::Gone { what: "upload files" }),
            "disabled" => {
                return Ok(ActionFact {
                    given,
                    before,
                    ..obstacle(Obstacle::NoFileChooser)
                });
            }
            "one" if files.len() > 1 => {
                return Ok(ActionFact {
                    given,
                    before,
                    ..obstacle(Obstacle::BadValue)
                });
            }
            "other" => {
                let fact = self.choose(&frame.session, element, at, paths, deadline).await?;
                return Ok(ActionFact { given, ..fact });
            }
            _ => {}
        }
        let args = vec![Arg::from(&element.object_id)];
        let input = self
            .call_world_handle(&frame, "(e) => juratAct.input(e)", args, deadline)
            .await?;
        let input = input.object_id.ok_or(ActError::Gone { what: "upload files" })?;
        self.give(&frame.session, Some(input), None, paths, deadline).await?;
        let after = self.value(element, deadline).await?;
        Ok(ActionFact {
            dispatched: true,
            acknowledged: true,
            before,
            after,
            given,
            ..ActionFact::default()
        })
    }

    async fn give(
        &self,
        session: &Session,
        object_id: Option<ObjectId>,
        backend_node_id: Option<BackendNodeId>,
        files: Vec<String>,
        deadline: Instant,
    ) -> Result<(), ActError> {
        let set = SetFileInputFiles {
            backend_node_id,
            object_id,
            ..SetFileInputFiles::new(files)
        };
        self.call(session, &set, deadline).await?;
        Ok(())
    }

    async fn choose(
        &self,
        session: &Session,
        element: &ElementHandle,
        at: Option<Point>,
        files: Vec<String>,
        deadline: Instant,
    ) -> Result<ActionFact, ActError> {
        let mut events = session.subscribe();
        self.call(session, &SetInterceptFileChooserDialog::new(true), deadline)
            .await?;
        let clicked = self.click(element, at, ClickHow::default(), deadline).await;
        let opened = match &clicked {
            Ok(fact) if fact.received.as_ref().is_none_or(|received| received.own) => {
                let soon = deadline.min(Instant::now() + PATIENCE);
                let opened = async {
                    while let Some(event) = events.next().await {
                        if let Some(Ok(opened)) = event.message().and_then(Message::decode::<FileChooserOpened>) {
                            return Some(opened);
                        }
                    }
                    None
                };
                tokio::time::timeout_at(soon.into(), opened).await.ok().flatten()
            }
            _ => None,
        };
        drop(session.send(&SetInterceptFileChooserDialog::new(false)));
        let clicked = clicked?;
        let Some(node) = opened.as_ref().and_then(|opened| opened.backend_node_id) else {
            return Ok(ActionFact {
                obstacle: Some(Obstacle::NoFileChooser),
                ..clicked
            });
        };
        if files.len() > 1 && opened.is_some_and(|opened| opened.mode == "selectSingle") {
            return Ok(ActionFact {
                obstacle: Some(Obstacle::BadValue),
                ..clicked
            });
        }
        let names = files
            .iter()
            .map(|file| file.rsplit('/').next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n");
        self.give(session, None, Some(node), files, deadline).await?;
        Ok(ActionFact {
            after: Some(Untrusted::new(names)),
            ..clicked
        })
    }
}

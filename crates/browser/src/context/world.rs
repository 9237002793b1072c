//! Calls into the isolated world of a frame.
//!
//! Every frame gets a world named [`WORLD`] before any script of the page runs, with the page script in it. The page cannot reach it;
//! its prototypes are its own. A document that is replaced takes its world along: the call then fails as
//! [`ActError::Gone`], to be made again in the new one.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ActError;
use super::frame::FrameRef;
use super::tab::Tab;
use crate::cdp::protocol::runtime::{CallArgument, CallFunctionOn, Evaluated, ExceptionDetails, RemoteObject};
use crate::cdp::protocol::{FrameId, ObjectId, page, runtime};

/// The name of the isolated world.
pub const WORLD: &str = "jurat";

/// The name of the binding by which the page script reports without being asked.
pub(crate) const BINDING: &str = "juratReport";

/// How long a frame may be without a world before one is made for it.
const PATIENCE: Duration = Duration::from_millis(50);

/// An argument of a call.
#[derive(Debug, Clone)]
pub enum Arg {
    /// A JSON value.
    Value(Value),
    /// An object of the same world.
    Object(ObjectId),
}

impl From<Value> for Arg {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<&ObjectId> for Arg {
    fn from(object: &ObjectId) -> Self {
        Self::Object(object.clone())
    }
}

impl Tab {
    /// Calls a function in a frame's isolated world and gives what it returns (awaited, by value). `function` is the source of a JavaScript
    /// function; the page script's own are reached by their global names.
    ///
    /// # Errors
    /// [`ActError::Gone`] when the document went away meanwhile; [`ActError::Script`] when the function threw.
    pub async fn call_world<R: DeserializeOwned>(
        &self,
        frame: &FrameRef,
        function: impl Into<Cow<'static, str>>,
        args: Vec<Arg>,
        deadline: Instant,
    ) -> Result<R, ActError> {
        const WHAT: &str = "call the page script";
        let answer = self.invoke(frame, function.into(), args, true, deadline).await?;
        let value = answer.value.as_ref().map_or("null", |value| value.get());
        serde_json::from_str(value).map_err(|error| ActError::Lost {
            what: WHAT,
            detail: error.to_string(),
        })
    }

    /// As [`Tab::call_world`], but gives a handle to what the function returns.
    ///
    /// # Errors
    /// As [`Tab::call_world`].
    pub async fn call_world_handle(
        &self,
        frame: &FrameRef,
        function: impl Into<Cow<'static, str>>,
        args: Vec<Arg>,
        deadline: Instant,
    ) -> Result<RemoteObject, ActError> {
        self.invoke(frame, function.into(), args, false, deadline).await
    }

    async fn invoke(
        &self,
        frame: &FrameRef,
        function: Cow<'static, str>,
        args: Vec<Arg>,
        by_value: bool,
        deadline: Instant,
    ) -> Result<RemoteObject, ActError> {
        let world = match &frame.world {
            Some(world) => world.clone(),
            None => self.world(&frame.frame_id, deadline).await?,
        };
        let call = CallFunctionOn {
            arguments: (!args.is_empty()).then(|| args.into_iter().map(argument).collect()),
            return_by_value: Some(by_value),
            await_promise: Some(true),
            unique_context_id: Some(world),
            ..CallFunctionOn::new(function)
        };
        result(self.call(&frame.session, &call, deadline).await?)
    }

    /// The isolated world of a frame, made now if it has none: a frame in which no script ever ran gets none by itself.
    pub(crate) async fn world(&self, id: &FrameId, deadline: Instant) -> Result<String, ActError> {
        const WHAT: &str = "enter a frame";
        let gone = || ActError::Gone { what: WHAT };
        let patience = deadline.min(Instant::now() + PATIENCE);
        let known = |state: &mut super::state::State| {
            let Some(frame) = state.tab(self.target())?.frame(id) else {
                return Some(None);
            };
            let world = frame.world.as_ref().filter(|world| world.session == frame.session)?;
            Some(Some(world.unique.clone()))
        };
        if let Some(found) = self.shared.until(patience, known).await {
            return found.ok_or_else(gone);
        }
        let frame = self.frame(id).ok_or_else(gone)?;
        let create = page::CreateIsolatedWorld {
            world_name: Some(WORLD.into()),
            ..page::CreateIsolatedWorld::new(id)
        };
        let made = match self.call(&frame.session, &create, deadline).await {
            Err(ActError::Refused { .. }) => return Err(gone()),
            made => made?,
        };
        let script = runtime::Evaluate {
            context_id: Some(made.execution_context_id),
            ..runtime::Evaluate::new(self.shared.setup.script.clone())
        };
        result(self.call(&frame.session, &script, deadline).await?)?;
        match self.shared.until(deadline, known).await {
            Some(Some(world)) => Ok(world),
            _ => Err(gone()),
        }
    }
}

fn argument(arg: Arg) -> CallArgument {
    match arg {
        Arg::Value(value) => CallArgument::Value(value),
        Arg::Object(object) => CallArgument::ObjectId(object),
    }
}

fn result(answer: Evaluated) -> Result<RemoteObject, ActError> {
    match answer.exception_details {
        None => Ok(answer.result),
        Some(details) => Err(ActError::Script {
            what: "call the page script",
            message: thrown(&details),
        }),
    }
}

/// What was thrown, for people.
pub(super) fn thrown(details: &ExceptionDetails) -> String {
    let said = details.exception.as_ref().and_then(|e| e.description.clone());
    said.map_or_else(|| details.text.clone(), |said| format!("{}: {said}", details.text))
}

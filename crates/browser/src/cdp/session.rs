//! What callers hold: a session, and the answers they wait for.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};

use super::connection::Shared;
use super::error::{CallError, Failure};
use super::protocol::{Command, SessionId};
use super::pump::Op;
use super::queue::{Filter, Subscription};
use super::table::Reply;

/// A session with one target, or with the browser itself. Cheap to clone. The connection closes when the last one is
/// gone.
#[derive(Debug, Clone)]
pub struct Session {
    pub(super) ops: mpsc::UnboundedSender<Op>,
    pub(super) shared: Arc<Shared>,
    pub(super) id: Option<SessionId>,
}

impl Session {
    /// Its id; `None` is the browser's own session.
    pub fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    /// Another session of the same connection.
    #[must_use]
    pub fn with_id(&self, id: Option<SessionId>) -> Self {
        Self { id, ..self.clone() }
    }

    /// The events of this session from now on.
    pub fn subscribe(&self) -> Subscription {
        self.shared.subscribe(Filter::Session(self.id.clone()))
    }

    /// Sends a command now, in order, and gives the answer to wait for. Commands that are sent without waiting in
    /// between go out in one write. Never blocks: when too much waits already, the answer is [`CallError::Backlog`].
    pub fn send<C: Command>(&self, command: &C) -> Pending<C::Response> {
        let (reply, answer) = oneshot::channel();
        let pending = |state| Pending {
            method: C::METHOD,
            state,
            response: PhantomData,
        };
        let tail = match encode(C::METHOD, self.id.as_ref(), command) {
            Ok(tail) => tail,
            Err(source) => {
                return pending(State::Failed(CallError::Encode {
                    method: C::METHOD,
                    source,
                }));
            }
        };
        let size = tail.len();
        let failed = |failure: Failure| pending(State::Failed(failure.of(C::METHOD)));
        if self.shared.lost.load(Ordering::Acquire) {
            return failed(Failure::Lost);
        }
        if self.shared.queued.fetch_add(size, Ordering::AcqRel) + size > self.shared.limits.write_bytes {
            self.shared.queued.fetch_sub(size, Ordering::AcqRel);
            return failed(Failure::Backlog);
        }
        match self.ops.send(Op {
            tail,
            session: self.id.clone(),
            reply,
        }) {
            Ok(()) => pending(State::Sent(answer)),
            Err(_) => failed(Failure::Lost),
        }
    }

    /// Sends a command and waits for its answer until the deadline. Dropping the future forgets the call.
    ///
    /// # Errors
    /// [`CallError`], naming the method.
    pub async fn call<C: Command>(&self, command: &C, deadline: Instant) -> Result<C::Response, CallError> {
        self.send(command).wait(deadline).await
    }
}

/// An answer to come. Dropping it forgets the call.
#[must_use = "an answer that nobody waits for hides its failure"]
#[derive(Debug)]
pub struct Pending<R> {
    method: &'static str,
    state: State,
    response: PhantomData<fn() -> R>,
}

#[derive(Debug)]
enum State {
    Sent(oneshot::Receiver<Reply>),
    Failed(CallError),
}

impl<R: DeserializeOwned> Pending<R> {
    /// The method that was called.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Waits for the answer until the deadline.
    ///
    /// # Errors
    /// [`CallError`], naming the method.
    pub async fn wait(self, deadline: Instant) -> Result<R, CallError> {
        let method = self.method;
        let answer = match self.state {
            State::Sent(answer) => answer,
            State::Failed(error) => return Err(error),
        };
        let reply = match tokio::time::timeout_at(deadline.into(), answer).await {
            Err(_) => return Err(CallError::Deadline { method }),
            Ok(Err(_)) => return Err(CallError::ConnectionLost { method }),
            Ok(Ok(reply)) => reply,
        };
        let result = reply.map_err(|failure| failure.of(method))?;
        serde_json::from_str(result.get()).map_err(|source| CallError::Decode { method, source })
    }
}

/// The message after its id: `,"method":…,"params":…}` and the closing NUL. The connection writes the id in front, so
/// that ids stand in the order of sending.
fn encode<C: Command>(method: &str, session: Option<&SessionId>, params: &C) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Tail<'a, P> {
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a SessionId>,
        params: &'a P,
    }
    let mut bytes = Vec::with_capacity(256);
    serde_json::to_writer(
        &mut bytes,
        &Tail {
            method,
            session_id: session,
            params,
        },
    )?;
    if let Some(first) = bytes.first_mut() {
        *first = b',';
    }
    bytes.push(0);
    Ok(bytes)
}

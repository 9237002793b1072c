//! The calls that have no answer yet.
//!
//! Ids are given in the order of sending and never again. A call that nobody waits for any more keeps its place until
//! its answer comes, so that a late answer is known from one that was never asked for; the table is bounded all the
//! same.

use std::collections::HashMap;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::error::Failure;
use super::event::Fault;
use super::protocol::SessionId;

pub(super) type Reply = Result<Box<RawValue>, Failure>;

#[derive(Debug)]
struct Slot {
    session: Option<SessionId>,
    /// `None` once the call has failed without an answer.
    reply: Option<oneshot::Sender<Reply>>,
}

/// Calls by id.
#[derive(Debug)]
pub(super) struct Table {
    slots: HashMap<u64, Slot>,
    limit: usize,
    /// The id that the next call gets.
    next: u64,
}

impl Table {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            slots: HashMap::new(),
            limit,
            next: 1,
        }
    }

    /// Registers a call and gives its id; gives the reply channel back when the table is full.
    pub(super) fn add(
        &mut self,
        session: Option<SessionId>,
        reply: oneshot::Sender<Reply>,
    ) -> Result<u64, oneshot::Sender<Reply>> {
        if self.slots.len() >= self.limit {
            return Err(reply);
        }
        let id = self.next;
        self.next += 1;
        self.slots.insert(
            id,
            Slot {
                session,
                reply: Some(reply),
            },
        );
        Ok(id)
    }

    /// Gives the answer of a call to whoever waits for it.
    pub(super) fn answer(&mut self, id: u64, reply: Reply) -> Result<(), Fault> {
        match self.slots.remove(&id) {
            Some(Slot {
                reply: Some(waiting), ..
            }) => {
                // The caller may have given up: then nobody wants the answer.
                drop(waiting.send(reply));
                Ok(())
            }
            Some(Slot { reply: None, .. }) => Ok(()),
            None if id < self.next && id > 0 => Err(Fault::ReusedId { id }),
            None => Err(Fault::UnknownId { id }),
        }
    }

    /// Fails the calls of the given sessions at once.
    pub(super) fn fail(&mut self, sessions: &[SessionId], failure: impl Fn() -> Failure) {
        let concerned = |slot: &&mut Slot| slot.session.as_ref().is_some_and(|session| sessions.contains(session));
        for slot in self.slots.values_mut().filter(concerned) {
            if let Some(reply) = slot.reply.take() {
                drop(reply.send(Err(failure())));
            }
        }
    }

    /// Fails every call at once.
    pub(super) fn fail_all(&mut self) {
        for slot in self.slots.values_mut() {
            if let Some(reply) = slot.reply.take() {
                drop(reply.send(Err(Failure::Lost)));
            }
        }
    }
}

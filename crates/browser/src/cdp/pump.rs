//! The task behind a connection: the only reader, the only writer, the only owner of the table of calls.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::connection::Shared;
use super::error::Failure;
use super::event::{Event, Fault, Lost, Message};
use super::frame::{self, Body, Frame};
use super::protocol::SessionId;
use super::table::{Reply, Table};
use super::targets::{Change, Targets};
use super::transport::{Read, Reader, Writer};

/// How many bytes are read before others get their turn.
const BURST: usize = 1024 * 1024;

/// A command to send.
#[derive(Debug)]
pub(super) struct Op {
    /// The message after its id, with the closing NUL.
    pub(super) tail: Vec<u8>,
    pub(super) session: Option<SessionId>,
    pub(super) reply: oneshot::Sender<Reply>,
}

/// The task's state.
#[derive(Debug)]
pub(super) struct Pump {
    reader: Reader,
    writer: Writer,
    /// Whether the writing half still works.
    writing: bool,
    ops: mpsc::UnboundedReceiver<Op>,
    /// Bytes of commands in the writer's queue, as counted in `Shared::queued`.
    counted: usize,
    inner: Inner,
}

/// All but the pipes: what a message that was read acts on.
#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    table: Table,
    targets: Targets,
    index: u64,
}

impl Pump {
    pub(super) fn new(reader: Reader, writer: Writer, ops: mpsc::UnboundedReceiver<Op>, shared: Arc<Shared>) -> Self {
        let table = Table::new(shared.limits.pending_calls);
        let inner = Inner {
            shared,
            table,
            targets: Targets::default(),
            index: 0,
        };
        Self {
            reader,
            writer,
            writing: true,
            ops,
            counted: 0,
            inner,
        }
    }

    /// Serves the connection until the browser's end closes or nobody holds a handle any more.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                op = self.ops.recv() => {
                    let Some(op) = op else { break };
                    self.accept(op);
                    while let Ok(op) = self.ops.try_recv() {
                        self.accept(op);
                    }
                    self.write();
                }
                ready = self.writer.ready(), if self.writing && !self.writer.is_idle() => match ready {
                    Ok(()) => self.write(),
                    Err(_) => self.lose(),
                },
                ready = self.reader.ready() => {
                    if ready.is_err() || self.read().is_break() {
                        break;
                    }
                    // A peer that sends without end must not keep its readers from running.
                    tokio::task::yield_now().await;
                }
            }
        }
        self.lose();
        while let Ok(op) = self.ops.try_recv() {
            self.accept(op);
        }
        self.inner.shared.subscribers.close();
    }

    /// Registers a call and queues its bytes.
    fn accept(&mut self, op: Op) {
        let size = op.tail.len();
        let refused = |reply: oneshot::Sender<Reply>, failure| {
            self.inner.shared.queued.fetch_sub(size, Ordering::AcqRel);
            drop(reply.send(Err(failure)));
        };
        if !self.writing {
            return refused(op.reply, Failure::Lost);
        }
        if op
            .session
            .as_ref()
            .is_some_and(|session| self.inner.targets.has_crashed(session))
        {
            return refused(op.reply, Failure::Crashed);
        }
        match self.inner.table.add(op.session, op.reply) {
            Err(reply) => refused(reply, Failure::Backlog),
            Ok(id) => {
                tracing::trace!(id, bytes = size, command = named(&op.tail), "sent");
                let queue = self.writer.queue();
                queue.extend_from_slice(b"{\"id\":");
                queue.extend_from_slice(id.to_string().as_bytes());
                queue.extend_from_slice(&op.tail);
                self.counted += size;
            }
        }
    }

    fn write(&mut self) {
        if !self.writing {
            return;
        }
        if self.writer.write().is_err() {
            self.lose();
        } else if self.writer.is_idle() {
            self.inner
                .shared
                .queued
                .fetch_sub(std::mem::take(&mut self.counted), Ordering::AcqRel);
        }
    }

    /// The browser cannot be told anything any more: every call fails. What it still sends is read to the end.
    fn lose(&mut self) {
        self.writing = false;
        self.inner.shared.lost.store(true, Ordering::Release);
        self.inner.table.fail_all();
    }

    /// Reads and handles what is there, up to one burst.
    fn read(&mut self) -> ControlFlow<()> {
        let mut total = 0;
        while total < BURST {
            let count = match self.reader.read() {
                Read::Bytes(count) => count,
                Read::Nothing => break,
                Read::End => {
                    let bytes = self.reader.framer.unfinished();
                    if bytes > 0 {
                        self.inner.fault(Fault::CutShort { bytes });
                    }
                    return ControlFlow::Break(());
                }
            };
            total += count;
            while let Some(frame) = self.reader.framer.next() {
                self.inner.handle(frame);
            }
            let held = u64::try_from(self.reader.framer.buffered()).unwrap_or(u64::MAX);
            self.inner.shared.count(|stats| {
                stats.bytes += u64::try_from(count).unwrap_or(0);
                stats.most_buffered = stats.most_buffered.max(held);
            });
        }
        ControlFlow::Continue(())
    }
}

impl Inner {
    fn handle(&mut self, frame: Frame<'_>) {
        self.index += 1;
        self.shared.count(|stats| stats.messages += 1);
        match frame {
            Frame::Oversize { head, bytes } => {
                let id = frame::leading_id(head);
                self.shared.count(|stats| {
                    stats.lost_messages += 1;
                    stats.lost_bytes += bytes;
                });
                self.publish(&Event::Lost(Lost { bytes, id }));
                if let Some(id) = id {
                    self.answer(id, Err(Failure::TooLarge(bytes)));
                }
            }
            Frame::Message(bytes) => match frame::decode(bytes) {
                Err(fault) => {
                    if let Some(id) = fault.id {
                        self.answer(id, Err(Failure::Malformed(fault.clone())));
                    }
                    self.fault(Fault::Frame(fault));
                }
                Ok(envelope) => {
                    if envelope.repaired > 0 {
                        self.shared
                            .count(|stats| stats.repaired_surrogates += u64::from(envelope.repaired));
                    }
                    match envelope.body {
                        Body::Reply { id, outcome } => self.answer(id, outcome.map_err(Failure::Refused)),
                        Body::Event { method, params } => {
                            let (session, index) = (envelope.session, self.index);
                            self.event(Message {
                                session,
                                method,
                                params,
                                index,
                                at: Instant::now(),
                            });
                        }
                    }
                }
            },
        }
    }

    fn answer(&mut self, id: u64, reply: Reply) {
        tracing::trace!(id, refused = reply.is_err(), "answered");
        if let Err(fault) = self.table.answer(id, reply) {
            self.fault(fault);
        }
    }

    fn event(&mut self, message: Message) {
        tracing::trace!(method = message.method, session = ?message.session, "event");
        let change = self.targets.observe(&message);
        // Subscribers first: whoever sees a call fail by a crash finds the crash in the events already.
        self.publish(&Event::Message(Arc::new(message)));
        match change {
            Change::None => {}
            Change::Crashed(sessions) => self.table.fail(&sessions, || Failure::Crashed),
            Change::Detached(sessions) => self.table.fail(&sessions, || Failure::Detached),
        }
    }

    fn fault(&mut self, fault: Fault) {
        self.shared.count(|stats| stats.faults += 1);
        tracing::warn!(%fault, "the DevTools peer broke the protocol");
        self.publish(&Event::Fault(fault));
    }

    fn publish(&self, event: &Event) {
        let dropped = self.shared.subscribers.publish(event);
        if dropped > 0 {
            self.shared.count(|stats| stats.dropped_events += dropped);
        }
    }
}

/// Method and session of a command for the log; what is handed in may be a secret and stays out.
fn named(tail: &[u8]) -> &str {
    let end = memchr::memmem::find(tail, b",\"params\"").unwrap_or(0);
    std::str::from_utf8(tail.get(1..end).unwrap_or_default()).unwrap_or_default()
}

//! The guard: one listener for the browser itself and one for each planned context.
//!
//! All listeners are opened before the browser starts and stay open until they are closed one by one or all together; none
//! is used twice. Invariants: nothing reaches an address that was not fixed at start; when [`Guard::shutdown`] returns, no
//! task and no socket of the guard is left.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jurat_core::observation::guard::ListenerId;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::policy::Policy;
use crate::proxy::{Listener, Pool, Upstream, UpstreamInfo, connection};
use crate::record::{GuardEvent, Recorder};
use crate::tasks::{Spawner, Tasks};

/// Bounds of a guard.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A request head must be whole this long after its first byte.
    pub head: Duration,
    /// Connecting to an origin, for each address.
    pub connect: Duration,
    /// Connections open at once, for each listener; more wait.
    pub connections: usize,
    /// Events that can wait for the reader; what does not fit is counted as lost.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(20),
            connect: Duration::from_secs(5),
            connections: 1024,
            events: 64 * 1024,
        }
    }
}

/// Why a guard could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("failed to open the guard's listener {listener}")]
pub struct OpenError {
    listener: u32,
    #[source]
    source: io::Error,
}

/// See the module.
#[derive(Debug)]
pub struct Guard {
    listeners: Vec<Handle>,
    upstreams: Vec<Arc<Upstream>>,
    recorder: Arc<Recorder>,
}

#[derive(Debug)]
struct Handle {
    port: u16,
    running: Option<(Tasks, JoinHandle<()>)>,
}

/// A guard that knows where its origins are and has no listeners yet: the lane that they are made in may still be under way.
#[derive(Debug)]
pub struct Prepared {
    contexts: Vec<(Policy, Vec<Arc<Upstream>>)>,
    upstreams: Vec<Arc<Upstream>>,
    recorder: Arc<Recorder>,
    limits: Limits,
}

impl Prepared {
    /// Each origin with its addresses.
    pub fn upstreams(&self) -> Vec<UpstreamInfo> {
        self.upstreams.iter().map(|upstream| upstream.info()).collect()
    }

    /// How many listeners it needs: the global one and one for each policy.
    pub fn listeners(&self) -> usize {
        self.contexts.len()
    }

    /// Serves these listeners, the global one first, then one for each policy in order. They listen already and do not block.
    ///
    /// # Errors
    /// When there are too few of them, or one cannot be waited for.
    pub fn serve(self, sockets: Vec<std::net::TcpListener>) -> Result<Guard, OpenError> {
        let mut sockets = sockets.into_iter();
        let mut listeners = Vec::with_capacity(self.contexts.len());
        for ((policy, upstreams), id) in self.contexts.into_iter().zip(0..) {
            let error = |source| OpenError { listener: id, source };
            let socket = sockets.next().ok_or_else(|| error(io::ErrorKind::NotFound.into()))?;
            let socket = TcpListener::from_std(socket).map_err(error)?;
            let port = socket.local_addr().map_err(error)?.port();
            let (tasks, spawner) = Tasks::new();
            let listener = Arc::new(Listener {
                id: ListenerId(id),
                policy,
                pools: upstreams.iter().map(|_| Arc::<Pool>::default()).collect(),
                upstreams,
                recorder: Arc::clone(&self.recorder),
                spawner: spawner.clone(),
                head_timeout: self.limits.head,
            });
            let accepting = spawner.spawn(accept(socket, listener, spawner.clone(), self.limits.connections));
            listeners.push(Handle {
                port,
                running: Some((tasks, accepting)),
            });
        }
        Ok(Guard {
            listeners,
            upstreams: self.upstreams,
            recorder: self.recorder,
        })
    }
}

impl Guard {
    /// Finds the origins of the policies, one for each context. `epoch` is the start of the run.
    pub async fn prepare(
        epoch: Instant,
        contexts: Vec<Policy>,
        limits: Limits,
    ) -> (Prepared, mpsc::Receiver<GuardEvent>) {
        let (recorder, events) = Recorder::new(epoch, limits.events);
        let mut known: Vec<Arc<Upstream>> = Vec::new();
        let mut found = Vec::new();
        for policy in std::iter::once(Policy::refuse_all()).chain(contexts) {
            let mut upstreams = Vec::new();
            for origin in policy.origins() {
                let upstream = if let Some(route) = policy.route(origin) {
                    // Each context has an app of its own.
                    Arc::new(Upstream::routed(origin.clone(), route.clone(), limits.connect))
                } else if let Some(upstream) = known.iter().find(|upstream| upstream.origin() == origin) {
                    Arc::clone(upstream)
                } else {
                    let found = Arc::new(Upstream::find(origin.clone(), limits.connect).await);
                    known.push(Arc::clone(&found));
                    found
                };
                upstreams.push(upstream);
            }
            found.push((policy, upstreams));
        }
        let prepared = Prepared {
            contexts: found,
            upstreams: known,
            recorder,
            limits,
        };
        (prepared, events)
    }

    /// Opens the global listener and one for each policy, in order, on 127.0.0.1. `epoch` is the start of the run.
    ///
    /// # Errors
    /// When a listener cannot be bound. An origin that nobody serves yet is no error.
    pub async fn open(
        epoch: Instant,
        contexts: Vec<Policy>,
        limits: Limits,
    ) -> Result<(Self, mpsc::Receiver<GuardEvent>), OpenError> {
        let (prepared, events) = Self::prepare(epoch, contexts, limits).await;
        let sockets = host_listeners(prepared.listeners()).map_err(|source| OpenError { listener: 0, source })?;
        Ok((prepared.serve(sockets)?, events))
    }

    /// The port of a listener on 127.0.0.1, open or closed.
    pub fn port(&self, listener: ListenerId) -> Option<u16> {
        self.handle(listener).map(|handle| handle.port)
    }

    /// All ports in order; the first is the global listener's.
    pub fn ports(&self) -> Vec<u16> {
        self.listeners.iter().map(|handle| handle.port).collect()
    }

    /// Whether every listener that was not closed still accepts.
    pub fn alive(&self) -> bool {
        self.listeners
            .iter()
            .filter_map(|handle| handle.running.as_ref())
            .all(|(_, accepting)| !accepting.is_finished())
    }

    /// Events that were lost because nobody read them. Not 0 is a gap in evidence.
    pub fn lost(&self) -> u64 {
        self.recorder.lost()
    }

    /// Requests, WebSockets and tunnels that have not ended.
    pub fn in_flight(&self) -> usize {
        self.recorder.in_flight()
    }

    /// Each origin with its addresses.
    pub fn upstreams(&self) -> Vec<UpstreamInfo> {
        self.upstreams.iter().map(|upstream| upstream.info()).collect()
    }

    /// Closes a listener and all of its connections. Its port is never used again by this guard.
    pub async fn close_listener(&mut self, listener: ListenerId) {
        let index = usize::try_from(listener.0).unwrap_or(usize::MAX);
        if let Some((tasks, _)) = self.listeners.get_mut(index).and_then(|handle| handle.running.take()) {
            tasks.close().await;
        }
    }

    /// Closes everything. The event channel ends after the last record. Returns the number of lost events.
    pub async fn shutdown(mut self) -> u64 {
        for handle in &mut self.listeners {
            if let Some((tasks, _)) = handle.running.take() {
                tasks.close().await;
            }
        }
        self.recorder.lost()
    }

    fn handle(&self, listener: ListenerId) -> Option<&Handle> {
        self.listeners.get(usize::try_from(listener.0).ok()?)
    }
}

/// Listeners in this process's own network namespace, on ports of the system's choice.
///
/// # Errors
/// One cannot be bound.
pub(crate) fn host_listeners(number: usize) -> io::Result<Vec<std::net::TcpListener>> {
    (0..number)
        .map(|_| {
            let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        })
        .collect()
}

async fn accept(socket: TcpListener, listener: Arc<Listener>, spawner: Spawner, connections: usize) {
    let room = Arc::new(Semaphore::new(connections));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        match socket.accept().await {
            Ok((stream, _)) => {
                // Without it small answers wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let listener = Arc::clone(&listener);
                spawner.spawn(async move {
                    connection(listener, stream, None).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Out of descriptors or a connection that was gone already: neither ends the guard.
                tracing::warn!(%error, "the guard could not accept a connection");
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

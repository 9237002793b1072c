//! A browser that was started by someone else, seen from its pipe.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinHandle;

use super::context::Context;
use super::error::ActError;
use super::options::ContextOptions;
use super::pump::{Pump, Registry};
use crate::cdp::protocol::browser::{self, Version};
use crate::cdp::protocol::target;
use crate::cdp::{CallError, Connection, Filter, Limits, OpenError, Stats};

/// Why a browser could not be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The descriptors are no pipe.
    #[error(transparent)]
    Pipe(#[from] OpenError),
    /// The browser did not answer its first calls.
    #[error("the browser does not answer: {0}")]
    Silent(#[from] CallError),
}

/// A running browser. Cheap to clone. When the last handle is gone, contexts and tabs included, the pipe closes, and the browser ends.
#[derive(Debug, Clone)]
pub struct Browser {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) connection: Connection,
    pub(super) registry: Arc<Registry>,
    pub(super) version: Version,
    pump: JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl Browser {
    /// Connects over the pipe that the browser reads from (its fd 3) and the one it writes to (its fd 4). Within a tokio runtime.
    ///
    /// # Errors
    /// [`ConnectError`], by the deadline at the latest.
    pub async fn connect(to_browser: OwnedFd, from_browser: OwnedFd, deadline: Instant) -> Result<Self, ConnectError> {
        let connection = Connection::open(to_browser, from_browser, Limits::default())?;
        let registry = Arc::new(Registry::default());
        let events = connection.subscribe(Filter::All);
        let session = connection.browser();
        let version = session.send(&browser::GetVersion {});
        let attach = target::SetAutoAttach {
            flatten: Some(true),
            ..target::SetAutoAttach::new(true, true)
        };
        let attach = session.send(&attach);
        let pump = tokio::spawn(Pump::new(events, session.clone(), Arc::clone(&registry)).run());
        let answers = async { Ok::<_, CallError>((version.wait(deadline).await?, attach.wait(deadline).await?)) };
        match answers.await {
            Ok((version, _)) => Ok(Self {
                inner: Arc::new(Inner {
                    connection,
                    registry,
                    version,
                    pump,
                }),
            }),
            Err(error) => {
                pump.abort();
                Err(error.into())
            }
        }
    }

    /// What `Browser.getVersion` answered.
    pub fn version(&self) -> &Version {
        &self.inner.version
    }

    /// The counts of the connection.
    pub fn stats(&self) -> Stats {
        self.inner.connection.stats()
    }

    /// A fresh profile with one blank tab, behind the guard's listener at `options.proxy_port`.
    ///
    /// # Errors
    /// When the browser does not make one by the deadline.
    pub async fn new_context(&self, options: ContextOptions<'_>, deadline: Instant) -> Result<Context, ActError> {
        Context::open(self, options, deadline).await
    }

    /// Asks the browser to end (`Browser.close`). One that does not must be killed by whoever started it.
    ///
    /// # Errors
    /// When it does not answer; a lost connection means that it ended.
    pub async fn close(&self, deadline: Instant) -> Result<(), ActError> {
        match self.inner.connection.browser().call(&browser::Close {}, deadline).await {
            Ok(_) | Err(CallError::ConnectionLost { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

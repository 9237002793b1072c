//! Idle connections to one origin, of one listener.
//!
//! Contexts do not share them. Only requests that may be sent twice are put on a kept-alive connection, because the origin
//! may close it at any time; everything else gets a fresh one, so that a stale connection never fails a POST. The idle ones
//! are closed before that: an origin that serves one connection at a time must not wait for them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::body::Upload;
use crate::head::MAX_HEAD;
use crate::tasks::Spawner;

/// Most idle connections kept.
const MAX_IDLE: usize = 16;
/// How long a connection whose answer has just ended may take to become ready.
const SETTLE: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<Vec<SendRequest<Upload>>>);

impl Pool {
    /// Keeps a connection whose answer has ended.
    pub(crate) fn put(&self, sender: SendRequest<Upload>) {
        if sender.is_closed() {
            return;
        }
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(sender);
        }
    }

    /// Closes all idle connections.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The most recently used connection that can take a request.
    pub(crate) async fn take(&self) -> Option<SendRequest<Upload>> {
        loop {
            let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if matches!(timeout(SETTLE, sender.ready()).await, Ok(Ok(()))) {
                return Some(sender);
            }
        }
    }
}

/// Starts HTTP/1.1 on a fresh connection; its task belongs to `spawner`.
pub(crate) async fn handshake(stream: TcpStream, spawner: &Spawner) -> hyper::Result<SendRequest<Upload>> {
    let (sender, connection) = hyper::client::conn::http1::Builder::new()
        .preserve_header_case(true)
        // Chromium takes these too, and they are not passed on as they came.
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .max_headers(512)
        .max_header_size(2 * MAX_HEAD)
        .handshake(TokioIo::new(stream))
        .await?;
    spawner.spawn(async move {
        // The request that was on the connection learns of an error by itself.
        let _ = connection.with_upgrades().await;
    });
    Ok(sender)
}

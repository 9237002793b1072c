//! Bytes both ways through a tunnel or a WebSocket, counted.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

use crate::record::Counters;

const CHUNK: usize = 16 * 1024;

/// Carries bytes until either side ends; what had been read by then was written.
pub(crate) async fn pump<C, U>(client: C, upstream: U, counters: &Counters)
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    let (client_read, client_write) = split(client);
    let (upstream_read, upstream_write) = split(upstream);
    tokio::select! {
        _ = copy(client_read, upstream_write, &counters.up) => {}
        _ = copy(upstream_read, client_write, &counters.down) => {}
    }
}

async fn copy<R, W>(mut from: R, mut to: W, count: &AtomicU64) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
        to.flush().await?;
        count.fetch_add(u64::try_from(read).unwrap_or(u64::MAX), Ordering::AcqRel);
    }
}

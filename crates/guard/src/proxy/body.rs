//! Bodies on their way through: counted, never stored.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::SendRequest;
use jurat_core::observation::guard::GuardReason;

use super::pool::Pool;
use crate::record::{Counters, Open};

/// The next data frame of `inner`, counted; trailers end the body.
fn poll_data(
    inner: &mut Incoming,
    count: &AtomicU64,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    let polled = Pin::new(inner).poll_frame(cx);
    match &polled {
        Poll::Ready(Some(Ok(frame))) => match frame.data_ref() {
            Some(data) => {
                count.fetch_add(u64::try_from(data.len()).unwrap_or(u64::MAX), Ordering::AcqRel);
            }
            None => return Poll::Ready(None),
        },
        Poll::Ready(_) | Poll::Pending => {}
    }
    polled
}

/// What goes to the origin.
#[derive(Debug)]
pub(crate) enum Upload {
    None,
    Stream(Incoming, Arc<Counters>),
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.get_mut() {
            Self::None => Poll::Ready(None),
            Self::Stream(body, counters) => poll_data(body, &counters.up, cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::None => true,
            Self::Stream(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::None => SizeHint::with_exact(0),
            Self::Stream(body, _) => body.size_hint(),
        }
    }
}

/// What goes to the client.
#[derive(Debug)]
pub(crate) enum Download {
    None,
    Stream(Box<Answer>),
}

/// An answer's body, with what must happen when it ends.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Incoming,
    counters: Arc<Counters>,
    end: Option<End>,
}

#[derive(Debug)]
struct End {
    open: Open,
    sender: SendRequest<Upload>,
    pool: Arc<Pool>,
}

impl Answer {
    pub(crate) fn new(body: Incoming, open: Open, sender: SendRequest<Upload>, pool: Arc<Pool>) -> Self {
        let counters = open.counters();
        let mut answer = Self {
            body,
            counters,
            end: Some(End { open, sender, pool }),
        };
        if answer.body.is_end_stream() {
            answer.finish();
        }
        answer
    }

    fn finish(&mut self) {
        if let Some(End { open, sender, pool }) = self.end.take() {
            open.finish();
            pool.put(sender);
        }
    }
}

impl Body for Download {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let Self::Stream(answer) = self.get_mut() else {
            return Poll::Ready(None);
        };
        let polled = poll_data(&mut answer.body, &answer.counters.down, cx);
        match &polled {
            Poll::Ready(Some(Err(error))) => {
                if let Some(end) = answer.end.take() {
                    end.open.abort(GuardReason::UpstreamAborted, Some(error.to_string()));
                }
            }
            Poll::Ready(None) => answer.finish(),
            // The server side stops asking once it has all bytes of a known length.
            Poll::Ready(Some(Ok(_))) if answer.body.is_end_stream() => answer.finish(),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::None => true,
            Self::Stream(answer) => answer.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::None => SizeHint::with_exact(0),
            Self::Stream(answer) => answer.body.size_hint(),
        }
    }
}

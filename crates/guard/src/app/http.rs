//! A small HTTP/1.1 client for plain questions to the target: one request, one connection, a bounded body that is read and
//! never executed. It follows no redirect and reads no `*_proxy` variable.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, LOCATION, USER_AGENT};
use hyper_util::rt::TokioIo;
use jurat_core::canon::Digest;
use jurat_core::observation::{HttpFact, HttpFailure};
use jurat_core::untrusted::Untrusted;
use tokio::time::timeout_at;

use super::dial::Dialler;

/// Bytes of a body that are read.
const BODY: usize = 1 << 20;
/// How long the body may take after the head; the status is known by then.
const BODY_TIME: Duration = Duration::from_secs(5);
/// Bytes kept of a header's text.
const TEXT: usize = 1024;

/// Asks for `path` with `GET`. `host` is the target's authority.
pub async fn get(dialler: &Dialler, host: &str, path: &str, deadline: Instant) -> HttpFact {
    let begun = Instant::now();
    let took = || u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let mut fact = HttpFact {
        path: path.to_owned(),
        status: None,
        failure: None,
        error: Untrusted::default(),
        content_type: None,
        location: None,
        body_bytes: 0,
        body: None,
        whole: false,
        took_us: 0,
    };
    let answered = timeout_at(deadline.into(), ask(dialler, host, path, deadline)).await;
    fact.took_us = took();
    let (failure, error) = match answered {
        Ok(Ok((answer, _connection))) => {
            let header = |name| {
                let value: Option<&hyper::header::HeaderValue> = answer.headers().get(name);
                value.map(|v| Untrusted::bounded(&String::from_utf8_lossy(v.as_bytes()), TEXT).0)
            };
            fact.content_type = header(CONTENT_TYPE);
            fact.location = header(LOCATION);
            fact.status = Some(answer.status().as_u16());
            let until = deadline.min(Instant::now() + BODY_TIME);
            read(answer.into_body(), until, &mut fact).await;
            return fact;
        }
        Ok(Err(Failure::Dial(error))) if error.kind() == io::ErrorKind::TimedOut => {
            (HttpFailure::NoAnswer, error.to_string())
        }
        Ok(Err(Failure::Dial(error))) => (HttpFailure::Refused, error.to_string()),
        Ok(Err(Failure::Talk(error))) => (HttpFailure::Broken, error.to_string()),
        Err(_) => (HttpFailure::NoAnswer, "no answer came in time".to_owned()),
    };
    fact.failure = Some(failure);
    fact.error = Untrusted::bounded(&error, TEXT).0;
    fact
}

enum Failure {
    Dial(io::Error),
    Talk(hyper::Error),
}

/// The task of a connection; dropping it closes the connection.
struct Connection(tokio::task::JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn ask(
    dialler: &Dialler,
    host: &str,
    path: &str,
    deadline: Instant,
) -> Result<(hyper::Response<Incoming>, Connection), Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    let (stream, _) = dialler.dial(left).await.map_err(Failure::Dial)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(Failure::Talk)?;
    let connection = Connection(tokio::spawn(async move {
        // The request learns of an error by itself.
        let _ = connection.await;
    }));
    let request = Request::get(path)
        .header(HOST, host)
        .header(USER_AGENT, concat!("jurat/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Nothing);
    // The path was checked with the contract, the host with the origin.
    let request = request.map_err(|e| Failure::Dial(io::Error::new(io::ErrorKind::InvalidInput, e)))?;
    let answer = sender.send_request(request).await.map_err(Failure::Talk)?;
    Ok((answer, connection))
}

async fn read(mut body: Incoming, deadline: Instant, fact: &mut HttpFact) {
    let mut kept = Vec::new();
    loop {
        let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context));
        match timeout_at(deadline.into(), frame).await {
            Ok(None) => {
                fact.whole = true;
                break;
            }
            Ok(Some(Ok(frame))) => {
                let Some(data) = frame.data_ref() else { continue };
                let part = &data[..data.len().min(BODY - kept.len())];
                kept.extend_from_slice(part);
                if part.len() < data.len() {
                    break;
                }
            }
            Ok(Some(Err(_))) | Err(_) => break,
        }
    }
    fact.body_bytes = kept.len() as u64;
    fact.body = Some(Digest::of(&kept));
}

/// The body of a request that has none.
struct Nothing;

impl Body for Nothing {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

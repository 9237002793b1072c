//! The request loop of one connection: judge, forward, record.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use jurat_core::observation::guard::{
    Disposition, GuardKind, GuardReason, ListenerId, MAX_URL, RequestHints, UPSTREAM_UNREACHABLE,
};
use tokio::io::{AsyncRead, AsyncWrite};

use super::body::{Answer, Download, Upload};
use super::fields::{self, MARK};
use super::pool::{Pool, handshake};
use super::pump::pump;
use super::upstream::Upstream;
use crate::head::{Framing, Head, HeadFault, MAX_HEAD, MAX_METHOD, text};
use crate::policy::{Decision, Judged, Policy};
use crate::record::{Draft, Open, Recorder};
use crate::tasks::Spawner;
use crate::wire::{StrictIo, Wire};

/// What all connections of one listener share. `upstreams` and `pools` stand in the order of the policy's origins.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) id: ListenerId,
    pub(crate) policy: Policy,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) spawner: Spawner,
    pub(crate) head_timeout: Duration,
}

/// Serves one connection to its end. `inside` is the origin of the `CONNECT` that it came through, if it did.
pub(crate) fn connection<T>(
    listener: Arc<Listener>,
    io: T,
    inside: Option<usize>,
) -> Pin<Box<dyn Future<Output = ()> + Send>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    Box::pin(async move {
        let wire = Arc::new(Wire::default());
        let watcher = Arc::clone(&listener);
        let strict = StrictIo::new(
            io,
            Arc::clone(&wire),
            listener.head_timeout,
            Box::new(move |fault, bytes| watcher.malformed(fault, bytes, inside.is_some())),
        );
        let talk = Arc::new(Talk { listener, wire, inside });
        let service = service_fn(|request| {
            let talk = Arc::clone(&talk);
            async move { Ok::<_, Infallible>(talk.serve(request).await) }
        });
        let served = hyper::server::conn::http1::Builder::new()
            .preserve_header_case(true)
            .auto_date_header(false)
            .max_headers(256)
            .max_header_size(2 * MAX_HEAD)
            .serve_connection(TokioIo::new(strict), service)
            .with_upgrades()
            .await;
        talk.over(served.err());
    })
}

/// One connection.
#[derive(Debug)]
struct Talk {
    listener: Arc<Listener>,
    wire: Arc<Wire>,
    inside: Option<usize>,
}

impl Talk {
    async fn serve(&self, request: Request<Incoming>) -> Response<Download> {
        let Some(head) = self.wire.take() else {
            return self.disagreement(None);
        };
        let same_host = request
            .headers()
            .get(HOST)
            .is_some_and(|host| host.as_bytes() == head.host.as_bytes());
        if !same_host || request.method().as_str() != head.method {
            return self.disagreement(Some(&head));
        }
        let judged = self.listener.policy.judge(&head, self.inside);
        match judged.decision {
            Decision::Forward(origin) => self.forward(origin, request, head, judged).await,
            Decision::Websocket(origin) => self.websocket(origin, request, head, judged).await,
            Decision::Tunnel(origin) => self.tunnel(origin, request, head, judged).await,
            Decision::ExpectWebsocket(origin) => self.expect_websocket(origin, request),
            Decision::Refuse(reason) => self.refuse(head, &judged, Disposition::Refused, reason),
            Decision::ExpectedRefusal => self.refuse(
                head,
                &judged,
                Disposition::ExpectedRefusal,
                GuardReason::KnownThirdParty,
            ),
        }
    }

    /// The connection has ended: what came and was never judged goes on record.
    fn over(&self, error: Option<hyper::Error>) {
        if error.is_some_and(|error| error.is_parse() || error.is_parse_too_large()) {
            while let Some(head) = self.wire.take() {
                self.disagreement(Some(&head));
            }
        }
        if self.inside.is_some() && self.wire.seen() == 0 && self.wire.fault().is_none() {
            let url = self
                .inside
                .and_then(|origin| self.listener.policy.origins().get(origin))
                .map(|origin| format!("{}:{}", origin.host(), origin.port()));
            let draft = Draft {
                listener: self.listener.id,
                kind: GuardKind::Tunnel,
                method: Method::CONNECT.to_string(),
                url: url.unwrap_or_default(),
                url_cut: false,
                via_connect: true,
                hints: RequestHints::default(),
            };
            self.listener
                .recorder
                .refuse(draft, Disposition::Refused, GuardReason::EmptyConnect, None, 200);
        }
    }

    fn draft(&self, head: Head, judged: &Judged) -> Draft {
        Draft {
            listener: self.listener.id,
            kind: judged.kind,
            method: head.method,
            url: judged.url.clone(),
            url_cut: judged.url_cut,
            via_connect: self.inside.is_some(),
            hints: head.hints,
        }
    }

    fn refuse(&self, head: Head, judged: &Judged, disposition: Disposition, reason: GuardReason) -> Response<Download> {
        // After a handshake or CONNECT the strict reader no longer reads heads: such a connection must not go on.
        let last = head.websocket || judged.kind == GuardKind::Tunnel || self.inside.is_some();
        let draft = self.draft(head, judged);
        self.listener
            .recorder
            .refuse(draft, disposition, reason, None, StatusCode::FORBIDDEN.as_u16());
        own_answer(StatusCode::FORBIDDEN, "refused", last)
    }

    fn disagreement(&self, head: Option<&Head>) -> Response<Download> {
        let status = StatusCode::BAD_REQUEST;
        let judged = head.map(|head| self.listener.policy.judge(head, self.inside));
        let draft = Draft {
            listener: self.listener.id,
            kind: GuardKind::Malformed,
            method: head.map(|head| head.method.clone()).unwrap_or_default(),
            url: judged.map(|judged| judged.url).unwrap_or_default(),
            url_cut: false,
            via_connect: self.inside.is_some(),
            hints: RequestHints::default(),
        };
        let reason = GuardReason::ParserDisagreement;
        self.listener
            .recorder
            .refuse(draft, Disposition::Refused, reason, None, status.as_u16());
        own_answer(status, "malformed", true)
    }

    async fn forward(
        &self,
        origin: usize,
        request: Request<Incoming>,
        head: Head,
        judged: Judged,
    ) -> Response<Download> {
        let framing = head.framing;
        let mut open = self.listener.recorder.start(self.draft(head, &judged));
        let (mut parts, incoming) = request.into_parts();
        fields::strip_request(&mut parts.headers);
        let Some(hop) = self.hop(origin, &mut parts, &judged) else {
            return own_fault(open, "no upstream");
        };
        let twice = framing == Framing::None && matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if !twice {
            hop.pool.clear();
        } else if let Some(mut sender) = hop.pool.take().await {
            if let Some(address) = hop.upstream.info().fixed {
                open.dialled(address.to_string());
            }
            match sender
                .try_send_request(Request::from_parts(parts.clone(), Upload::None))
                .await
            {
                Ok(answer) => return pass(answer, open, sender, hop.pool, false),
                // Stale. If it never left, sending it is not sending it again.
                Err(mut error) => {
                    if error.take_message().is_none() {
                        open.resent();
                    }
                }
            }
        }
        let upload = match framing {
            Framing::None => Upload::None,
            Framing::Length(_) | Framing::Chunked => Upload::Stream(incoming, open.counters()),
        };
        self.fresh(hop, parts, upload, open, false).await
    }

    /// Sends on a connection of its own.
    async fn fresh(&self, hop: Hop, parts: Parts, upload: Upload, open: Open, last: bool) -> Response<Download> {
        match self.send(&hop, parts, upload, open).await {
            Ok((answer, open, sender)) => pass(answer, open, sender, hop.pool, last),
            Err(response) => response,
        }
    }

    async fn send(
        &self,
        hop: &Hop,
        parts: Parts,
        upload: Upload,
        mut open: Open,
    ) -> Result<(Response<Incoming>, Open, SendRequest<Upload>), Response<Download>> {
        let (stream, address) = match hop.upstream.dial().await {
            Ok(dialled) => dialled,
            Err(error) => return Err(unreachable(open, &error)),
        };
        open.dialled(address.to_string());
        let mut sender = match handshake(stream, &self.listener.spawner).await {
            Ok(sender) => sender,
            Err(error) => return Err(own_fault(open, &error.to_string())),
        };
        match sender.send_request(Request::from_parts(parts, upload)).await {
            Ok(answer) => Ok((answer, open, sender)),
            Err(error) => Err(match self.wire.fault() {
                Some(fault) => {
                    open.abort(GuardReason::Malformed, Some(fault.to_string()));
                    own_answer(StatusCode::BAD_REQUEST, "malformed", true)
                }
                None => own_fault(open, &error.to_string()),
            }),
        }
    }

    async fn websocket(
        &self,
        origin: usize,
        mut request: Request<Incoming>,
        head: Head,
        judged: Judged,
    ) -> Response<Download> {
        let client = hyper::upgrade::on(&mut request);
        let open = self.listener.recorder.start(self.draft(head, &judged));
        let (mut parts, _) = request.into_parts();
        fields::strip_request(&mut parts.headers);
        parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        parts.headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        let Some(hop) = self.hop(origin, &mut parts, &judged) else {
            return own_fault(open, "no upstream");
        };
        let (mut answer, mut open, sender) = match self.send(&hop, parts, Upload::None, open).await {
            Ok(sent) => sent,
            Err(mut response) => {
                close(&mut response);
                return response;
            }
        };
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return pass(answer, open, sender, hop.pool, true);
        }
        let upstream = hyper::upgrade::on(&mut answer);
        open.answered(answer.status().as_u16(), None);
        self.listener.spawner.spawn(async move {
            let joined = tokio::try_join!(client, upstream);
            drop(sender);
            match joined {
                Ok((client, upstream)) => {
                    let counters = open.counters();
                    pump(TokioIo::new(client), TokioIo::new(upstream), &counters).await;
                    open.finish();
                }
                Err(error) => open.abort(GuardReason::UpstreamAborted, Some(error.to_string())),
            }
        });
        let (mut parts, _) = answer.into_parts();
        fields::strip_answer(&mut parts.headers);
        parts.headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        parts.headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        Response::from_parts(parts, Download::None)
    }

    async fn tunnel(
        &self,
        origin: usize,
        mut request: Request<Incoming>,
        head: Head,
        judged: Judged,
    ) -> Response<Download> {
        let client = hyper::upgrade::on(&mut request);
        let mut open = self.listener.recorder.start(self.draft(head, &judged));
        let Some(upstream) = self.listener.upstreams.get(origin) else {
            return own_fault(open, "no upstream");
        };
        let (stream, address) = match upstream.dial().await {
            Ok(dialled) => dialled,
            Err(error) => {
                let mut response = unreachable(open, &error);
                close(&mut response);
                return response;
            }
        };
        open.dialled(SocketAddr::to_string(&address));
        open.answered(StatusCode::OK.as_u16(), None);
        self.listener.spawner.spawn(async move {
            if let Ok(client) = client.await {
                let counters = open.counters();
                pump(TokioIo::new(client), stream, &counters).await;
                open.finish();
            }
        });
        Response::new(Download::None)
    }

    /// Accepts a `CONNECT` to a plain origin and goes on judging what comes inside.
    fn expect_websocket(&self, origin: usize, mut request: Request<Incoming>) -> Response<Download> {
        let client = hyper::upgrade::on(&mut request);
        let listener = Arc::clone(&self.listener);
        self.listener.spawner.spawn(async move {
            if let Ok(client) = client.await {
                connection(listener, TokioIo::new(client), Some(origin)).await;
            }
        });
        Response::new(Download::None)
    }

    /// Addresses the request to its origin: origin form, and the one canonical `Host`.
    fn hop(&self, origin: usize, parts: &mut Parts, judged: &Judged) -> Option<Hop> {
        let upstream = Arc::clone(self.listener.upstreams.get(origin)?);
        let pool = Arc::clone(self.listener.pools.get(origin)?);
        parts.uri = Uri::builder().path_and_query(judged.path.as_str()).build().ok()?;
        parts.version = Version::HTTP_11;
        parts
            .headers
            .insert(HOST, HeaderValue::from_str(&upstream.origin().authority()).ok()?);
        Some(Hop { upstream, pool })
    }
}

struct Hop {
    upstream: Arc<Upstream>,
    pool: Arc<Pool>,
}

/// Passes an answer of the origin on.
fn pass(
    answer: Response<Incoming>,
    mut open: Open,
    sender: SendRequest<Upload>,
    pool: Arc<Pool>,
    last: bool,
) -> Response<Download> {
    if answer.status().is_informational() {
        return own_fault(open, "an upgrade that nobody asked for");
    }
    let (mut parts, body) = answer.into_parts();
    fields::strip_answer(&mut parts.headers);
    parts.version = Version::HTTP_11;
    let content_type = parts.headers.get(CONTENT_TYPE).map(|value| text(value.as_bytes()));
    open.answered(parts.status.as_u16(), content_type);
    let body = Download::Stream(Box::new(Answer::new(body, open, sender, pool)));
    let mut response = Response::from_parts(parts, body);
    if last {
        close(&mut response);
    }
    response
}

/// An answer of the guard itself: no body, and marked so that it cannot be taken for the origin's.
fn own_answer(status: StatusCode, mark: &'static str, last: bool) -> Response<Download> {
    let mut response = Response::new(Download::None);
    *response.status_mut() = status;
    response.headers_mut().insert(MARK, HeaderValue::from_static(mark));
    if last {
        close(&mut response);
    }
    response
}

fn close(response: &mut Response<Download>) {
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
}

fn unreachable(mut open: Open, error: &std::io::Error) -> Response<Download> {
    open.answered(StatusCode::BAD_GATEWAY.as_u16(), None);
    open.abort(GuardReason::UpstreamUnreachable, Some(error.kind().to_string()));
    own_answer(StatusCode::BAD_GATEWAY, UPSTREAM_UNREACHABLE, false)
}

fn own_fault(mut open: Open, detail: &str) -> Response<Download> {
    open.answered(StatusCode::BAD_GATEWAY.as_u16(), None);
    open.abort(GuardReason::UpstreamMalformed, Some(detail.to_owned()));
    own_answer(StatusCode::BAD_GATEWAY, "upstream_malformed", false)
}

impl Listener {
    fn malformed(&self, fault: HeadFault, bytes: &[u8], via_connect: bool) {
        let (method, url) = if fault == HeadFault::Chunk {
            Default::default()
        } else {
            glimpse(bytes)
        };
        let draft = Draft {
            listener: self.id,
            kind: GuardKind::Malformed,
            method,
            url,
            url_cut: false,
            via_connect,
            hints: RequestHints::default(),
        };
        let detail = Some(fault.to_string());
        self.recorder.refuse(
            draft,
            Disposition::Refused,
            GuardReason::Malformed,
            detail,
            fault.status(),
        );
    }
}

/// What the first line of a refused head seems to say.
fn glimpse(bytes: &[u8]) -> (String, String) {
    let line = bytes.split(|b| matches!(b, b'\r' | b'\n')).next().unwrap_or_default();
    let mut words = line.split(|b| *b == b' ');
    let method = words
        .next()
        .filter(|m| m.len() <= MAX_METHOD && m.iter().all(u8::is_ascii_alphabetic));
    let target = words
        .next()
        .filter(|t| t.len() <= MAX_URL && t.iter().all(u8::is_ascii_graphic));
    let word = |word: Option<&[u8]>| {
        word.map(|w| String::from_utf8_lossy(w).into_owned())
            .unwrap_or_default()
    };
    (word(method), word(target.filter(|_| method.is_some())))
}

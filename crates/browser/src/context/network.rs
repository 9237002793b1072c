//! Requests as the browser tells them: who made them, what answered, and which the page still waits for.
//!
//! A request is *answered* when its response head has come and its body has ended, or has been open for [`STREAM`] since
//! then (an endless body is an answer that goes on). WebSockets, event sources, pings and reports are answered from the start.
//! What never leaves the browser (`data:`, `blob:`, `about:`) is not told.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jurat_core::observation::{AnsweredBy, Happening, RequestEnd, RequestFact};
use jurat_core::untrusted::Untrusted;

use super::console::bounded_url;
use super::outlet::Class;
use super::state::{DocumentState, SessionState, State};
use crate::cdp::Message;
use crate::cdp::protocol::network::{
    LoadingFailed, LoadingFinished, RequestServedFromCache, RequestWillBeSent, Response, ResponseReceived,
    WebSocketClosed, WebSocketCreated, WebSocketFrameError, WebTransportCreated,
};
use crate::cdp::protocol::{RequestId, TargetId};

/// How long a body may stay open after its head before the request counts as answered.
const STREAM: Duration = Duration::from_secs(1);

/// Requests that are kept open at most; the oldest is let go of beyond it.
const MOST_OPEN: usize = 20_000;

/// Documents of a tab that are remembered.
const MOST_DOCUMENTS: usize = 16;

/// One request without an end.
#[derive(Debug)]
struct Open {
    /// The name of the current hop, `id` or `id#N`.
    name: String,
    hops: u32,
    tab: Option<TargetId>,
    begun: Instant,
    head: Option<Head>,
    /// Whether the page waits for it.
    awaited: bool,
    /// Whether its method may change something (RFC 9110 9.2.1: not safe).
    changes: bool,
    cached: bool,
    /// Whether it was told: what was cut has no end either.
    told: bool,
    /// Whether its end was told already.
    ended: bool,
}

#[derive(Debug)]
struct Head {
    at: Instant,
    status: Option<u16>,
    by: AnsweredBy,
    mime: Untrusted,
}

/// The requests of a context.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: HashMap<RequestId, Open>,
    /// Counts requests that began, by tab; a page that begins one is not at rest.
    begun: HashMap<TargetId, u64>,
}

impl Requests {
    /// Requests that the tab waits for now. One that only reads and is without a head for longer than `long_poll` is a poll and no longer
    /// waited for; one that may have changed something is waited for whatever it takes.
    pub(super) fn awaited(&self, tab: &TargetId, now: Instant, long_poll: Duration) -> u32 {
        let waits = |open: &&Open| {
            open.awaited
                && open.tab.as_ref() == Some(tab)
                && match &open.head {
                    None => open.changes || now.saturating_duration_since(open.begun) < long_poll,
                    Some(head) => now.saturating_duration_since(head.at) < STREAM,
                }
        };
        u32::try_from(self.open.values().filter(waits).count()).unwrap_or(u32::MAX)
    }

    pub(super) fn begun(&self, tab: &TargetId) -> u64 {
        self.begun.get(tab).copied().unwrap_or(0)
    }

    /// What a tab that is gone still waited for.
    pub(super) fn forget(&mut self, tab: &TargetId) -> Vec<RequestEnd> {
        self.begun.remove(tab);
        let gone: Vec<RequestId> = self
            .open
            .iter()
            .filter(|(_, open)| open.tab.as_ref() == Some(tab))
            .map(|(id, _)| id.clone())
            .collect();
        gone.iter()
            .filter_map(|id| self.open.remove(id))
            .filter_map(|open| open.end(None))
            .collect()
    }
}

impl Open {
    /// How it ended; `None` when that was told, or the request was not.
    fn end(&self, error: Option<&str>) -> Option<RequestEnd> {
        if self.ended || !self.told {
            return None;
        }
        let error = error.map(|error| Untrusted::bounded(error, 256).0);
        Some(match &self.head {
            Some(head) => RequestEnd {
                id: self.name.clone(),
                status: head.status,
                answered_by: if self.cached { AnsweredBy::Cache } else { head.by },
                error,
                mime: (!head.mime.is_empty()).then(|| head.mime.clone()),
            },
            None => RequestEnd {
                id: self.name.clone(),
                status: None,
                answered_by: AnsweredBy::Nothing,
                error,
                mime: None,
            },
        })
    }
}

fn head(response: &Response, at: Instant) -> Head {
    let by = if response.from_service_worker.unwrap_or(false) {
        AnsweredBy::ServiceWorker
    } else if response.from_disk_cache.unwrap_or(false) || response.from_prefetch_cache.unwrap_or(false) {
        AnsweredBy::Cache
    } else {
        AnsweredBy::Network
    };
    let status = u16::try_from(response.status).ok().filter(|status| *status > 0);
    Head {
        at,
        status,
        by,
        mime: Untrusted::bounded(&response.mime_type, 128).0,
    }
}

/// Whether a request of this URL can leave the browser.
fn leaves(url: &str) -> bool {
    !["data:", "blob:", "about:", "chrome:", "chrome-error:", "devtools:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

impl State {
    pub(super) fn request_sent(&mut self, event: &Message, session: &SessionState) {
        let Some(Ok(sent)) = event.decode::<RequestWillBeSent>() else {
            return self.fault(event);
        };
        if !leaves(&sent.request.url) {
            return;
        }
        let kind = sent.r#type.clone().unwrap_or_default();
        let tab = session.tab.clone();
        let frame = sent.frame_id.clone();
        let main = tab
            .as_ref()
            .zip(frame.as_ref())
            .is_some_and(|(tab, frame)| tab.as_str() == frame.as_str());
        let document = main && kind == "Document" && sent.loader_id.as_str() == sent.request_id.as_str();
        let redirected = sent.redirect_response.as_ref();
        let hops = match self.requests.open.get_mut(&sent.request_id) {
            Some(open) => {
                // The same request told on a second session.
                let Some(response) = redirected else { return };
                open.head = Some(head(response, event.at));
                let ended = open.end(None);
                let hops = open.hops + 1;
                if let Some(end) = ended {
                    self.outlet.send(event.at, Happening::RequestEnd(end));
                }
                hops
            }
            None => 0,
        };
        if document {
            self.document_sent(tab.as_ref(), &sent, hops, event.at);
        }
        let name = if hops == 0 {
            sent.request_id.to_string()
        } else {
            format!("{}#{hops}", sent.request_id)
        };
        let (kind, _) = Untrusted::bounded(&kind, 64);
        let initiator = sent.initiator.r#type.clone();
        let fact = RequestFact {
            id: name.clone(),
            owner: self.owner(session, frame.as_ref()),
            method: Untrusted::bounded(&sent.request.method, 32).0.raw().to_owned(),
            url: bounded_url(&full_url(&sent.request.url, sent.request.url_fragment.as_deref())),
            kind: kind.raw().to_owned(),
            document,
            initiator: matches!(initiator.as_str(), "preflight" | "prefetch" | "preload").then_some(initiator),
        };
        let awaited = !matches!(
            kind.raw(),
            "EventSource" | "WebSocket" | "Ping" | "CSPViolationReport" | "Prefetch" | "Media"
        );
        let changes = !matches!(fact.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
        let told = self.outlet.admits(Class::Requests);
        if told {
            self.outlet.send(event.at, Happening::Request(fact));
        }
        if let Some(tab) = &tab
            && awaited
        {
            *self.requests.begun.entry(tab.clone()).or_default() += 1;
        }
        if self.requests.open.len() >= MOST_OPEN {
            self.outlet.gap(event.at, 1);
            return;
        }
        let open = Open {
            name,
            hops,
            tab,
            begun: event.at,
            head: None,
            awaited,
            changes,
            cached: false,
            told,
            ended: false,
        };
        self.requests.open.insert(sent.request_id, open);
    }

    fn document_sent(&mut self, tab: Option<&TargetId>, sent: &RequestWillBeSent, hops: u32, at: Instant) {
        let Some(tab) = tab.and_then(|target| self.tab_mut(target)) else {
            return;
        };
        let url = full_url(&sent.request.url, sent.request.url_fragment.as_deref());
        if let Some(document) = tab.document_mut(&sent.loader_id) {
            document.url = url;
            document.redirects = hops;
            return;
        }
        if tab.documents.len() >= MOST_DOCUMENTS {
            tab.documents.remove(0);
        }
        let loader = sent.loader_id.clone();
        tab.documents.push(DocumentState {
            loader,
            url,
            status: None,
            redirects: hops,
            error: None,
            at,
        });
    }

    pub(super) fn served_from_cache(&mut self, event: &Message) {
        let Some(Ok(served)) = event.decode::<RequestServedFromCache>() else {
            return self.fault(event);
        };
        if let Some(open) = self.requests.open.get_mut(&served.request_id) {
            open.cached = true;
        }
    }

    pub(super) fn response(&mut self, event: &Message) {
        let Some(Ok(received)) = event.decode::<ResponseReceived>() else {
            return self.fault(event);
        };
        let Some(open) = self.requests.open.get_mut(&received.request_id) else {
            return;
        };
        let head = head(&received.response, event.at);
        let status = head.status;
        open.head = Some(head);
        if let Some(tab) = open.tab.clone().and_then(|target| self.tab_mut(&target))
            && let Some(document) = tab.document_mut(&received.loader_id)
            && document.loader.as_str() == received.request_id.as_str()
        {
            document.status = status;
        }
    }

    pub(super) fn finished(&mut self, event: &Message) {
        let Some(Ok(finished)) = event.decode::<LoadingFinished>() else {
            return self.fault(event);
        };
        self.end(event, &finished.request_id, None);
    }

    pub(super) fn failed(&mut self, event: &Message) {
        let Some(Ok(failed)) = event.decode::<LoadingFailed>() else {
            return self.fault(event);
        };
        let tab = self
            .requests
            .open
            .get(&failed.request_id)
            .and_then(|open| open.tab.clone());
        if let Some(tab) = tab.and_then(|target| self.tab_mut(&target))
            && let Some(document) = tab.document_mut(&failed.request_id.as_str().into())
        {
            document.error = Some(failed.error_text.clone());
        }
        self.end(event, &failed.request_id, Some(&failed.error_text));
    }

    fn end(&mut self, event: &Message, id: &RequestId, error: Option<&str>) {
        if let Some(end) = self.requests.open.remove(id).and_then(|open| open.end(error)) {
            self.outlet.send(event.at, Happening::RequestEnd(end));
        }
    }

    pub(super) fn websocket(&mut self, event: &Message, session: &SessionState) {
        let Some(Ok(created)) = event.decode::<WebSocketCreated>() else {
            return self.fault(event);
        };
        self.socket(
            event,
            session,
            created.request_id,
            &created.url,
            "WEBSOCKET",
            "WebSocket",
        );
    }

    pub(super) fn webtransport(&mut self, event: &Message, session: &SessionState) {
        let Some(Ok(created)) = event.decode::<WebTransportCreated>() else {
            return self.fault(event);
        };
        self.socket(
            event,
            session,
            created.transport_id,
            &created.url,
            "WEBTRANSPORT",
            "WebTransport",
        );
    }

    fn socket(&mut self, event: &Message, session: &SessionState, id: RequestId, url: &str, method: &str, kind: &str) {
        let told = self.outlet.admits(Class::Requests);
        if told {
            let fact = RequestFact {
                id: id.to_string(),
                owner: self.owner(session, None),
                method: method.to_owned(),
                url: bounded_url(url),
                kind: kind.to_owned(),
                document: false,
                initiator: None,
            };
            self.outlet.send(event.at, Happening::Request(fact));
        }
        let open = Open {
            name: id.to_string(),
            hops: 0,
            tab: session.tab.clone(),
            begun: event.at,
            head: None,
            awaited: false,
            changes: false,
            cached: false,
            told,
            ended: false,
        };
        if self.requests.open.len() < MOST_OPEN {
            self.requests.open.insert(id, open);
        } else {
            self.outlet.gap(event.at, 1);
        }
    }

    /// The handshake of a WebSocket was answered.
    pub(super) fn websocket_answered(&mut self, event: &Message) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answered {
            request_id: RequestId,
            response: Status,
        }
        #[derive(serde::Deserialize)]
        struct Status {
            status: i64,
        }
        let Ok(answered) = serde_json::from_str::<Answered>(event.params.get()) else {
            return self.fault(event);
        };
        let Some(open) = self.requests.open.get_mut(&answered.request_id) else {
            return;
        };
        let status = u16::try_from(answered.response.status).ok();
        open.head = Some(Head {
            at: event.at,
            status,
            by: AnsweredBy::Network,
            mime: Untrusted::default(),
        });
        let end = open.end(None);
        open.ended = true;
        if let Some(end) = end {
            self.outlet.send(event.at, Happening::RequestEnd(end));
        }
    }

    pub(super) fn websocket_closed(&mut self, event: &Message) {
        let Some(Ok(closed)) = event.decode::<WebSocketClosed>() else {
            return self.fault(event);
        };
        self.end(event, &closed.request_id, None);
    }

    pub(super) fn websocket_failed(&mut self, event: &Message) {
        let Some(Ok(failed)) = event.decode::<WebSocketFrameError>() else {
            return self.fault(event);
        };
        self.end(event, &failed.request_id, Some(&failed.error_message));
    }

    /// Tells how requests are answered whose bodies stay open: their heads stand for them.
    pub(super) fn tell_streams(&mut self, now: Instant) {
        let mut ends = Vec::new();
        for open in self.requests.open.values_mut() {
            if !open.ended
                && open
                    .head
                    .as_ref()
                    .is_some_and(|head| now.saturating_duration_since(head.at) >= STREAM)
            {
                ends.extend(open.end(None));
                open.ended = true;
            }
        }
        for end in ends {
            self.outlet.send(now, Happening::RequestEnd(end));
        }
    }
}

pub(super) fn full_url(url: &str, fragment: Option<&str>) -> String {
    format!("{url}{}", fragment.unwrap_or_default())
}

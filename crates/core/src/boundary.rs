//! Violations: what went, or tried to go, off the origins that the contract names.
//!
//! The guard's log is the record of truth; what DevTools reported only says who did it. A request that only DevTools saw (because the browser refused it
//! by itself) counts as well.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::observation::{Disposition, EscapeAttempt, Event, GuardKind, Happening, Owner, RequestFact};
use crate::plan::Plan;
use crate::untrusted::Untrusted;

/// Kinds of violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// A request off the target's origin, refused.
    BlockedRequest,
    /// A refused request without an owner.
    UnattributedRequest,
    /// A tab's main frame left the target's origin.
    OriginViolation,
    /// Something in the lane tried to go past the guard.
    EscapeAttempt,
}

/// One violation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// Its kind.
    pub kind: ViolationKind,
    /// Where to.
    pub url: Untrusted,
    /// Whose.
    pub owner: Owner,
    /// The viewport that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewport: Option<String>,
    /// `seq` of the event that first showed it.
    pub seq: u64,
}

/// Whether a URL is on an origin that the contract names.
pub fn is_allowed(url: &url::Url, plan: &Plan) -> bool {
    let origin = origin_text(url);
    origin == plan.origin || plan.allow.contains(&origin)
}

/// The origin as http or https; a WebSocket's is that of the page it may be opened from.
fn origin_text(url: &url::Url) -> String {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        other => other,
    };
    let host = url.host_str().unwrap_or_default();
    match (url.port(), url.port_or_known_default()) {
        (Some(port), _) => format!("{scheme}://{host}:{port}"),
        _ => format!("{scheme}://{host}"),
    }
}

/// Whether a URL is of a third party whose refusal is expected.
pub fn is_expected_refusal(url: &url::Url, plan: &Plan) -> bool {
    let origin = origin_text(url);
    plan.refuse.iter().any(|known| {
        known == &origin
            || known.strip_prefix("https://*.").is_some_and(|suffix| {
                origin
                    .strip_prefix("https://")
                    .is_some_and(|host| host.ends_with(&format!(".{suffix}")))
            })
    })
}

/// Schemes that go over a network.
fn is_network(url: &url::Url) -> bool {
    matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp" | "file")
}

/// All violations, in order of `seq`; each kind, URL and owner once for each viewport.
pub fn violations(plan: &Plan, events: &[Event]) -> Vec<Violation> {
    let told = Told::of(events);
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    let mut add = |event: &Event, kind, url: &str, owner| {
        if known.insert((event.viewport.clone(), kind, url.to_owned(), owner)) {
            found.push(Violation {
                kind,
                url: Untrusted::new(url),
                owner,
                viewport: event.viewport.clone(),
                seq: event.seq,
            });
        }
    };
    for event in events {
        match &event.what {
            Happening::Guard(g) if g.disposition == Disposition::Refused && !g.listener.is_global() => {
                match told.request(event.viewport.as_deref(), g.kind, &g.url) {
                    Some(r) if r.owner == Owner::Browser => {}
                    // DevTools knows the path behind a tunnel, the guard only host and port.
                    Some(r) => add(event, ViolationKind::BlockedRequest, r.url.raw(), r.owner),
                    None if told.is_noise(event.viewport.as_deref(), &g.url) => {}
                    None => add(event, ViolationKind::UnattributedRequest, &g.url, Owner::Nobody),
                }
            }
            Happening::Request(r) if r.owner != Owner::Browser && is_off(r.url.raw(), plan, true) => {
                add(event, ViolationKind::BlockedRequest, r.url.raw(), r.owner);
            }
            Happening::EscapeAttempt(escape) => {
                let url = escape_url(escape);
                let owner = told.escapee(escape);
                add(event, ViolationKind::EscapeAttempt, &url, owner);
            }
            Happening::Navigation(n) if n.main && is_off(n.url.raw(), plan, false) => {
                add(event, ViolationKind::OriginViolation, n.url.raw(), n.owner);
            }
            _ => {}
        }
    }
    found
}

/// Where an escape was to go: `tcp://127.0.0.1:80`, `udp://[::1]:9`, and with the name that was looked up `udp://127.0.0.53:53/example.com`.
fn escape_url(escape: &EscapeAttempt) -> String {
    let (protocol, at) = (escape.protocol.as_str(), escape_authority(escape));
    match &escape.name {
        Some(name) => format!("{protocol}://{at}/{}", name.raw()),
        None => format!("{protocol}://{at}"),
    }
}

fn escape_authority(escape: &EscapeAttempt) -> String {
    if escape.address.contains(':') {
        format!("[{}]:{}", escape.address, escape.port)
    } else {
        format!("{}:{}", escape.address, escape.port)
    }
}

/// Whether a URL goes over a network to where the contract does not name.
fn is_off(url: &str, plan: &Plan, refusals: bool) -> bool {
    url::Url::parse(url)
        .is_ok_and(|u| is_network(&u) && !is_allowed(&u, plan) && !(refusals && is_expected_refusal(&u, plan)))
}

/// Whether the page left the origins that the contract names, in one viewport, before `seq`.
pub fn left_origin<'a>(plan: &Plan, events: &'a [Event], viewport: &str, seq: u64) -> Option<&'a Untrusted> {
    events
        .iter()
        .filter(|e| e.seq < seq && e.viewport.as_deref() == Some(viewport))
        .find_map(|e| match &e.what {
            Happening::Navigation(n) if n.main && is_off(n.url.raw(), plan, false) => Some(&n.url),
            _ => None,
        })
}

/// What DevTools told of requests, by where they went.
struct Told<'a> {
    by_url: HashMap<(Option<&'a str>, String), &'a RequestFact>,
    by_authority: HashMap<(Option<&'a str>, String), &'a RequestFact>,
    documents: BTreeSet<(Option<&'a str>, String)>,
}

impl<'a> Told<'a> {
    fn of(events: &'a [Event]) -> Self {
        let mut told = Self {
            by_url: HashMap::new(),
            by_authority: HashMap::new(),
            documents: BTreeSet::new(),
        };
        for event in events {
            let viewport = event.viewport.as_deref();
            match &event.what {
                Happening::Request(r) => {
                    told.by_url.entry((viewport, plain_url(r.url.raw()))).or_insert(r);
                    if let Some(authority) = authority(r.url.raw()) {
                        told.by_authority.entry((viewport, authority)).or_insert(r);
                    }
                }
                Happening::Navigation(n) if n.main => {
                    told.documents.extend(authority(n.url.raw()).map(|a| (viewport, a)));
                }
                _ => {}
            }
        }
        told
    }

    /// The request that DevTools reported for a record of the guard.
    fn request(&self, viewport: Option<&str>, kind: GuardKind, url: &str) -> Option<&'a RequestFact> {
        match kind {
            GuardKind::Tunnel | GuardKind::Websocket => self.by_authority.get(&(viewport, authority(url)?)).copied(),
            GuardKind::Request | GuardKind::Malformed => self.by_url.get(&(viewport, plain_url(url))).copied(),
        }
    }

    /// Who told DevTools of something that goes to the same place, in whatever viewport: the lane has one loopback for all.
    fn escapee(&self, escape: &EscapeAttempt) -> Owner {
        let at = escape_authority(escape);
        let mut owners: Vec<_> = self
            .by_authority
            .iter()
            .filter(|((_, authority), _)| *authority == at)
            .map(|(_, request)| request.owner)
            .collect();
        owners.sort_unstable();
        owners.first().copied().unwrap_or(Owner::Nobody)
    }

    /// The browser's own request for the icon of a document that was refused.
    fn is_noise(&self, viewport: Option<&str>, url: &str) -> bool {
        url::Url::parse(url).is_ok_and(|u| u.path() == "/favicon.ico")
            && authority(url).is_some_and(|a| self.documents.contains(&(viewport, a)))
    }
}

/// A URL without its fragment, a WebSocket's as the guard sees it.
fn plain_url(text: &str) -> String {
    let text = text
        .strip_prefix("ws://")
        .map_or_else(|| text.to_owned(), |rest| format!("http://{rest}"));
    match url::Url::parse(&text) {
        Ok(mut url) => {
            url.set_fragment(None);
            url.into()
        }
        Err(_) => text,
    }
}

/// `host:port` of a URL, or of the `host:port` of a tunnel.
fn authority(text: &str) -> Option<String> {
    if !text.contains("://") {
        return url::Url::parse(&format!("ftp://{text}/"))
            .ok()
            .map(|_| text.to_lowercase());
    }
    let url = url::Url::parse(text).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

//! Violations: what went, or tried to go, off the origins that the contract names.
//!
//! The guard's log is the record of truth; what DevTools reported only says who did it. A request that only DevTools saw (because the browser refused it
//! by itself) counts as well.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::observation::{Disposition, Event, GuardKind, Happening, Owner, RequestFact};
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
                origin.strip_prefix("https://").is_some_and(|host| host.ends_with(&format!(".{suffix}")))
            })
    })
}

/// Schemes that go over a network.
fn is_network(url: &url::Url) -> bool {
    matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp" | "file")
}

/// All violations, in order of `seq`; each kind, URL and owner once for each viewport.
pub fn violations(plan: &Plan, events: &[Event]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    let mut add = |event: &Event, kind, url: &str, owner| {
        if known.insert((event.viewport.clone(), kind, url.to_owned(), owner)) {
            found.push(Violation { kind, url: Untrusted::new(url), owner, viewport: event.viewport.clone(), seq: event.seq });
        }
    };
    for event in events {
        match &event.what {
            Happening::Guard(g) if g.disposition == Disposition::Refused && !g.listener.is_global() => {
                match owner_of(events, event, g.kind, &g.url) {
                    Some(Owner::Browser) => {}
                    Some(owner) => add(event, ViolationKind::BlockedRequest, &shown(events, event, g.kind, &g.url), owner),
                    None if is_noise(events, event, &g.url) => {}
                    None => add(event, ViolationKind::UnattributedRequest, &g.url, Owner::Nobody),
                }
            }
            Happening::Request(r) if r.owner != Owner::Browser => {
                if let Ok(url) = url::Url::parse(r.url.raw())
                    && is_network(&url)
                    && !is_allowed(&url, plan)
                    && !is_expected_refusal(&url, plan)
                {
                    add(event, ViolationKind::BlockedRequest, r.url.raw(), r.owner);
                }
            }
            Happening::Navigation(n) if n.main => {
                let off = url::Url::parse(n.url.raw()).is_ok_and(|u| is_network(&u) && !is_allowed(&u, plan));
                if off {
                    add(event, ViolationKind::OriginViolation, n.url.raw(), n.owner);
                }
            }
            _ => {}
        }
    }
    found
}

/// The request that DevTools reported for a record of the guard.
fn request_of<'a>(events: &'a [Event], at: &Event, kind: GuardKind, url: &str) -> Option<&'a RequestFact> {
    let requests = events.iter().filter(|e| e.viewport == at.viewport).filter_map(|e| match &e.what {
        Happening::Request(r) => Some(r),
        _ => None,
    });
    let same = |r: &&RequestFact| match kind {
        GuardKind::Tunnel | GuardKind::Websocket => same_authority(r.url.raw(), url),
        GuardKind::Request | GuardKind::Malformed => same_url(r.url.raw(), url),
    };
    requests.into_iter().find(same)
}

fn owner_of(events: &[Event], at: &Event, kind: GuardKind, url: &str) -> Option<Owner> {
    request_of(events, at, kind, url).map(|r| r.owner)
}

/// The URL to show: DevTools knows the path behind a tunnel, the guard only host and port.
fn shown(events: &[Event], at: &Event, kind: GuardKind, url: &str) -> String {
    request_of(events, at, kind, url).map_or_else(|| url.to_owned(), |r| r.url.raw().to_owned())
}

fn same_url(told: &str, guarded: &str) -> bool {
    let plain = |text: &str| {
        url::Url::parse(text).map_or_else(
            |_| text.to_owned(),
            |mut u| {
                u.set_fragment(None);
                if u.scheme() == "ws" {
                    let _ = u.set_scheme("http");
                }
                u.into()
            },
        )
    };
    plain(told) == plain(guarded)
}

fn same_authority(told: &str, guarded: &str) -> bool {
    let authority = |text: &str| {
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}/") };
        url::Url::parse(&text).ok().map(|u| {
            let default = if text.starts_with("http://") && !guarded.contains("://") { u.port() } else { u.port_or_known_default() };
            (u.host_str().map(str::to_owned), default.or_else(|| u.port_or_known_default()))
        })
    };
    authority(told).is_some() && authority(told) == authority(guarded)
}

/// The browser's own request for the icon of a document that was refused.
fn is_noise(events: &[Event], at: &Event, url: &str) -> bool {
    let Ok(icon) = url::Url::parse(url) else { return false };
    icon.path() == "/favicon.ico"
        && events.iter().filter(|e| e.viewport == at.viewport).any(|e| match &e.what {
            Happening::Navigation(n) => {
                n.main && url::Url::parse(n.url.raw()).is_ok_and(|u| u.origin() == icon.origin())
            }
            _ => false,
        })
}

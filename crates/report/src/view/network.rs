//! The network as the guard saw it, with owners as the browser told them.

use std::collections::HashMap;

use jurat_core::boundary::ViolationKind;
use jurat_core::observation::{Disposition, Event, GuardKind, GuardReason, GuardRecord, Happening, Owner};

use crate::Bounds;
use crate::read::Run;
use crate::text::{bytes, duration, moment, shown, wire, words};

/// All traffic, sorted by what it means.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) violations: Vec<Violation>,
    pub(crate) groups: Vec<Group>,
    /// Requests that were let through.
    pub(crate) forwarded: usize,
    pub(crate) canary_hits: u32,
}

/// What went, or tried to go, where it must not.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) kind: String,
    pub(crate) sentence: &'static str,
    pub(crate) url: String,
    pub(crate) owner: String,
    pub(crate) viewport: String,
}

/// A table of requests.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) note: &'static str,
    pub(crate) rows: Vec<Row>,
    /// All of them, with those that are not shown.
    pub(crate) count: usize,
    pub(crate) cut: usize,
    pub(crate) open: bool,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) at: String,
    pub(crate) viewport: String,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) status: String,
    /// It was let through, and answered with 400 or above or not at all.
    pub(crate) bad: bool,
    pub(crate) size: String,
    pub(crate) took: String,
    pub(crate) owner: String,
    pub(crate) note: String,
}

/// Who asked for what, as the browser told it: by URL, and for tunnels by host and port.
struct Owners<'a> {
    by_url: HashMap<(Option<&'a str>, String), Owner>,
    by_authority: HashMap<(Option<&'a str>, String), Owner>,
}

impl<'a> Owners<'a> {
    fn of(events: &'a [Event]) -> Self {
        let mut owners = Self {
            by_url: HashMap::new(),
            by_authority: HashMap::new(),
        };
        for event in events {
            let Happening::Request(request) = &event.what else {
                continue;
            };
            let viewport = event.viewport.as_deref();
            owners
                .by_url
                .entry((viewport, at_the_guard(request.url.raw())))
                .or_insert(request.owner);
            if let Some(authority) = authority(request.url.raw()) {
                owners
                    .by_authority
                    .entry((viewport, authority))
                    .or_insert(request.owner);
            }
        }
        owners
    }

    fn owner(&self, event: &'a Event, record: &GuardRecord) -> Option<Owner> {
        if record.listener.is_global() {
            return Some(Owner::Browser);
        }
        let key = (event.viewport.as_deref(), record.url.clone());
        let map = if record.kind == GuardKind::Tunnel {
            &self.by_authority
        } else {
            &self.by_url
        };
        map.get(&key).copied()
    }
}

/// A URL as the guard writes it: without a fragment, a WebSocket's as the handshake's.
fn at_the_guard(url: &str) -> String {
    let plain = url.split('#').next().unwrap_or(url);
    plain
        .strip_prefix("ws")
        .filter(|rest| rest.starts_with(':') || rest.starts_with("s:"))
        .map_or_else(|| plain.to_owned(), |rest| format!("http{rest}"))
}

/// `host:port` of a URL.
fn authority(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let port = if matches!(scheme, "https" | "wss") { 443 } else { 80 };
    Some(if has_port {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    })
}

/// Every request once, in order of arrival: as it ended where it did, with the time at which it came.
fn requests(events: &[Event]) -> Vec<(&Event, &GuardRecord, u64)> {
    let mut all: Vec<(&Event, &GuardRecord, u64)> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for event in events {
        let Happening::Guard(record) = &event.what else {
            continue;
        };
        match places.get(&record.seq).and_then(|place| all.get_mut(*place)) {
            Some(known) if record.ended || !known.1.ended => (known.0, known.1) = (event, record),
            Some(_) => {}
            None => {
                let before = if record.ended { record.duration_us } else { 0 };
                places.insert(record.seq, all.len());
                all.push((event, record, event.at_us.saturating_sub(before)));
            }
        }
    }
    all
}

impl Network {
    pub(crate) fn new(run: &Run, bounds: Bounds) -> Self {
        let owners = Owners::of(&run.events);
        let origin = run.plan.as_ref().map_or("", |plan| plan.origin.as_str());
        let mut forwarded = Vec::new();
        let mut expected = Vec::new();
        let mut refused = Vec::new();
        let mut background = Vec::new();
        for (event, record, at) in requests(&run.events) {
            let owner = owners.owner(event, record);
            let row = row(event, record, at, owner, origin, bounds);
            match record.disposition {
                Disposition::Forwarded => forwarded.push(row),
                Disposition::ExpectedRefusal => expected.push(row),
                _ if owner == Some(Owner::Browser) => background.push(row),
                Disposition::Refused | Disposition::MethodRefused => refused.push(row),
            }
        }
        let forwarded_count = forwarded.len();
        let groups = [
            (
                "Refused",
                "Off the origins that the contract names, or no request at all. Nothing of it got past the guard.",
                refused,
                true,
            ),
            (
                "Refused as expected",
                "Known third parties that the contract lists under refuse. Recorded, not held against the page.",
                expected,
                false,
            ),
            (
                "To the target",
                "Every request that the guard let through, as the guard saw it.",
                forwarded,
                forwarded_count <= 30,
            ),
            (
                "The browser's own",
                "What the browser asked for by itself. Refused, recorded, not held against the page.",
                background,
                false,
            ),
        ];
        let groups =
            groups
                .into_iter()
                .filter(|(_, _, rows, _)| !rows.is_empty())
                .map(|(title, note, mut rows, open)| {
                    let count = rows.len();
                    rows.truncate(bounds.rows);
                    Group {
                        title,
                        note,
                        cut: count - rows.len(),
                        count,
                        rows,
                        open,
                    }
                });
        Self {
            violations: violations(run, bounds),
            groups: groups.collect(),
            forwarded: forwarded_count,
            canary_hits: run.verdict.as_ref().map_or(0, |verdict| verdict.canary_hits),
        }
    }
}

fn violations(run: &Run, bounds: Bounds) -> Vec<Violation> {
    let all = run
        .verdict
        .as_ref()
        .map(|verdict| verdict.violations.as_slice())
        .unwrap_or_default();
    all.iter()
        .take(bounds.rows)
        .map(|violation| Violation {
            kind: wire(&violation.kind),
            sentence: match violation.kind {
                ViolationKind::BlockedRequest => "A request off the target's origin, refused",
                ViolationKind::UnattributedRequest => "A refused request that nobody owns",
                ViolationKind::OriginViolation => "The page itself left the target's origin",
                ViolationKind::EscapeAttempt => "Something in the lane tried to go past the guard",
            },
            url: shown(violation.url.raw(), bounds.text.min(500)),
            owner: words(&wire(&violation.owner)),
            viewport: violation
                .viewport
                .as_ref()
                .map(|viewport| shown(viewport, 60))
                .unwrap_or_default(),
        })
        .collect()
}

fn row(event: &Event, record: &GuardRecord, at: u64, owner: Option<Owner>, origin: &str, bounds: Bounds) -> Row {
    let path = record
        .url
        .strip_prefix(origin)
        .filter(|path| path.starts_with('/'))
        .unwrap_or(&record.url);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(
        record
            .reason
            .filter(|reason| *reason != GuardReason::OffOrigin)
            .map(|reason| words(&wire(&reason))),
    );
    notes.extend(record.detail.as_ref().map(|detail| shown(detail, 200)));
    for (flag, word) in [
        (record.kind == GuardKind::Websocket, "WebSocket"),
        (record.tunnelled, "tunnelled"),
        (record.resent, "resent"),
        (record.aborted, "aborted"),
        (!record.ended, "not ended"),
    ] {
        if flag {
            notes.push(word.to_owned());
        }
    }
    Row {
        at: moment(at),
        viewport: event
            .viewport
            .as_ref()
            .map(|viewport| shown(viewport, 60))
            .unwrap_or_default(),
        method: shown(&record.method, 20),
        url: shown(path, bounds.text.min(300)),
        status: record.status.map(|status| status.to_string()).unwrap_or_default(),
        bad: record.disposition == Disposition::Forwarded && record.status.is_none_or(|status| status >= 400),
        size: bytes(record.response_bytes),
        took: duration(record.duration_us),
        owner: owner.map(|owner| words(&wire(&owner))).unwrap_or_default(),
        note: notes.join(", "),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

    use super::*;

    #[test]
    fn an_announcement_and_its_end_are_one_request() {
        let event = |at_us: u64, seq: u64, duration: u64, ended: bool| -> Event {
            let text = format!(
                r#"{{"seq":{at_us},"at_us":{at_us},"viewport":"desktop","what":{{"event":"guard","seq":{seq},"at_us":9000000,
                "listener":1,"kind":"request","disposition":"forwarded","method":"GET","url":"http://127.0.0.1:1/",
                "request_bytes":0,"response_bytes":0,"duration_us":{duration},"ended":{ended}}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let events = [
            event(100, 1, 0, false),
            event(110, 2, 0, false),
            event(150, 1, 50, true),
            event(250, 3, 50, true),
        ];
        let found: Vec<_> = requests(&events)
            .into_iter()
            .map(|(_, r, at)| (r.seq, r.ended, at))
            .collect();
        assert_eq!(found, [(1, true, 100), (2, false, 110), (3, true, 200)]);
    }

    #[test]
    fn urls_of_the_browser_are_found_at_the_guard() {
        for (browser, guard) in [
            ("http://a:1/x?y#z", "http://a:1/x?y"),
            ("ws://a:1/live", "http://a:1/live"),
            ("wss://a/live", "https://a/live"),
            ("wsx://a/", "wsx://a/"),
        ] {
            assert_eq!(at_the_guard(browser), guard);
        }
        for (url, host) in [
            ("https://a.b/x", "a.b:443"),
            ("ws://[::1]:9/x", "[::1]:9"),
            ("http://[::1]/", "[::1]:80"),
        ] {
            assert_eq!(authority(url).as_deref(), Some(host), "{url}");
        }
    }
}

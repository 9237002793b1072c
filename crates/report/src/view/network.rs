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
    /// A status of 400 or above, or none.
    pub(crate) bad: bool,
    pub(crate) size: String,
    pub(crate) took: String,
    pub(crate) owner: String,
    pub(crate) note: String,
}

type Owners<'a> = HashMap<(Option<&'a str>, &'a str), Owner>;

impl Network {
    pub(crate) fn new(run: &Run, bounds: Bounds) -> Self {
        let owners: Owners<'_> = run
            .events
            .iter()
            .filter_map(|event| match &event.what {
                Happening::Request(request) => Some(((event.viewport.as_deref(), request.url.raw()), request.owner)),
                _ => None,
            })
            .collect();
        let origin = run.plan.as_ref().map_or("", |plan| plan.origin.as_str());
        let mut forwarded = Vec::new();
        let mut expected = Vec::new();
        let mut refused = Vec::new();
        let mut background = Vec::new();
        for event in &run.events {
            let Happening::Guard(record) = &event.what else {
                continue;
            };
            let owner = owner(event, record, &owners);
            let row = row(event, record, owner, origin, bounds);
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
                "Off the origins that the contract names, or no request at all. Nothing of it left this machine's guard.",
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

fn owner(event: &Event, record: &GuardRecord, owners: &Owners<'_>) -> Option<Owner> {
    if record.listener.is_global() {
        return Some(Owner::Browser);
    }
    let viewport = event.viewport.as_deref();
    owners.get(&(viewport, record.url.as_str())).copied().or_else(|| {
        // A handshake is `http` at the guard and `ws` in the browser; of a tunnel the guard knows host and port alone.
        let same = |url: &str| match record.kind {
            GuardKind::Websocket => url
                .strip_prefix("ws")
                .is_some_and(|rest| record.url.strip_prefix("http") == Some(rest)),
            GuardKind::Tunnel => url
                .split("://")
                .nth(1)
                .is_some_and(|rest| rest.starts_with(&record.url)),
            GuardKind::Request | GuardKind::Malformed => url.split('#').next() == Some(&record.url),
        };
        owners
            .iter()
            .filter(|((of, url), _)| *of == viewport && same(url))
            .map(|(_, owner)| *owner)
            .min()
    })
}

fn row(event: &Event, record: &GuardRecord, owner: Option<Owner>, origin: &str, bounds: Bounds) -> Row {
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
        at: moment(record.at_us),
        viewport: event
            .viewport
            .as_ref()
            .map(|viewport| shown(viewport, 60))
            .unwrap_or_default(),
        method: shown(&record.method, 20),
        url: shown(path, bounds.text.min(300)),
        status: record.status.map(|status| status.to_string()).unwrap_or_default(),
        bad: record.status.is_none_or(|status| status >= 400),
        size: bytes(record.response_bytes),
        took: duration(record.duration_us),
        owner: owner.map(|owner| words(&wire(&owner))).unwrap_or_default(),
        note: notes.join(", "),
    }
}

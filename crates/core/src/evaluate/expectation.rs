//! Whether an expectation holds, from facts alone.

use std::collections::BTreeSet;

use crate::aria;
use crate::contract::{Expectation, Locator, RequestMade};
use crate::observation::{
    AnsweredBy, Checked, Disposition, Element, Event, GuardKind, Happening, LogMark, Painted, RequestEnd, RequestFact,
};
use crate::plan::Plan;
use crate::reason::{Reason, ReasonClass, ReasonDetail};
use crate::untrusted::Untrusted;

use super::facts::{Facts, events_of};
use super::matching::{self, describe, fold, short};
use super::visibility::{Sight, sight};

/// What became of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It holds.
    Met,
    /// It does not hold now, or cannot be told.
    Not {
        /// Why.
        reason: Reason,
        /// What was seen instead.
        seen: Untrusted,
    },
    /// Only a pixel proof of this match can tell (index among the probe's elements).
    NeedsProof(usize),
}

impl Decision {
    /// It does not hold.
    pub fn unmet(detail: ReasonDetail, seen: impl Into<String>) -> Self {
        Self::Not {
            reason: Reason::new(ReasonClass::ExpectationNotMet, detail),
            seen: Untrusted::new(seen),
        }
    }

    /// It cannot be told.
    pub fn missing(detail: ReasonDetail, seen: impl Into<String>) -> Self {
        Self::Not {
            reason: Reason::new(ReasonClass::EvidenceMissing, detail),
            seen: Untrusted::new(seen),
        }
    }
}

/// What an expectation is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The viewport.
    pub viewport: &'a str,
    /// The event log so far.
    pub events: &'a [Event],
    /// Whether what showed and went again since the last action counts (`expect`, not `wait`).
    pub strict: bool,
}

/// Whether an expectation holds.
pub fn decide(expectation: &Expectation, facts: &Facts<'_>, setting: Setting<'_>) -> Decision {
    match expectation {
        Expectation::UrlIs(_) | Expectation::UrlPrefix(_) | Expectation::TitleEquals(_) => {
            page(expectation, facts, setting)
        }
        Expectation::AriaSnapshot(a) => aria_snapshot(&a.template, a.locator.as_ref(), facts),
        Expectation::Request(r) => request(r, facts, setting),
        Expectation::ConsoleClean(_) => console(facts, setting),
        Expectation::Visible(l) => visible(l, facts),
        Expectation::Hidden(l) => hidden(l, facts, setting),
        Expectation::Absent(l) => absent(l, facts, setting),
        Expectation::Count(c) => count(&c.locator, c.value, facts),
        Expectation::Present(l) => with_one(l, facts, |_| Decision::Met),
        Expectation::Checked(l) => with_one(l, facts, |e| match e.checked {
            Some(Checked::True) => Decision::Met,
            Some(_) => Decision::unmet(ReasonDetail::NotChecked, format!("{} is not checked", describe(e))),
            None => Decision::unmet(ReasonDetail::NotCheckable, describe(e)),
        }),
        Expectation::TextEquals(v) => with_one(&v.locator, facts, |e| text(e, |t| t == fold(&v.value))),
        Expectation::TextContains(v) => with_one(&v.locator, facts, |e| text(e, |t| t.contains(&fold(&v.value)))),
        Expectation::ValueEquals(v) => with_one(&v.locator, facts, |e| match &e.value {
            Some(value) if value.raw() == v.value => Decision::Met,
            Some(value) => Decision::unmet(ReasonDetail::ValueDiffers, format!("{:?}", short(value.raw()))),
            None => Decision::unmet(ReasonDetail::ValueDiffers, format!("{} has no value", describe(e))),
        }),
        Expectation::AttributeEquals(a) => with_one(&a.locator, facts, |e| match e.attributes.get(&a.attribute) {
            Some(value) if value.raw() == a.value => Decision::Met,
            Some(value) => Decision::unmet(
                ReasonDetail::AttributeDiffers,
                format!("{}={:?}", a.attribute, short(value.raw())),
            ),
            None => Decision::unmet(ReasonDetail::AttributeDiffers, format!("no attribute {}", a.attribute)),
        }),
    }
}

/// Decides on the one element that a strict locator names.
fn with_one(locator: &Locator, facts: &Facts<'_>, then: impl FnOnce(&Element) -> Decision) -> Decision {
    let Some((_, probe)) = facts.probe else {
        return nothing_seen();
    };
    match matching::one(locator, probe) {
        Ok(element) => then(element),
        Err(ReasonDetail::FrameUnread) => Decision::missing(ReasonDetail::FrameUnread, "a frame could not be read"),
        Err(ReasonDetail::Ambiguous) => Decision::unmet(ReasonDetail::Ambiguous, list_matches(locator, facts)),
        Err(detail) => Decision::unmet(detail, list_nearest(facts)),
    }
}

fn visible(locator: &Locator, facts: &Facts<'_>) -> Decision {
    let Some((_, probe)) = facts.probe else {
        return nothing_seen();
    };
    with_one(locator, facts, |e| match sight(&e.layout) {
        Sight::Visible => Decision::Met,
        Sight::Hidden(why) => Decision::unmet(why, hidden_how(e, why)),
        Sight::NeedsProof => Decision::NeedsProof(index_of(probe.elements.as_slice(), e)),
        Sight::Undecided => Decision::missing(ReasonDetail::VisibilityUndecided, describe(e)),
    })
}

/// Why it cannot be seen, for people.
fn hidden_how(element: &Element, why: ReasonDetail) -> String {
    let cover = element.layout.tops.iter().find_map(|t| t.other.as_ref());
    match (why, cover) {
        (ReasonDetail::Covered, Some(other)) => format!("{} is covered by {}", describe(element), other.raw()),
        _ => format!(
            "{} is in the page but cannot be seen: {}",
            describe(element),
            why.sentence()
        ),
    }
}

fn hidden(locator: &Locator, facts: &Facts<'_>, setting: Setting<'_>) -> Decision {
    let Some((_, probe)) = facts.probe else {
        return nothing_seen();
    };
    let (found, more) = matching::all(locator, probe);
    for element in &found {
        match sight(&element.layout) {
            Sight::Visible => {
                return Decision::unmet(ReasonDetail::StillVisible, format!("{} is visible", describe(element)));
            }
            Sight::NeedsProof => return Decision::NeedsProof(index_of(probe.elements.as_slice(), element)),
            Sight::Undecided => return Decision::missing(ReasonDetail::VisibilityUndecided, describe(element)),
            Sight::Hidden(_) => {}
        }
    }
    if more || !probe.unread_frames.is_empty() {
        return Decision::missing(ReasonDetail::FrameUnread, "not everything that could match was read");
    }
    held(facts, setting, true)
}

fn absent(locator: &Locator, facts: &Facts<'_>, setting: Setting<'_>) -> Decision {
    let Some((_, probe)) = facts.probe else {
        return nothing_seen();
    };
    let (found, _) = matching::all(locator, probe);
    if let Some(element) = found.first() {
        return Decision::unmet(ReasonDetail::StillPresent, format!("{} is there", describe(element)));
    }
    if !probe.unread_frames.is_empty() {
        return Decision::missing(ReasonDetail::FrameUnread, "a frame could not be read");
    }
    held(facts, setting, true)
}

/// What a negative needs beyond the last look: that it held, and that nothing was painted in between.
fn held(facts: &Facts<'_>, setting: Setting<'_>, painted: bool) -> Decision {
    if painted && setting.strict {
        let Some((_, seen)) = facts.painted else {
            return Decision::missing(
                ReasonDetail::NoObservation,
                "what was painted since the last action is not known",
            );
        };
        if let Some(decision) = appeared(seen) {
            return decision;
        }
    }
    match facts.held {
        Some((_, held)) if held.window_us >= setting.plan.hold_ms * 1000 => Decision::Met,
        _ => Decision::missing(
            ReasonDetail::NoObservation,
            "it was not looked at over the settle window",
        ),
    }
}

/// Whether a match came into sight since the last action.
///
/// What could be seen when the action was sent may go away; what comes is held against it.
fn appeared(painted: &Painted) -> Option<Decision> {
    let mut least = painted.before;
    let mut unsure = false;
    for sample in &painted.samples {
        if sample.seen > least {
            let text = sample.text.as_ref().map_or("", Untrusted::raw);
            let seen = format!(
                "{:?} could be seen {} ms after the last action",
                short(text),
                sample.at_us / 1000
            );
            return Some(Decision::unmet(ReasonDetail::SeenSinceLastAction, seen));
        }
        unsure |= sample.seen + sample.unsure > least;
        least = least.min(sample.seen);
    }
    if painted.lost || painted.cut > 0 {
        return Some(Decision::missing(
            ReasonDetail::EventsLost,
            "what was painted since the last action was lost",
        ));
    }
    unsure.then(|| {
        Decision::missing(
            ReasonDetail::VisibilityUndecided,
            "it may have been visible since the last action",
        )
    })
}

fn count(locator: &Locator, wanted: u32, facts: &Facts<'_>) -> Decision {
    let Some((_, probe)) = facts.probe else {
        return nothing_seen();
    };
    let (found, more) = matching::all(locator, probe);
    let seen = if more {
        probe.matches
    } else {
        u32::try_from(found.len()).unwrap_or(u32::MAX)
    };
    if !probe.unread_frames.is_empty() {
        return Decision::missing(ReasonDetail::FrameUnread, "a frame could not be read");
    }
    if seen == wanted {
        Decision::Met
    } else {
        Decision::unmet(ReasonDetail::CountDiffers, format!("{seen}"))
    }
}

fn text(element: &Element, holds: impl FnOnce(&str) -> bool) -> Decision {
    let seen = fold(element.text.raw());
    if holds(&seen) {
        Decision::Met
    } else if element.text_cut {
        Decision::missing(ReasonDetail::EventsLost, "its text is too long to be read whole")
    } else {
        Decision::unmet(ReasonDetail::TextDiffers, format!("{:?}", short(&seen)))
    }
}

fn page(expectation: &Expectation, facts: &Facts<'_>, setting: Setting<'_>) -> Decision {
    let Some((_, page)) = facts.page else {
        return nothing_seen();
    };
    let resolve = |text: &str| {
        url::Url::parse(&setting.plan.url)
            .ok()
            .and_then(|base| base.join(text).ok())
            .map(String::from)
    };
    let actual = url::Url::parse(page.url.raw()).map_or_else(|_| page.url.raw().to_owned(), String::from);
    let (holds, detail, seen) = match expectation {
        Expectation::UrlIs(u) => (
            resolve(u).is_some_and(|u| u == actual),
            ReasonDetail::UrlDiffers,
            page.url.raw(),
        ),
        Expectation::UrlPrefix(u) => (
            resolve(u).is_some_and(|u| prefix_holds(&u, &actual)),
            ReasonDetail::UrlDiffers,
            page.url.raw(),
        ),
        Expectation::TitleEquals(t) => (page.title.raw() == t, ReasonDetail::TitleDiffers, page.title.raw()),
        _ => return nothing_seen(),
    };
    if holds {
        Decision::Met
    } else {
        Decision::unmet(detail, short(seen))
    }
}

/// A prefix that ends at a path segment.
fn prefix_holds(prefix: &str, actual: &str) -> bool {
    actual
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || prefix.ends_with('/') || rest.starts_with(['/', '?', '#']))
}

fn aria_snapshot(template: &str, locator: Option<&Locator>, facts: &Facts<'_>) -> Decision {
    if let Some(locator) = locator {
        let found = with_one(locator, facts, |_| Decision::Met);
        if found != Decision::Met {
            return found;
        }
    }
    let Some((_, tree)) = facts.aria else {
        return nothing_seen();
    };
    let Ok(template) = aria::Template::parse(template) else {
        return Decision::missing(ReasonDetail::NoObservation, "the template cannot be read");
    };
    match aria::matches(&template, &tree.nodes) {
        Ok(()) => Decision::Met,
        Err(_) if tree.cut => Decision::missing(
            ReasonDetail::EventsLost,
            "the accessibility tree is too large to be read whole",
        ),
        Err(mismatch) => Decision::unmet(ReasonDetail::TreeDiffers, mismatch.to_string()),
    }
}

fn console(facts: &Facts<'_>, setting: Setting<'_>) -> Decision {
    let Some((_, mark)) = facts.log else {
        return nothing_seen();
    };
    for event in events_of(setting.events, setting.viewport, mark) {
        match &event.what {
            Happening::Console(c) if c.level == "error" => {
                return Decision::unmet(ReasonDetail::ConsoleError, short(c.text.raw()));
            }
            Happening::Exception(e) if e.rejection => {
                return Decision::unmet(ReasonDetail::UnhandledRejection, short(e.text.raw()));
            }
            Happening::Exception(e) => return Decision::unmet(ReasonDetail::UncaughtException, short(e.text.raw())),
            Happening::Gap { .. } => {
                return Decision::missing(ReasonDetail::EventsLost, "part of the console was lost");
            }
            _ => {}
        }
    }
    held(facts, setting, false)
}

fn request(wanted: &RequestMade, facts: &Facts<'_>, setting: Setting<'_>) -> Decision {
    let Some((_, mark)) = facts.log else {
        return nothing_seen();
    };
    let events: Vec<_> = events_of(setting.events, setting.viewport, mark).collect();
    let asked: Vec<&RequestFact> = events
        .iter()
        .filter_map(|e| match &e.what {
            Happening::Request(r) if r.method == wanted.method && path_is(r.url.raw(), &wanted.path, setting.plan) => {
                Some(r)
            }
            _ => None,
        })
        .collect();
    let end_of = |r: &RequestFact| {
        events.iter().find_map(|e| match &e.what {
            Happening::RequestEnd(end) if end.id == r.id => Some(end),
            _ => None,
        })
    };
    let passed_guard = |r: &RequestFact| {
        events.iter().any(|e| match &e.what {
            Happening::Guard(g) => {
                // A preflight is no request of the page's: only one with its own method has left.
                let own = g.url == without_fragment(r.url.raw()) && g.method == sent_method(r);
                g.disposition == Disposition::Forwarded && (own || g.url.starts_with(&tunnel_of(r)))
            }
            _ => false,
        })
    };
    let inside = |end: Option<&RequestEnd>| {
        end.is_some_and(|e| matches!(e.answered_by, AnsweredBy::Cache | AnsweredBy::ServiceWorker))
    };
    let left: Vec<_> = asked.iter().filter(|r| !inside(end_of(r)) && passed_guard(r)).collect();
    let untold = untold(wanted, mark, setting);
    let fitting = left
        .iter()
        .filter(|r| {
            wanted
                .status
                .is_none_or(|s| end_of(r).and_then(|e| e.status) == Some(s))
        })
        .count()
        + untold;
    let enough = wanted.count.map_or(fitting >= 1, |n| fitting == n as usize);
    if enough {
        return if wanted.count.is_some() {
            held(facts, setting, false)
        } else {
            Decision::Met
        };
    }
    let seen = format!(
        "{fitting} of {} {} left the browser",
        asked.len() + untold,
        wanted.method
    );
    if fitting == 0 && asked.iter().any(|r| inside(end_of(r))) {
        Decision::unmet(
            ReasonDetail::RequestFromCache,
            "it was answered by the cache or a service worker",
        )
    } else if left.len() + untold != fitting {
        let statuses: Vec<String> = left
            .iter()
            .filter_map(|r| end_of(r).and_then(|e| e.status))
            .map(|s| s.to_string())
            .collect();
        Decision::unmet(
            ReasonDetail::RequestStatusDiffers,
            format!("answered with {}", statuses.join(", ")),
        )
    } else {
        Decision::unmet(ReasonDetail::RequestCountDiffers, seen)
    }
}

/// Requests since the mark that only the guard saw: DevTools does not tell of a beacon that a closing page sends. They are what the guard
/// forwarded beyond what was told in the whole viewport; what was cut before its answer was sent again by Chromium and is none.
fn untold(wanted: &RequestMade, mark: &LogMark, setting: Setting<'_>) -> usize {
    let whole = LogMark {
        since: 0,
        ..mark.clone()
    };
    let forwarded = |mark: &LogMark| {
        let mut known = BTreeSet::new();
        for event in events_of(setting.events, setting.viewport, mark) {
            if let Happening::Guard(g) = &event.what
                && g.disposition == Disposition::Forwarded
                && g.kind == GuardKind::Request
                && g.method == wanted.method
                && path_is(&g.url, &wanted.path, setting.plan)
                && wanted.status.is_none_or(|status| g.status == Some(status))
            {
                if g.aborted {
                    known.remove(&g.seq);
                } else {
                    known.insert(g.seq);
                }
            }
        }
        known.len()
    };
    let inside: BTreeSet<&str> = events_of(setting.events, setting.viewport, &whole)
        .filter_map(|e| match &e.what {
            Happening::RequestEnd(end) if matches!(end.answered_by, AnsweredBy::Cache | AnsweredBy::ServiceWorker) => {
                Some(&*end.id)
            }
            _ => None,
        })
        .collect();
    let told = events_of(setting.events, setting.viewport, &whole)
        .filter(|e| match &e.what {
            Happening::Request(r) => {
                let wanted = r.method == wanted.method && path_is(r.url.raw(), &wanted.path, setting.plan);
                wanted && !inside.contains(&*r.id)
            }
            _ => false,
        })
        .count();
    forwarded(&whole).saturating_sub(told).min(forwarded(mark))
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// The method on the wire.
fn sent_method(request: &RequestFact) -> &str {
    if request.method == "WEBSOCKET" {
        "GET"
    } else {
        &request.method
    }
}

/// How a tunnelled request stands in the guard's log: `https://host:port/`.
fn tunnel_of(request: &RequestFact) -> String {
    url::Url::parse(request.url.raw())
        .ok()
        .filter(|u| u.scheme() == "https")
        .map_or_else(|| "\0".into(), |u| u.origin().ascii_serialization())
}

fn path_is(url: &str, path: &str, plan: &Plan) -> bool {
    let Ok(url) = url::Url::parse(url) else { return false };
    let origin = url.origin().ascii_serialization();
    if origin != plan.origin && !plan.allow.contains(&origin) {
        return false;
    }
    let (path_only, query) = (url.path(), url.query());
    if path.contains('?') {
        query.map_or_else(|| format!("{path_only}?"), |q| format!("{path_only}?{q}")) == path
    } else {
        path_only == path
    }
}

fn nothing_seen() -> Decision {
    Decision::missing(ReasonDetail::NoObservation, "nothing was recorded")
}

fn index_of(all: &[Element], one: &Element) -> usize {
    all.iter().position(|e| std::ptr::eq(e, one)).unwrap_or(0)
}

/// The matches of an ambiguous locator.
pub(super) fn list_matches(locator: &Locator, facts: &Facts<'_>) -> String {
    let Some((_, probe)) = facts.probe else {
        return String::new();
    };
    let (found, _) = matching::all(locator, probe);
    let mut lines: Vec<_> = found
        .iter()
        .take(5)
        .map(|e| format!("{} at {}", describe(e), e.path.raw()))
        .collect();
    let count = (probe.matches as usize).max(found.len());
    if count > 5 {
        lines.push(format!("and {} more", count - 5));
    }
    format!("{count} matches: {}", lines.join("; "))
}

/// The nearest things that do not match.
pub(super) fn list_nearest(facts: &Facts<'_>) -> String {
    match facts.probe {
        Some((_, probe)) if !probe.near.is_empty() => {
            let near: Vec<_> = probe.near.iter().map(Untrusted::raw).collect();
            format!("nothing; nearest: {}", near.join("; "))
        }
        _ => "nothing".into(),
    }
}

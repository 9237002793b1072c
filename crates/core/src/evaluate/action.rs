//! What became of an action, from facts alone.

use crate::contract::{Accept, Action, DialogAnswer, Step};
use crate::observation::{ActionFact, DocumentFact, Obstacle};
use crate::reason::{Reason, ReasonClass, ReasonDetail};
use crate::untrusted::Untrusted;

use super::actionable::{Needs, ready};
use super::expectation::{Decision, list_matches, list_nearest};
use super::facts::Facts;
use super::matching::{self, describe, short};

/// What became of an action step.
pub fn decide(step: &Step, facts: &Facts<'_>) -> Decision {
    let Some((_, fact)) = facts.action else {
        return Decision::missing(ReasonDetail::NoObservation, "nothing was recorded");
    };
    if let Some(obstacle) = fact.obstacle {
        return not_possible(detail_of(obstacle), "");
    }
    if matches!(step.action, Action::Navigate(_)) && fact.document.is_none() {
        return Decision::missing(ReasonDetail::NoObservation, "the document was not seen");
    }
    if let Some(document) = &fact.document {
        let decision = document_came(document);
        if decision != Decision::Met {
            return decision;
        }
    }
    if !fact.dispatched {
        return not_ready(&step.action, facts);
    }
    if let Some(received) = fact.received.as_ref().filter(|r| !r.own) {
        let other = received.other.as_ref().map_or("", Untrusted::raw);
        return not_possible(ReasonDetail::HitOtherElement, &format!("{other} received the event"));
    }
    if !fact.acknowledged {
        let reason = Reason::new(ReasonClass::PageUnresponsive, ReasonDetail::NoAnswer);
        return Decision::Not {
            reason,
            seen: Untrusted::new("the page did not take the input in time"),
        };
    }
    if let Some(decision) = value_taken(&step.action, fact) {
        return decision;
    }
    step.dialog
        .as_ref()
        .and_then(|wanted| dialog(wanted, fact))
        .unwrap_or(Decision::Met)
}

/// What became of the opening of the page.
pub fn opened(facts: &Facts<'_>) -> Decision {
    match facts.action.and_then(|(_, fact)| fact.document.as_ref()) {
        Some(document) => document_came(document),
        None => Decision::missing(ReasonDetail::NoObservation, "nothing was recorded"),
    }
}

/// Why a `wait` or `expect` could not even be looked at: its tab never came.
pub fn obstructed(facts: &Facts<'_>) -> Option<Decision> {
    let obstacle = facts.action?.1.obstacle?;
    Some(not_possible(detail_of(obstacle), ""))
}

fn not_possible(detail: ReasonDetail, seen: &str) -> Decision {
    let seen = if seen.is_empty() { detail.sentence() } else { seen };
    Decision::Not {
        reason: Reason::new(ReasonClass::ActionNotPossible, detail),
        seen: Untrusted::new(seen),
    }
}

/// Why the action was never sent.
fn not_ready(action: &Action, facts: &Facts<'_>) -> Decision {
    let (Some(locator), Some(needs), Some((_, probe))) = (action.locator(), Needs::of(action), facts.probe) else {
        return Decision::missing(ReasonDetail::NoObservation, "nothing was recorded");
    };
    let (locator, needs) = match action {
        // Where the second element of a drag was not ready, the look was for that one.
        Action::Drag(drag) if probe.matches > 0 && matching::one(locator, probe) == Err(ReasonDetail::NotFound) => {
            (&drag.to, Needs::of_target(needs))
        }
        _ => (locator, needs),
    };
    match ready(locator, probe, needs) {
        Ok(_) => Decision::missing(ReasonDetail::NoObservation, "it could have been done, and was not"),
        Err(ReasonDetail::FrameUnread) => Decision::missing(ReasonDetail::FrameUnread, "a frame could not be read"),
        Err(ReasonDetail::VisibilityUndecided) => {
            Decision::missing(ReasonDetail::VisibilityUndecided, "whether it can be seen is not known")
        }
        Err(ReasonDetail::Ambiguous) => not_possible(ReasonDetail::Ambiguous, &list_matches(locator, facts)),
        Err(ReasonDetail::NotFound) => not_possible(ReasonDetail::NotFound, &list_nearest(facts)),
        Err(detail) => {
            let element = matching::one(locator, probe);
            let what = element.map(describe).unwrap_or_default();
            let hit = element
                .ok()
                .and_then(|e| e.layout.hit.as_ref())
                .and_then(|h| h.other.as_ref());
            match (detail, hit) {
                (ReasonDetail::HitOtherElement, Some(other)) => {
                    not_possible(detail, &format!("{what} is covered by {}", other.raw()))
                }
                _ => not_possible(detail, &format!("{what}: {}", detail.sentence())),
            }
        }
    }
}

fn detail_of(obstacle: Obstacle) -> ReasonDetail {
    match obstacle {
        Obstacle::NotEditable => ReasonDetail::NotEditable,
        Obstacle::NotASelect => ReasonDetail::NotASelect,
        Obstacle::NoSuchOption => ReasonDetail::NoSuchOption,
        Obstacle::NotCheckable => ReasonDetail::NotCheckable,
        Obstacle::NoFileChooser => ReasonDetail::NoFileChooser,
        Obstacle::NoPopup => ReasonDetail::NoPopup,
        Obstacle::NoHistory => ReasonDetail::NoHistory,
        Obstacle::BadValue => ReasonDetail::BadValue,
        Obstacle::NoFile => ReasonDetail::NoFile,
        Obstacle::DialogOpen => ReasonDetail::DialogOpen,
    }
}

/// What a navigation brought.
fn document_came(document: &DocumentFact) -> Decision {
    let fail = |detail, seen: String| Decision::Not {
        reason: Reason::new(ReasonClass::NavigationFailed, detail),
        seen: Untrusted::new(seen),
    };
    let unreachable = |detail, seen: String| Decision::Not {
        reason: Reason::new(ReasonClass::TargetUnreachable, detail),
        seen: Untrusted::new(seen),
    };
    let error = document.error.as_ref().map_or("", Untrusted::raw);
    if document.unreachable {
        return unreachable(
            ReasonDetail::ConnectionRefused,
            format!("nothing answers at {}", short(document.url.raw())),
        );
    }
    if error.contains("TOO_MANY_REDIRECTS") {
        return fail(
            ReasonDetail::RedirectLoop,
            format!("{} redirects without end", short(document.requested.raw())),
        );
    }
    if let Some(status) = document.status.filter(|s| *s >= 400) {
        return fail(
            ReasonDetail::HttpStatus,
            format!("{} answered {status}", short(document.url.raw())),
        );
    }
    if error.contains("EMPTY_RESPONSE") || error.contains("CONNECTION_RESET") || error.contains("CONNECTION_CLOSED") {
        return unreachable(ReasonDetail::EmptyResponse, error.to_owned());
    }
    if error.contains("TIMED_OUT") || (document.status.is_none() && error.is_empty()) {
        let reason = Reason::new(ReasonClass::PageUnresponsive, ReasonDetail::NoAnswer);
        return Decision::Not {
            reason,
            seen: Untrusted::new("no document came in time"),
        };
    }
    if !error.is_empty() {
        return fail(ReasonDetail::NoDocument, error.to_owned());
    }
    Decision::Met
}

/// Whether a control took what it was given.
fn value_taken(action: &Action, fact: &ActionFact) -> Option<Decision> {
    let (given, after) = (fact.given.as_ref()?, fact.after.as_ref()?);
    let strict = matches!(
        action,
        Action::Check(_) | Action::Uncheck(_) | Action::Select(_) | Action::Upload(_)
    );
    if after == given {
        return None;
    }
    // A control may format what it takes; it did not take it when nothing changed.
    let unchanged = fact.before.as_ref() == Some(after) && !given.is_empty();
    (strict || unchanged).then(|| {
        not_possible(
            ReasonDetail::ValueNotTaken,
            &format!("it shows {:?} afterwards", short(after.raw())),
        )
    })
}

/// Whether the dialog that a step names opened.
fn dialog(wanted: &DialogAnswer, fact: &ActionFact) -> Option<Decision> {
    // One that says something else is answered as if nothing had been said of it.
    let Some(opened) = fact.dialogs.iter().find(|d| d.expected) else {
        return Some(match fact.dialogs.iter().find(|d| d.kind != "beforeunload") {
            Some(other) => not_met(ReasonDetail::DialogDiffers, format!("{:?}", short(other.message.raw()))),
            None => not_met(ReasonDetail::NoDialog, String::new()),
        });
    };
    if wanted
        .message
        .as_ref()
        .is_some_and(|m| m.as_str() != opened.message.raw())
    {
        return Some(not_met(
            ReasonDetail::DialogDiffers,
            format!("{:?}", short(opened.message.raw())),
        ));
    }
    let accepts = !matches!(wanted.accept, Accept::Button(false));
    (accepts != opened.accepted)
        .then(|| Decision::missing(ReasonDetail::NoObservation, "the dialog was answered otherwise"))
}

fn not_met(detail: ReasonDetail, seen: String) -> Decision {
    let seen = if seen.is_empty() {
        detail.sentence().to_owned()
    } else {
        seen
    };
    Decision::unmet(detail, seen)
}

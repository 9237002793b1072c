//! Plain HTTP criteria: an answer against what it should be.

use super::Decision;
use crate::contract::HttpCriterion;
use crate::observation::{HttpFact, HttpFailure};
use crate::reason::{Reason, ReasonClass, ReasonDetail};
use crate::untrusted::Untrusted;

/// Whether an answer is the one that is wanted.
pub fn decide(wanted: &HttpCriterion, fact: Option<&HttpFact>) -> Decision {
    let Some(fact) = fact else {
        return Decision::missing(ReasonDetail::NoObservation, "it was not asked for");
    };
    let not = |reason, seen: String| Decision::Not {
        reason,
        seen: Untrusted::new(seen),
    };
    match (fact.status, fact.failure) {
        _ if fact.path != wanted.path => Decision::missing(ReasonDetail::NoObservation, "another path was asked for"),
        (Some(status), None) if status == wanted.status => Decision::Met,
        (Some(status), None) => not(
            Reason::new(ReasonClass::ExpectationNotMet, ReasonDetail::RequestStatusDiffers),
            format!("{} was answered with {status}", fact.path),
        ),
        (_, failure) => {
            let detail = match failure {
                Some(HttpFailure::Refused) => ReasonDetail::ConnectionRefused,
                Some(HttpFailure::NoAnswer) => ReasonDetail::NoAnswer,
                Some(HttpFailure::Broken) | None => ReasonDetail::EmptyResponse,
            };
            not(
                Reason::new(ReasonClass::TargetUnreachable, detail),
                format!("{}: {}", fact.path, fact.error.raw()),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(status: Option<u16>, failure: Option<HttpFailure>) -> HttpFact {
        HttpFact {
            path: "/health".into(),
            status,
            failure,
            error: Untrusted::default(),
            content_type: None,
            location: None,
            body_bytes: 0,
            body: None,
            whole: true,
            took_us: 1,
        }
    }

    #[test]
    fn an_answer_and_its_twins() {
        let wanted = HttpCriterion {
            path: "/health".into(),
            status: 200,
        };
        let class = |fact: Option<&HttpFact>| match decide(&wanted, fact) {
            Decision::Met => None,
            Decision::Not { reason, .. } => Some((reason.class, reason.detail)),
            Decision::NeedsProof(_) => Some((ReasonClass::Cancelled, None)),
        };
        let unreachable = |detail| Some((ReasonClass::TargetUnreachable, Some(detail)));
        assert_eq!(class(Some(&fact(Some(200), None))), None);
        assert_eq!(
            class(Some(&fact(Some(500), None))),
            Some((ReasonClass::ExpectationNotMet, Some(ReasonDetail::RequestStatusDiffers)))
        );
        assert_eq!(
            class(Some(&fact(None, Some(HttpFailure::Refused)))),
            unreachable(ReasonDetail::ConnectionRefused)
        );
        assert_eq!(
            class(Some(&fact(None, Some(HttpFailure::NoAnswer)))),
            unreachable(ReasonDetail::NoAnswer)
        );
        // A status beside a failure is no answer.
        assert_eq!(
            class(Some(&fact(Some(200), Some(HttpFailure::Broken)))),
            unreachable(ReasonDetail::EmptyResponse)
        );
        assert_eq!(class(Some(&fact(None, None))), unreachable(ReasonDetail::EmptyResponse));
        let missing = Some((ReasonClass::EvidenceMissing, Some(ReasonDetail::NoObservation)));
        assert_eq!(class(None), missing);
        let other = HttpFact {
            path: "/".into(),
            ..fact(Some(200), None)
        };
        assert_eq!(class(Some(&other)), missing);
    }
}

//! Outcomes: what became of one criterion.
//!
//! A [`Pass`] has no public fields and one constructor, [`Pass::proven`], which demands an observation made after the last action that the
//! criterion depends on. There is no other way to a pass.

use serde::Serialize;

use crate::observation::{Fact, Observation};
use crate::reason::{Reason, ReasonClass, ReasonDetail};
use crate::untrusted::Untrusted;

/// What an outcome rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Typed facts that jurat saw itself.
    Proven,
}

impl Basis {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proven => "proven",
        }
    }
}

/// A pass, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    basis: Basis,
    cites: Vec<u64>,
}

impl Pass {
    /// A pass proven by facts, of which at least one was seen after `last_action`.
    ///
    /// # Errors
    /// Without any observation, or with none young enough, there is no pass but the reason why not.
    pub fn proven(facts: &[&Observation], last_action: u32) -> Result<Self, Reason> {
        let seen: Vec<_> = facts
            .iter()
            .filter(|o| !matches!(o.fact, Fact::NotObserved(_) | Fact::Screenshot(_)))
            .collect();
        if seen.is_empty() {
            return Err(Reason::new(ReasonClass::EvidenceMissing, ReasonDetail::NoObservation));
        }
        if !seen.iter().any(|o| o.after_action >= last_action) {
            return Err(Reason::new(
                ReasonClass::EvidenceMissing,
                ReasonDetail::StaleObservation,
            ));
        }
        Ok(Self {
            basis: Basis::Proven,
            cites: seen.iter().map(|o| o.seq).collect(),
        })
    }

    /// What it rests on.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// The observations that it cites, by `seq`; never empty.
    pub fn cites(&self) -> &[u64] {
        &self.cites
    }
}

/// What became of one criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It held.
    Pass(Pass),
    /// It did not hold, or cannot be known.
    Not {
        /// Why; its class says whether it is a fail or inconclusive.
        reason: Reason,
        /// The observations that show it, by `seq`.
        cites: Vec<u64>,
        /// What was seen instead, for people.
        seen: Untrusted,
    },
}

/// The three answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was proven.
    Pass,
    /// It is not known.
    Inconclusive,
    /// It does not hold.
    Fail,
}

impl Answer {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Fail => "fail",
        }
    }

    /// The fold: any fail is fail, else any inconclusive is inconclusive, else pass; of nothing, inconclusive.
    pub fn fold(answers: impl IntoIterator<Item = Self>) -> Self {
        answers.into_iter().max().unwrap_or(Self::Inconclusive)
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Outcome {
    /// Which of the three answers it is.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Pass(_) => Answer::Pass,
            Self::Not { reason, .. } if reason.class.is_fail() => Answer::Fail,
            Self::Not { .. } => Answer::Inconclusive,
        }
    }

    /// An outcome that is no pass and cites nothing.
    pub fn not(reason: Reason) -> Self {
        Self::Not {
            reason,
            cites: Vec::new(),
            seen: Untrusted::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::observation::PageFact;

    fn page(seq: u64, after_action: u32) -> Observation {
        Observation {
            seq,
            at_us: 0,
            viewport: "desktop".into(),
            criterion: "step-1".into(),
            after_action,
            fact: Fact::Page(PageFact {
                url: Untrusted::default(),
                title: Untrusted::default(),
            }),
        }
    }

    #[test]
    fn nothing_seen_is_no_pass() {
        assert_eq!(
            Pass::proven(&[], 0).unwrap_err().detail,
            Some(ReasonDetail::NoObservation)
        );
    }

    #[test]
    fn what_was_seen_before_the_last_action_is_no_pass() {
        assert_eq!(
            Pass::proven(&[&page(1, 1)], 2).unwrap_err().detail,
            Some(ReasonDetail::StaleObservation)
        );
        assert_eq!(Pass::proven(&[&page(1, 1), &page(2, 2)], 2).unwrap().cites(), [1, 2]);
    }

    #[test]
    fn fold_is_the_worst_and_nothing_is_inconclusive() {
        use Answer::{Fail, Inconclusive, Pass};
        for (answers, folded) in [
            (vec![], Inconclusive),
            (vec![Pass], Pass),
            (vec![Pass, Inconclusive], Inconclusive),
            (vec![Inconclusive, Fail, Pass], Fail),
        ] {
            assert_eq!(Answer::fold(answers), folded);
        }
    }
}

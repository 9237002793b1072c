//! Exit codes: one table, one place.

use jurat_core::outcome::Answer;

/// How the command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// 0: pass, or a command without a verdict that did its work.
    Pass,
    /// 1: fail.
    Fail,
    /// 2: inconclusive; an interrupt too.
    Inconclusive,
    /// 3: refused or wrong input.
    Refused,
    /// 4: the environment: no browser that starts; nothing was run.
    Environment,
    /// 70: a bug of ours.
    Bug,
}

impl Exit {
    /// The number.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Inconclusive => 2,
            Self::Refused => 3,
            Self::Environment => 4,
            Self::Bug => 70,
        }
    }
}

impl From<Answer> for Exit {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Pass => Self::Pass,
            Answer::Fail => Self::Fail,
            Answer::Inconclusive => Self::Inconclusive,
        }
    }
}

//! Pure evaluation: from facts to answers.
//!
//! The session asks these functions whether to go on waiting, and the verdict asks them again from what was recorded; so
//! both always agree. Nothing here reaches the browser, the disk or a clock. Missing is never a pass.
//!
//! Adding an expectation: a variant in [`crate::contract::Expectation`], an arm in [`expectation::decide`], a case folder.

pub mod action;
pub mod actionable;
pub mod app;
pub mod expectation;
pub mod facts;
pub mod http;
pub mod matching;
pub mod visibility;

pub use actionable::{Needs, ready};
pub use expectation::{Decision, Setting};
pub use facts::Facts;
pub use visibility::{Sight, sight};

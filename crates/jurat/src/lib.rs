//! jurat: proves in a real browser, confined to exactly the origin under test, that a web UI does what its contract says.
//!
//! The [`engine`] is the library; the `jurat` command is a thin user of it.

pub mod cli;
pub mod engine;

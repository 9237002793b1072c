//! The command as a user meets it: exit codes, what stands on stdout and on stderr, bundles on disk.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should panic"
)]

#[path = "cli/bundles.rs"]
mod bundles;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/documents.rs"]
mod documents;
#[path = "cli/init.rs"]
mod init;
#[path = "cli/kit.rs"]
mod kit;
#[path = "cli/usage.rs"]
mod usage;
#[path = "cli/verdicts.rs"]
mod verdicts;

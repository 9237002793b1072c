//! The engine: what a bundle proves, what a kill leaves behind, what runs in one browser share, and what the report shows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should panic"
)]

#[path = "engine/app.rs"]
mod app;
#[path = "engine/edits.rs"]
mod edits;
#[path = "engine/kill.rs"]
mod kill;
#[path = "engine/kit.rs"]
mod kit;
#[path = "engine/lane.rs"]
mod lane;
#[path = "engine/many.rs"]
mod many;
#[path = "engine/processes.rs"]
mod processes;
#[path = "engine/progress.rs"]
mod progress;
#[path = "engine/recheck.rs"]
mod recheck;
#[path = "engine/report.rs"]
mod report;

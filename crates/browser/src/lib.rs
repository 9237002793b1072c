//! Launching and driving Chromium over the DevTools pipe, and turning the page into observations.
//!
//! This crate knows the browser and nothing of policy: it says what is there, never whether that is right. It spawns no process
//! either; whoever does hands over the two ends of the pipe.

pub mod act;
pub mod cdp;
pub mod context;
pub mod find;
pub mod flags;
pub mod page;

//! One browser, its contexts, their tabs: the live side of a run.
//!
//! [`Browser`] holds the connection and one task that reads every event, keeps the tree of tabs, frames and workers, answers
//! dialogs and writes down what happened. A [`Context`] is one fresh profile behind one proxy listener; a [`Tab`] is what a step
//! acts in. What happened goes out as [`Seen`] through the channel that the context was made with.
//!
//! Invariants:
//! * every context has a proxy *and* the bypass list that takes loopback away from Chromium's own exceptions;
//! * a target runs nothing before its session has network, page and script reporting on, and its isolated world;
//! * nothing waits without a deadline, and a crash, a closed tab, a lost browser or a page that opens dialogs without end
//!   resolves whatever waits;
//! * what is not handed on is counted: by kind in [`Context::cuts`] where the kept part already tells the story, as a
//!   `Gap` where it does not.

mod attach;
mod browser;
mod console;
#[expect(clippy::module_inception, reason = "the context is what this module is named after")]
mod context;
mod dialog;
mod error;
mod frame;
mod navigate;
mod network;
mod options;
mod outlet;
mod pump;
mod settle;
mod state;
mod tab;
mod targets;
mod tree;
mod world;

pub use browser::{Browser, ConnectError};
pub use context::Context;
pub use error::ActError;
pub use frame::{ElementHandle, FrameRef, Placement};
pub use navigate::Navigated;
pub use options::{ContextOptions, EventReceiver, EventSender, Seen, events};
pub use settle::Settle;
pub use state::TabStatus;
pub use tab::Tab;
pub use world::{Arg, WORLD};

pub(crate) use tab::pixels;

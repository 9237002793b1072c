//! Acting in a page as a person would: real input events, watched as they arrive.
//!
//! Every action is a method of [`Tab`](crate::context::Tab), takes an [`ElementHandle`](crate::context::ElementHandle) that the
//! reader found, and gives the fields of an [`ActionFact`](jurat_core::observation::ActionFact) that it can know (its
//! number, document and dialogs are the caller's). What cannot be done is an
//! [`Obstacle`](jurat_core::observation::Obstacle) in it; an error means that the page or the browser failed us before anything was sent, or
//! died of it.
//!
//! A press is watched: the isolated world sees its first event before the page does. When it arrives anywhere but in the element, it is kept
//! from the page, and the fact says what received it.

mod boxes;
mod drag;
mod keyboard;
mod keys;
mod mouse;
mod pick;
mod text;
mod upload;
mod watch;

pub use keys::is_key;
pub use mouse::ClickHow;

use jurat_core::observation::Px100;

/// A point in the tab's viewport.
pub type Point = (Px100, Px100);

/// The part of the isolated world's script that actions use.
pub(crate) const SCRIPT: &str = include_str!("act.js");

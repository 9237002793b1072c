//! Reading the page: what is there and how it looks, never whether that is right.
//!
//! Everything is read by the page script in each frame's isolated world ([`script()`]), and by DevTools domains that look at the document
//! from outside; never through the page's own world. One [`look()`] for a locator is one scan in every frame at once, closed
//! shadow roots handed in by their backend ids, roles and names confirmed by Chromium's own accessibility tree, and layout as
//! facts ([`jurat_core::observation::Layout`]).
//!
//! Invariants:
//! * reading changes nothing that a page can see, but for scrolling (only when asked) and the paint of a proof;
//! * what comes back is bounded before it leaves the page; what cannot be read by the deadline is an error or an
//!   [`UnreadFrame`](jurat_core::observation::UnreadFrame), never an empty answer.

mod aria;
mod ax;
mod call;
mod closed;
mod error;
mod gather;
mod look;
mod paint;
mod pixels;
mod place;
mod proof;
mod scan;
mod screenshot;
mod script;
mod tops;

pub use aria::aria;
pub use error::ReadError;
pub use look::{Look, Proof, Sight, look};
pub use paint::Watch;
pub use screenshot::screenshot;
pub use script::script;

//! The way out of the browser.
//!
//! Every connection that the browser makes ends at the [`Guard`], is judged by a [`policy`] and is written down, whether it
//! was let through or not. [`canary`] listens where nothing should ever come; [`supervise`] starts a run's processes and
//! sees that none outlives it; [`scratch`] does the same for directories; [`lane`] says how far a run can be confined here.
//!
//! Knows nothing of DevTools or verdicts: records go out through a channel, and who owns one is for others to find.

pub mod app;
pub mod canary;
mod chunk;
mod guard;
pub mod head;
pub mod lane;
pub mod pin;
pub mod policy;
mod proxy;
mod record;
pub mod scratch;
pub mod supervise;
mod tasks;
mod wire;

pub use guard::{Guard, Limits, OpenError, Prepared};
pub use proxy::UpstreamInfo;
pub use record::GuardEvent;

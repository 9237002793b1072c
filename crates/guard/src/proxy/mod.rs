//! The forwarding proxy: from an accepted connection to answers from the origin.
//!
//! Every request of a kept-alive connection is judged by [`crate::policy`] on the head that [`crate::wire`] vetted; nothing
//! is spliced but tunnels and WebSockets. Bodies stream with bounded memory. Addresses are fixed at start, no name is
//! resolved later, no redirect is followed, no `*_proxy` variable is read. Interim answers (1xx) of the origin are not
//! passed on: Chromium ignores them over HTTP/1.1.

mod body;
mod fields;
mod pool;
mod pump;
mod serve;
mod upstream;

pub(crate) use pool::Pool;
pub(crate) use serve::{Listener, connection};
pub(crate) use upstream::Upstream;
pub use upstream::UpstreamInfo;

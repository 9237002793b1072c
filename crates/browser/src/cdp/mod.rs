//! The DevTools client: one pipe, one connection, many sessions.
//!
//! Bytes become messages in [`frame`], messages become answers and events in [`Connection`], and [`protocol`] gives
//! both their types. Callers hold a [`Session`], send a typed command and await the answer, a deadline or the death
//! of the target; what happens in between arrives through a [`Subscription`].
//!
//! Invariant: nothing that the browser sends is dropped in silence. What cannot be read, does not fit or is not
//! fetched in time is counted in [`Stats`] and stands in the event stream as [`Event::Fault`], [`Event::Lost`] or
//! [`Event::Gap`].

mod connection;
mod error;
mod event;
pub mod frame;
mod framer;
mod limits;
pub mod protocol;
mod pump;
mod queue;
mod session;
mod surrogate;
mod table;
mod targets;
mod transport;

pub use connection::{Connection, OpenError};
pub use error::{CallError, CallErrorKind};
pub use event::{Event, Fault, Lost, Message, Stats};
pub use limits::Limits;
pub use queue::{Filter, Subscription};
pub use session::{Pending, Session};
pub use surrogate::repair;

//! The processes of a run, and the certainty that none is left.
//!
//! A process is started in a session of its own with a cleared environment, dies with us, and is followed by kernel object
//! (pidfd) and descent, never by name. What it forked is found through the process table, also after it was re-parented to
//! us; everything is stopped, killed at once and counted again. `processes_left` is measured, not assumed.
//!
//! Without a pid namespace there is one hole: where several trees run in one process, an orphan that has cleared its
//! environment belongs to nobody until the last of them ends.

mod capture;
mod fork;
mod keeper;
mod kill;
mod sandbox;
mod spawn;
mod tree;

pub use kill::Ended;
pub use sandbox::SandboxPlan;
pub use spawn::{Exit, Ownership, Pipes, Spawn, SpawnError, Supervised, Supervisor, User};

pub(crate) use kill::Init;
pub(crate) use spawn::forking;
pub(crate) use tree::{birth, parent_of};

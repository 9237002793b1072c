//! Vocabulary and judgement of jurat: what must hold, what was seen, and what follows from it.
//!
//! Everything here is pure and synchronous: no files, sockets, clocks, environment, threads. The line is
//! `Contract -> Plan -> (Session) -> Observations -> Verdict`; the session is elsewhere.

pub mod aria;
pub mod boundary;
pub mod canon;
pub mod confinement;
pub mod contract;
pub mod evaluate;
pub mod observation;
pub mod outcome;
pub mod plan;
pub mod reason;
pub mod result;
pub mod untrusted;
pub mod verdict;

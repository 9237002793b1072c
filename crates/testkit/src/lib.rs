//! Fixtures of the project's own tests: the conformance cases, the site that serves their pages, and peers that misbehave.
//!
//! Development only; nothing here is shipped, and nothing here knows the engine.

pub mod case;
pub mod escape;
pub mod outside;
pub mod peer;
pub mod site;

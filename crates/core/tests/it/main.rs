//! Tests of the core against vectors, its own schema, and generated values.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod aria;
mod boundary;
mod contracts;
mod generated;
mod properties;
mod rfc8785;
mod schema;

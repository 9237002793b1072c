//! The guard against real sockets, and process supervision against real processes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod app;
mod http;
mod lane;
mod origin;
mod processes;
mod shapes;
mod streams;
mod websocket;

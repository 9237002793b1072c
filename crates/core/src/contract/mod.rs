//! The contract: what must hold.

mod expectation;
mod locator;
mod model;

pub use expectation::{AriaAt, AttributeAt, CountAt, Expectation, RequestMade};
pub use locator::{By, FrameChoice, Locator, Within};
pub use model::*;

//! The contract: what must hold.
//!
//! [`parse()`] is the only way from a text to a [`Contract`]; every value in one has been checked. [`contract_ref`] is its
//! identity, [`schema()`] its published JSON Schema for editors.

mod decode;
mod error;
mod expectation;
mod identity;
mod locator;
mod model;
mod not_built_yet;
mod parse;
pub mod pattern;
mod permission;
mod schema;
mod start;
pub(crate) mod text;

pub use decode::{KEY_NAMES, ROLES, TargetUrlError, target_url};
pub use error::{ContractError, ContractErrors};
pub use expectation::{AriaAt, AttributeAt, CountAt, Expectation, RequestMade};
pub use identity::{canonical_json, contract_ref};
pub use locator::{By, FrameChoice, Locator, Within};
pub use model::*;
pub use parse::{Format, ParseOptions, as_json, parse};
pub use permission::{PERMISSIONS, permission_type};
pub use schema::schema;
pub use start::{EnvEntry, Network, Ready, ReadyWhen, Start};

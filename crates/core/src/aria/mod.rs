//! Accessibility trees as Playwright's ARIA snapshots: templates, observed nodes, and whether they match.
//!
//! A [`Template`] comes from a contract, a [`Node`] from the page (its texts are untrusted). [`matches()`] is pure: the same
//! two give the same answer on any machine. The rules are Playwright's, which users know:
//!
//! - a template matches any node of the tree and what is below it;
//! - children are matched in order and others may stand between (`/children: contain`, the default), or are all there are
//!   (`equal`), or that all the way down (`deep-equal`);
//! - a name or text that stands must be equal, case-sensitively, white space folded; `/…/` is a regular expression
//!   ([`crate::contract::pattern`]); one that is left out matches any;
//! - a state or a level that is left out matches any.
//!
//! Elements without meaning (`generic`, `none`) vanish and leave their children; adjacent texts are one; a text that only
//! repeats the name of its element is dropped. [`tidy()`] does so, here and before anything is rendered.
//!
//! One difference: what Playwright would ignore (an unknown role, attribute or property) is refused.

mod key;
mod matching;
mod node;
mod render;
mod template;
mod tidy;

pub use matching::{Mismatch, matches};
pub use node::{MAX_DEPTH, Node, Tristate};
pub use render::render;
pub use template::{Template, TemplateError};
pub use tidy::tidy;

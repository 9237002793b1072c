//! What parses and is in the schema, and is not evaluated yet.
//!
//! A contract that uses one is refused rather than passed by half.

use super::Contract;

impl Contract {
    /// Each field that this build cannot evaluate, with what to tell the author; empty when all of it can be.
    pub fn not_built_yet(&self) -> Vec<(&'static str, &'static str)> {
        let mut fields = Vec::new();
        if !self.checks.is_empty() {
            fields.push(("checks", "this jurat has no built-in checks yet; leave checks out"));
        }
        if self.accept.is_some() {
            fields.push((
                "accept",
                "this jurat does not judge acceptance prompts yet; leave accept out",
            ));
        }
        fields
    }
}

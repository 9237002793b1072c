//! The one way from a text to a [`Contract`].

use super::decode;
use super::error::{ContractError, ContractErrors};
use super::model::Contract;
use super::text;

/// The syntax of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.2, core schema.
    Yaml,
    /// JSON (RFC 8259).
    Json,
}

impl Format {
    /// JSON when the file's name ends so or the text begins with a bracket; else YAML.
    pub fn of(file: &str, text: &str) -> Self {
        let json_name = file
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"));
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if json_name || text.trim_start().starts_with(['{', '[']) {
            Self::Json
        } else {
            Self::Yaml
        }
    }
}

/// What the caller permits beyond the rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// A target that is not loopback (`--allow-remote-target`).
    pub allow_remote_target: bool,
}

/// Reads a contract.
///
/// Errors: everything that is wrong with it, as far as one reading can tell: each with its place, its field and what to
/// write instead. A syntax error stands alone.
pub fn parse(text: &str, format: Format, options: &ParseOptions) -> Result<Contract, ContractErrors> {
    decode::contract(&read(text, format)?, options)
}

/// The text as plain JSON, without looking at what it says: what the schema is held against.
///
/// Errors: the first syntax error.
pub fn as_json(text: &str, format: Format) -> Result<serde_json::Value, ContractErrors> {
    read(text, format).map(|root| text::plain(&root))
}

fn read(text: &str, format: Format) -> Result<text::Node, ContractErrors> {
    text::read(text, format).map_err(|e| {
        let error = ContractError {
            line: e.at.line,
            column: e.at.column,
            path: String::new(),
            message: e.message,
            hint: e.hint,
        };
        ContractErrors::new(error, Vec::new())
    })
}

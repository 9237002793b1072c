//! How jurat starts the app under test, and when it counts as started.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::Millis;

/// How jurat starts the app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Start {
    /// Program and arguments; no shell.
    pub command: Vec<String>,
    /// When the app counts as started.
    pub ready: Ready,
    /// What the app gets beside `PATH`, `HOME`, `TMPDIR` and `LANG`; nothing else of jurat's environment is passed on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvEntry>,
    /// Where it runs, relative to the contract's folder; the folder itself when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whether it may write there. What it writes goes to a private copy, which is gone afterwards.
    #[serde(skip_serializing_if = "is_false")]
    pub writable: bool,
    /// What it can reach.
    #[serde(skip_serializing_if = "is_default")]
    pub network: Network,
}

/// One variable of the app's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvEntry {
    /// `NAME`: with the value that it has for jurat, if it has one. The value is in no evidence.
    Pass(String),
    /// `NAME: value`.
    Set(String, String),
}

impl EnvEntry {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Pass(name) | Self::Set(name, _) => name,
        }
    }
}

impl Serialize for EnvEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Pass(name) => serializer.serialize_str(name),
            Self::Set(name, value) => BTreeMap::from([(name, value)]).serialize(serializer),
        }
    }
}

/// What the app can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// A loopback device of its own, and nothing else.
    #[default]
    None,
    /// The host's network: a stated exception, which evidence names.
    Host,
}

impl Network {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Host => "host",
        }
    }
}

/// When a started app counts as ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// What is waited for.
    #[serde(flatten)]
    pub when: ReadyWhen,
    /// How long to wait for it.
    #[serde(skip_serializing_if = "is_30s")]
    pub within: Millis,
}

/// What says that an app is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ReadyWhen {
    /// An answer.
    Http {
        /// Path polled on the target origin.
        path: String,
        /// Status that means ready.
        #[serde(skip_serializing_if = "is_200")]
        status: u16,
    },
    /// A line of its log.
    Log {
        /// A text in that line, as it is.
        log: String,
    },
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_200(value: &u16) -> bool {
    *value == 200
}

fn is_30s(value: &Millis) -> bool {
    value.0 == 30_000
}

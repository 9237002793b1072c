//! The commands and events that jurat uses, one file a domain, named as the DevTools protocol names them.
//!
//! A command is a struct with a `new` that takes what the protocol requires; what is optional is a public field, left
//! out of the message while `None`. Answers and events take additions of a newer browser without complaint; a field
//! that is missing is an error of that one answer.

pub mod accessibility;
pub mod browser;
pub mod dom;
pub mod emulation;
pub mod fetch;
mod ids;
pub mod input;
pub mod inspector;
pub mod log;
pub mod network;
pub mod page;
pub mod runtime;
pub mod security;
pub mod target;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use ids::{
    AxNodeId, BackendNodeId, BrowserContextId, FrameId, LoaderId, NodeId, ObjectId, RequestId, ScriptId, SessionId,
    TargetId,
};

/// A command with the type of its answer.
pub trait Command: Serialize {
    /// `Domain.method`.
    const METHOD: &'static str;
    /// What the browser answers.
    type Response: DeserializeOwned;
}

/// An event with its name.
pub trait EventType: DeserializeOwned {
    /// `Domain.event`.
    const METHOD: &'static str;
}

/// The answer of a command that has nothing to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Done {}

/// Declares a command: `Name = "Domain.method" -> Answer { required fields } optional { fields }`.
macro_rules! command {
    ($(#[$meta:meta])* $name:ident = $method:literal -> $response:ty) => {
        command! { $(#[$meta])* $name = $method -> $response, optional {} }
    };
    ($(#[$meta:meta])* $name:ident = $method:literal -> $response:ty,
        optional { $($(#[$option_meta:meta])* $option:ident : $option_ty:ty),* $(,)? }) => {
        #[doc = concat!("`", $method, "`.")]
        $(#[$meta])*
        #[derive(Debug, Clone, Default, serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(#[$option_meta])* #[serde(skip_serializing_if = "Option::is_none")] pub $option: Option<$option_ty>,)*
        }
        impl $crate::cdp::protocol::Command for $name {
            const METHOD: &'static str = $method;
            type Response = $response;
        }
    };
    ($(#[$meta:meta])* $name:ident = $method:literal -> $response:ty { $($field:ident : $ty:ty),+ $(,)? }) => {
        command! { $(#[$meta])* $name = $method -> $response { $($field: $ty),+ } optional {} }
    };
    ($(#[$meta:meta])* $name:ident = $method:literal -> $response:ty { $($field:ident : $ty:ty),+ $(,)? }
        optional { $($(#[$option_meta:meta])* $option:ident : $option_ty:ty),* $(,)? }) => {
        #[doc = concat!("`", $method, "`.")]
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $(pub $field: $ty,)+
            $($(#[$option_meta])* #[serde(skip_serializing_if = "Option::is_none")] pub $option: Option<$option_ty>,)*
        }
        impl $name {
            /// The command with what is required.
            pub fn new($($field: impl Into<$ty>),+) -> Self {
                Self { $($field: $field.into(),)+ $($option: None,)* }
            }
        }
        impl $crate::cdp::protocol::Command for $name {
            const METHOD: &'static str = $method;
            type Response = $response;
        }
    };
}

/// Declares an event: `Name = "Domain.event" { fields }`. Fields that may be missing are `Option`s.
macro_rules! event {
    ($(#[$meta:meta])* $name:ident = $method:literal { $($(#[$field_meta:meta])* $field:ident : $ty:ty),* $(,)? }) => {
        #[doc = concat!("`", $method, "`.")]
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
        impl $crate::cdp::protocol::EventType for $name {
            const METHOD: &'static str = $method;
        }
    };
}

/// Declares a type within an answer or event. Fields that may be missing are `Option`s.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty,)* }
    };
}

use {command, event, record};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn what_is_optional_is_left_out_and_names_are_camel_case() {
        let plain = serde_json::to_string(&page::Navigate::new("http://127.0.0.1/")).unwrap();
        assert_eq!(plain, r#"{"url":"http://127.0.0.1/"}"#);
        let clip = page::Viewport {
            x: 0.0,
            y: 0.0,
            width: 10.0,
            height: 5.5,
            scale: 1.0,
        };
        let shot = page::CaptureScreenshot {
            clip: Some(clip),
            capture_beyond_viewport: Some(true),
            ..Default::default()
        };
        assert_eq!(
            serde_json::to_string(&shot).unwrap(),
            r#"{"clip":{"x":0.0,"y":0.0,"width":10.0,"height":5.5,"scale":1.0},"captureBeyondViewport":true}"#
        );
        assert_eq!(serde_json::to_string(&runtime::Enable {}).unwrap(), "{}");
    }

    #[test]
    fn additions_of_a_newer_browser_are_accepted() {
        let text = r#"{"frameId":"F","loaderId":"L","isDownload":false,"novelty":[1,2]}"#;
        let answer: page::Navigated = serde_json::from_str(text).unwrap();
        assert_eq!(answer.frame_id.as_str(), "F");
        assert!(serde_json::from_str::<Done>(r#"{"novelty":1}"#).is_ok());
        assert!(serde_json::from_str::<page::Navigated>("{}").is_err());
    }
}

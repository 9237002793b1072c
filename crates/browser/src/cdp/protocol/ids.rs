//! Identifiers that the browser gives. They are opaque: compared and sent back, never taken apart.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! text_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Self(Arc::from(Cow::<'de, str>::deserialize(deserializer)?)))
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub i64);
    };
}

text_id! {
    /// `Target.SessionID`: one attachment to one target.
    SessionId
}
text_id! {
    /// `Target.TargetID`: a page, a frame out of process, a worker.
    TargetId
}
text_id! {
    /// `Browser.BrowserContextID`: an isolated profile.
    BrowserContextId
}
text_id! {
    /// `Page.FrameId`.
    FrameId
}
text_id! {
    /// `Network.LoaderId`: one document load.
    LoaderId
}
text_id! {
    /// `Network.RequestId`, also `Fetch.RequestId`: one request with its redirects.
    RequestId
}
text_id! {
    /// `Runtime.RemoteObjectId`: a handle to an object in a page.
    ObjectId
}
text_id! {
    /// `Runtime.ScriptId`, also `Page.ScriptIdentifier`.
    ScriptId
}
text_id! {
    /// `Accessibility.AXNodeId`.
    AxNodeId
}
number_id! {
    /// `DOM.NodeId`: valid until the session's document is asked for anew.
    NodeId
}
number_id! {
    /// `DOM.BackendNodeId`: valid as long as the node lives, whatever the session.
    BackendNodeId
}

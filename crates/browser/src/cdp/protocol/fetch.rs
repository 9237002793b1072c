//! `Fetch`: requests held, answered or failed before they leave.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use serde::Serialize;

use super::network::{Request, ResourceType};
use super::{Done, FrameId, RequestId, command, event};

command! { Enable = "Fetch.enable" -> Done, optional { patterns: Vec<RequestPattern>, handle_auth_requests: bool } }
command! { Disable = "Fetch.disable" -> Done }
command! {
    /// `error_reason` is `Failed`, `Aborted`, `TimedOut`, `ConnectionRefused`, …
    FailRequest = "Fetch.failRequest" -> Done { request_id: RequestId, error_reason: String }
}
command! { ContinueRequest = "Fetch.continueRequest" -> Done { request_id: RequestId } }
command! {
    /// `body` is base64.
    FulfillRequest = "Fetch.fulfillRequest" -> Done { request_id: RequestId, response_code: u16 }
    optional { response_headers: Vec<HeaderEntry>, body: String, response_phrase: String }
}

event! {
    RequestPaused = "Fetch.requestPaused" {
        request_id: RequestId, request: Request, frame_id: FrameId, resource_type: ResourceType,
        response_error_reason: Option<String>, response_status_code: Option<u16>, network_id: Option<RequestId>,
    }
}

/// Which requests are paused; every one when all is absent. `request_stage` is `Request` or `Response`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPattern {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_stage: Option<&'static str>,
}

/// One header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeaderEntry {
    pub name: String,
    pub value: String,
}

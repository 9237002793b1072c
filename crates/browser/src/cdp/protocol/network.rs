//! `Network`: requests, responses, sockets.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::runtime::StackTrace;
use super::{Done, FrameId, LoaderId, RequestId, command, event, record};

command! {
    /// The buffer sizes are in bytes.
    Enable = "Network.enable" -> Done,
    optional {
        max_total_buffer_size: u64, max_resource_buffer_size: u64, max_post_data_size: u64,
        report_direct_socket_traffic: bool,
    }
}
command! { Disable = "Network.disable" -> Done }
command! { SetCacheDisabled = "Network.setCacheDisabled" -> Done { cache_disabled: bool } }
command! { SetBypassServiceWorker = "Network.setBypassServiceWorker" -> Done { bypass: bool } }
command! { SetExtraHttpHeaders = "Network.setExtraHTTPHeaders" -> Done { headers: BTreeMap<String, String> } }
command! { GetResponseBody = "Network.getResponseBody" -> ResponseBody { request_id: RequestId } }
command! { GetRequestPostData = "Network.getRequestPostData" -> PostData { request_id: RequestId } }
command! { ClearBrowserCache = "Network.clearBrowserCache" -> Done }

event! {
    /// After a redirect the same `request_id` comes again, with the response that redirected.
    RequestWillBeSent = "Network.requestWillBeSent" {
        request_id: RequestId,
        loader_id: LoaderId,
        #[serde(rename = "documentURL")] document_url: String,
        request: Request,
        timestamp: f64,
        wall_time: f64,
        initiator: Initiator,
        redirect_has_extra_info: Option<bool>,
        redirect_response: Option<Response>,
        r#type: Option<ResourceType>,
        frame_id: Option<FrameId>,
        has_user_gesture: Option<bool>,
    }
}
event! { RequestServedFromCache = "Network.requestServedFromCache" { request_id: RequestId } }
event! {
    ResponseReceived = "Network.responseReceived" {
        request_id: RequestId, loader_id: LoaderId, timestamp: f64, r#type: ResourceType, response: Response,
        has_extra_info: Option<bool>, frame_id: Option<FrameId>,
    }
}
event! {
    DataReceived = "Network.dataReceived" {
        request_id: RequestId, timestamp: f64, data_length: i64, encoded_data_length: i64,
    }
}
event! {
    LoadingFinished = "Network.loadingFinished" {
        request_id: RequestId, timestamp: f64, encoded_data_length: f64,
    }
}
event! {
    LoadingFailed = "Network.loadingFailed" {
        request_id: RequestId, timestamp: f64, r#type: ResourceType, error_text: String, canceled: Option<bool>,
        blocked_reason: Option<String>,
    }
}
event! {
    /// The headers as they went over the wire.
    RequestWillBeSentExtraInfo = "Network.requestWillBeSentExtraInfo" {
        request_id: RequestId, headers: BTreeMap<String, String>, associated_cookies: Option<Box<RawValue>>,
    }
}
event! {
    ResponseReceivedExtraInfo = "Network.responseReceivedExtraInfo" {
        request_id: RequestId, headers: BTreeMap<String, String>, status_code: i64,
    }
}
event! {
    WebSocketCreated = "Network.webSocketCreated" {
        request_id: RequestId, url: String, initiator: Option<Initiator>,
    }
}
event! { WebSocketClosed = "Network.webSocketClosed" { request_id: RequestId, timestamp: f64 } }
event! {
    WebSocketFrameError = "Network.webSocketFrameError" {
        request_id: RequestId, timestamp: f64, error_message: String,
    }
}
event! {
    WebTransportCreated = "Network.webTransportCreated" {
        transport_id: RequestId, url: String, timestamp: f64, initiator: Option<Initiator>,
    }
}

record! { ResponseBody { body: String, base64_encoded: bool } }
record! { PostData { post_data: String } }
record! {
    Request {
        url: String,
        url_fragment: Option<String>,
        method: String,
        headers: BTreeMap<String, String>,
        post_data: Option<String>,
        has_post_data: Option<bool>,
        initial_priority: Option<String>,
        is_link_preload: Option<bool>,
    }
}
record! {
    Response {
        url: String,
        status: i64,
        status_text: String,
        headers: BTreeMap<String, String>,
        mime_type: String,
        #[serde(rename = "remoteIPAddress")] remote_ip_address: Option<String>,
        remote_port: Option<i64>,
        connection_id: Option<f64>,
        from_disk_cache: Option<bool>,
        from_service_worker: Option<bool>,
        from_prefetch_cache: Option<bool>,
        encoded_data_length: Option<f64>,
        protocol: Option<String>,
    }
}
record! {
    Initiator {
        /// `parser`, `script`, `preload`, `preflight`, `other`, …
        r#type: String,
        stack: Option<StackTrace>,
        url: Option<String>,
        line_number: Option<f64>,
        column_number: Option<f64>,
        request_id: Option<RequestId>,
    }
}

/// `Network.ResourceType`: `Document`, `Fetch`, `XHR`, `Image`, … A newer browser may know more, so it is text.
pub type ResourceType = String;

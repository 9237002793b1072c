//! `Page`: documents, frames, dialogs, pictures.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use std::borrow::Cow;

use serde::Serialize;

use super::{BackendNodeId, Done, FrameId, LoaderId, ScriptId, command, event, record};

command! { Enable = "Page.enable" -> Done, optional { enable_file_chooser_opened_event: bool } }
command! { Disable = "Page.disable" -> Done }
command! {
    Navigate = "Page.navigate" -> Navigated { url: String }
    optional { referrer: String, transition_type: String, frame_id: FrameId }
}
command! { Reload = "Page.reload" -> Done, optional { ignore_cache: bool, loader_id: LoaderId } }
command! { StopLoading = "Page.stopLoading" -> Done }
command! { GetNavigationHistory = "Page.getNavigationHistory" -> NavigationHistory }
command! { NavigateToHistoryEntry = "Page.navigateToHistoryEntry" -> Done { entry_id: i64 } }
command! { ResetNavigationHistory = "Page.resetNavigationHistory" -> Done }
command! {
    CreateIsolatedWorld = "Page.createIsolatedWorld" -> IsolatedWorld { frame_id: FrameId }
    optional { world_name: Cow<'static, str>, grant_univeral_access: bool }
}
command! {
    AddScriptToEvaluateOnNewDocument = "Page.addScriptToEvaluateOnNewDocument" -> ScriptAdded {
        source: Cow<'static, str>,
    }
    optional {
        world_name: Cow<'static, str>,
        #[serde(rename = "includeCommandLineAPI")] include_command_line_api: bool,
        run_immediately: bool,
    }
}
command! {
    RemoveScriptToEvaluateOnNewDocument = "Page.removeScriptToEvaluateOnNewDocument" -> Done {
        identifier: ScriptId,
    }
}
command! {
    CaptureScreenshot = "Page.captureScreenshot" -> Screenshot,
    optional {
        format: ImageFormat, quality: u8, clip: Viewport, from_surface: bool, capture_beyond_viewport: bool,
        optimize_for_speed: bool,
    }
}
command! {
    HandleJavaScriptDialog = "Page.handleJavaScriptDialog" -> Done { accept: bool }
    optional { prompt_text: String }
}
command! { SetLifecycleEventsEnabled = "Page.setLifecycleEventsEnabled" -> Done { enabled: bool } }
command! { GetFrameTree = "Page.getFrameTree" -> FrameTreeAnswer }
command! { GetLayoutMetrics = "Page.getLayoutMetrics" -> LayoutMetrics }
command! {
    SetInterceptFileChooserDialog = "Page.setInterceptFileChooserDialog" -> Done { enabled: bool }
    optional { cancel: bool }
}
command! { BringToFront = "Page.bringToFront" -> Done }
command! { SetBypassCsp = "Page.setBypassCSP" -> Done { enabled: bool } }
command! { Close = "Page.close" -> Done }
command! { Crash = "Page.crash" -> Done }

event! { DomContentEventFired = "Page.domContentEventFired" { timestamp: f64 } }
event! { LoadEventFired = "Page.loadEventFired" { timestamp: f64 } }
event! {
    /// `name` is `init`, `commit`, `DOMContentLoaded`, `load`, `networkIdle`, `firstPaint`, …
    LifecycleEvent = "Page.lifecycleEvent" { frame_id: FrameId, loader_id: LoaderId, name: String, timestamp: f64 }
}
event! { FrameAttached = "Page.frameAttached" { frame_id: FrameId, parent_frame_id: FrameId } }
event! {
    /// `reason` is `remove`, or `swap` when the frame goes on in another process.
    FrameDetached = "Page.frameDetached" { frame_id: FrameId, reason: Option<String> }
}
event! { FrameNavigated = "Page.frameNavigated" { frame: Frame, r#type: Option<String> } }
event! {
    NavigatedWithinDocument = "Page.navigatedWithinDocument" {
        frame_id: FrameId, url: String, navigation_type: Option<String>,
    }
}
event! { DocumentOpened = "Page.documentOpened" { frame: Frame } }
event! { FrameStartedLoading = "Page.frameStartedLoading" { frame_id: FrameId } }
event! { FrameStoppedLoading = "Page.frameStoppedLoading" { frame_id: FrameId } }
event! {
    FrameStartedNavigating = "Page.frameStartedNavigating" {
        frame_id: FrameId, url: String, loader_id: LoaderId, navigation_type: String,
    }
}
event! {
    FrameRequestedNavigation = "Page.frameRequestedNavigation" {
        frame_id: FrameId, reason: String, url: String, disposition: String,
    }
}
event! {
    /// `type` is `alert`, `confirm`, `prompt` or `beforeunload`.
    JavascriptDialogOpening = "Page.javascriptDialogOpening" {
        url: String, frame_id: Option<FrameId>, message: String, r#type: String, has_browser_handler: bool,
        default_prompt: Option<String>,
    }
}
event! {
    JavascriptDialogClosed = "Page.javascriptDialogClosed" {
        frame_id: Option<FrameId>, result: bool, user_input: String,
    }
}
event! {
    /// `mode` is `selectSingle` or `selectMultiple`.
    FileChooserOpened = "Page.fileChooserOpened" {
        frame_id: FrameId, mode: String, backend_node_id: Option<BackendNodeId>,
    }
}
event! {
    DownloadWillBegin = "Page.downloadWillBegin" {
        frame_id: FrameId, guid: String, url: String, suggested_filename: String,
    }
}
event! {
    WindowOpen = "Page.windowOpen" {
        url: String, window_name: String, window_features: Vec<String>, user_gesture: bool,
    }
}

record! {
    /// `error_text` is set when the navigation failed; `loader_id` is absent within the same document.
    Navigated { frame_id: FrameId, loader_id: Option<LoaderId>, error_text: Option<String>, is_download: Option<bool> }
}
record! { NavigationHistory { current_index: usize, entries: Vec<NavigationEntry> } }
record! {
    NavigationEntry {
        id: i64, url: String, #[serde(rename = "userTypedURL")] user_typed_url: String, title: String,
        transition_type: String,
    }
}
record! { IsolatedWorld { execution_context_id: i64 } }
record! { ScriptAdded { identifier: ScriptId } }
record! {
    /// The picture, base64.
    Screenshot { data: String }
}
record! { FrameTreeAnswer { frame_tree: FrameTree } }
record! { FrameTree { frame: Frame, #[serde(default)] child_frames: Vec<FrameTree> } }
record! {
    Frame {
        id: FrameId,
        parent_id: Option<FrameId>,
        loader_id: LoaderId,
        name: Option<String>,
        url: String,
        url_fragment: Option<String>,
        security_origin: String,
        mime_type: String,
        /// Set when the frame shows an error page instead of this URL.
        unreachable_url: Option<String>,
    }
}
record! {
    LayoutMetrics {
        css_layout_viewport: LayoutViewport, css_visual_viewport: VisualViewport, css_content_size: Rect,
    }
}
record! { LayoutViewport { page_x: f64, page_y: f64, client_width: f64, client_height: f64 } }
record! {
    VisualViewport {
        offset_x: f64, offset_y: f64, page_x: f64, page_y: f64, client_width: f64, client_height: f64, scale: f64,
    }
}
record! { Rect { x: f64, y: f64, width: f64, height: f64 } }

/// A part of a page to take a picture of, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Viewport {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub scale: f64,
}

/// The encoding of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageFormat {
    Png,
    Jpeg,
    Webp,
}

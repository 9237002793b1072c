//! `Target`: contexts, targets and the sessions with them.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use serde::Serialize;

use super::{BrowserContextId, Done, FrameId, SessionId, TargetId, command, event, record};

command! {
    /// Both proxy fields are needed: without `proxy_bypass_list` Chromium dials loopback directly.
    CreateBrowserContext = "Target.createBrowserContext" -> ContextCreated,
    optional { dispose_on_detach: bool, proxy_server: String, proxy_bypass_list: String }
}
command! { DisposeBrowserContext = "Target.disposeBrowserContext" -> Done { browser_context_id: BrowserContextId } }
command! {
    CreateTarget = "Target.createTarget" -> NewTarget { url: String }
    optional {
        browser_context_id: BrowserContextId, width: u32, height: u32, new_window: bool, background: bool,
        for_tab: bool, hidden: bool, focus: bool,
    }
}
command! { CloseTarget = "Target.closeTarget" -> Closed { target_id: TargetId } }
command! { ActivateTarget = "Target.activateTarget" -> Done { target_id: TargetId } }
command! {
    AttachToTarget = "Target.attachToTarget" -> Attached { target_id: TargetId }
    optional { flatten: bool }
}
command! { DetachFromTarget = "Target.detachFromTarget" -> Done, optional { session_id: SessionId } }
command! {
    SetAutoAttach = "Target.setAutoAttach" -> Done { auto_attach: bool, wait_for_debugger_on_start: bool }
    optional { flatten: bool, filter: Vec<FilterEntry> }
}
command! {
    SetDiscoverTargets = "Target.setDiscoverTargets" -> Done { discover: bool }
    optional { filter: Vec<FilterEntry> }
}
command! { GetTargetInfo = "Target.getTargetInfo" -> TargetInfoAnswer, optional { target_id: TargetId } }
command! { GetTargets = "Target.getTargets" -> Targets, optional { filter: Vec<FilterEntry> } }

event! {
    AttachedToTarget = "Target.attachedToTarget" {
        session_id: SessionId, target_info: TargetInfo, waiting_for_debugger: bool,
    }
}
event! { DetachedFromTarget = "Target.detachedFromTarget" { session_id: SessionId, target_id: Option<TargetId> } }
event! { TargetCreated = "Target.targetCreated" { target_info: TargetInfo } }
event! { TargetInfoChanged = "Target.targetInfoChanged" { target_info: TargetInfo } }
event! { TargetDestroyed = "Target.targetDestroyed" { target_id: TargetId } }
event! { TargetCrashed = "Target.targetCrashed" { target_id: TargetId, status: String, error_code: i64 } }

record! { ContextCreated { browser_context_id: BrowserContextId } }
record! { NewTarget { target_id: TargetId } }
record! { Closed { success: bool } }
record! { Attached { session_id: SessionId } }
record! { TargetInfoAnswer { target_info: TargetInfo } }
record! { Targets { target_infos: Vec<TargetInfo> } }
record! {
    TargetInfo {
        target_id: TargetId,
        /// `page`, `iframe`, `worker`, `shared_worker`, `service_worker`, `browser`, `tab`, `webview`, …
        r#type: String,
        title: String,
        url: String,
        attached: bool,
        opener_id: Option<TargetId>,
        can_access_opener: Option<bool>,
        opener_frame_id: Option<FrameId>,
        parent_frame_id: Option<FrameId>,
        browser_context_id: Option<BrowserContextId>,
        subtype: Option<String>,
    }
}

/// One line of a target filter; the first that matches decides. No type matches every type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilterEntry {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exclude: bool,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

impl FilterEntry {
    /// Leaves targets of this type out.
    pub fn without(kind: &str) -> Self {
        Self {
            exclude: true,
            kind: Some(kind.to_owned()),
        }
    }

    /// Takes targets of this type.
    pub fn with(kind: &str) -> Self {
        Self {
            exclude: false,
            kind: Some(kind.to_owned()),
        }
    }

    /// Takes all that came this far.
    pub fn rest() -> Self {
        Self {
            exclude: false,
            kind: None,
        }
    }
}

//! `Browser`: version, end, downloads, permissions.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use serde::Serialize;

use super::{BrowserContextId, Done, FrameId, command, event, record};

command! { GetVersion = "Browser.getVersion" -> Version }
command! { Close = "Browser.close" -> Done }
command! { Crash = "Browser.crash" -> Done }

command! {
    SetDownloadBehavior = "Browser.setDownloadBehavior" -> Done { behavior: DownloadBehavior }
    optional { browser_context_id: BrowserContextId, download_path: String, events_enabled: bool }
}
command! {
    GrantPermissions = "Browser.grantPermissions" -> Done { permissions: Vec<String> }
    optional { origin: String, browser_context_id: BrowserContextId }
}
command! { ResetPermissions = "Browser.resetPermissions" -> Done, optional { browser_context_id: BrowserContextId } }
command! {
    /// `setting` is `granted`, `denied` or `prompt`.
    SetPermission = "Browser.setPermission" -> Done { permission: PermissionDescriptor, setting: String }
    optional { origin: String, browser_context_id: BrowserContextId }
}

event! {
    DownloadWillBegin = "Browser.downloadWillBegin" {
        frame_id: FrameId, guid: String, url: String, suggested_filename: String,
    }
}
event! {
    /// `state` is `inProgress`, `completed` or `canceled`.
    DownloadProgress = "Browser.downloadProgress" {
        guid: String, total_bytes: f64, received_bytes: f64, state: String,
    }
}

record! {
    /// What `Browser.getVersion` answers.
    Version { protocol_version: String, product: String, revision: String, user_agent: String, js_version: String }
}

/// What happens to a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DownloadBehavior {
    Deny,
    Allow,
    AllowAndName,
    Default,
}

/// A permission, by its name in the Permissions API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionDescriptor {
    pub name: String,
}

//! `Input`: mouse, keys, text, drags.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Done, command, event};

command! {
    /// In CSS pixels of the main frame's viewport. `modifiers` is a sum of 1 alt, 2 ctrl, 4 meta, 8 shift.
    DispatchMouseEvent = "Input.dispatchMouseEvent" -> Done { r#type: MouseEventType, x: f64, y: f64 }
    optional {
        modifiers: u32, timestamp: f64, button: MouseButton, buttons: u32, click_count: u32, force: f64, delta_x: f64,
        delta_y: f64, pointer_type: Cow<'static, str>,
    }
}
command! {
    DispatchKeyEvent = "Input.dispatchKeyEvent" -> Done { r#type: KeyEventType }
    optional {
        modifiers: u32, timestamp: f64, text: Cow<'static, str>, unmodified_text: Cow<'static, str>,
        code: Cow<'static, str>, key: Cow<'static, str>, windows_virtual_key_code: u32, native_virtual_key_code: u32, auto_repeat: bool,
        is_keypad: bool, is_system_key: bool, location: u32, commands: Vec<String>,
    }
}
command! { InsertText = "Input.insertText" -> Done { text: String } }
command! {
    ImeSetComposition = "Input.imeSetComposition" -> Done { text: String, selection_start: i32, selection_end: i32 }
}
command! {
    DispatchTouchEvent = "Input.dispatchTouchEvent" -> Done { r#type: TouchEventType, touch_points: Vec<TouchPoint> }
    optional { modifiers: u32, timestamp: f64 }
}
command! { SetInterceptDrags = "Input.setInterceptDrags" -> Done { enabled: bool } }
command! {
    DispatchDragEvent = "Input.dispatchDragEvent" -> Done { r#type: DragEventType, x: f64, y: f64, data: DragData }
    optional { modifiers: u32 }
}
command! { CancelDragging = "Input.cancelDragging" -> Done }

event! { DragIntercepted = "Input.dragIntercepted" { data: DragData } }

/// `Input.dispatchMouseEvent` `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseEventType {
    MousePressed,
    MouseReleased,
    MouseMoved,
    MouseWheel,
}

/// `Input.MouseButton`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseButton {
    None,
    Left,
    Middle,
    Right,
    Back,
    Forward,
}

/// `Input.dispatchKeyEvent` `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyEventType {
    KeyDown,
    KeyUp,
    RawKeyDown,
    Char,
}

/// `Input.dispatchTouchEvent` `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TouchEventType {
    TouchStart,
    TouchEnd,
    TouchMove,
    TouchCancel,
}

/// `Input.dispatchDragEvent` `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DragEventType {
    DragEnter,
    DragOver,
    Drop,
    DragCancel,
}

/// A finger, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TouchPoint {
    pub x: f64,
    pub y: f64,
}

/// What is dragged, as the browser gave it; it goes back as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DragData {
    pub items: Vec<DragItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// `DragOperationsMask`; all bits are −1.
    pub drag_operations_mask: i64,
}

/// One item of what is dragged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DragItem {
    pub mime_type: String,
    pub data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(rename = "baseURL", skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
}

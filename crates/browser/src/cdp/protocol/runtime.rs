//! `Runtime`: script in a page's worlds, console and exceptions.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{Done, ObjectId, ScriptId, command, event, record};

command! { Enable = "Runtime.enable" -> Done }
command! { Disable = "Runtime.disable" -> Done }
command! {
    Evaluate = "Runtime.evaluate" -> Evaluated { expression: Cow<'static, str> }
    optional {
        object_group: Cow<'static, str>, silent: bool, context_id: i64, unique_context_id: String,
        return_by_value: bool, user_gesture: bool, await_promise: bool, throw_on_side_effect: bool,
        /// Milliseconds.
        timeout: f64,
    }
}
command! {
    CallFunctionOn = "Runtime.callFunctionOn" -> Evaluated { function_declaration: Cow<'static, str> }
    optional {
        object_id: ObjectId, arguments: Vec<CallArgument>, silent: bool, return_by_value: bool, user_gesture: bool,
        await_promise: bool, execution_context_id: i64, object_group: Cow<'static, str>, throw_on_side_effect: bool,
        unique_context_id: String,
    }
}
command! {
    GetProperties = "Runtime.getProperties" -> Properties { object_id: ObjectId }
    optional { own_properties: bool }
}
command! { ReleaseObject = "Runtime.releaseObject" -> Done { object_id: ObjectId } }
command! { ReleaseObjectGroup = "Runtime.releaseObjectGroup" -> Done { object_group: Cow<'static, str> } }
command! { RunIfWaitingForDebugger = "Runtime.runIfWaitingForDebugger" -> Done }
command! { TerminateExecution = "Runtime.terminateExecution" -> Done }
command! { AddBinding = "Runtime.addBinding" -> Done { name: String } optional { execution_context_name: String } }
command! { RemoveBinding = "Runtime.removeBinding" -> Done { name: String } }

event! { ExecutionContextCreated = "Runtime.executionContextCreated" { context: ExecutionContext } }
event! {
    ExecutionContextDestroyed = "Runtime.executionContextDestroyed" {
        execution_context_id: i64, execution_context_unique_id: Option<String>,
    }
}
event! { ExecutionContextsCleared = "Runtime.executionContextsCleared" {} }
event! { BindingCalled = "Runtime.bindingCalled" { name: String, payload: String, execution_context_id: i64 } }
event! {
    /// `type` is `log`, `error`, `warning`, `assert`, …
    ConsoleApiCalled = "Runtime.consoleAPICalled" {
        r#type: String, args: Vec<RemoteObject>, execution_context_id: i64, timestamp: f64,
        stack_trace: Option<StackTrace>,
    }
}
event! { ExceptionThrown = "Runtime.exceptionThrown" { timestamp: f64, exception_details: ExceptionDetails } }
event! { ExceptionRevoked = "Runtime.exceptionRevoked" { reason: String, exception_id: i64 } }

record! { Evaluated { result: RemoteObject, exception_details: Option<ExceptionDetails> } }
record! {
    RemoteObject {
        r#type: String,
        subtype: Option<String>,
        class_name: Option<String>,
        /// The value, when it was asked for and JSON can say it.
        value: Option<Box<RawValue>>,
        /// `NaN`, `Infinity`, `-0` or a big integer: what JSON cannot say.
        unserializable_value: Option<String>,
        description: Option<String>,
        object_id: Option<ObjectId>,
    }
}
record! { Properties { result: Vec<Property>, exception_details: Option<ExceptionDetails> } }
record! { Property { name: String, value: Option<RemoteObject>, enumerable: bool } }
record! {
    ExceptionDetails {
        exception_id: i64,
        text: String,
        line_number: i64,
        column_number: i64,
        script_id: Option<ScriptId>,
        url: Option<String>,
        stack_trace: Option<StackTrace>,
        exception: Option<RemoteObject>,
        execution_context_id: Option<i64>,
    }
}
record! { StackTrace { description: Option<String>, call_frames: Vec<CallFrame>, parent: Option<Box<StackTrace>> } }
record! { CallFrame { function_name: String, script_id: ScriptId, url: String, line_number: i64, column_number: i64 } }
record! {
    ExecutionContext {
        id: i64,
        origin: String,
        /// The world's name; empty for the page's own.
        name: String,
        unique_id: String,
        /// `isDefault`, `type` and `frameId`.
        aux_data: Option<AuxData>,
    }
}
record! { AuxData { is_default: Option<bool>, r#type: Option<String>, frame_id: Option<super::FrameId> } }

/// An argument of a call: a value, or a handle.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallArgument {
    Value(serde_json::Value),
    ObjectId(ObjectId),
}

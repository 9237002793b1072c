//! `Log`: what the browser itself writes to the console.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use super::runtime::{RemoteObject, StackTrace};
use super::{Done, RequestId, command, event, record};

command! { Enable = "Log.enable" -> Done }
command! { Disable = "Log.disable" -> Done }

event! { EntryAdded = "Log.entryAdded" { entry: Entry } }

record! {
    Entry {
        /// `network`, `security`, `javascript`, `violation`, `intervention`, …
        source: String,
        /// `verbose`, `info`, `warning` or `error`.
        level: String,
        text: String,
        category: Option<String>,
        timestamp: f64,
        url: Option<String>,
        line_number: Option<i64>,
        stack_trace: Option<StackTrace>,
        network_request_id: Option<RequestId>,
        worker_id: Option<String>,
        args: Option<Vec<RemoteObject>>,
    }
}

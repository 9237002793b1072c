//! `Inspector`: the death of a target, told on its own session.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use super::{Done, command, event};

command! { Enable = "Inspector.enable" -> Done }
event! { Detached = "Inspector.detached" { reason: String } }
event! { TargetCrashed = "Inspector.targetCrashed" {} }
event! { TargetReloadedAfterCrash = "Inspector.targetReloadedAfterCrash" {} }

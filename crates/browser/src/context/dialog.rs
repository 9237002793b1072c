//! Dialogs: answered the moment they open, by the task that reads the events, because the page stands still until then.

use jurat_core::contract::{Accept, DialogAnswer};
use jurat_core::observation::{DialogEvent, DialogFact, Happening};
use jurat_core::untrusted::Untrusted;

use super::outlet::Class;
use super::state::{State, TabStatus};
use crate::cdp::Message;
use crate::cdp::protocol::page::{HandleJavaScriptDialog, JavascriptDialogOpening};
use crate::cdp::protocol::{SessionId, TargetId};

/// Dialogs that are answered in one step; a page that opens more stands still from then on.
pub(super) const MOST_DIALOGS: u32 = 20;

/// How one dialog is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    accepted: bool,
    text: Option<String>,
    expected: bool,
}

/// Dialogs are dismissed, `beforeunload` is accepted, unless the step says otherwise; what it says holds for the message that it
/// names, or for any.
pub(super) fn reply(answer: Option<&DialogAnswer>, kind: &str, message: &str) -> Reply {
    let meant = answer.filter(|answer| answer.message.as_ref().is_none_or(|wanted| wanted == message));
    match meant.map(|answer| &answer.accept) {
        None => Reply {
            accepted: kind == "beforeunload",
            text: None,
            expected: false,
        },
        Some(Accept::Button(accepted)) => Reply {
            accepted: *accepted,
            text: None,
            expected: true,
        },
        Some(Accept::Text(text)) => Reply {
            accepted: true,
            text: (kind == "prompt").then(|| text.clone()),
            expected: true,
        },
    }
}

impl State {
    /// Takes note of a dialog; gives the answer to send, or nothing when the page has opened too many.
    pub(super) fn dialog(
        &mut self,
        event: &Message,
        session: &SessionId,
        opened: &JavascriptDialogOpening,
    ) -> Option<HandleJavaScriptDialog> {
        self.step.opened += 1;
        let tab: Option<TargetId> = self.sessions.get(session).and_then(|session| session.tab.clone());
        if self.step.opened > MOST_DIALOGS {
            if let Some(tab) = tab.and_then(|target| self.tab_mut(&target)) {
                tab.status = TabStatus::Unresponsive;
            }
            self.outlet.admits(Class::Dialogs);
            return None;
        }
        let reply = reply(self.step.answer.as_ref(), &opened.r#type, &opened.message);
        if opened.r#type == "beforeunload"
            && !reply.accepted
            && let Some(tab) = tab.and_then(|target| self.tab_mut(&target))
        {
            tab.stayed += 1;
        }
        let (message, _) = Untrusted::bounded(&opened.message, 2048);
        let (kind, _) = Untrusted::bounded(&opened.r#type, 32);
        let kind = kind.raw().to_owned();
        let fact = DialogEvent {
            kind: kind.clone(),
            message: message.clone(),
            accepted: reply.accepted,
            answer: reply.text.clone(),
        };
        self.outlet.emit(Class::Dialogs, event.at, Happening::Dialog(fact));
        self.step.dialogs.push(DialogFact {
            kind,
            message,
            accepted: reply.accepted,
            expected: reply.expected,
        });
        let mut command = HandleJavaScriptDialog::new(reply.accepted);
        command.prompt_text = reply.text;
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn without_a_word_dialogs_are_dismissed_and_leaving_is_allowed() {
        assert_eq!(
            reply(None, "confirm", "?"),
            Reply {
                accepted: false,
                text: None,
                expected: false
            }
        );
        assert_eq!(
            reply(None, "beforeunload", ""),
            Reply {
                accepted: true,
                text: None,
                expected: false
            }
        );
    }

    #[test]
    fn an_answer_holds_for_its_message_only() {
        let answer = DialogAnswer {
            accept: Accept::Text("Ada".into()),
            message: Some("Name?".into()),
        };
        let named = reply(Some(&answer), "prompt", "Name?");
        assert_eq!(
            named,
            Reply {
                accepted: true,
                text: Some("Ada".into()),
                expected: true
            }
        );
        assert_eq!(
            reply(Some(&answer), "confirm", "Delete all?"),
            Reply {
                accepted: false,
                text: None,
                expected: false
            }
        );
        let stay = DialogAnswer {
            accept: Accept::Button(false),
            message: None,
        };
        assert_eq!(
            reply(Some(&stay), "beforeunload", ""),
            Reply {
                accepted: false,
                text: None,
                expected: true
            }
        );
    }
}

//! Which sessions exist, learnt from the event stream, so that calls to a dead one fail at once.
//!
//! A renderer that crashed never answers, and Chromium says nothing on the calls it had; nor does it name the child
//! sessions that go with a detached parent.

use std::collections::HashMap;

use super::event::Message;
use super::protocol::EventType;
use super::protocol::{SessionId, TargetId, inspector, target};

#[derive(Debug)]
struct Attached {
    target: TargetId,
    parent: Option<SessionId>,
    crashed: bool,
}

/// What an event did to sessions.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Crashed(Vec<SessionId>),
    Detached(Vec<SessionId>),
}

/// The live sessions.
#[derive(Debug, Default)]
pub(super) struct Targets {
    sessions: HashMap<SessionId, Attached>,
}

impl Targets {
    /// Whether calls to this session cannot be answered.
    pub(super) fn has_crashed(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|attached| attached.crashed)
    }

    /// Takes note of an event.
    pub(super) fn observe(&mut self, event: &Message) -> Change {
        match &*event.method {
            target::AttachedToTarget::METHOD => {
                if let Some(Ok(attached)) = event.decode::<target::AttachedToTarget>() {
                    let (target, parent) = (attached.target_info.target_id, event.session.clone());
                    self.sessions.insert(
                        attached.session_id,
                        Attached {
                            target,
                            parent,
                            crashed: false,
                        },
                    );
                }
                Change::None
            }
            target::DetachedFromTarget::METHOD => match event.decode::<target::DetachedFromTarget>() {
                Some(Ok(detached)) => Change::Detached(self.remove(detached.session_id)),
                _ => Change::None,
            },
            target::TargetCrashed::METHOD => match event.decode::<target::TargetCrashed>() {
                Some(Ok(crashed)) => self.crash(|_, attached| attached.target == crashed.target_id),
                _ => Change::None,
            },
            inspector::TargetCrashed::METHOD => self.crash(|session, _| Some(session) == event.session.as_ref()),
            inspector::TargetReloadedAfterCrash::METHOD => {
                if let Some(attached) = event
                    .session
                    .as_ref()
                    .and_then(|session| self.sessions.get_mut(session))
                {
                    attached.crashed = false;
                }
                Change::None
            }
            _ => Change::None,
        }
    }

    fn crash(&mut self, concerned: impl Fn(&SessionId, &Attached) -> bool) -> Change {
        let mut crashed = Vec::new();
        for (session, attached) in &mut self.sessions {
            if concerned(session, attached) {
                attached.crashed = true;
                crashed.push(session.clone());
            }
        }
        Change::Crashed(crashed)
    }

    /// Removes a session and all that were attached through it.
    fn remove(&mut self, session: SessionId) -> Vec<SessionId> {
        let mut gone = vec![session];
        let mut at = 0;
        while let Some(parent) = gone.get(at).cloned() {
            self.sessions.remove(&parent);
            gone.extend(
                self.sessions
                    .iter()
                    .filter(|(_, a)| a.parent.as_ref() == Some(&parent))
                    .map(|(s, _)| s.clone()),
            );
            at += 1;
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn event(session: Option<&str>, method: &str, params: &serde_json::Value) -> Message {
        Message {
            session: session.map(SessionId::from),
            method: method.into(),
            params: serde_json::value::to_raw_value(params).unwrap(),
            index: 0,
            at: std::time::Instant::now(),
        }
    }

    fn attached(parent: Option<&str>, session: &str, target: &str) -> Message {
        let info = serde_json::json!({"targetId": target, "type": "page", "title": "", "url": "", "attached": true});
        let params = serde_json::json!({"sessionId": session, "targetInfo": info, "waitingForDebugger": false});
        event(parent, "Target.attachedToTarget", &params)
    }

    #[test]
    fn a_detached_session_takes_its_children_along() {
        let mut targets = Targets::default();
        for (parent, session) in [(None, "a"), (Some("a"), "b"), (Some("b"), "c"), (None, "d")] {
            assert_eq!(targets.observe(&attached(parent, session, session)), Change::None);
        }
        let change = targets.observe(&event(
            None,
            "Target.detachedFromTarget",
            &serde_json::json!({"sessionId": "a"}),
        ));
        assert_eq!(change, Change::Detached(vec!["a".into(), "b".into(), "c".into()]));
        assert_eq!(targets.sessions.len(), 1);
    }

    #[test]
    fn a_crash_is_known_by_session_or_by_target_and_ends_with_a_reload() {
        let mut targets = Targets::default();
        targets.observe(&attached(None, "s", "t"));
        targets.observe(&event(Some("s"), "Inspector.targetCrashed", &serde_json::json!({})));
        assert!(targets.has_crashed(&"s".into()));
        targets.observe(&event(
            Some("s"),
            "Inspector.targetReloadedAfterCrash",
            &serde_json::json!({}),
        ));
        assert!(!targets.has_crashed(&"s".into()));
        let params = serde_json::json!({"targetId": "t", "status": "crashed", "errorCode": 11});
        assert_eq!(
            targets.observe(&event(None, "Target.targetCrashed", &params)),
            Change::Crashed(vec!["s".into()])
        );
    }
}

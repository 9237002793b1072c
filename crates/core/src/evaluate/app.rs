//! The app that jurat started: what its end, or another listener in its place, means for the criteria.

use crate::observation::{AppEnded, Edge, EndedBy, Event, Happening, ListenerFact};
use crate::reason::{Reason, ReasonClass, ReasonDetail};
use crate::untrusted::Untrusted;

/// Why the app of a viewport is gone, and what was seen; none while it stayed until jurat ended it.
pub fn gone(events: &[Event], viewport: &str) -> Option<(Reason, Untrusted)> {
    let ended = ended(events, viewport)?;
    let unreachable = |detail| Reason::new(ReasonClass::TargetUnreachable, detail);
    let reason = match ended.by {
        EndedBy::Jurat => return None,
        EndedBy::Itself if ended.was_ready => Reason::bare(ReasonClass::AppExited),
        EndedBy::Itself => Reason::new(ReasonClass::AppExited, ReasonDetail::ExitedBeforeReady),
        EndedBy::Memory => unreachable(ReasonDetail::OutOfMemory),
        EndedBy::Processes => unreachable(ReasonDetail::TooManyProcesses),
        EndedBy::Disk => unreachable(ReasonDetail::DiskFull),
    };
    Some((reason, words(ended)))
}

/// How it ended, for people, with the last lines that it wrote.
fn words(ended: &AppEnded) -> Untrusted {
    let how = match (ended.code, ended.signal) {
        (Some(code), _) => format!("the app exited with {code}"),
        (None, Some(signal)) => format!("the app was ended by signal {signal}"),
        (None, None) => "the app ended".to_owned(),
    };
    let tail = ended.log.as_ref().map_or("", |log| log.tail.raw().trim_end());
    if tail.is_empty() {
        return Untrusted::new(how);
    }
    Untrusted::new(format!("{how}; it wrote: {tail}"))
}

/// What bars a pass in a viewport although the app stayed: the kernel refused it something, or another one listens now.
pub fn bar(events: &[Event], viewport: &str) -> Option<(Reason, String)> {
    if let Some(ended) = ended(events, viewport) {
        let unreachable = |detail| Reason::new(ReasonClass::TargetUnreachable, detail);
        if let Some(kills @ 1..) = ended.used.oom_kills {
            let seen = format!("{kills} of the app's processes were killed for want of memory");
            return Some((unreachable(ReasonDetail::OutOfMemory), seen));
        }
        if let Some(refused @ 1..) = ended.used.forks_refused {
            let seen = format!("the app was refused a further process {refused} times");
            return Some((unreachable(ReasonDetail::TooManyProcesses), seen));
        }
    }
    let begin = listener(events, viewport, Edge::Begin)?;
    let Some(end) = listener(events, viewport, Edge::End) else {
        let reason = Reason::new(ReasonClass::EvidenceMissing, ReasonDetail::NoObservation);
        return Some((reason, "who listens at the end was not seen".into()));
    };
    let inodes = |fact: &ListenerFact| fact.sockets.iter().map(|s| s.inode).collect::<Vec<_>>();
    (inodes(begin) != inodes(end)).then(|| {
        let reason = Reason::new(ReasonClass::EvidenceMissing, ReasonDetail::ListenerChanged);
        (
            reason,
            format!("{} at the start, {} at the end", told(begin), told(end)),
        )
    })
}

fn told(fact: &ListenerFact) -> String {
    let all = fact.sockets.iter().map(|socket| {
        let pid = socket.pid.map(|pid| format!(" of pid {pid}")).unwrap_or_default();
        format!("socket {} at {}{pid}", socket.inode, socket.address)
    });
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        "nobody listens".into()
    } else {
        all.join(", ")
    }
}

fn ended<'a>(events: &'a [Event], viewport: &str) -> Option<&'a AppEnded> {
    events.iter().rev().find_map(|event| match &event.what {
        Happening::AppEnded(ended) if event.viewport.as_deref() == Some(viewport) => Some(ended),
        _ => None,
    })
}

/// Of the viewport, or of the whole run where the user runs the app.
fn listener<'a>(events: &'a [Event], viewport: &str, edge: Edge) -> Option<&'a ListenerFact> {
    events.iter().find_map(|event| match &event.what {
        Happening::Listener(fact) if fact.edge == edge && event.viewport.as_deref().is_none_or(|v| v == viewport) => {
            Some(fact)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{AppUse, ListenerSocket};

    fn event(viewport: Option<&str>, what: Happening) -> Event {
        Event {
            seq: 1,
            at_us: 1,
            viewport: viewport.map(str::to_owned),
            what,
        }
    }

    fn app(by: EndedBy, was_ready: bool, used: AppUse) -> Vec<Event> {
        let ended = AppEnded {
            by,
            code: Some(1),
            signal: None,
            was_ready,
            used,
            log: None,
            processes_left: 0,
        };
        vec![event(Some("desktop"), Happening::AppEnded(ended))]
    }

    fn listening(viewport: Option<&str>, edge: Edge, inodes: &[u64]) -> Event {
        let sockets = inodes.iter().map(|inode| ListenerSocket {
            address: "127.0.0.1:1".into(),
            inode: *inode,
            pid: None,
        });
        let sockets = sockets.collect();
        event(viewport, Happening::Listener(ListenerFact { edge, sockets }))
    }

    #[test]
    fn who_ended_it_says_whose_fault_it_is() {
        let class = |by, ready| gone(&app(by, ready, AppUse::default()), "desktop").map(|(r, _)| (r.class, r.detail));
        assert_eq!(class(EndedBy::Jurat, true), None);
        assert_eq!(class(EndedBy::Itself, true), Some((ReasonClass::AppExited, None)));
        assert_eq!(
            class(EndedBy::Itself, false),
            Some((ReasonClass::AppExited, Some(ReasonDetail::ExitedBeforeReady)))
        );
        for (by, detail) in [
            (EndedBy::Memory, ReasonDetail::OutOfMemory),
            (EndedBy::Processes, ReasonDetail::TooManyProcesses),
            (EndedBy::Disk, ReasonDetail::DiskFull),
        ] {
            assert_eq!(class(by, true), Some((ReasonClass::TargetUnreachable, Some(detail))));
        }
        assert_eq!(gone(&app(EndedBy::Itself, true, AppUse::default()), "mobile"), None);
    }

    #[test]
    fn what_the_kernel_refused_bars_a_pass() {
        let detail = |used| bar(&app(EndedBy::Jurat, true, used), "desktop").and_then(|(r, _)| r.detail);
        assert_eq!(detail(AppUse::default()), None);
        let killed = AppUse {
            oom_kills: Some(1),
            ..AppUse::default()
        };
        assert_eq!(detail(killed), Some(ReasonDetail::OutOfMemory));
        let refused = AppUse {
            oom_kills: Some(0),
            forks_refused: Some(3),
            ..AppUse::default()
        };
        assert_eq!(detail(refused), Some(ReasonDetail::TooManyProcesses));
    }

    #[test]
    fn another_listener_bars_a_pass_and_the_same_one_does_not() {
        let detail = |events: &[Event]| bar(events, "desktop").and_then(|(r, _)| r.detail);
        assert_eq!(detail(&[]), None);
        for viewport in [None, Some("desktop")] {
            let begin = listening(viewport, Edge::Begin, &[7]);
            let same = [begin.clone(), listening(viewport, Edge::End, &[7])];
            assert_eq!(detail(&same), None);
            for other in [&[8][..], &[7, 8], &[]] {
                let events = [begin.clone(), listening(viewport, Edge::End, other)];
                assert_eq!(detail(&events), Some(ReasonDetail::ListenerChanged), "{other:?}");
            }
            assert_eq!(detail(&[begin]), Some(ReasonDetail::NoObservation));
        }
        let elsewhere = [
            listening(Some("mobile"), Edge::Begin, &[7]),
            listening(Some("mobile"), Edge::End, &[8]),
        ];
        assert_eq!(detail(&elsewhere), None);
    }
}

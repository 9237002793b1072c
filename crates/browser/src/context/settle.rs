//! Coming to rest: requests answered, nothing changing any more.

use std::time::{Duration, Instant};

use jurat_core::observation::Settled;
use serde_json::json;

use super::error::ActError;
use super::state::TabStatus;
use super::tab::{Tab, broken};
use super::world::Arg;

/// What counts as rest.
#[derive(Debug, Clone, Copy)]
pub struct Settle {
    /// How long no document of the tab may have changed.
    pub quiet: Duration,
    /// How long is waited for that once requests are answered: a page with a clock in it never rests.
    pub patience: Duration,
    /// How long a request may stay without a response head and still be waited for: a longer one is a poll.
    pub long_poll: Duration,
}

impl Default for Settle {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            patience: Duration::from_secs(2),
            long_poll: Duration::from_secs(5),
        }
    }
}

/// How often time alone may have changed the answer.
const LOOK: Duration = Duration::from_millis(50);

impl Tab {
    /// Waits until requests in flight have been answered (see `network`) and no document of the tab has changed for a while, or the deadline. What
    /// holds then is the fact: requests still unanswered, and how long nothing had changed.
    ///
    /// # Errors
    /// When the tab crashed, closed, or does not answer.
    pub async fn settle(&self, options: Settle, deadline: Instant) -> Result<Settled, ActError> {
        const WHAT: &str = "settle";
        let begun = Instant::now();
        let mut patience = None;
        let mut quiet_us = 0;
        loop {
            let in_flight = self.answered(options, deadline).await?;
            let now = Instant::now();
            let until = *patience.get_or_insert(now + options.patience);
            let fact = |in_flight, quiet_us| Settled {
                in_flight,
                quiet_us,
                waited_us: micros(begun.elapsed()),
            };
            if in_flight > 0 || now >= deadline {
                return Ok(fact(in_flight, quiet_us));
            }
            let before = self.motion();
            let most = until.min(deadline).saturating_duration_since(now).max(options.quiet);
            match self.still(options.quiet, most, deadline).await {
                Ok(quiet) => quiet_us = quiet,
                // A document went away: it is not at rest.
                Err(ActError::Gone { .. }) => {
                    patience = None;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if self.motion() != before {
                patience = None;
                continue;
            }
            let in_flight = self.awaited(options);
            let now = Instant::now();
            if in_flight == 0 && (quiet_us >= micros(options.quiet) || now >= until) || now >= deadline {
                return Ok(fact(in_flight, quiet_us));
            }
            match self.status() {
                TabStatus::Open => {}
                status => return Err(broken(status, WHAT)),
            }
        }
    }

    fn awaited(&self, options: Settle) -> u32 {
        self.shared
            .lock()
            .requests
            .awaited(self.target(), Instant::now(), options.long_poll)
    }

    /// Waits until nothing is awaited; gives what still is at the deadline.
    async fn answered(&self, options: Settle, deadline: Instant) -> Result<u32, ActError> {
        loop {
            let slice = deadline.min(Instant::now() + LOOK);
            let done = self.shared.until(slice, |state| match state.status(self.target()) {
                TabStatus::Open => {
                    let loading = state
                        .tab(self.target())?
                        .main()
                        .is_some_and(|main| main.loader.is_some() && !main.loaded);
                    let awaited = state.requests.awaited(self.target(), Instant::now(), options.long_poll);
                    (awaited == 0 && !loading).then_some(Ok(0))
                }
                status => Some(Err(broken(status, "settle"))),
            });
            match done.await {
                Some(done) => return done,
                None if Instant::now() >= deadline => return Ok(self.awaited(options)),
                None => {}
            }
        }
    }

    /// What changes when the page does something.
    fn motion(&self) -> (u64, u64, usize) {
        let state = self.shared.lock();
        let commits = state.tab(self.target()).map_or(0, |tab| tab.commits);
        let frames = state.tab(self.target()).map_or(0, |tab| tab.frames.len());
        (state.requests.begun(self.target()), commits, frames)
    }

    /// Waits in every document until nothing has changed for `quiet`, `most` at the longest; gives the shortest time that nothing had
    /// changed, in microseconds.
    async fn still(&self, quiet: Duration, most: Duration, deadline: Instant) -> Result<u64, ActError> {
        let frames = self.frames();
        let mut shortest = u64::MAX;
        let args = || vec![Arg::Value(json!(millis(quiet))), Arg::Value(json!(millis(most)))];
        let calls = frames
            .iter()
            .filter(|frame| frame.parent.is_none() || frame.world.is_some() && !frame.crashed);
        let pending: Vec<_> = calls
            .map(|frame| {
                let (tab, frame, args) = (self.clone(), frame.clone(), args());
                tokio::spawn(async move {
                    tab.call_world::<u64>(&frame, "(q, m) => juratAct.quiet(q, m)", args, deadline)
                        .await
                })
            })
            .collect();
        for call in pending {
            let quiet = call.await.map_err(|_| ActError::Lost {
                what: "settle",
                detail: "cancelled".to_owned(),
            })??;
            shortest = shortest.min(quiet);
        }
        Ok(shortest)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

//! Tasks that end together.
//!
//! Everything a listener starts is spawned here; [`Tasks::close`] returns when the last of it is gone, sockets included.

use std::future::Future;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// Spawns into a [`Tasks`].
#[derive(Debug, Clone)]
pub(crate) struct Spawner {
    cancelled: watch::Receiver<bool>,
    alive: mpsc::Sender<()>,
}

impl Spawner {
    /// Runs `future` until it ends or the tasks are closed, whichever is first.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let mut cancelled = self.cancelled.clone();
        let alive = self.alive.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                _ = cancelled.wait_for(|cancelled| *cancelled) => {}
                () = future => {}
            }
            drop(alive);
        })
    }
}

/// The owner of a group of tasks. Dropping it cancels them without waiting.
#[derive(Debug)]
pub(crate) struct Tasks {
    cancel: watch::Sender<bool>,
    gone: mpsc::Receiver<()>,
}

impl Tasks {
    pub(crate) fn new() -> (Self, Spawner) {
        let (cancel, cancelled) = watch::channel(false);
        let (alive, gone) = mpsc::channel(1);
        (Self { cancel, gone }, Spawner { cancelled, alive })
    }

    /// Cancels all and waits until each has been dropped.
    pub(crate) async fn close(mut self) {
        self.cancel.send_replace(true);
        while self.gone.recv().await.is_some() {}
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.cancel.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn close_waits_for_nested_tasks() {
        let (tasks, spawner) = Tasks::new();
        let (inside, mut seen) = mpsc::channel::<()>(1);
        let nested = spawner.clone();
        spawner.spawn(async move {
            nested.spawn(async move {
                let _held = inside;
                std::future::pending::<()>().await;
            });
            std::future::pending::<()>().await;
        });
        drop(spawner);
        tasks.close().await;
        assert!(seen.recv().await.is_none());
    }
}

//! Cancelling a run from outside.

use std::sync::Arc;

use tokio::sync::watch;

/// A switch that ends a run; what was seen until then is sealed as inconclusive.
#[derive(Debug, Clone)]
pub struct Cancel {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A switch that is off.
    pub fn new() -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Ends the run.
    pub fn cancel(&self) {
        self.sender.send_replace(true);
    }

    /// Whether it has been ended.
    pub fn is_cancelled(&self) -> bool {
        *self.sender.borrow()
    }

    /// Waits until it is ended.
    pub async fn cancelled(&self) {
        let mut receiver = self.sender.subscribe();
        if receiver.wait_for(|on| *on).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

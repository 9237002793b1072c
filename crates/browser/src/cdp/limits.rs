//! The bounds of one connection. A browser that exceeds one costs evidence, which is reported, never memory.

/// Bounds of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message that is read, in bytes; a longer one is dropped and reported as lost.
    pub message_bytes: usize,
    /// The most bytes that wait to be written.
    pub write_bytes: usize,
    /// The most calls without an answer.
    pub pending_calls: usize,
    /// The most events that wait in one subscription.
    pub queue_events: usize,
    /// The most bytes of events that wait in one subscription.
    pub queue_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            message_bytes: 32 * MIB,
            write_bytes: 16 * MIB,
            pending_calls: 8192,
            queue_events: 65_536,
            queue_bytes: 32 * MIB,
        }
    }
}

//! How large a bundle may be.
//!
//! The writer refuses what is beyond; whoever hands it bytes cuts them before, and says so in the facts or by
//! [`crate::Writer::add_cut_blob`]. The reader refuses the same, so that a hostile directory costs bounded memory.

/// The bounds of one bundle. The same for writing and reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files together.
    pub total: u64,
    /// Number of files.
    pub files: usize,
}

impl Limits {
    /// The bounds of this version.
    pub const DEFAULT: Self = Self {
        file: 64 << 20,
        total: 256 << 20,
        files: 4096,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

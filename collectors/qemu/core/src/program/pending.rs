//! System calls that have not returned yet.

use std::path::PathBuf;

use super::threads::ThreadStart;

/// System call that has not returned yet.
pub enum PendingCall {
    /// Mapping of a file with code.
    Map { path: PathBuf, offset: u64 },
    /// Start of a thread.
    Thread(ThreadStart),
}

//! Child processes that do not outlive their owner.

use std::process::{Child, ExitStatus};

/// A child process, killed when dropped if it still runs.
pub(crate) struct OwnedChild(pub(crate) Child);

impl OwnedChild {
    /// Returns the exit status, if the process has ended.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Kills the process and waits for its end.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for OwnedChild {
    fn drop(&mut self) {
        if self.exit_status().is_none() {
            self.kill();
        }
    }
}

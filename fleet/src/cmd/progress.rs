//! Steps and warnings on standard error.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use relayout_messages::RecordingProgress;
use relayout_report::escape_text;

/// Time after which a step is shown.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// Progress in one line of a terminal; only warnings elsewhere.
pub struct LineProgress {
    started: Instant,
    is_terminal: bool,
}

impl LineProgress {
    /// Begins.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            is_terminal: stderr().is_terminal(),
        }
    }

    /// Removes the line.
    pub fn clear(&self) {
        if self.is_terminal {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

impl RecordingProgress for LineProgress {
    fn step(&self, text: &str) {
        if self.is_terminal && self.started.elapsed() > SHOWN_AFTER {
            let text: String = escape_text(text).chars().take(78).collect();
            let _ = write!(stderr(), "\r\x1b[K{text}");
        }
    }

    fn window(&self, _accesses: u64, _transfers: u64, _operations: u64) {}

    fn program(&self, _accesses: u64, _transfers: u64, _threads: u64) {}

    fn warn(&self, text: &str) {
        self.clear();
        let _ = writeln!(stderr(), "relayout: warning: {}", escape_text(text));
    }
}

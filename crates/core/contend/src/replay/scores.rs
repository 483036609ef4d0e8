//! Scores of layouts one after the other, with each line replayed once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{BytePlacement, CoherenceTally, LineTally, PreparedTrace};

/// A prepared trace, and the costs of its lines by their contents.
///
/// The cost of a line depends only on the accessed bytes on it. A layout that differs from an
/// earlier one in two lines is replayed on those two; the others are looked up. The numbers are
/// those of [`PreparedTrace::lines`], in whatever order layouts are asked for, and from whatever
/// thread.
#[derive(Debug)]
pub struct LineScores<'r> {
    replay: &'r PreparedTrace,
    line_bytes: u32,
    tallies: Mutex<FxHashMap<Box<[u64]>, CoherenceTally>>,
    replayed: AtomicU64,
}

impl<'r> LineScores<'r> {
    /// Scores without known lines; for `line_bytes` see [`replay`](super::replay()).
    pub fn new(replay: &'r PreparedTrace, line_bytes: u32) -> Self {
        Self {
            replay,
            line_bytes,
            tallies: Mutex::default(),
            replayed: AtomicU64::new(0),
        }
    }

    /// Returns the same as [`PreparedTrace::tally`].
    pub fn tally(&self, phase: u32, placement: &impl BytePlacement) -> CoherenceTally {
        let lines = self.lines(phase, placement);
        lines.into_iter().map(|line| line.tally).sum()
    }

    /// Returns the same as [`PreparedTrace::lines`].
    pub fn lines(&self, phase: u32, placement: &impl BytePlacement) -> Vec<LineTally> {
        self.replay
            .lines_with_scores(phase, placement, self.line_bytes, Some(self))
    }

    /// Returns the number of accesses replayed so far, those to lines that were not known.
    pub fn replayed_accesses(&self) -> u64 {
        self.replayed.load(Relaxed)
    }

    /// Returns the tally of the line whose contents have this key, if it is known.
    pub(super) fn lookup(&self, key: &[u64]) -> Option<CoherenceTally> {
        self.lock().get(key).copied()
    }

    /// Keeps the tally of a line that took `accesses` to replay.
    pub(super) fn learn(&self, key: Box<[u64]>, tally: CoherenceTally, accesses: u64) {
        self.replayed.fetch_add(accesses, Relaxed);
        self.lock().insert(key, tally);
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<Box<[u64]>, CoherenceTally>> {
        // Entries of the map are complete even if a thread panicked while it held the lock.
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

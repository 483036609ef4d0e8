//! Layouts scored one after the other, each line once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{BytePlacement, CoherenceTally, LineTally, PreparedTrace};

/// A prepared trace and what its lines cost so far, by what lay on them.
///
/// What a line costs depends on which accessed bytes are on it and on nothing else. A layout that differs
/// from one scored before in two lines is replayed on those two; the others are looked up. The numbers
/// are those of [`Replay::lines`], in whatever order layouts are asked for, and from whatever thread.
#[derive(Debug)]
pub struct LineScores<'r> {
    replay: &'r PreparedTrace,
    line_bytes: u32,
    tallies: Mutex<FxHashMap<Box<[u64]>, CoherenceTally>>,
    replayed: AtomicU64,
}

impl<'r> LineScores<'r> {
    /// Nothing known yet; for `line_bytes` see [`replay`](super::replay()).
    pub fn new(replay: &'r PreparedTrace, line_bytes: u32) -> Self {
        Self {
            replay,
            line_bytes,
            tallies: Mutex::default(),
            replayed: AtomicU64::new(0),
        }
    }

    /// As [`Replay::tally`].
    pub fn tally(&self, phase: u32, placement: &impl BytePlacement) -> CoherenceTally {
        let lines = self.lines(phase, placement);
        lines.into_iter().map(|line| line.tally).sum()
    }

    /// As [`Replay::lines`].
    pub fn lines(&self, phase: u32, placement: &impl BytePlacement) -> Vec<LineTally> {
        self.replay
            .lines_with_scores(phase, placement, self.line_bytes, Some(self))
    }

    /// Accesses replayed so far: those to lines that were not known.
    pub fn replayed_accesses(&self) -> u64 {
        self.replayed.load(Relaxed)
    }

    /// What a line costs whose contents have this key, if that is known.
    pub(super) fn lookup(&self, key: &[u64]) -> Option<CoherenceTally> {
        self.lock().get(key).copied()
    }

    /// Keeps what a line costs; it took `accesses` to find out.
    pub(super) fn learn(&self, key: Box<[u64]>, tally: CoherenceTally, accesses: u64) {
        self.replayed.fetch_add(accesses, Relaxed);
        self.lock().insert(key, tally);
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<Box<[u64]>, CoherenceTally>> {
        // What is in the map is whole, whatever happened to who held it.
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

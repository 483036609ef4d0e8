//! Layouts scored one after the other, each line once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::{LineTally, Placement, Replay, Tally};

/// A prepared trace and what its lines cost so far, by what lay on them.
///
/// What a line costs depends on which accessed bytes are on it and on nothing else. A layout that differs
/// from one scored before in two lines is replayed on those two; the others are looked up. The numbers
/// are those of [`Replay::lines`], in whatever order layouts are asked for, and from whatever thread.
#[derive(Debug)]
pub struct LineScores<'r> {
    replay: &'r Replay,
    line_bytes: u32,
    known: Mutex<FxHashMap<Box<[u64]>, Tally>>,
    replayed: AtomicU64,
}

impl<'r> LineScores<'r> {
    /// Nothing known yet; for `line_bytes` see [`replay`](super::replay()).
    pub fn new(replay: &'r Replay, line_bytes: u32) -> Self {
        Self {
            replay,
            line_bytes,
            known: Mutex::default(),
            replayed: AtomicU64::new(0),
        }
    }

    /// As [`Replay::tally`].
    pub fn tally(&self, phase: u32, placement: &impl Placement) -> Tally {
        let lines = self.lines(phase, placement);
        lines.into_iter().map(|line| line.tally).sum()
    }

    /// As [`Replay::lines`].
    pub fn lines(&self, phase: u32, placement: &impl Placement) -> Vec<LineTally> {
        self.replay
            .lines_known(phase, placement, self.line_bytes, Some(self))
    }

    /// Accesses replayed so far: those to lines that were not known.
    pub fn replayed(&self) -> u64 {
        self.replayed.load(Relaxed)
    }

    /// What a line costs whose contents have this key, if that is known.
    pub(super) fn known(&self, key: &[u64]) -> Option<Tally> {
        self.lock().get(key).copied()
    }

    /// Keeps what a line costs; it took `accesses` to find out.
    pub(super) fn learn(&self, key: Box<[u64]>, tally: Tally, accesses: u64) {
        self.replayed.fetch_add(accesses, Relaxed);
        self.lock().insert(key, tally);
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<Box<[u64]>, Tally>> {
        // What is in the map is whole, whatever happened to who held it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

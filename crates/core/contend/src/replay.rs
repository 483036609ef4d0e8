//! Trace-driven replay: the cost of the recorded accesses if the object's bytes lay elsewhere.
//!
//! The model is MESI over infinite caches with contexts as cores. A line's state is unknown when
//! the trace begins, so that a context's first access to a line that nobody has written in the
//! trace costs nothing.
//!
//! - *Read transfer*: a load by a context without a valid copy of a line that was written in the
//!   trace (by another context, since its own store would have left it a copy).
//! - *Write transfer*: the same for a store. A read-write counts as a store.
//! - *Upgrade*: a store by a context with a valid copy while others hold copies too.
//!
//! Each transfer is classified twice. *False by first touch*: the access itself uses (loads or
//! stores) no byte of the line that another context wrote since this one lost the line, or ever in
//! the trace if it never had it. *False by lifetime*: no later access of the context does either,
//! until it loses the line again or the trace ends. The context would not have needed this transfer
//! if those bytes had been elsewhere (after Dubois et al., "The detection and elimination of
//! useless misses in multiprocessors", ISCA 1993). A transfer that is false by lifetime is always
//! false by first touch.
//!
//! A silent store (one that left every byte as it was) invalidates the other copies like any store,
//! but writes no byte in the sense above: nobody needs its value, so that a transfer caused by
//! silent stores alone is false by both measures. Where silence is unknown, a store counts as
//! having written. An access whose bytes fall on two lines touches both.
//!
//! Replay keeps the recorded order: spinning, failed exchanges and hold times do not react to the
//! new placement.

mod bits;
mod contents;
mod line;
mod prepare;
mod scores;
mod walk;

use std::iter::Sum;
use std::ops::{Add, AddAssign, Range};

use relayout_profile::{AccessKind, Addr, ContextId, SiteId};

use prepare::Granule;
pub use prepare::PreparedTrace;
pub use scores::LineScores;
use serde::{Deserialize, Serialize};

/// An access to an object, relative to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceAccess {
    /// CPU or thread.
    pub context: ContextId,
    /// Offset of its first byte from the object's first byte, in the recorded layout.
    pub offset: u32,
    /// Size in bytes.
    pub size: u8,
    /// Kind of access.
    pub access: AccessKind,
    /// True if a store left every byte as it was; `None` where values were not recorded.
    pub silent: Option<bool>,
    /// Index into the profile's sites.
    pub site: SiteId,
}

impl TraceAccess {
    /// Returns true if it invalidates the other copies: a store, or a read-write.
    pub fn is_store(&self) -> bool {
        self.access != AccessKind::Read
    }

    /// Returns the load of a guard before the access, and the access behind the guard: itself, or
    /// nothing where it is known to have changed nothing. `None` if the access is not `guarded` or
    /// does not store.
    pub(crate) fn with_guard(
        &self,
        guarded: impl Fn(&Self) -> bool,
    ) -> Option<(Self, Option<Self>)> {
        let guard_load = Self {
            access: AccessKind::Read,
            silent: None,
            ..*self
        };
        let stays = (self.silent != Some(true)).then_some(*self);
        (self.is_store() && guarded(self)).then_some((guard_load, stays))
    }
}

/// Recorded accesses of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectTrace {
    /// Recorded address of the object's first byte.
    pub base: Addr,
    /// Accesses in recorded order.
    pub accesses: Vec<TraceAccess>,
    /// Operations that the workload finished during the trace; 0 if unknown.
    pub operations: u64,
    /// Ranges of offsets (ascending, disjoint) whose accesses are all in the trace.
    pub covered: Vec<Range<u32>>,
}

impl ObjectTrace {
    /// Returns the phase of the object in a line of `line_bytes` (0 counts as 1), in bytes.
    pub fn phase(&self, line_bytes: u32) -> u32 {
        (self.base % u64::from(line_bytes.max(1))) as u32
    }

    /// Returns the trace with guards before the stores that are guarded. Guarded stores that
    /// changed nothing become loads, also where one instruction loads and stores (`x &= ~FLAG`). A
    /// store that is not known to have changed nothing stays a store, without the load of its
    /// guard. That makes no difference to transfers, since either of them brings the line.
    pub fn with_store_guards(&self, is_guarded: impl Fn(&TraceAccess) -> bool) -> Self {
        let mut guarded = self.clone();
        for access in &mut guarded.accesses {
            if let Some((guard_load, None)) = access.with_guard(&is_guarded) {
                *access = guard_load;
            }
        }
        guarded
    }
}

/// Coherence events that a replay counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CoherenceTally {
    /// Loads that fetched the line from another context.
    pub read_transfers: u64,
    /// Stores that fetched the line from another context.
    pub write_transfers: u64,
    /// Stores that had the line and invalidated other copies.
    pub upgrades: u64,
    /// Transfers whose access used no byte that another context had written since the line was
    /// lost.
    pub false_first_touch: u64,
    /// Transfers after which the context used no such byte until it lost the line again.
    pub false_lifetime: u64,
}

impl CoherenceTally {
    /// Returns the read and write transfers.
    pub fn transfers(&self) -> u64 {
        self.read_transfers + self.write_transfers
    }
}

impl AddAssign for CoherenceTally {
    fn add_assign(&mut self, other: Self) {
        self.read_transfers += other.read_transfers;
        self.write_transfers += other.write_transfers;
        self.upgrades += other.upgrades;
        self.false_first_touch += other.false_first_touch;
        self.false_lifetime += other.false_lifetime;
    }
}

impl Add for CoherenceTally {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sum for CoherenceTally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Self::add)
    }
}

/// Coherence events of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTally {
    /// Lines from the one that holds the object's new first byte.
    pub line: u32,
    /// Events on the line.
    pub tally: CoherenceTally,
}

/// Numbers of accesses by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessCounts {
    /// Loads.
    pub loads: u64,
    /// Stores that do not load.
    pub stores: u64,
    /// Read-writes: one instruction that loads and stores.
    pub exchanges: u64,
}

impl AccessCounts {
    /// Returns the number of all accesses.
    pub fn total(&self) -> u64 {
        let stores = self.stores.saturating_add(self.exchanges);
        self.loads.saturating_add(stores)
    }
}

impl AddAssign for AccessCounts {
    fn add_assign(&mut self, other: Self) {
        self.loads = self.loads.saturating_add(other.loads);
        self.stores = self.stores.saturating_add(other.stores);
        self.exchanges = self.exchanges.saturating_add(other.exchanges);
    }
}

/// Uses of a line by one context, and its waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextWaits {
    /// CPU or thread.
    pub context: ContextId,
    /// Accesses that waited: for the data (transfers), or for the others to give up their copies
    /// (upgrades).
    pub waits: u64,
    /// All its replayed accesses to the line.
    pub accesses: AccessCounts,
}

/// Uses of a line and waits for it, by context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineWaits {
    /// Lines from the one that holds the object's new first byte.
    pub line: u32,
    /// In the order of the contexts' numbers; without contexts that never used the line.
    pub contexts: Vec<ContextWaits>,
}

/// Placement of an object's bytes.
///
/// Replay asks for single bytes, so that an access which spans two members follows both. Every
/// accessed byte needs a place, also in holes; two bytes with one place count as one byte.
pub trait BytePlacement {
    /// Returns the new offset, from the object's new first byte, of the byte at `offset` in the
    /// recorded layout.
    fn place(&self, offset: u32) -> u32;
}

impl<F: Fn(u32) -> u32> BytePlacement for F {
    fn place(&self, offset: u32) -> u32 {
        self(offset)
    }
}

/// The recorded placement itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordedPlacement;

impl BytePlacement for RecordedPlacement {
    fn place(&self, offset: u32) -> u32 {
        offset
    }
}

/// Replays `trace` once with its bytes at the offsets of `placement`.
///
/// `phase` is the new address of the object's first byte modulo the line. `line_bytes` is rounded
/// to a power of two and clamped to 16 to 256; twice the line size counts in line pairs. To try
/// many placements on a trace, keep a [`PreparedTrace`].
///
/// ```
/// use relayout_contend::{ObjectTrace, RecordedPlacement, replay};
///
/// let tally = replay(&ObjectTrace::default(), 0, &RecordedPlacement, 64);
/// assert_eq!(tally.transfers(), 0);
/// ```
pub fn replay(
    trace: &ObjectTrace,
    phase: u32,
    placement: &impl BytePlacement,
    line_bytes: u32,
) -> CoherenceTally {
    PreparedTrace::new(trace).tally(phase, placement, line_bytes)
}

/// Replays as [`replay`] does, and returns the events of each touched line, ascending.
pub fn replay_lines(
    trace: &ObjectTrace,
    phase: u32,
    placement: &impl BytePlacement,
    line_bytes: u32,
) -> Vec<LineTally> {
    PreparedTrace::new(trace).lines(phase, placement, line_bytes)
}

//! Trace-driven replay: what would these accesses cost if the object's bytes lay elsewhere?
//!
//! The model is MESI over infinite caches with contexts as cores. A line's state is unknown when
//! the trace begins, so a context's first access to a line that nobody has written in the trace
//! costs nothing.
//!
//! - *Read transfer*: a load by a context without a valid copy of a line that was written in the
//!   trace (by another, since its own writing would have left it a copy).
//! - *Write transfer*: the same for a store. A read-write counts as a store.
//! - *Upgrade*: a store by a context with a valid copy while others hold copies too.
//!
//! Each transfer is classified twice. *False by first touch*: the access itself uses (loads or
//! stores) no byte of the line that another context wrote since this one lost the line, or ever in
//! the trace if it never had it. *False by lifetime*: neither does any later access of the context
//! until it loses the line again or the trace ends, so the context could have done without this
//! transfer had those bytes been elsewhere (after Dubois et al., "The detection and elimination of
//! useless misses in multiprocessors", ISCA 1993). A lifetime-false transfer is always false by
//! first touch.
//!
//! A silent store (one that left every byte as it was) takes the line from the others like any
//! store, but writes no byte in the sense above: nobody needs its value, so a transfer caused by
//! silent stores alone is false by both measures. Where silence is not known, a store counts as
//! having written. An access whose bytes fall on two lines touches both.
//!
//! Replay freezes the recorded order: spinning, failed exchanges and hold times do not react to
//! the new placement.

mod bits;
mod contents;
mod line;
mod prepare;
mod scores;
mod walk;

use relayout_profile::Addr;
use relayout_profile::{ContextId, SiteId};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Range};

use relayout_profile::AccessKind;

use prepare::Granule;
pub use prepare::PreparedTrace;
pub use scores::LineScores;

/// One access to an object, relative to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceAccess {
    /// CPU or thread.
    pub context: ContextId,
    /// First byte, from the object's first byte in the recorded layout.
    pub offset: u32,
    /// Bytes accessed.
    pub size: u8,
    /// Kind.
    pub access: AccessKind,
    /// A store that left every byte as it was; `None` where values were not seen.
    pub silent: Option<bool>,
    /// Index into the profile's sites.
    pub site: SiteId,
}

impl TraceAccess {
    /// Whether it takes the line from the others: a store, or both at once.
    pub fn is_store(&self) -> bool {
        self.access != AccessKind::Read
    }

    /// The load of a check in front of it, and what follows the check: itself, or nothing where it is known to
    /// have changed nothing. `None` where it has no check: if it is not `guarded`, or does not store.
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

/// The recorded accesses of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectTrace {
    /// Recorded address of the object's first byte.
    pub base: Addr,
    /// In recorded order.
    pub accesses: Vec<TraceAccess>,
    /// Operations that the workload finished while this was recorded; 0 if unknown.
    pub operations: u64,
    /// Bytes of the object (offsets, ascending, disjoint) whose accesses are all here.
    pub covered: Vec<Range<u32>>,
}

impl ObjectTrace {
    /// How far into a line of `line_bytes` (0 counts as 1) the object begins, in bytes.
    pub fn phase(&self, line_bytes: u32) -> u32 {
        (self.base % u64::from(line_bytes.max(1))) as u32
    }

    /// The trace with a check before stores: those by `which` that changed nothing are loads then, also where
    /// one instruction loads and stores (`x &= ~FLAG`). What was not seen to change nothing stays a store, without
    /// the load of its check, which makes no difference to transfers: either of them brings the line.
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

/// What a replay counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoherenceTally {
    /// Loads that had to fetch the line from another context (HITM).
    pub read_transfers: u64,
    /// Stores that had to.
    pub write_transfers: u64,
    /// Stores that had the line and had to invalidate other copies.
    pub upgrades: u64,
    /// Transfers whose access used no byte that another had written since the line was lost.
    pub false_first_touch: u64,
    /// Transfers after which the context used no such byte until it lost the line again.
    pub false_lifetime: u64,
}

impl CoherenceTally {
    /// Read and write transfers.
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

/// What a replay counted on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineTally {
    /// Lines from the one that holds the object's new first byte.
    pub line: u32,
    /// Its events.
    pub tally: CoherenceTally,
}

/// Accesses by kind.
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
    /// All of them.
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

/// How one context used one line, and how often it had to wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextWaits {
    /// CPU or thread.
    pub context: ContextId,
    /// Its accesses that had to wait: for the data (transfers), or for the others to give up their copies
    /// (upgrades).
    pub waits: u64,
    /// All its accesses to the line that were replayed.
    pub accesses: AccessCounts,
}

/// Who used one line, and had to wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineWaits {
    /// Lines from the one that holds the object's new first byte.
    pub line: u32,
    /// In order of the contexts' numbers; those that never used the line are not here.
    pub contexts: Vec<ContextWaits>,
}

/// Where a layout puts the bytes of an object.
///
/// Asked for single bytes, so that an access which spans two members follows both. Every byte that
/// is accessed needs a place, bytes in holes too; two bytes with one place would be taken as one.
pub trait BytePlacement {
    /// New offset, from the object's new first byte, of the byte at `offset` in the recorded
    /// layout.
    fn place(&self, offset: u32) -> u32;
}

impl<F: Fn(u32) -> u32> BytePlacement for F {
    fn place(&self, offset: u32) -> u32 {
        self(offset)
    }
}

/// The recorded layout itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordedPlacement;

impl BytePlacement for RecordedPlacement {
    fn place(&self, offset: u32) -> u32 {
        offset
    }
}

/// Replays `trace` once with its bytes where `placement` puts them.
///
/// `phase` is the new address of the object's first byte modulo the line. `line_bytes` is rounded
/// to a power of two and held between 16 and 256; twice the line size counts in line pairs. To try
/// many placements on one trace, make a [`Replay`] and keep it.
pub fn replay(
    trace: &ObjectTrace,
    phase: u32,
    placement: &impl BytePlacement,
    line_bytes: u32,
) -> CoherenceTally {
    PreparedTrace::new(trace).tally(phase, placement, line_bytes)
}

/// As [`replay`], line by line: the lines that were touched, ascending.
pub fn replay_lines(
    trace: &ObjectTrace,
    phase: u32,
    placement: &impl BytePlacement,
    line_bytes: u32,
) -> Vec<LineTally> {
    PreparedTrace::new(trace).lines(phase, placement, line_bytes)
}

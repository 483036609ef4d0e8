//! Interface to a collector: services, values, and thresholds at which detail begins.

use crate::wire::SegmentHeader;

/// Services that a collector provides.
pub trait CollectorHost {
    /// `bytes` of zeroed memory, page-aligned, never given back; `None` if there is none.
    fn zeroed(&self, bytes: usize) -> Option<*mut u8>;
    /// Appends a segment to the file of `context`. Called by the thread that runs it.
    fn append(&self, context: u16, header: &SegmentHeader, payload: &[u8]);
    /// Lets another thread run: a lock is held by a thread that may not be running.
    fn relax(&self);
}

/// Kind of an access; numbers as in `CountRecord::access`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum AccessKind {
    /// Load.
    Read = 0,
    /// Store.
    Write = 1,
    /// Load and store by one instruction, atomic or not.
    ReadWrite = 2,
}

/// The value that an access loaded or stored.
#[derive(Clone, Copy, Debug)]
pub enum AccessValue {
    /// The collector sees it.
    Seen {
        /// Bytes in memory order; the first `size` count.
        bytes: [u8; 16],
        /// False where the instruction may have left something else in memory (locked instructions,
        /// of which the collector knows an operand only).
        certain: bool,
    },
    /// The store is announced before it is made. The collector calls
    /// [`ShadowMemory::settle_store`](crate::ShadowMemory::settle_store) afterwards, and before the
    /// context's next access.
    Awaited,
}

/// What a collector knows of an access besides its place. It is asked only where that matters.
pub trait AccessFacts {
    /// Returns the value that the access loaded or stored; `None` where the collector cannot know.
    fn value(&self) -> Option<AccessValue>;

    /// Returns the context's clock at the access, which counts what the context does: its
    /// instructions, or its accesses. `None` without a clock.
    fn clock(&self) -> Option<u64>;

    /// Returns the instruction's kind, as [`VisitRecord::instruction`](crate::wire::VisitRecord::instruction).
    fn instruction(&self) -> u8;

    /// Returns whether the instruction, a compare-and-exchange, stores; `None` where the collector
    /// does not know it yet, see [`ShadowMemory::note_exchange`](crate::ShadowMemory::note_exchange).
    fn stored(&self) -> Option<bool> {
        None
    }
}

/// The value alone, of a collector without a clock.
impl<F: Fn() -> Option<AccessValue>> AccessFacts for F {
    fn value(&self) -> Option<AccessValue> {
        self()
    }

    fn clock(&self) -> Option<u64> {
        None
    }

    fn instruction(&self) -> u8 {
        0
    }
}

/// Effect of an awaited store on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreEffect {
    /// The collector does not know it.
    Unknown,
    /// The atomic operation that made the store returned the value before it.
    Exact {
        /// The store left every byte as it was.
        is_silent: bool,
    },
    /// The collector compared memory before the announcement with memory now. Another context's
    /// store in between spoils the comparison.
    Compared {
        /// Memory is as it was.
        is_silent: bool,
    },
}

/// [`ShadowConfig::pair_period`] unless told otherwise.
pub const PAIR_PERIOD: u32 = 1024;

/// Accesses that are logged in order, for each whose time is logged, too.
const BURSTS_PER_VISIT: u64 = 4;
/// Regions whose logs together hold as many accesses with their time as may be logged in order.
const VISIT_REGIONS_MIN: u64 = 128;

/// When detail begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct ShadowConfig {
    /// Contexts, at most [`crate::CONTEXTS_MAX`].
    pub contexts: usize,
    /// Coherence events of a line from which its accesses are counted by granule and site.
    pub count_from: u32,
    /// Coherence events from which values are compared.
    pub values_from: u32,
    /// Coherence events from which the ordered accesses around the line are logged.
    pub burst_from: u32,
    /// Accesses logged per region, at most.
    pub burst_region_max: u32,
    /// Accesses logged in all, at most.
    pub burst_total_max: u64,
    /// Ticks of a context's clock without a logged access to a line after which the next one begins
    /// a visit: of a few tens of nanoseconds.
    pub visit_gap: u64,
    /// Accesses of visits logged per region, at most.
    pub visits_region_max: u32,
    /// Accesses of visits logged in all, at most.
    pub visits_total_max: u64,
    /// Regions logged on each side of a hot line's own.
    pub burst_reach: u64,
    /// Accesses of a context, in the mean, from one whose pair of lines is looked at to the next
    /// (see [`ShadowMemory::pass_accesses`](crate::ShadowMemory::pass_accesses)); 0 counts as 1.
    pub pair_period: u32,
    /// Binary logarithm of the page table's size, which 7/8 of can be used: accesses to more pages
    /// are not followed, and count as lost. Held between 8 and 32.
    pub page_table_bits: u32,
}

impl ShadowConfig {
    /// The defaults for `contexts` contexts.
    pub fn new(contexts: usize) -> Self {
        Self {
            contexts,
            count_from: 16,
            values_from: 8,
            burst_from: 16,
            burst_region_max: 64 * 1024,
            burst_total_max: 4_000_000,
            visit_gap: 50,
            visits_region_max: 32 * 1024,
            visits_total_max: 1_000_000,
            burst_reach: 2,
            pair_period: PAIR_PERIOD,
            page_table_bits: 20,
        }
    }

    /// Puts counts by site, values and logs out of reach.
    pub fn record_no_detail(&mut self) {
        (self.count_from, self.values_from, self.burst_from) = (u32::MAX, u32::MAX, u32::MAX);
    }

    /// Sets the number of accesses that are logged in order. Above the default, more of them have their time, too.
    pub fn set_log_limit(&mut self, accesses: u64) {
        let region = u32::try_from(accesses / VISIT_REGIONS_MIN).unwrap_or(u32::MAX);
        self.visits_region_max = self.visits_region_max.max(region);
        let timed = self.visits_total_max.min(accesses);
        self.visits_total_max = timed.max(accesses / BURSTS_PER_VISIT);
        self.burst_total_max = accesses;
    }
}

#[cfg(test)]
mod tests {
    use super::ShadowConfig;

    #[track_caller]
    fn check(limit: u64, expect: (u64, u64, u32)) {
        let mut config = ShadowConfig::new(4);
        config.set_log_limit(limit);
        let found = (
            config.burst_total_max,
            config.visits_total_max,
            config.visits_region_max,
        );
        assert_eq!(found, expect);
    }

    #[test]
    fn timed_accesses_grow_with_the_log() {
        check(0, (0, 0, 32 * 1024));
        check(4_000_000, (4_000_000, 1_000_000, 32 * 1024));
        check(40_000_000, (40_000_000, 10_000_000, 312_500));
        check(u64::MAX, (u64::MAX, u64::MAX / 4, u32::MAX));
    }
}

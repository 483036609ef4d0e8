//! Remedies of a finding as data.

use serde::{Deserialize, Serialize};

use crate::identify::SiteSource;

/// A remedy of a finding. Changes of placement or code that replay can judge were replayed, and are
/// listed only if they have fewer transfers. The others tell where to look; they are not scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Remedy {
    /// Move `member` off the cache line of `from`: the transfers between them are false by
    /// lifetime.
    SeparateMembers {
        /// Member whose accesses miss.
        member: String,
        /// Member or variable beside it that is stored to.
        from: String,
        /// Transfers of `member` invalidated by stores to `from` that are false by lifetime.
        transfers: u64,
    },
    /// Keep elements of an array that different contexts use on separate lines.
    SeparateElements {
        /// Path of the array.
        member: String,
        /// Transfers between its elements that are false by lifetime.
        transfers: u64,
    },
    /// Give each element of an array lines of its own, by padding or alignment; or have a copy for
    /// each context.
    PadElements {
        /// Name of the array's variable, or its type.
        array: String,
        /// Bytes from one element to the next.
        stride: u64,
        /// The next multiple of the line size.
        padded_stride: u64,
        /// Transfers between elements that are false by lifetime.
        transfers: u64,
    },
    /// Round the borders of runs of elements, each of which one context uses, to whole lines, and
    /// align the array. Larger elements would cost much more memory.
    RoundRuns {
        /// Name of the array's variable or member, or its type.
        array: String,
        /// Bytes from one element to the next.
        stride: u64,
        /// Elements of a run; `None` where runs have several lengths.
        run_elements: Option<u64>,
        /// The same, rounded up to whole lines.
        rounded_elements: Option<u64>,
        /// Number of elements that fill whole lines, at least.
        granule_elements: u64,
        /// Elements by which the array grows, if each run keeps its own; none if the runs are cut
        /// anew.
        extra_elements_max: u64,
        /// Bytes from one element to the next with each on lines of its own: the other choice.
        padded_stride: u64,
        /// Transfers between elements that are false by lifetime.
        transfers: u64,
        /// Transfers of the array as it is, and with rounded runs; `None` where it was not logged
        /// in order.
        replayed: Option<ReplayComparison>,
        /// The same transfers with each element on lines of its own.
        padded_transfers: Option<u64>,
    },
    /// Keep objects that share a line apart.
    SeparateObjects {
        /// Transfers between them that are false by lifetime.
        transfers: u64,
    },
    /// Let objects begin at multiples of `bytes`, the smallest power of two with which no object
    /// crosses a line.
    Align {
        /// Bytes.
        bytes: u64,
        /// Transfers of the objects as they are, and aligned; `None` where a scalar is split, which
        /// needs no proof.
        replayed: Option<ReplayComparison>,
    },
    /// Guard a store: load first, and store only a value that differs.
    GuardStore {
        /// Member that is stored to; of several, the one with most transfers.
        member: String,
        /// Number of members on the line that the same instruction stores to: several if it copies.
        members: u64,
        /// Store instruction with the most silent stores.
        source: SiteSource,
        /// Number of its stores.
        stores: u64,
        /// Number of its stores that changed nothing.
        silent: u64,
        /// Transfers as it is, and with silent stores as loads; `None` where it was not logged in
        /// order.
        replayed: Option<ReplayComparison>,
        /// The same transfers with the member on a line of its own.
        own_line: Option<OwnLineTransfers>,
    },
    /// Put a lock on a line of its own, or leave it with its data, whichever has fewer transfers in
    /// replay.
    Lock {
        /// True if the lock should get a line of its own.
        apart: bool,
        /// Transfers with the lock beside its data, and apart.
        replayed: ReplayComparison,
    },
    /// Most transfers bring a value that is needed: change the stores to it, or their frequency. A
    /// search tells whether a layout saves a part.
    Shared {
        /// Member whose stores most transfers bring.
        member: String,
        /// Pattern of the sharing, which tells where to look.
        pattern: SharingPattern,
    },
    /// Avoid reading another context's member.
    DropRead {
        /// Name of the member.
        member: String,
        /// Read transfers by loads of it.
        transfers: u64,
        /// Those of them that bring a value that its owner stored.
        needed: u64,
    },
    /// Give a variable a line of its own: the linker, or the compiler, put others beside it.
    OwnLine {
        /// Name of the variable.
        variable: String,
        /// True if it is hardly ever stored to.
        is_read_mostly: bool,
        /// True for a local variable, on a stack.
        is_local: bool,
        /// Other variables on the line, most transfers first.
        neighbours: Vec<String>,
    },
    /// Move a member that is hardly ever stored to beside other such members.
    Gather {
        /// Member that is read.
        member: String,
        /// Loads by all contexts.
        loads: u64,
        /// Stores.
        stores: u64,
    },
}

/// Pattern of a truly shared line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharingPattern {
    /// A lock: take it less often, for shorter, or have several.
    Lock,
    /// A reference count: take fewer references.
    References,
    /// Links of a list or tree: several lists, or several entries at a time.
    List,
    /// Several contexts add to it, and it is hardly read otherwise: one for each context, summed
    /// when read.
    PerContext,
    /// Contexts draw numbers from it, as tickets or indices: draw several at a time.
    Ticket,
    /// Contexts set and clear bits of it: a word for each context, or for each writer's bits.
    Bits,
    /// A lock or futex word: exchanged to take it and to hand it over. Take it less often.
    WaitWord,
    /// Contexts lead it from state to state by comparing and exchanging.
    State,
    /// Loaded more often than stored to: publish a copy less often.
    Copy,
    /// Each object has one context that stores to it, and others read it: read less often.
    Owned,
    /// Several contexts store and load in turn: do more at a time.
    Batch,
}

/// Transfers of the same recorded accesses, replayed twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayComparison {
    /// Transfers as it is.
    pub today: u64,
    /// Transfers with the change.
    pub changed: u64,
}

/// Transfers with a member on a line of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLineTransfers {
    /// Transfers with the store as it is.
    pub stored: u64,
    /// Transfers with a guard before the store.
    pub guarded: u64,
}

impl From<[u64; 2]> for ReplayComparison {
    fn from([today, changed]: [u64; 2]) -> Self {
        Self { today, changed }
    }
}

impl ReplayComparison {
    /// Returns true if the change saves at least a tenth of the transfers.
    pub fn helps(&self) -> bool {
        self.today > 0 && self.changed.saturating_mul(10) <= self.today.saturating_mul(9)
    }
}

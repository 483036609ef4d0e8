//! What could be done about a finding, as data.

use crate::identify::SiteSource;

/// What could be done. Where it is a change of placement or of code that replay can judge, it was replayed, and
/// is here only if it takes fewer transfers; the rest is what to look at, not scored.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// Keep `member` from the line of `from`: what one loses to stores to the other is false by lifetime.
    SeparateMembers {
        /// The member whose accesses miss.
        member: String,
        /// What is stored to beside it.
        from: String,
        /// Transfers of the one lost to the other that are false by lifetime.
        transfers: u64,
    },
    /// Keep elements of an array that different contexts use on lines of their own.
    SeparateElements {
        /// The array's path.
        member: String,
        /// Transfers between its elements that are false by lifetime.
        transfers: u64,
    },
    /// Keep objects that share a line apart.
    SeparateObjects {
        /// Transfers between them that are false by lifetime.
        transfers: u64,
    },
    /// Let objects begin at multiples of `bytes`: the smallest power of two with which none crosses a line.
    Align {
        /// Bytes.
        bytes: u64,
        /// Objects as they are, and aligned; `None` where a scalar is split, which needs no proof.
        replayed: Option<ReplayComparison>,
    },
    /// Load first, and store only what differs.
    GuardStore {
        /// What is stored to; of several, the one that misses most.
        member: String,
        /// Members on the line that the same instruction stores to: a copy, if there are several.
        members: u64,
        /// The store with most silent ones.
        source: SiteSource,
        /// How often it stored.
        stores: u64,
        /// How often of them it changed nothing.
        silent: u64,
        /// As it is, and with silent stores made loads; `None` where it was not logged in order.
        replayed: Option<ReplayComparison>,
        /// The same with the member on a line of its own.
        own_line: Option<OwnLineTransfers>,
    },
    /// Put a lock on a line of its own, or leave it with its data, as replay says.
    Lock {
        /// Apart is better.
        apart: bool,
        /// Together, as it is; and apart.
        replayed: ReplayComparison,
    },
    /// The value is needed, so that no layout helps: change who writes it, or how often.
    Shared {
        /// The member whose stores most transfers bring.
        member: String,
        /// What to look at.
        pattern: SharingPattern,
    },
    /// Do not read what another context owns.
    DropRead {
        /// The member.
        member: String,
        /// Read transfers by loads of it.
        transfers: u64,
        /// Those of them that bring what its owner stored to it.
        needed: u64,
    },
    /// Give a variable a line of its own: the linker put others beside it.
    OwnLine {
        /// The variable.
        variable: String,
        /// It is hardly ever stored to.
        is_read_mostly: bool,
        /// The others, most transfers first.
        neighbours: Vec<String>,
    },
    /// Put what is hardly ever stored to with its like.
    Gather {
        /// The member that is read.
        member: String,
        /// Loads by all contexts.
        loads: u64,
        /// Stores.
        stores: u64,
    },
}

/// Why a line is truly shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingPattern {
    /// A lock: take it less often, for shorter, or have several.
    Lock,
    /// A count of references: take fewer.
    References,
    /// Links of a list or tree: several lists, or several entries at a time.
    List,
    /// Several contexts add to it, and it is hardly read otherwise: one for each context, summed when read.
    PerContext,
    /// Loaded more often than stored to: a copy that is published less often.
    Copy,
    /// Each object has one context that stores to it, and others look: less often.
    Owned,
    /// Several store and load in turn: more at a time.
    Batch,
}

/// Transfers of the same recorded accesses, replayed twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayComparison {
    /// As it is.
    pub today: u64,
    /// With the change.
    pub changed: u64,
}

/// Transfers with a member on a line of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLineTransfers {
    /// Stored to as it is.
    pub stored: u64,
    /// With a check before the store.
    pub guarded: u64,
}

impl From<[u64; 2]> for ReplayComparison {
    fn from([today, changed]: [u64; 2]) -> Self {
        Self { today, changed }
    }
}

impl ReplayComparison {
    /// Saves a tenth at least.
    pub fn helps(&self) -> bool {
        self.today > 0 && self.changed.saturating_mul(10) <= self.today.saturating_mul(9)
    }
}

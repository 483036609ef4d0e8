//! What could be done about a finding, as data.

use crate::identify::Source;

/// What could be done. Where it is a change of placement or of code that replay can judge, it was replayed, and
/// is here only if it takes fewer transfers; the rest is what to look at, not scored.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// Keep `member` from the line of `from`: what one loses to stores to the other is false by lifetime.
    Part {
        /// The member whose accesses miss.
        member: String,
        /// What is stored to beside it.
        from: String,
        /// Transfers of the one lost to the other that are false by lifetime.
        transfers: u64,
    },
    /// Let objects begin at multiples of `bytes`: the smallest power of two with which none crosses a line.
    Align {
        /// Bytes.
        bytes: u64,
        /// Objects as they are, and aligned; `None` where a scalar is split, which needs no proof.
        replayed: Option<Replayed>,
    },
    /// Load first, and store only what differs.
    CheckStore {
        /// What is stored to.
        member: String,
        /// The store with most silent ones.
        source: Source,
        /// How often it stored.
        stores: u64,
        /// How often of them it changed nothing.
        silent: u64,
        /// As it is, and with silent stores made loads; `None` where it was not logged in order.
        replayed: Option<Replayed>,
    },
    /// Put a lock on a line of its own, or leave it with its data, as replay says.
    Lock {
        /// Apart is better.
        apart: bool,
        /// Together, as it is; and apart.
        replayed: Replayed,
    },
    /// The value is needed, so that no layout helps: change who writes it, or how often.
    Shared {
        /// The member with most transfers.
        member: String,
        /// What to look at.
        how: Shared,
    },
    /// Do not read what another context owns.
    DropRead {
        /// The member.
        member: String,
        /// Read transfers by loads of it.
        transfers: u64,
    },
    /// Give a variable a line of its own: the linker put others beside it.
    OwnLine {
        /// The variable.
        variable: String,
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
pub enum Shared {
    /// A lock: take it less often, for shorter, or have several.
    Lock,
    /// Several contexts store to it, and it is hardly read otherwise: one for each context, summed when read.
    PerContext,
    /// One context stores to it and others read: a copy that is published less often.
    Copy,
    /// Several store and read: in batches.
    Batch,
}

/// Transfers of the same recorded accesses, replayed twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// As it is.
    pub today: u64,
    /// With the change.
    pub changed: u64,
}

impl Replayed {
    /// Saves a tenth at least.
    pub fn helps(&self) -> bool {
        self.today > 0 && self.changed.saturating_mul(10) <= self.today.saturating_mul(9)
    }
}

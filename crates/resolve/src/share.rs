//! How much of a profile is resolved.

use std::collections::BTreeMap;

use relayout_profile::{ConflictRow, Transfer};

use crate::resolution::{Class, Place};

/// Transfers (upgrades move no data and do not count) by what is known of the access that missed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// All transfers.
    pub transfers: u64,
    /// Those on a member of a typed object, or on a whole scalar variable.
    pub resolved: u64,
    /// The others, by what memory it is.
    pub unresolved: BTreeMap<Class, u64>,
    /// Those in a hole of a typed object; part of neither.
    pub in_holes: u64,
}

impl Share {
    /// The resolved fraction, 1 where there are no transfers.
    pub fn fraction(&self) -> f64 {
        if self.transfers == 0 {
            1.0
        } else {
            self.resolved as f64 / self.transfers as f64
        }
    }

    pub(crate) fn of_row(row: &ConflictRow, place: &Place) -> Self {
        let mut share = Self::default();
        if row.transfer == Transfer::Upgrade {
            return share;
        }
        share.transfers = row.count;
        match place {
            Place::Member { path, .. } if path.path.is_empty() => share.in_holes = row.count,
            Place::Member { .. } | Place::ScalarGlobal { .. } => share.resolved = row.count,
            Place::Unresolved(class) => {
                share.unresolved.insert(class.clone(), row.count);
            }
        }
        share
    }

    pub(crate) fn plus(mut self, other: Self) -> Self {
        self.transfers += other.transfers;
        self.resolved += other.resolved;
        self.in_holes += other.in_holes;
        for (class, count) in other.unresolved {
            *self.unresolved.entry(class).or_default() += count;
        }
        self
    }
}

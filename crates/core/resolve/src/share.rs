//! Share of a profile's transfers that is resolved.

use std::collections::BTreeMap;

use relayout_profile::{CoherenceEvent, ConflictRow};

use crate::owner::{AddressOwner, UnresolvedClass};

/// Transfers by the owner of the access that missed. Upgrades move no data and do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedShare {
    /// All transfers.
    pub transfers: u64,
    /// Transfers on a member of a typed object, or on a whole scalar variable.
    pub resolved: u64,
    /// Transfers on memory of unknown type, by kind.
    pub unresolved: BTreeMap<UnresolvedClass, u64>,
    /// Transfers in a hole of a typed object, counted in neither of the above.
    pub in_holes: u64,
}

impl ResolvedShare {
    /// Returns the resolved fraction, 1 if there are no transfers.
    pub fn fraction(&self) -> f64 {
        if self.transfers == 0 {
            1.0
        } else {
            self.resolved as f64 / self.transfers as f64
        }
    }

    pub(crate) fn from_row(row: &ConflictRow, place: &AddressOwner) -> Self {
        let mut share = Self::default();
        if row.transfer == CoherenceEvent::Upgrade {
            return share;
        }
        share.transfers = row.count;
        match place {
            AddressOwner::Member { path, .. } if path.path.is_empty() => share.in_holes = row.count,
            AddressOwner::Member { .. } | AddressOwner::ScalarGlobal { .. } => {
                share.resolved = row.count
            }
            AddressOwner::Unresolved(class) => {
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

//! Votes on the types of objects, collected from the accesses of a profile.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use relayout_layout::TypeId;
use relayout_profile::{Addr, SiteId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ResolvedObject;
use super::find::object_index_at;
use super::finder::ObjectFinder;
use super::ranges::ObjectCell;
use super::vote::Votes;
use crate::access::AccessKey;
use crate::evidence::{EvidenceTrust, TypeEvidence, Via};
use crate::types::shape::{self, FlexibleTail};

/// Evidence of sites without their own, learned from the objects of their other accesses.
pub(super) type Learned = FxHashMap<(SiteId, bool), TypeEvidence>;

/// Access to memory that has no object yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct VotingAccess<'p> {
    access: &'p (AccessKey, u64),
    cell: ObjectCell,
}

/// Votes by cell. A cell without votes was accessed, too.
#[derive(Default)]
pub(super) struct ObjectBallot {
    pub(super) cells: BTreeMap<ObjectCell, Votes>,
    /// Accessed addresses in allocations.
    pub(super) touched: BTreeMap<ObjectCell, BTreeSet<Addr>>,
    /// Votes for scalars in allocations.
    pub(super) scalars: BTreeMap<ObjectCell, Votes>,
    /// Members whose pointers led to the scalars, or to the objects of a program's heap.
    pub(super) vias: BTreeMap<ObjectCell, BTreeMap<Via, f64>>,
    /// Types that end in an array of one element, of which an object has more: elements were accessed
    /// that no array of the types has in their places.
    pub(super) longer_owners: FxHashSet<TypeId>,
}

/// Access to an element of the last array of a type, if that may have more elements than it is declared
/// with.
#[derive(Clone, Copy, Debug)]
struct TailAccess {
    owner: TypeId,
    tail: FlexibleTail,
}

impl<'p> ObjectFinder<'p, '_, '_> {
    /// Returns the accesses outside of `objects`, ascending.
    pub(super) fn voting_accesses(&self, objects: &[ResolvedObject]) -> Vec<VotingAccess<'p>> {
        let place = |access: &'p (AccessKey, u64)| {
            let (key, _) = access;
            if object_index_at(objects, key.run, key.addr).is_some() {
                return None;
            }
            let cell = self.ranges.cell(key.run, key.addr)?;
            Some(VotingAccess { access, cell })
        };
        self.accesses.par_iter().filter_map(place).collect()
    }

    /// Collects the votes of accesses.
    pub(super) fn collect_votes(
        &self,
        voting: &[VotingAccess<'_>],
        learned: &Learned,
    ) -> ObjectBallot {
        let mut ballot = ObjectBallot {
            longer_owners: self.longer_owners(voting, learned),
            ..ObjectBallot::default()
        };
        // Neighbours are in one cell, mostly, though a cell may lie inside another one.
        for neighbours in voting.chunk_by(|access, next| access.cell == next.cell) {
            self.collect_cell_votes(neighbours, learned, &mut ballot);
        }
        ballot
    }

    /// Collects the votes of accesses to one cell.
    fn collect_cell_votes(
        &self,
        voting: &[VotingAccess<'_>],
        learned: &Learned,
        ballot: &mut ObjectBallot,
    ) {
        let Some(VotingAccess { cell, .. }) = voting.first() else {
            return;
        };
        let is_allocation = self.is_allocation(cell);
        if is_allocation {
            let touched = ballot.touched.entry(*cell).or_default();
            touched.extend(voting.iter().map(|voting| voting.access.0.addr));
        }
        let is_heap = self.is_heap(cell);
        let is_unit = self.units_of(cell).is_some();
        let votes = ballot.cells.entry(*cell).or_default();
        for VotingAccess { access, .. } in voting {
            let &(key, count) = *access;
            let Some(evidence) = self.access_evidence(key, learned) else {
                continue;
            };
            let trust = match key.inferred {
                true => EvidenceTrust::Guessed,
                false => evidence.trust,
            };
            let weight = vote_weight(trust, count);
            let mut add_via = |via: Via| {
                let vias = ballot.vias.entry(*cell).or_default();
                *vias.entry(via).or_default() += weight;
            };
            let base = key.addr.checked_add_signed(evidence.offset.wrapping_neg());
            let tail = self.tail_access(&evidence).filter(|_| is_allocation);
            let owner = tail.filter(|tail| self.is_alone(cell, tail, &ballot.longer_owners));
            if let Some(TailAccess { owner, .. }) = owner {
                *votes.entry((cell.start.0, owner)).or_default() += weight;
            }
            // An element is in its owner, and no pointer leads to it.
            let via = evidence.via.filter(|_| tail.is_none());
            if self.program.store.types().aggregate(evidence.ty).is_none() {
                if is_allocation {
                    let scalars = ballot.scalars.entry(*cell).or_default();
                    let at = base.unwrap_or(key.addr);
                    *scalars.entry((at.0, evidence.ty)).or_default() += weight;
                    via.map(&mut add_via);
                }
                if !is_unit {
                    continue;
                }
            } else if let Some(via) = via.filter(|via| via.0 != evidence.ty && is_heap) {
                add_via(via);
            }
            let Some(base) = base else {
                continue;
            };
            *votes.entry((base.0, evidence.ty)).or_default() += weight;
        }
    }
}

impl ObjectFinder<'_, '_, '_> {
    /// Returns the evidence of the access's code, or what was learned of it.
    fn access_evidence(&self, key: AccessKey, learned: &Learned) -> Option<TypeEvidence> {
        let site = self.sites.evidence(key.run, key.site);
        site.evidence_within(key.writes, key.size)
            .or_else(|| learned.get(&(key.site, key.writes)).copied())
    }

    /// Returns the types for [`ObjectBallot::longer_owners`].
    fn longer_owners(&self, voting: &[VotingAccess<'_>], learned: &Learned) -> FxHashSet<TypeId> {
        let owner = |voting: &VotingAccess<'_>| {
            let &(key, _) = voting.access;
            let evidence = self.access_evidence(key, learned)?;
            let TailAccess { owner, tail } = self.tail_access(&evidence)?;
            let types = self.program.store.types();
            shape::short_tail(&types, owner)?;
            let size = types.size_of(owner).filter(|&size| size > 0)?;
            let offset = key.addr.checked_sub(voting.cell.start)?;
            let from_first = offset.checked_sub(tail.offset)?;
            let is_behind = from_first % size >= types.size_of(tail.element)?;
            (is_behind && self.is_allocation(&voting.cell)).then_some(owner)
        };
        voting.iter().filter_map(owner).collect()
    }

    /// Returns the array that the access was to, if that is the last one of its owner. `None` if a pointer
    /// in the array leads to the accessed memory.
    fn tail_access(&self, evidence: &TypeEvidence) -> Option<TailAccess> {
        let (owner, offset) = evidence.via?;
        let offset = u64::from(offset);
        let store = &self.program.store;
        let tail = shape::open_tail(&store.types(), owner).filter(|tail| offset >= tail.offset)?;
        if store.pointee_at(owner, offset) == Some(evidence.ty) {
            return None;
        }
        let parts = {
            let types = store.types();
            let stride = types.size_of(tail.element).filter(|&stride| stride > 0)?;
            shape::parts_at(&types, tail.element, (offset - tail.offset) % stride)
        };
        let is_part = { parts.iter() }.any(|part| store.canonical(part.ty) == evidence.ty);
        is_part.then_some(TailAccess { owner, tail })
    }

    /// Returns true if the owner of the array may be the only object of the cell, so that its array has as
    /// many elements as there is memory. Else the owner may be an element of an array.
    fn is_alone(
        &self,
        cell: &ObjectCell,
        access: &TailAccess,
        longer_owners: &FxHashSet<TypeId>,
    ) -> bool {
        let types = self.program.store.types();
        let bytes = cell.end - cell.start;
        let is_flexible = shape::has_flexible_tail(&types, access.owner);
        types.size_of(access.owner).is_some_and(|size| {
            let is_array = bytes > size && bytes.is_multiple_of(size);
            let is_known = is_flexible || longer_owners.contains(&access.owner);
            size <= bytes && (is_known || !is_array)
        })
    }
}

fn vote_weight(trust: EvidenceTrust, count: u64) -> f64 {
    let trust_weight = match trust {
        EvidenceTrust::Stated => 4.0,
        EvidenceTrust::Followed => 3.0,
        EvidenceTrust::Guessed => 1.0,
    };
    // Weights are multiples of 1/1024, so that sums do not depend on the order.
    const PARTS: f64 = 1024.0;
    (trust_weight * (1.0 + count as f64).log2() * PARTS).round() / PARTS
}

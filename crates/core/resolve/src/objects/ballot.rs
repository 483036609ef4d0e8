//! Votes on the types of objects, collected from the accesses of a profile.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use relayout_layout::TypeId;
use relayout_profile::{Addr, SiteId};
use rustc_hash::FxHashMap;

use super::ResolvedObject;
use super::find::object_index_at;
use super::finder::ObjectFinder;
use super::ranges::ObjectCell;
use super::vote::Votes;
use crate::access::AccessKey;
use crate::evidence::{EvidenceTrust, TypeEvidence, Via};
use crate::types::shape;

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
        let mut ballot = ObjectBallot::default();
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
            let site = self.sites.evidence(key.run, key.site);
            let evidence = site
                .evidence_within(key.writes, key.size)
                .or_else(|| learned.get(&(key.site, key.writes)).copied());
            let Some(evidence) = evidence else { continue };
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
            if self.program.store.types().aggregate(evidence.ty).is_none() {
                if is_allocation {
                    let scalars = ballot.scalars.entry(*cell).or_default();
                    let at = base.unwrap_or(key.addr);
                    *scalars.entry((at.0, evidence.ty)).or_default() += weight;
                    if let Some(owner) = self.tail_owner(cell, &evidence) {
                        *votes.entry((cell.start.0, owner)).or_default() += weight;
                    }
                    evidence.via.map(&mut add_via);
                }
                if !is_unit {
                    continue;
                }
            } else if let Some(via) = evidence.via.filter(|via| via.0 != evidence.ty && is_heap) {
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
    /// Returns the type whose last array an access to a number was to, if it may begin the cell: that array
    /// has as many elements as there is memory.
    fn tail_owner(&self, cell: &ObjectCell, evidence: &TypeEvidence) -> Option<TypeId> {
        let (owner, offset) = evidence.via?;
        let types = self.program.store.types();
        // A pointer in the array leads elsewhere.
        if types.pointer_holder(owner, offset.into()).is_some() {
            return None;
        }
        let size = types.size_of(owner)?;
        let bytes = cell.end - cell.start;
        // Else the owner may be an element of an array.
        let is_longer = size < bytes && (size == 0 || !bytes.is_multiple_of(size));
        let is_flexible = shape::has_flexible_tail(&types, owner);
        let is_alone = size <= bytes && is_flexible || is_longer;
        (is_alone && shape::is_in_open_tail(&types, owner, offset.into())).then_some(owner)
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

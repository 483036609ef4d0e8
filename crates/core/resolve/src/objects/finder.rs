//! Inputs of object discovery.

use std::collections::BTreeMap;

use relayout_layout::{Type, TypeId};
use relayout_profile::{Addr, Profile, RangeKind, RangeRow, RunId};

use super::ballot::ObjectBallot;
use super::fixed;
use super::heap::AllocationContents;
use super::ranges::{ObjectCell, RangeIndex};
use super::vote::{CERTAIN_SUPPORT, ElectedType};
use super::{ArrayExtent, ObjectKind, ResolvedObject, VoteCounts};
use crate::access::AccessKey;
use crate::callers::{AllocationRequest, CallerStacks};
use crate::evidence::{AnalysedProgram, SiteTable};
use crate::images::DebugImages;

/// Inputs of object discovery.
pub struct ObjectFinder<'p, 'f, 'a> {
    /// Recorded accesses and conflicts.
    pub profile: &'p Profile,
    /// Code, types and variables of the debug files.
    pub program: &'p AnalysedProgram<'f, 'a>,
    /// Addresses of the files in each run.
    pub images: &'p DebugImages<'f, 'a>,
    /// Ranges of memory that the profile describes.
    pub ranges: &'p RangeIndex,
    /// Distinct accesses, ascending.
    pub accesses: &'p [(AccessKey, u64)],
    /// Evidence of the sites.
    pub sites: &'p SiteTable,
    /// Functions that pass requests for memory on.
    pub allocators: &'p [String],
}

impl<'p, 'f, 'a> ObjectFinder<'p, 'f, 'a> {
    /// Returns the accesses by their first byte, ascending.
    pub(super) fn accesses_by_address(
        &self,
    ) -> impl Iterator<Item = (RunId, Addr, &'p [(AccessKey, u64)])> {
        let place = |(key, _): &(AccessKey, u64)| (key.run, key.addr);
        let groups = { self.accesses }.chunk_by(move |access, next| place(access) == place(next));
        groups.map(|accesses| (accesses[0].0.run, accesses[0].0.addr, accesses))
    }

    /// Returns a reader of the call stacks of allocations, which knows the program's wrappers of
    /// allocators.
    pub(super) fn caller_stacks(&self, ballot: &ObjectBallot) -> CallerStacks<'p, 'f, 'a> {
        let heap_rows = { ballot.touched.keys() }
            .filter_map(|cell| Some((cell, self.range_row(cell)?)))
            .filter(|(_, row)| row.kind == RangeKind::Heap);
        let requests = heap_rows.map(|(cell, row)| AllocationRequest {
            run: cell.run,
            stack: row.owner.as_str(),
            bytes: cell.end - cell.start,
        });
        let mut stacks = CallerStacks::new(self.program, self.images, self.allocators);
        stacks.find_wrappers(&requests.collect::<Vec<_>>());
        stacks
    }

    pub(super) fn elected_object(&self, cell: &ObjectCell, winner: &ElectedType) -> ResolvedObject {
        let votes = (winner.support > CERTAIN_SUPPORT).then_some(VoteCounts {
            support: winner.support,
            against: winner.against,
        });
        let object = self.cell_object(cell, Addr(winner.base), winner.bytes, winner.ty, votes);
        let types = self.program.store.types();
        let rival = { winner.rival }.map(|ty| fixed::object_type_name(&types, ty));
        ResolvedObject { rival, ..object }
    }

    pub(super) fn cell_object(
        &self,
        cell: &ObjectCell,
        base: Addr,
        bytes: u64,
        ty: TypeId,
        votes: Option<VoteCounts>,
    ) -> ResolvedObject {
        let owner = || {
            self.range_row(cell)
                .map(|row| row.owner.clone())
                .unwrap_or_default()
        };
        let kind = match self.range_row(cell).map(|row| row.kind) {
            Some(RangeKind::Slab) => ObjectKind::Slab { cache: owner() },
            Some(RangeKind::Stack) => ObjectKind::Stack {
                task: owner(),
                variable: None,
            },
            Some(RangeKind::Heap) => ObjectKind::Heap {
                site: String::new(),
                holder: String::new(),
            },
            _ => ObjectKind::Memory,
        };
        let types = self.program.store.types();
        let type_name = fixed::object_type_name(&types, ty);
        let array = match types.get(types.strip_typedefs(ty)) {
            Type::Array { element, .. } => { types.size_of(*element) }
                .and_then(|stride| ArrayExtent::of_elements(base, stride, bytes)),
            _ => None,
        };
        drop(types);
        let confidence = votes.map_or(1.0, VoteCounts::confidence);
        let votes = votes.unwrap_or_default();
        ResolvedObject {
            run: cell.run,
            base,
            bytes,
            type_name,
            ty,
            kind,
            confidence,
            votes,
            rival: None,
            array,
        }
    }

    /// Returns the member whose pointer leads to an allocation, in words: `element of std::vector<Worker>
    /// net::Pool.workers`. Empty where most of the evidence does not name one.
    pub(super) fn holder_words(
        &self,
        ballot: &ObjectBallot,
        cell: &ObjectCell,
        contents: &AllocationContents,
    ) -> String {
        let types = self.program.store.types();
        let mut weights: BTreeMap<String, f64> = BTreeMap::new();
        for (&(ty, offset), weight) in ballot.vias.get(cell).into_iter().flatten() {
            if let Some(holder) = types.pointer_holder(ty, offset.into()) {
                *weights.entry(holder).or_default() += weight;
            }
        }
        let all: f64 = weights.values().sum();
        let best = weights.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let role = match contents {
            AllocationContents::Objects(_) => "held by",
            AllocationContents::Elements(_) | AllocationContents::Scalars { .. } => "element of",
        };
        match best {
            Some((holder, weight)) if weight * 2.0 > all => format!("{role} {holder}"),
            _ => String::new(),
        }
    }

    pub(super) fn range_row(&self, cell: &ObjectCell) -> Option<&RangeRow> {
        cell.range.map(|n| self.ranges.row(n))
    }
}

//! Inputs of object discovery, and the votes that it collects.

use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::{Type, TypeId};
use relayout_profile::{Addr, RangeKind, RangeRow};

use super::fixed;
use super::heap::Scalars;
use super::ranges::{ObjectCell, RangeIndex};
use super::vote::{ElectedType, Votes};
use super::{ArrayExtent, ObjectKind, ResolvedObject, VoteCounts};
use crate::access::AccessKey;
use crate::evidence::{AnalysedProgram, SiteTable, Via};
use crate::images::DebugImages;

/// Inputs of object discovery.
pub struct ObjectFinder<'p, 'f, 'a> {
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
}

impl ObjectFinder<'_, '_, '_> {
    pub(super) fn elected_object(&self, cell: &ObjectCell, winner: &ElectedType) -> ResolvedObject {
        let votes = VoteCounts {
            support: winner.support,
            against: winner.against,
        };
        self.cell_object(
            cell,
            Addr(winner.base),
            winner.bytes,
            winner.ty,
            Some(votes),
        )
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
            Some(RangeKind::Stack) => ObjectKind::Stack { task: owner() },
            Some(RangeKind::Heap) => ObjectKind::Heap {
                site: String::new(),
            },
            _ => ObjectKind::Memory,
        };
        let types = self.program.store.types();
        let type_name = fixed::readable_type_name(&types, ty);
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
            array,
        }
    }

    pub(super) fn range_row(&self, cell: &ObjectCell) -> Option<&RangeRow> {
        cell.range.map(|n| self.ranges.row(n))
    }
}

/// Votes by cell. A cell without votes was accessed, too.
#[derive(Default)]
pub(super) struct ObjectBallot {
    pub(super) cells: BTreeMap<ObjectCell, Votes>,
    /// Accessed addresses in allocations.
    pub(super) touched: BTreeMap<ObjectCell, BTreeSet<Addr>>,
    /// Evidence for scalars in allocations.
    pub(super) scalars: BTreeMap<ObjectCell, Scalars>,
    /// Members whose pointers led to the scalars.
    pub(super) vias: BTreeMap<ObjectCell, BTreeMap<Via, f64>>,
}

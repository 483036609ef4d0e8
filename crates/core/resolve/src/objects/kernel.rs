//! Objects that only kernels have: memory that is allocated per CPU, and arrays of numbers without
//! a call stack of their allocation.

use std::collections::BTreeMap;

use relayout_profile::{RangeKind, RunId};

use super::ballot::ObjectBallot;
use super::cache::StoreShapes;
use super::finder::ObjectFinder;
use super::ranges::{ObjectCell, is_boot_allocation};
use super::vote::{ElectedType, Votes, elect};
use super::{ResolvedObject, fixed};

impl ObjectFinder<'_, '_, '_> {
    /// Adds the objects in memory that is allocated per CPU. The parts of all CPUs have the same
    /// contents.
    pub(super) fn add_units(
        &self,
        ballot: &ObjectBallot,
        shapes: &mut StoreShapes<'_, '_, '_>,
        objects: &mut Vec<ResolvedObject>,
    ) {
        let mut chunks: BTreeMap<(RunId, u32), (Vec<ObjectCell>, Votes)> = BTreeMap::new();
        for (cell, votes) in &ballot.cells {
            let Some(units) = self.units_of(cell) else {
                continue;
            };
            let (cells, joined) = chunks.entry(units).or_default();
            cells.push(*cell);
            for (&(base, ty), weight) in votes {
                if let Some(offset) = base.checked_sub(cell.start.0) {
                    *joined.entry((offset, ty)).or_default() += weight;
                }
            }
        }
        for (cells, votes) in chunks.values() {
            let bytes = { cells.iter() }.map(|cell| cell.end - cell.start).min();
            let mut winners = elect(shapes, 0, bytes.unwrap_or(0), votes);
            // Numbers count as members of aggregates; alone they have no name.
            winners.retain(|w| self.program.store.types().aggregate(w.ty).is_some());
            for cell in cells {
                objects.extend(winners.iter().map(|winner| {
                    let base = cell.start + winner.base;
                    self.elected_object(
                        cell,
                        &ElectedType {
                            base: base.0,
                            ..*winner
                        },
                    )
                }));
            }
        }
    }

    /// Returns the run and the offset that a part of per-cpu memory shares with the parts of other
    /// CPUs.
    pub(super) fn units_of(&self, cell: &ObjectCell) -> Option<(RunId, u32)> {
        let row = self.range_row(cell)?;
        // Parts without an offset are static data, which variables describe.
        (row.kind == RangeKind::PerCpu && row.stride > 0).then_some((cell.run, row.stride))
    }

    /// Names the objects from `first` on, which are numbers, or drops them: a user could not find a
    /// number by its type alone.
    pub(super) fn name_numbers(
        &self,
        ballot: &ObjectBallot,
        cell: &ObjectCell,
        objects: &mut Vec<ResolvedObject>,
        first: usize,
    ) {
        let element = objects.get(first).map(|o| o.type_name.clone());
        let name = element.and_then(|element| self.name_of_numbers(ballot, cell, &element));
        match name {
            Some(name) => objects[first..]
                .iter_mut()
                .for_each(|object| object.type_name.clone_from(&name)),
            None => objects.truncate(first),
        }
    }

    /// Returns a name such as `pcpu_chunk.bound_map`: the member that points to the array, by the
    /// most evidence, else the function that allocated it.
    fn name_of_numbers(
        &self,
        ballot: &ObjectBallot,
        cell: &ObjectCell,
        element: &str,
    ) -> Option<String> {
        let types = self.program.store.types();
        let mut names: BTreeMap<String, f64> = BTreeMap::new();
        for (&(ty, offset), weight) in ballot.vias.get(cell).into_iter().flatten() {
            let path = types.member_at(ty, offset.into(), 1)?.path;
            let name = format!(
                "{}.{}",
                fixed::object_type_name(&types, ty),
                path.trim_end_matches("[]")
            );
            *names.entry(name).or_default() += weight;
        }
        let best = names.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let made = || {
            let row = self.range_row(cell)?;
            if is_boot_allocation(row) {
                return Some(row.owner.clone());
            }
            if row.kind != RangeKind::Vmalloc {
                return None;
            }
            let element = element.split_once(" [").map_or(element, |parts| parts.0);
            Some(format!(
                "{}[] allocated in {}()",
                usual_name(element),
                row.owner
            ))
        };
        best.map(|best| best.0).or_else(made)
    }
}

/// Returns the name of an integer type as C programs write it: `unsigned long` for
/// `long unsigned int`.
fn usual_name(dwarf_name: &str) -> String {
    let is_int = |word: &&str| *word == "int";
    let (unsigned, rest): (Vec<&str>, Vec<&str>) =
        dwarf_name.split(' ').partition(|word| *word == "unsigned");
    let all_words = unsigned.iter().chain(&rest).copied();
    let words: Vec<&str> = match rest.len() {
        0 | 1 => all_words.collect(),
        _ => all_words.filter(|word| !is_int(word)).collect(),
    };
    words.join(" ")
}

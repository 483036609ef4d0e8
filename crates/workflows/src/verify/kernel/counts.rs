//! Counts of one recording: of the whole kernel, of the compared types, and of their members.

use std::collections::BTreeMap;

use relayout_contend::CoherenceTally;
use relayout_layout::{TypeArena, TypeId};
use relayout_profile::{CoherenceEvent, ConflictRow, Profile};
use relayout_resolve::Resolution;

use relayout_advice::struct_offsets;

/// Counts of one recording.
#[derive(Clone, Debug, Default)]
pub struct BootCounts {
    /// Operations that the workload finished in the window.
    pub operations: u64,
    /// Events on all memory.
    pub kernel: CoherenceTally,
    /// Counts by type name, over objects of the type on their own and inside other objects.
    pub types: BTreeMap<String, TypeCounts>,
}

/// Counts of one type.
#[derive(Clone, Debug, Default)]
pub struct TypeCounts {
    /// Events on objects of the type.
    pub tally: CoherenceTally,
    /// Transfers by the member whose access missed. A key is the path from the type, empty for a
    /// hole.
    pub members: BTreeMap<String, u64>,
}

/// Counts the events of `profile`, for all memory and for the types called `names`.
pub(super) fn count_transfers(
    profile: &Profile,
    resolution: &Resolution,
    names: &[String],
) -> BootCounts {
    let mut counts = BootCounts {
        operations: profile.meta.runs.iter().map(|run| run.operations).sum(),
        kernel: profile.conflicts.iter().map(tally_of_row).sum(),
        types: names
            .iter()
            .map(|name| (name.clone(), TypeCounts::default()))
            .collect(),
    };
    // Of some transfers only that they were is known, and not between whom.
    let two_sided = counts.kernel.transfers();
    counts.kernel.read_transfers += profile.transfers().saturating_sub(two_sided);
    let mut finder = MemberFinder {
        resolution,
        types: resolution.types(),
        places: BTreeMap::new(),
    };
    for row in &profile.conflicts {
        for (name, type_counts) in &mut counts.types {
            let Some(member) = finder.member_at(row, name) else {
                continue;
            };
            let row_tally = tally_of_row(row);
            type_counts.tally += row_tally;
            if row_tally.transfers() > 0 {
                *type_counts.members.entry(member).or_default() += row_tally.transfers();
            }
        }
    }
    counts
}

fn tally_of_row(row: &ConflictRow) -> CoherenceTally {
    let count_if = |kind| if row.transfer == kind { row.count } else { 0 };
    CoherenceTally {
        read_transfers: count_if(CoherenceEvent::Read),
        write_transfers: count_if(CoherenceEvent::Write),
        upgrades: count_if(CoherenceEvent::Upgrade),
        false_first_touch: row.false_first_touch,
        false_lifetime: row.false_lifetime,
    }
}

struct MemberFinder<'r> {
    resolution: &'r Resolution,
    types: &'r TypeArena,
    /// By type of an object and name: where types of that name lie in it.
    places: BTreeMap<(TypeId, String), Vec<(u64, TypeId)>>,
}

impl MemberFinder<'_> {
    /// The member of a type called `name` that the row's access missed in, if it did in one.
    fn member_at(&mut self, row: &ConflictRow, name: &str) -> Option<String> {
        let object = self.resolution.object_at(row.run, row.addr)?;
        let types = self.types;
        let places = self
            .places
            .entry((object.ty, name.to_owned()))
            .or_insert_with(|| struct_offsets(types, object.ty, name));
        let offset = row.addr - object.base;
        places.iter().find_map(|(start, id)| {
            let inside = offset.checked_sub(*start)?;
            // What follows the last member is its own only where nothing is behind it.
            let is_whole = types.strip_typedefs(object.ty) == *id;
            if !is_whole && inside >= types.size_of(*id)? {
                return None;
            }
            Some(types.member_at(*id, inside, row.size.into())?.path)
        })
    }
}

//! What one recording counted: of the whole kernel, of the types that are asked about, and of their members.

use std::collections::BTreeMap;

use relayout_contend::Tally;
use relayout_layout::{TypeId, Types};
use relayout_profile::{ConflictRow, Profile, Transfer};
use relayout_resolve::Resolution;

use crate::cmd::advise::gather::collect;

/// What one recording counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Operations that the workload finished in the window.
    pub operations: u64,
    /// Of all memory.
    pub kernel: Tally,
    /// By name: objects of the type, by themselves and inside others.
    pub types: BTreeMap<String, OfType>,
}

/// What was counted of one type.
#[derive(Clone, Debug, Default)]
pub(super) struct OfType {
    pub tally: Tally,
    /// Transfers by the member whose access missed: paths from the type, empty for holes.
    pub members: BTreeMap<String, u64>,
}

/// Counts what `profile` holds, of the types called `names` too.
pub(super) fn count(profile: &Profile, resolution: &Resolution, names: &[String]) -> Counts {
    let mut counts = Counts {
        operations: profile.meta.runs.iter().map(|run| run.operations).sum(),
        kernel: profile.conflicts.iter().map(tally).sum(),
        types: names
            .iter()
            .map(|name| (name.clone(), OfType::default()))
            .collect(),
    };
    // Of some transfers only that they were is known, and not between whom.
    let two_sided = counts.kernel.transfers();
    counts.kernel.read_transfers += profile.transfers().saturating_sub(two_sided);
    let mut finder = Finder {
        resolution,
        types: resolution.types(),
        places: BTreeMap::new(),
    };
    for row in &profile.conflicts {
        for (name, of) in &mut counts.types {
            let Some(member) = finder.member(row, name) else {
                continue;
            };
            let one = tally(row);
            of.tally += one;
            if one.transfers() > 0 {
                *of.members.entry(member).or_default() += one.transfers();
            }
        }
    }
    counts
}

fn tally(row: &ConflictRow) -> Tally {
    let of = |kind| if row.transfer == kind { row.count } else { 0 };
    Tally {
        read_transfers: of(Transfer::Read),
        write_transfers: of(Transfer::Write),
        upgrades: of(Transfer::Upgrade),
        false_first_touch: row.false_first_touch,
        false_lifetime: row.false_lifetime,
    }
}

struct Finder<'r> {
    resolution: &'r Resolution,
    types: &'r Types,
    /// By type of an object and name: where types of that name lie in it.
    places: BTreeMap<(TypeId, String), Vec<(u64, TypeId)>>,
}

impl Finder<'_> {
    /// The member of a type called `name` that the row's access missed in, if it did in one.
    fn member(&mut self, row: &ConflictRow, name: &str) -> Option<String> {
        let object = self.resolution.object_at(row.run, row.addr)?;
        let types = self.types;
        let places = { self.places.entry((object.ty, name.to_owned())) }.or_insert_with(|| {
            let mut places = Vec::new();
            collect(types, object.ty, name, 0, 0, &mut places);
            places
        });
        let offset = row.addr - object.base;
        places.iter().find_map(|(start, id)| {
            let inside = offset.checked_sub(*start)?;
            // What follows the last member is its own only where nothing is behind it.
            let is_whole = types.strip(object.ty) == *id;
            if !is_whole && inside >= types.size_of(*id)? {
                return None;
            }
            Some(types.member_at(*id, inside, row.size.into())?.path)
        })
    }
}

//! Accesses to a group by source line.

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, ConflictRow};

use crate::finding::{AccessSide, ConflictPair, SiteUse};
use crate::group::{self, LineGroup};
use crate::identify::{AddressNamer, SiteSource};
use crate::names::access_sides;
use crate::replay::CoherenceTally;
use crate::source_cache::SourceCache;

/// Uses of a line by source line and kind of access.
#[derive(Default)]
pub(super) struct SiteUses(BTreeMap<(SiteSource, AccessKind), SiteUse>);

impl SiteUses {
    fn use_of(&mut self, source: SiteSource, access: AccessKind) -> &mut SiteUse {
        let fresh = SiteUse {
            source: source.clone(),
            access,
            count: 0,
            transfers: 0,
            caused: 0,
        };
        self.0.entry((source, access)).or_insert(fresh)
    }

    pub fn add<I: AddressNamer>(&mut self, row: &ConflictRow, sources: &mut SourceCache<'_, I>) {
        let transfers = group::row_tally(row).transfers();
        self.use_of(sources.get(row.site), row.access).transfers += transfers;
        self.use_of(sources.get(row.other_site), row.other_access)
            .caused += transfers;
    }

    pub fn ranked(self) -> Vec<SiteUse> {
        let mut uses: Vec<SiteUse> = self.0.into_values().collect();
        uses.sort_by_key(|site| std::cmp::Reverse((site.transfers + site.caused, site.count)));
        uses
    }
}

pub(super) fn group_site_uses<I: AddressNamer>(
    group: &LineGroup,
    sources: &mut SourceCache<'_, I>,
) -> Vec<SiteUse> {
    let mut uses = SiteUses::default();
    for count in &group.counts {
        uses.use_of(sources.get(count.row.site), count.row.access)
            .count += count.row.count;
    }
    for conflict in &group.conflicts {
        uses.add(conflict.row, sources);
    }
    uses.ranked()
}

pub(super) fn conflict_pairs<I: AddressNamer>(
    group: &LineGroup,
    sources: &mut SourceCache<'_, I>,
) -> Vec<ConflictPair> {
    let mut pairs: BTreeMap<(AccessSide, AccessSide), CoherenceTally> = BTreeMap::new();
    for conflict in &group.conflicts {
        let row = conflict.row;
        let sides = [(row.site, row.access), (row.other_site, row.other_access)];
        let key = access_sides([conflict.here, conflict.there], sides, sources);
        *pairs.entry(key).or_default() += group::row_tally(row);
    }
    let mut pairs: Vec<ConflictPair> = pairs
        .into_iter()
        .map(|((here, there), tally)| ConflictPair { here, there, tally })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse((pair.tally.transfers(), pair.tally.upgrades)));
    pairs
}

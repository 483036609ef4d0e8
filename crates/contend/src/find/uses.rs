//! Who accesses a group, by source line.

use std::collections::BTreeMap;

use relayout_profile::{Access, ConflictRow};
use rustc_hash::FxHashMap;

use super::names::{other_name, own_name};
use crate::finding::{Pair, Side, SiteUse};
use crate::group::{self, Group};
use crate::identify::{Identify, Source};
use crate::replay::Tally;

/// Sources of sites, each asked for once.
pub(crate) struct Sources<'a, I> {
    identify: &'a I,
    known: FxHashMap<u32, Source>,
}

impl<'a, I: Identify> Sources<'a, I> {
    pub fn new(identify: &'a I) -> Self {
        Self {
            identify,
            known: FxHashMap::default(),
        }
    }

    pub fn get(&mut self, site: u32) -> Source {
        self.known
            .entry(site)
            .or_insert_with(|| self.identify.source(site))
            .clone()
    }
}

/// Uses by source line and kind of access.
#[derive(Default)]
pub(super) struct Uses(BTreeMap<(Source, Access), SiteUse>);

impl Uses {
    fn get(&mut self, source: Source, access: Access) -> &mut SiteUse {
        let fresh = SiteUse {
            source: source.clone(),
            access,
            count: 0,
            transfers: 0,
            caused: 0,
        };
        self.0.entry((source, access)).or_insert(fresh)
    }

    pub fn add<I: Identify>(&mut self, row: &ConflictRow, sources: &mut Sources<'_, I>) {
        let transfers = group::tally(row).transfers();
        self.get(sources.get(row.site), row.access).transfers += transfers;
        self.get(sources.get(row.other_site), row.other_access)
            .caused += transfers;
    }

    pub fn ranked(self) -> Vec<SiteUse> {
        let mut uses: Vec<SiteUse> = self.0.into_values().collect();
        uses.sort_by_key(|site| std::cmp::Reverse((site.transfers + site.caused, site.count)));
        uses
    }
}

pub(super) fn sites<I: Identify>(group: &Group, sources: &mut Sources<'_, I>) -> Vec<SiteUse> {
    let mut uses = Uses::default();
    for count in &group.counts {
        uses.get(sources.get(count.row.site), count.row.access)
            .count += count.row.count;
    }
    for conflict in &group.conflicts {
        uses.add(conflict.row, sources);
    }
    uses.ranked()
}

pub(super) fn pairs<I: Identify>(group: &Group, sources: &mut Sources<'_, I>) -> Vec<Pair> {
    let mut pairs: BTreeMap<(Side, Side), Tally> = BTreeMap::new();
    for conflict in &group.conflicts {
        let row = conflict.row;
        let here = Side {
            member: own_name(conflict.here),
            access: row.access,
            source: sources.get(row.site),
        };
        let there = Side {
            member: other_name(conflict.here, conflict.there),
            access: row.other_access,
            source: sources.get(row.other_site),
        };
        *pairs.entry((here, there)).or_default() += group::tally(row);
    }
    let mut pairs: Vec<Pair> = pairs
        .into_iter()
        .map(|((here, there), tally)| Pair { here, there, tally })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse((pair.tally.transfers(), pair.tally.upgrades)));
    pairs
}

//! Members of a type with the functions that load and store them.

use relayout_profile::SiteId;
use std::collections::BTreeMap;

use relayout_contend::AddressNamer as _;

use super::GatheredType;
use crate::ResolvedNames;

/// Members that are listed, most accesses first.
const MEMBERS_MAX: usize = 8;
/// Functions that are listed for each member.
const FUNCTIONS_MAX: usize = 3;

/// Recorded accesses of one kind to one member, without repeats that no layout affects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberAccesses {
    /// Member.
    pub member: String,
    /// True for stores and read-writes, false for loads.
    pub is_store: bool,
    /// Number of accesses.
    pub count: u64,
    /// Number of CPUs or threads.
    pub contexts: usize,
    /// Functions with the most accesses, and their numbers.
    pub functions: Vec<(String, u64)>,
}

#[derive(Default)]
struct MemberAccessCounts {
    accesses: u64,
    contexts: std::collections::BTreeSet<u16>,
    sites: BTreeMap<SiteId, u64>,
}

/// Returns the accesses to the members of a type, most first.
pub(super) fn member_accesses(
    gathered: &GatheredType<'_>,
    names: &ResolvedNames<'_, '_>,
) -> Vec<MemberAccesses> {
    let layout = gathered
        .shape
        .lay_out(&gathered.shape.current_arrangement());
    let mut counts: BTreeMap<(usize, bool), MemberAccessCounts> = BTreeMap::new();
    for instance in &gathered.instances {
        for access in &instance.trace.accesses {
            if let Some(atom) = gathered.atom_at_offset(&layout, instance, access.offset) {
                let use_counts = counts.entry((atom, access.is_store())).or_default();
                use_counts.accesses += 1;
                use_counts.contexts.insert(access.context.0);
                *use_counts.sites.entry(access.site).or_default() += 1;
            }
        }
    }
    let mut ranked: Vec<((usize, bool), MemberAccessCounts)> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, use_counts)| std::cmp::Reverse(use_counts.accesses));
    ranked.truncate(MEMBERS_MAX);
    let member_use =
        |((atom, is_store), use_counts): ((usize, bool), MemberAccessCounts)| MemberAccesses {
            member: gathered.shape.atoms[atom].name.clone(),
            is_store,
            count: use_counts.accesses,
            contexts: use_counts.contexts.len(),
            functions: rank_functions(&use_counts.sites, names),
        };
    ranked.into_iter().map(member_use).collect()
}

fn rank_functions(
    sites: &BTreeMap<SiteId, u64>,
    names: &ResolvedNames<'_, '_>,
) -> Vec<(String, u64)> {
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (site, count) in sites {
        if let Some(function) = names.source_of_site(*site).function {
            *by_name.entry(function).or_default() += count;
        }
    }
    let mut ranked: Vec<(String, u64)> = by_name.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ranked.truncate(FUNCTIONS_MAX);
    ranked
}

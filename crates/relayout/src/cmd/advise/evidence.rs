//! Who accesses what of a type: members with the functions that load and store them.

use relayout_profile::SiteId;
use std::collections::BTreeMap;

use relayout_contend::AddressNamer as _;

use super::TypeAdvice;
use crate::identify::ResolvedNames;

/// Members that are named, the most accessed first.
const MEMBERS_MAX: usize = 8;
/// Functions that are named for each.
const FUNCTIONS_MAX: usize = 3;

/// Recorded accesses of one kind to one member. Repeats that make no difference to replay are not
/// among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberAccesses {
    pub member: String,
    /// Stores, or loads and stores at once.
    pub is_store: bool,
    pub count: u64,
    /// CPUs or threads.
    pub contexts: usize,
    /// The functions with the most of them.
    pub functions: Vec<(String, u64)>,
}

#[derive(Default)]
struct MemberAccessCounts {
    accesses: u64,
    contexts: std::collections::BTreeSet<u16>,
    sites: BTreeMap<SiteId, u64>,
}

/// The uses of `one`, most first.
pub fn member_uses(
    type_advice: &TypeAdvice<'_>,
    identified: &ResolvedNames<'_, '_>,
) -> Vec<MemberAccesses> {
    let layout = type_advice
        .shape
        .lay_out(&type_advice.shape.current_arrangement());
    let mut counts: BTreeMap<(usize, bool), MemberAccessCounts> = BTreeMap::new();
    for instance in &type_advice.instances {
        for access in &instance.trace.accesses {
            if let Some(atom) = type_advice.atom_at_offset(&layout, instance, access.offset) {
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
            member: type_advice.shape.atoms[atom].name.clone(),
            is_store,
            count: use_counts.accesses,
            contexts: use_counts.contexts.len(),
            functions: rank_functions(&use_counts.sites, identified),
        };
    ranked.into_iter().map(member_use).collect()
}

fn rank_functions(
    sites: &BTreeMap<SiteId, u64>,
    identified: &ResolvedNames<'_, '_>,
) -> Vec<(String, u64)> {
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (site, count) in sites {
        if let Some(function) = identified.source_of_site(*site).function {
            *by_name.entry(function).or_default() += count;
        }
    }
    let mut ranked: Vec<(String, u64)> = by_name.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ranked.truncate(FUNCTIONS_MAX);
    ranked
}

//! Who accesses what of a type: members with the functions that load and store them.

use std::collections::BTreeMap;

use relayout_contend::Identify as _;

use super::TypeAdvice;
use crate::identify::Identified;

/// Members that are named, the most accessed first.
const MEMBERS_MAX: usize = 8;
/// Functions that are named for each.
const FUNCTIONS_MAX: usize = 3;

/// Recorded accesses of one kind to one member. Repeats that make no difference to replay are not
/// among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    pub member: String,
    /// Stores, or loads and stores at once.
    pub store: bool,
    pub count: u64,
    /// CPUs or threads.
    pub contexts: usize,
    /// The functions with the most of them.
    pub functions: Vec<(String, u64)>,
}

#[derive(Default)]
struct Counts {
    all: u64,
    contexts: std::collections::BTreeSet<u16>,
    sites: BTreeMap<u32, u64>,
}

/// The uses of `one`, most first.
pub fn uses(one: &TypeAdvice<'_>, identified: &Identified<'_, '_>) -> Vec<Use> {
    let layout = one.shape.lay_out(&one.shape.current());
    let mut counts: BTreeMap<(usize, bool), Counts> = BTreeMap::new();
    for instance in &one.instances {
        for access in &instance.trace.accesses {
            if let Some(atom) = one.atom_at(&layout, instance, access.offset) {
                let sum = counts.entry((atom, access.is_store())).or_default();
                sum.all += 1;
                sum.contexts.insert(access.context);
                *sum.sites.entry(access.site).or_default() += 1;
            }
        }
    }
    let mut ranked: Vec<((usize, bool), Counts)> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.all));
    ranked.truncate(MEMBERS_MAX);
    let name = |((atom, store), sum): ((usize, bool), Counts)| Use {
        member: one.shape.atoms[atom].name.clone(),
        store,
        count: sum.all,
        contexts: sum.contexts.len(),
        functions: functions(&sum.sites, identified),
    };
    ranked.into_iter().map(name).collect()
}

fn functions(sites: &BTreeMap<u32, u64>, identified: &Identified<'_, '_>) -> Vec<(String, u64)> {
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (site, count) in sites {
        if let Some(function) = identified.source(*site).function {
            *by_name.entry(function).or_default() += count;
        }
    }
    let mut ranked: Vec<(String, u64)> = by_name.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    ranked.truncate(FUNCTIONS_MAX);
    ranked
}

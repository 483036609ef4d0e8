//! What a group of conflicts is called by: one detector per file, asked in order.

mod hot_global;
mod lock_word;
mod read_mostly;
mod remote_read;
mod replays;
mod sharing;
mod silent_store;
mod straddle;

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::Profile;

use crate::find::Sources;
use crate::finding::Kind;
use crate::group::Group;
use crate::identify::Identify;
use crate::remedy::Remedy;
use crate::replay::Tally;

pub(crate) use remote_read::noted as remote_reads;
pub(crate) use replays::Replays;

/// What detectors may look at besides the group.
pub(crate) struct Context<'a> {
    pub profile: &'a Profile,
    pub line_bytes: u64,
    pub replays: &'a Replays<'a>,
}

type Detector = fn(&Group, &Tally, &Context) -> Option<Kind>;

/// The most specific first; the last one always answers.
const DETECTORS: [Detector; 6] = [
    straddle::detect,
    silent_store::detect,
    hot_global::detect,
    lock_word::detect,
    remote_read::detect,
    read_mostly::detect,
];

/// Names the group whose events are `tally`.
pub(crate) fn kind(group: &Group, tally: &Tally, context: &Context) -> Kind {
    DETECTORS
        .iter()
        .find_map(|detect| detect(group, tally, context))
        .unwrap_or_else(|| sharing::kind(tally))
}

/// What a group is called by in each run alone: in how many. Empty with one run.
pub(crate) fn kinds_by_run(group: &Group, context: &Context) -> BTreeMap<Kind, u32> {
    let mut kinds = BTreeMap::new();
    if context.profile.meta.runs.len() < 2 {
        return kinds;
    }
    let runs: BTreeSet<u16> = group
        .conflicts
        .iter()
        .map(|conflict| conflict.row.run)
        .collect();
    for run in runs {
        let alone = Group {
            subject: group.subject.clone(),
            conflicts: group
                .conflicts
                .iter()
                .filter(|c| c.row.run == run)
                .copied()
                .collect(),
            counts: group
                .counts
                .iter()
                .filter(|c| c.row.run == run)
                .copied()
                .collect(),
            ..*group
        };
        let tally: Tally = alone
            .conflicts
            .iter()
            .map(|c| crate::group::tally(c.row))
            .sum();
        *kinds.entry(kind(&alone, &tally, context)).or_default() += 1;
    }
    kinds
}

/// What could be done about a group of this kind, first what is most to the point.
pub(crate) fn remedies<I: Identify>(
    group: &Group,
    kind: Kind,
    tally: &Tally,
    context: &Context,
    sources: &mut Sources<'_, I>,
) -> Vec<Remedy> {
    let own = match kind {
        Kind::Straddle => straddle::remedy(group, context),
        Kind::HotGlobal => hot_global::remedy(group),
        Kind::LockWord => lock_word::remedy(group, tally, context),
        Kind::ReadMostly => read_mostly::remedy(group),
        Kind::FalseSharing => sharing::part(group),
        Kind::TrueSharing => sharing::shared(group, context.profile),
        Kind::SilentStore | Kind::RemoteRead | Kind::AdjacentLine => None,
    };
    // A lock that stays, where most of what moves is needed.
    let needed = kind == Kind::LockWord && sharing::kind(tally) == Kind::TrueSharing;
    let shared = match own {
        Some(Remedy::Lock { apart: true, .. }) => None,
        _ => needed.then(|| sharing::shared(group, context.profile)),
    };
    // May be beside any other.
    own.into_iter()
        .chain(shared.flatten())
        .chain(silent_store::remedy(group, kind, tally, context, sources))
        .chain(remote_read::remedies(group, tally))
        .collect()
}

/// More than half.
fn most(part: u64, whole: u64) -> bool {
    part > whole / 2
}

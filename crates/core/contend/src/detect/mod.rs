//! Kinds of findings: one detector per file, asked in order.

mod group_replays;
mod hot_global;
mod lock_word;
mod read_mostly;
mod remote_read;
mod shared_elements;
mod sharing;
mod silent_store;
mod straddle;

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::Profile;

use crate::finding::FindingKind;
use crate::group::LineGroup;
use crate::identify::AddressNamer;
use crate::ranks::RecordingIndex;
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;
use crate::source_cache::SourceCache;

pub(crate) use group_replays::GroupReplays;
pub(crate) use remote_read::notable_remote_reads as remote_reads;

/// Input of detectors besides the group.
pub(crate) struct DetectContext<'a> {
    pub profile: &'a Profile,
    pub recordings: &'a RecordingIndex,
    pub line_bytes: u64,
    pub replays: &'a GroupReplays<'a>,
}

type Detector = fn(&LineGroup, &CoherenceTally, &DetectContext) -> Option<FindingKind>;

/// The most specific detector comes first.
const DETECTORS: [Detector; 7] = [
    straddle::detect,
    silent_store::detect,
    shared_elements::detect,
    hot_global::detect,
    lock_word::detect,
    remote_read::detect,
    read_mostly::detect,
];

/// Returns the kind of the group whose events are `tally`.
pub(crate) fn classify(
    group: &LineGroup,
    tally: &CoherenceTally,
    context: &DetectContext,
) -> FindingKind {
    DETECTORS
        .iter()
        .find_map(|detect| detect(group, tally, context))
        .unwrap_or_else(|| sharing::classify(tally))
}

/// Returns the number of recordings by the kind that the group has in that recording alone. Empty
/// with one recording.
pub(crate) fn kinds_by_run(
    group: &LineGroup,
    context: &DetectContext,
) -> BTreeMap<FindingKind, u32> {
    let mut kinds = BTreeMap::new();
    let recordings = context.recordings;
    if recordings.count < 2 {
        return kinds;
    }
    let present: BTreeSet<Option<usize>> = group
        .conflicts
        .iter()
        .map(|conflict| recordings.recording_of(conflict.row.run))
        .collect();
    for recording in present {
        let alone = LineGroup {
            subject: group.subject.clone(),
            conflicts: group
                .conflicts
                .iter()
                .filter(|c| recordings.recording_of(c.row.run) == recording)
                .copied()
                .collect(),
            counts: group
                .counts
                .iter()
                .filter(|c| recordings.recording_of(c.row.run) == recording)
                .copied()
                .collect(),
            waits: Vec::new(),
            ..*group
        };
        let tally: CoherenceTally = alone
            .conflicts
            .iter()
            .map(|c| crate::group::row_tally(c.row))
            .sum();
        *kinds.entry(classify(&alone, &tally, context)).or_default() += 1;
    }
    kinds
}

/// Returns remedies for a group of this kind, the most relevant first.
pub(crate) fn remedies<I: AddressNamer>(
    group: &LineGroup,
    kind: FindingKind,
    tally: &CoherenceTally,
    context: &DetectContext,
    sources: &mut SourceCache<'_, I>,
) -> Vec<Remedy> {
    let operation = |site| sources.operation(site);
    let shared_remedy = || sharing::shared_remedy(group, context.profile, operation);
    let own = match kind {
        FindingKind::Straddle => straddle::remedy(group, context),
        FindingKind::HotGlobal => hot_global::remedy(group),
        FindingKind::LockWord => lock_word::remedy(group, tally, context),
        FindingKind::ReadMostly => read_mostly::remedy(group),
        FindingKind::FalseSharing => shared_elements::remedy(group, tally, context)
            .or_else(|| hot_global::remedy_of_local(group))
            .or_else(|| sharing::separate_remedy(group)),
        FindingKind::TrueSharing => shared_remedy(),
        FindingKind::SilentStore | FindingKind::RemoteRead | FindingKind::AdjacentLine => None,
    };
    // A lock stays with its data, and most transfers are needed.
    let needed =
        kind == FindingKind::LockWord && sharing::classify(tally) == FindingKind::TrueSharing;
    let shared = match own {
        Some(Remedy::Lock { apart: true, .. }) => None,
        _ => needed.then(shared_remedy),
    };
    // These remedies may come with any other.
    own.into_iter()
        .chain(shared.flatten())
        .chain(silent_store::remedy(group, kind, tally, context, sources))
        .chain(remote_read::remedies(group, tally))
        .collect()
}

/// Returns true if `part` is more than half of `whole`.
fn is_majority(part: u64, whole: u64) -> bool {
    part > whole / 2
}

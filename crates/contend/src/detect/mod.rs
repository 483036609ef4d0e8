//! What a group of conflicts is called by: one detector per file, asked in order.

mod hot_global;
mod lock_word;
mod read_mostly;
mod remote_read;
mod sharing;
mod silent_store;
mod straddle;

use relayout_profile::Profile;

use crate::finding::Kind;
use crate::group::Group;
use crate::replay::Tally;

pub(crate) use remote_read::noted as remote_reads;
pub(crate) use straddle::Straddles;

/// What detectors may look at besides the group.
pub(crate) struct Context<'a> {
    pub profile: &'a Profile,
    pub line_bytes: u64,
    pub straddles: &'a Straddles<'a>,
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

/// More than half.
fn most(part: u64, whole: u64) -> bool {
    part > whole / 2
}

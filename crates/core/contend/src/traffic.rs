//! Transfers by subject, member and pair of members, in each recording of a profile alone.
//!
//! Findings sum over recordings and join lines. Two profiles are compared by rates with their spread
//! over recordings, which need the counts apart.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use relayout_layout::MemberSpan;
use relayout_profile::{AccessKind, ContextId, Profile, RunId, SiteId};

use crate::find::profile_line_bytes;
use crate::finding::FindingSubject;
use crate::group::{
    self, GroupedRows, ResolvedConflict, ResolvedCount, TargetCache, group_rows, object_at,
};
use crate::identify::{AccessTarget, AddressNamer};
use crate::names::{other_side_name, target_name};
use crate::ranks::{RecordingIndex, total_transfers};

/// Transfers of one recording: of a run, and of the further processes that belong to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingTraffic {
    /// Read and write transfers on all memory.
    pub transfers: u64,
    /// Transfers by type or variable.
    pub subjects: BTreeMap<FindingSubject, SubjectTraffic>,
}

/// Transfers of one type or variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectTraffic {
    /// Read and write transfers on all its lines.
    pub transfers: u64,
    /// Traffic by member, at its offset in the recorded build: from the start of the object, or of the
    /// element if the member is in an array. The path is empty for a hole, whose offset and size are 0, and
    /// the name of a variable that has no members.
    pub members: BTreeMap<MemberSpan, MemberTraffic>,
    /// Transfers between two members of one object, by their paths in alphabetical order. Both are
    /// the same where the access missed what another context had written to the member itself.
    pub pairs: BTreeMap<[String; 2], u64>,
    /// Transfers by the two instructions that met.
    pub meetings: BTreeMap<AccessMeeting, u64>,
}

/// Two accesses from different contexts: one missed, as the other had written to the line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessMeeting {
    /// Member whose access missed, as [`MemberSpan::path`].
    pub member: String,
    /// Instruction that missed: index into [`Profile::sites`].
    pub site: SiteId,
    /// Kind of its access.
    pub access: AccessKind,
    /// Member on the other side; with the name of its object before it, where that is another one.
    pub other_member: String,
    /// Instruction on the other side: index into [`Profile::sites`].
    pub other_site: SiteId,
    /// Kind of its access.
    pub other_access: AccessKind,
}

/// Traffic of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberTraffic {
    /// Transfers in which an access to the member missed.
    pub transfers: u64,
    /// Loads on contended lines.
    pub reads: u64,
    /// Stores on contended lines.
    pub writes: u64,
    /// Contexts that accessed it on contended lines.
    pub contexts: BTreeSet<ContextId>,
}

/// Counts the transfers of each recording of `profile`, in the order of the recordings. The list is
/// empty for a profile without recordings.
pub fn count_traffic(profile: &Profile, identify: &impl AddressNamer) -> Vec<RecordingTraffic> {
    let recordings = RecordingIndex::from_meta(&profile.meta);
    let targets = TargetCache::new(profile, identify);
    let line_bytes = profile_line_bytes(profile);
    let GroupedRows { groups, .. } = group_rows(profile, &targets, line_bytes.into());
    let traffic: Vec<RecordingTraffic> = total_transfers(profile, &recordings)
        .into_iter()
        .map(|transfers| RecordingTraffic {
            transfers,
            subjects: BTreeMap::new(),
        })
        .collect();
    let mut tally = TrafficTally {
        recordings,
        traffic,
    };
    for line_group in &groups {
        let conflicts = &line_group.conflicts;
        for of_run in conflicts.chunk_by(|conflict, next| conflict.row.run == next.row.run) {
            if let Some(subject) = tally.subject(&line_group.subject, of_run[0].row.run) {
                of_run
                    .iter()
                    .for_each(|conflict| subject.add_conflict(conflict));
            }
        }
        let counts = &line_group.counts;
        for of_run in counts.chunk_by(|count, next| count.row.run == next.row.run) {
            if let Some(subject) = tally.subject(&line_group.subject, of_run[0].row.run) {
                subject.add_counts(of_run);
            }
        }
    }
    tally.traffic
}

struct TrafficTally {
    recordings: RecordingIndex,
    traffic: Vec<RecordingTraffic>,
}

impl TrafficTally {
    fn subject(&mut self, subject: &FindingSubject, run: RunId) -> Option<&mut SubjectTraffic> {
        let recording = self.recordings.recording_of(run)?;
        let subjects = &mut self.traffic[recording].subjects;
        Some(subjects.entry(subject.clone()).or_default())
    }
}

impl MemberTraffic {
    /// Adds the traffic of the member in another recording.
    pub fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.reads += other.reads;
        self.writes += other.writes;
        self.contexts.extend(&other.contexts);
    }
}

impl SubjectTraffic {
    fn add_conflict(&mut self, conflict: &ResolvedConflict<'_>) {
        let transfers = group::row_tally(conflict.row).transfers();
        if transfers == 0 {
            return;
        }
        self.transfers += transfers;
        self.member(conflict.here).transfers += transfers;
        if object_at(conflict.here) == object_at(conflict.there) {
            let mut pair = [target_name(conflict.here), target_name(conflict.there)];
            pair.sort();
            *self.pairs.entry(pair).or_default() += transfers;
        }
        let meeting = AccessMeeting {
            member: target_name(conflict.here),
            site: conflict.row.site,
            access: conflict.row.access,
            other_member: other_side_name(conflict.here, conflict.there),
            other_site: conflict.row.other_site,
            other_access: conflict.row.other_access,
        };
        *self.meetings.entry(meeting).or_default() += transfers;
    }

    fn add_counts(&mut self, counts: &[ResolvedCount<'_>]) {
        for of_target in counts.chunk_by(|count, next| ptr::eq(count.target, next.target)) {
            let member = self.member(of_target[0].target);
            for ResolvedCount { row, .. } in of_target {
                if row.access != AccessKind::Write {
                    member.reads += row.count;
                }
                if row.access != AccessKind::Read {
                    member.writes += row.count;
                }
                member.contexts.insert(row.context);
            }
        }
    }

    fn member(&mut self, target: &AccessTarget) -> &mut MemberTraffic {
        let (offset, size) = match target {
            AccessTarget::Member { member, .. } if !member.path.is_empty() => {
                (member.offset, member.size)
            }
            _ => (0, 0),
        };
        let member = MemberSpan {
            path: target_name(target),
            offset,
            size,
        };
        self.members.entry(member).or_default()
    }
}

//! Objects and accesses that lie on two lines, so that one use moves both.
//!
//! The detector looks at the addresses of instances, not at the type: a 32-byte `call_single_data`
//! may cross a line or not, depending on its allocator. Two words of one object on two lines may
//! also be *better* than on one (`count` and `owner` of `rw_semaphore`), so that crossing alone
//! proves nothing. An object that fits a line is a straddle only if replaying its recorded accesses
//! with the alignment that ends the crossing saves at least a quarter of their transfers. An access
//! to a scalar that is itself split needs no such proof.

use super::DetectContext;
use super::group_replays::ReplayedPart;
use crate::finding::FindingKind;
use crate::group::{LineGroup, ResolvedConflict, object_at, row_tally};
use crate::identify::{AccessTarget, TargetObject};
use crate::remedy::{Remedy, ReplayComparison};
use crate::replay::{CoherenceTally, RecordedPlacement, replay};

/// Maximum size of a scalar. Larger members are arrays or blocks: if they are split, their accesses
/// need not be.
const SCALAR_BYTES_MAX: u64 = 16;

pub(super) fn detect(
    group: &LineGroup,
    all: &CoherenceTally,
    context: &DetectContext,
) -> Option<FindingKind> {
    let line = context.line_bytes;
    let transfers = |conflicts: &dyn Fn(&&ResolvedConflict) -> bool| -> u64 {
        group
            .conflicts
            .iter()
            .filter(conflicts)
            .map(|c| row_tally(c.row).transfers())
            .sum()
    };
    let split = transfers(&|conflict| is_split(conflict, line));
    if super::is_majority(split, all.transfers()) {
        return Some(FindingKind::Straddle);
    }
    let crossing =
        transfers(&|conflict| object_at(conflict.here).is_some_and(|o| crosses(o, line)));
    // The alignment saves at least a quarter.
    let proven = || replay_aligned(group, context).is_some_and(|r| r.changed * 4 <= r.today * 3);
    (super::is_majority(crossing, all.transfers()) && proven()).then_some(FindingKind::Straddle)
}

/// Returns true if the access is one half of an access to a scalar that lies on two lines.
fn is_split(conflict: &ResolvedConflict, line: u64) -> bool {
    let Some((first, bytes)) = scalar_extent(conflict.here) else {
        return false;
    };
    let row = conflict.row;
    let end = row.addr + u64::from(row.size);
    let at_edge = row.addr.is_multiple_of(line) || end.is_multiple_of(line);
    at_edge && (1..=SCALAR_BYTES_MAX).contains(&bytes) && first / line != (first + bytes - 1) / line
}

/// Returns address and size of the innermost member or the variable.
fn scalar_extent(place: &AccessTarget) -> Option<(u64, u64)> {
    match place {
        AccessTarget::Member { object, member } => {
            Some(((object.base + member.offset).0, member.size))
        }
        AccessTarget::Scalar(object) => Some((object.base.0, object.bytes)),
        AccessTarget::Unresolved(_) => None,
    }
}

/// Returns true if the object would fit a line, but lies on two.
fn crosses(object: &TargetObject, line: u64) -> bool {
    (2..=line).contains(&object.bytes)
        && object.base / line != (object.base + object.bytes - 1) / line
}

/// Replays the objects that cross, as they are and with the alignment that ends it.
fn replay_aligned(group: &LineGroup, context: &DetectContext) -> Option<ReplayComparison> {
    let line = context.line_bytes as u32;
    let align = ending_alignment(group, context.line_bytes) as u32;
    let replayed = context.replays.transfers_by_way(
        group,
        ReplayedPart::Objects(&|object| crosses(object, context.line_bytes)),
        [
            &|trace| replay(trace, trace.phase(line), &RecordedPlacement, line),
            &|trace| {
                let phase = trace.phase(line).next_multiple_of(align);
                replay(trace, phase, &RecordedPlacement, line)
            },
        ],
    );
    replayed.map(ReplayComparison::from)
}

/// Returns the smallest power of two that holds the crossing objects: aligned to it, none crosses.
fn ending_alignment(group: &LineGroup, line: u64) -> u64 {
    let objects = group
        .conflicts
        .iter()
        .filter_map(|conflict| object_at(conflict.here));
    let crossing = objects.filter(|object| crosses(object, line));
    let bytes = crossing.map(|object| object.bytes).max();
    bytes.unwrap_or(line).next_power_of_two().min(line)
}

pub(super) fn remedy(group: &LineGroup, context: &DetectContext) -> Option<Remedy> {
    let crossing = |conflict: &ResolvedConflict| {
        object_at(conflict.here).is_some_and(|o| crosses(o, context.line_bytes))
    };
    if group.conflicts.iter().any(crossing) {
        return Some(Remedy::Align {
            bytes: ending_alignment(group, context.line_bytes),
            replayed: Some(replay_aligned(group, context).filter(ReplayComparison::helps)?),
        });
    }
    let split = group
        .conflicts
        .iter()
        .find(|conflict| is_split(conflict, context.line_bytes))?;
    Some(Remedy::Align {
        bytes: scalar_extent(split.here)?.1.next_power_of_two(),
        replayed: None,
    })
}

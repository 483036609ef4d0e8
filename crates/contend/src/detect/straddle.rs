//! Objects and accesses that lie on two lines, so that one use moves both.
//!
//! Seen from the addresses of instances, not from the type: a 32-byte `call_single_data` may cross
//! or not, as its allocator had it. Two words of one object on two lines may also be *better* than
//! on one (`rw_semaphore`'s `count` and `owner`), so crossing alone says nothing: an object that fits
//! a line is called a straddle only if replaying its recorded accesses from the start of a line
//! saves at least a quarter of their transfers. An access to a scalar that is itself split needs no
//! such proof.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use relayout_profile::Profile;

use super::Context;
use crate::finding::Kind;
use crate::group::{Conflict, Group, object, tally};
use crate::identify::{Object, Place};
use crate::replay::{Recorded, Replay, Tally};
use crate::traces::{Extent, TraceIndex};

/// Larger members are arrays or blocks: their accesses need not be split though they are.
const SCALAR_BYTES_MAX: u64 = 16;
/// Objects replayed per group, at most.
const OBJECTS_MAX: usize = 64;

pub(super) fn detect(group: &Group, all: &Tally, context: &Context) -> Option<Kind> {
    let line = context.line_bytes;
    let transfers = |conflicts: &dyn Fn(&&Conflict) -> bool| -> u64 {
        group
            .conflicts
            .iter()
            .filter(conflicts)
            .map(|c| tally(c.row).transfers())
            .sum()
    };
    let split = transfers(&|conflict| is_split(conflict, line));
    if super::most(split, all.transfers()) {
        return Some(Kind::Straddle);
    }
    let crossing = transfers(&|conflict| object(conflict.here).is_some_and(|o| crosses(o, line)));
    let proven = || context.straddles.alignment_helps(group, line);
    (super::most(crossing, all.transfers()) && proven()).then_some(Kind::Straddle)
}

/// The access is one half of an access to a scalar that lies on two lines.
fn is_split(conflict: &Conflict, line: u64) -> bool {
    let (first, bytes) = match conflict.here {
        Place::Member { object, member } => (object.base + member.offset, member.size),
        Place::Scalar(object) => (object.base, object.bytes),
        Place::Unresolved(_) => return false,
    };
    let row = conflict.row;
    let end = row.addr + u64::from(row.size);
    let at_edge = row.addr.is_multiple_of(line) || end.is_multiple_of(line);
    at_edge && (1..=SCALAR_BYTES_MAX).contains(&bytes) && first / line != (first + bytes - 1) / line
}

/// The object would fit a line, but lies on two.
fn crosses(object: &Object, line: u64) -> bool {
    (2..=line).contains(&object.bytes)
        && object.base / line != (object.base + object.bytes - 1) / line
}

/// Replays objects from the start of a line; the bursts are indexed when first needed.
pub(crate) struct Straddles<'p> {
    profile: &'p Profile,
    index: OnceCell<TraceIndex<'p>>,
}

impl<'p> Straddles<'p> {
    pub fn new(profile: &'p Profile) -> Self {
        Self {
            profile,
            index: OnceCell::new(),
        }
    }

    fn alignment_helps(&self, group: &Group, line: u64) -> bool {
        let index = self.index.get_or_init(|| TraceIndex::new(self.profile));
        let extents: BTreeSet<Extent> = group
            .conflicts
            .iter()
            .filter_map(|conflict| Some((conflict.row.run, object(conflict.here)?)))
            .filter(|(_, object)| crosses(object, line))
            .map(|(run, object)| Extent {
                run,
                base: object.base,
                bytes: object.bytes as u32,
            })
            .collect();
        let (mut today, mut aligned) = (0, 0);
        for extent in extents.into_iter().take(OBJECTS_MAX) {
            for trace in index.traces(extent) {
                let replay = Replay::new(&trace);
                let phase = (extent.base % line) as u32;
                today += replay.tally(phase, &Recorded, line as u32).transfers();
                aligned += replay.tally(0, &Recorded, line as u32).transfers();
            }
        }
        today > 0 && aligned * 4 <= today * 3
    }
}

//! Mapping of recorded offsets to offsets in another layout.

use std::collections::HashSet;
use std::ops::Range;

use relayout_contend::BytePlacement;
use relayout_layout::abi::{StructLayout, StructShape};

/// Offset of every recorded byte in another layout.
#[derive(Clone, Debug)]
pub struct OffsetMapping {
    /// New offset by recorded offset, up to the compiled size.
    moved: Vec<u32>,
    /// New offset of the first byte behind the struct.
    tail: u32,
    /// Starts of the objects of a row, as recorded and in the new layout; empty for a single object.
    row: Vec<MovedStart>,
}

/// Start of an object of a row, from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovedStart {
    /// As recorded.
    pub recorded: u32,
    /// In the new layout.
    pub then: u32,
}

impl OffsetMapping {
    /// Maps the layout `current` to `new`.
    ///
    /// A byte of a hole goes into the hole behind the same member; if there is none, it goes to
    /// that member's last byte. Nobody reads the bytes of a hole, but wide stores cover them.
    /// Bitfields keep their place within their run, to the byte.
    pub fn new(shape: &StructShape, current: &StructLayout, new: &StructLayout) -> Self {
        let mut moved: Vec<u32> = (0..narrow(current.size)).collect();
        let free_ends = free_ends(new);
        for (atom, (from, to)) in current.places.iter().zip(&new.places).enumerate() {
            let until = next_start(current, from.end);
            for old in from.offset..until {
                let distance = old - from.offset;
                let limit = free_ends[atom].max(to.offset + 1) - 1;
                let place = match old < from.end {
                    true => to.byte_at(distance).min(to.end.max(to.offset + 1) - 1),
                    false => (to.end + (old - from.end)).min(limit),
                };
                if let Some(slot) = usize::try_from(old).ok().and_then(|old| moved.get_mut(old)) {
                    *slot = narrow(place);
                }
            }
        }
        let flexible = shape.atoms.iter().position(|atom| atom.flexible);
        let tail = match flexible.map(|atom| (&current.places[atom], &new.places[atom])) {
            Some((from, to)) => to.offset + current.size.saturating_sub(from.offset),
            None => new.size,
        };
        Self {
            moved,
            tail: narrow(tail),
            row: Vec::new(),
        }
    }

    /// Returns the stretches of an object's bytes that lie elsewhere, as [`moved_stretches`] does.
    pub fn moved_stretches(&self) -> Vec<(Range<u32>, u32)> {
        // A member's bytes come before those of the hole behind it.
        moved_stretches(self.moved.iter().copied().map(Some))
    }

    /// Applies the mapping to a row of objects with these starts; to a single one if it is empty.
    pub(crate) fn with_row(self, row: Vec<MovedStart>) -> Self {
        Self { row, ..self }
    }

    fn in_object(&self, offset: u32) -> u32 {
        match self.moved.get(offset as usize) {
            Some(place) => *place,
            None => self.tail.saturating_add(offset - self.moved.len() as u32),
        }
    }
}

/// Returns the stretches of an object's bytes that lie elsewhere, each with the new offset of its first byte, by that offset.
/// `offsets` has the new offset of each byte, if it has one. Of bytes with the same one, the first keeps it, and the others
/// are left out.
pub fn moved_stretches(offsets: impl IntoIterator<Item = Option<u32>>) -> Vec<(Range<u32>, u32)> {
    let mut stretches: Vec<(Range<u32>, u32)> = Vec::new();
    let mut taken = HashSet::new();
    for (old, new) in (0..).zip(offsets) {
        let Some(new) = new.filter(|new| taken.insert(*new)) else {
            continue;
        };
        match stretches.last_mut() {
            _ if old == new => {}
            Some((bytes, first)) if bytes.end == old && *first + (old - bytes.start) == new => {
                bytes.end += 1;
            }
            _ => stretches.push((old..old + 1, new)),
        }
    }
    stretches.sort_by_key(|(_, first)| *first);
    stretches
}

impl BytePlacement for OffsetMapping {
    fn place(&self, offset: u32) -> u32 {
        let behind = self.row.partition_point(|start| start.recorded <= offset);
        match behind.checked_sub(1).map(|index| self.row[index]) {
            None => self.in_object(offset),
            Some(start) => { start.then }.saturating_add(self.in_object(offset - start.recorded)),
        }
    }
}

/// Converts a number of bytes, with saturation.
pub(crate) fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Returns the first offset at or after `end` where a member starts, or the size of the struct.
fn next_start(layout: &StructLayout, end: u64) -> u64 {
    let starts = layout.places.iter().map(|place| place.offset);
    starts
        .filter(|start| *start >= end)
        .min()
        .unwrap_or(layout.size)
}

/// Returns the end of the hole or padding behind each atom.
fn free_ends(layout: &StructLayout) -> Vec<u64> {
    let places = layout.places.iter();
    places.map(|place| next_start(layout, place.end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_does_not_take_the_place_of_its_member() {
        // Three bytes of a hole went to the flag in front of them.
        let offsets = [12, 12, 12, 12, 0, 1, 2, 3].map(Some);
        assert_eq!(moved_stretches(offsets), [(4..8, 0), (0..1, 12)]);
    }

    #[test]
    fn what_lies_nowhere_is_left_out() {
        let offsets = [Some(4), None, Some(6), Some(7), Some(4), Some(5)];
        assert_eq!(moved_stretches(offsets), [(0..1, 4), (2..4, 6)]);
    }
}

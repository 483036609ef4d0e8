//! Objects that can share lines with others of their type: elements of an array, slots of a slab,
//! objects that were allocated one after the other.
//!
//! The size and alignment of the type decide which lines neighbours share, so their accesses are
//! replayed together, side by side as they lay. Elements of one array make a row as far as they lie in
//! one page, with those in between that were not accessed: contexts may use runs of them, of which only
//! the borders share lines.

use relayout_contend::{ObjectExtent, ObjectTrace, TraceAccess, TraceIndex};
use relayout_profile::{Addr, ProfileMeta, RunId};
use relayout_resolve::ArrayExtent;
use relayout_search::{ObjectHome, RecordedInstance, RowObject};

/// Most objects in a row: a trace is cut to the time in which all of its memory was logged.
const ROW_OBJECTS_MAX: usize = 8;
/// Rows of array elements end at multiples of this many bytes: accesses are logged by page.
const ROW_PAGE_BYTES: u64 = 4096;
/// Types larger than this many lines form no rows: little of them is on a shared line.
const ROW_LINES_MAX: u64 = 2;

/// Place of an object.
#[derive(Clone)]
pub(super) struct ObjectPlace {
    pub run: RunId,
    pub base: Addr,
    /// Bytes of the object and of the memory behind it that belongs to it.
    pub bytes: u64,
    pub home: ObjectHome,
    /// First byte of the variable, allocation or array that it is, or is an element of; `None` for
    /// a part of an object of another type.
    pub whole: Option<Addr>,
    /// Array that the object is an element of.
    pub array: Option<ArrayExtent>,
}

impl ObjectPlace {
    /// Returns the distance of neighbours that follow each other without a gap.
    fn own_stride(&self, size: u64) -> u64 {
        match &self.home {
            ObjectHome::Slab { stride, .. } => u64::from(*stride),
            ObjectHome::Heap { .. } | ObjectHome::Fixed => size,
        }
    }

    /// Returns true if it can share a line with `next`, which begins at or behind its end, at some
    /// place that the allocator can give to both.
    fn can_share_line(&self, next: &Self, line: u64) -> bool {
        let last = self.base.0.saturating_add(self.bytes.max(1)) - 1;
        match &self.home {
            ObjectHome::Heap { align, .. } => {
                let step = u64::from(*align).clamp(1, line);
                last % step + (next.base.0 - last) < line
            }
            ObjectHome::Slab { .. } | ObjectHome::Fixed => last / line == next.base.0 / line,
        }
    }

    /// Returns the place of `next`, the object behind it, in a row with it; `None` if they form no
    /// row.
    fn row_object(&self, next: &Self, size: u64, line: u64) -> Option<RowObject> {
        let distance = next.base.0.checked_sub(self.base.0)?;
        let is_adjacent = distance == self.own_stride(size) && distance == next.own_stride(size);
        let is_same = self.whole.is_some() && self.whole == next.whole;
        // Parts of other objects move with what lies between them, which is not known.
        let are_whole = self.whole.is_some() && next.whole.is_some();
        let is_row = is_adjacent || are_whole && distance >= size;
        if self.run != next.run || !is_row || !self.can_share_line(next, line) {
            return None;
        }
        let allocated = match &next.home {
            ObjectHome::Heap { count, .. } if are_whole && !is_same => *count,
            _ => 0,
        };
        Some(RowObject {
            // Its own start is added.
            start: u32::try_from(distance).ok()?,
            allocated,
        })
    }
}

/// One object, or several neighbours.
pub(super) struct ObjectRow {
    first: ObjectPlace,
    last: ObjectPlace,
    /// All of them, the first included.
    objects: Vec<RowObject>,
}

/// Groups neighbours that can share a line. `size` is the size of the type.
pub(super) fn group_into_rows(
    mut places: Vec<ObjectPlace>,
    size: u64,
    line_bytes: u32,
) -> Vec<ObjectRow> {
    let line = u64::from(line_bytes.max(1));
    places.sort_by_key(|place| (place.run, place.base));
    places.dedup_by_key(|place| (place.run, place.base));
    let mut rows: Vec<ObjectRow> = Vec::new();
    for place in places {
        let is_small = size <= ROW_LINES_MAX * line && place.bytes == size && size > 0;
        let last_row = rows.last_mut().filter(|_| is_small);
        let is_taken = last_row.is_some_and(|row| row.take_in(&place, size, line));
        if !is_taken {
            rows.push(ObjectRow::starting_with(place));
        }
    }
    rows
}

impl ObjectRow {
    fn starting_with(first: ObjectPlace) -> Self {
        Self {
            last: first.clone(),
            first,
            objects: vec![RowObject {
                start: 0,
                allocated: 0,
            }],
        }
    }

    /// Adds an object to the row, if it can share a line with the last one; returns true if it did.
    fn take_in(&mut self, place: &ObjectPlace, size: u64, line: u64) -> bool {
        let is_element = self.take_in_element(place, size, line);
        let may_be_neighbour = self.first.array.is_none() && self.objects.len() < ROW_OBJECTS_MAX;
        if is_element || !may_be_neighbour {
            return is_element;
        }
        let next = self.last.row_object(place, size, line);
        let before = self.objects.last().map_or(0, |object| object.start);
        let start = next.and_then(|next| before.checked_add(next.start));
        let (Some(next), Some(start)) = (next, start) else {
            return false;
        };
        self.objects.push(RowObject { start, ..next });
        self.last = place.clone();
        true
    }

    /// Adds an element of the array that the row is of, with those before it that were not accessed;
    /// returns false where that is no element of the same array, or lies in another page or behind an
    /// unused line.
    fn take_in_element(&mut self, place: &ObjectPlace, size: u64, line: u64) -> bool {
        let is_same = self.first.run == place.run && self.first.array == place.array;
        let Some(distance) = place.base.checked_sub(self.first.base) else {
            return false;
        };
        let end = self.objects.len() as u64 * size;
        let is_near = distance >= end && distance - end <= line;
        let is_same_page = place.base / ROW_PAGE_BYTES == self.first.base / ROW_PAGE_BYTES;
        let is_whole = distance.is_multiple_of(size);
        if !is_same || self.first.array.is_none() || !is_near || !is_same_page || !is_whole {
            return false;
        }
        // Elements of a page: their offsets are small.
        let added = (end..=distance).step_by(size as usize);
        self.objects.extend(added.map(|start| RowObject {
            start: start as u32,
            allocated: 0,
        }));
        true
    }

    /// Returns the recorded accesses, one instance for each stretch of time in which the whole row
    /// was logged.
    pub fn instances(&self, index: &TraceIndex<'_>, meta: &ProfileMeta) -> Vec<RecordedInstance> {
        let recording = meta.first_run_of_recording(self.first.run);
        let before_last = self.objects.last().map_or(0, |last| u64::from(last.start));
        let traces = index.traces(ObjectExtent {
            run: self.first.run,
            base: self.first.base,
            bytes: u32::try_from(before_last + self.first.bytes).unwrap_or(u32::MAX),
        });
        let instance = |mut trace: ObjectTrace| {
            trace.accesses.retain(|access| self.holds(access));
            (!trace.accesses.is_empty()).then(|| RecordedInstance {
                run: self.first.run,
                recording,
                trace,
                home: self.first.home.clone(),
                row: match self.objects.len() {
                    1 => Vec::new(),
                    _ => self.objects.clone(),
                },
            })
        };
        traces.into_iter().filter_map(instance).collect()
    }

    /// Returns true if an access touches one of the objects, and not only what lies between them.
    fn holds(&self, access: &TraceAccess) -> bool {
        let end = u64::from(access.offset) + u64::from(access.size.max(1));
        // Of those that begin before its end, the last one ends last.
        let begun = self
            .objects
            .partition_point(|object| u64::from(object.start) < end);
        let last = begun.checked_sub(1).map(|index| self.objects[index]);
        last.is_some_and(|object| {
            u64::from(access.offset) < u64::from(object.start) + self.first.bytes
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of `size` bytes at `bases`, parts of one larger object.
    fn parts(bases: &[u64], size: u64) -> Vec<ObjectPlace> {
        let place = |base: &u64| ObjectPlace {
            run: RunId(0),
            base: Addr(*base),
            bytes: size,
            home: ObjectHome::Fixed,
            whole: None,
            array: None,
        };
        bases.iter().map(place).collect()
    }

    /// The same in an allocation each.
    fn allocated(bases: &[u64], size: u64) -> Vec<ObjectPlace> {
        let place = |place: ObjectPlace| ObjectPlace {
            home: ObjectHome::Heap {
                first: place.base,
                align: 16,
                count: 1,
                follows_type: false,
            },
            whole: Some(place.base),
            ..place
        };
        parts(bases, size).into_iter().map(place).collect()
    }

    #[track_caller]
    fn assert_rows(places: Vec<ObjectPlace>, expect: &[&[u32]]) {
        let size = places[0].bytes;
        let starts = |row: &ObjectRow| -> Vec<u32> {
            row.objects.iter().map(|object| object.start).collect()
        };
        let rows = group_into_rows(places, size, 64);
        let found: Vec<Vec<u32>> = rows.iter().map(starts).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn neighbours_that_share_lines_are_rows() {
        let bases = [0x1000, 0x1018, 0x1030, 0x1100];
        assert_rows(parts(&bases, 24), &[&[0, 24, 48], &[0]]);
        // Two to a line: the third starts one.
        let bases = [0x1000, 0x1020, 0x1040, 0x1060];
        assert_rows(parts(&bases, 32), &[&[0, 32], &[0, 32]]);
        assert_rows(parts(&[0x1000, 0x1040], 64), &[&[0], &[0]]);
        assert_rows(parts(&[0x1020, 0x1060], 64), &[&[0, 64]]);
        assert_rows(parts(&[0x1000, 0x1030], 24), &[&[0], &[0]]);
    }

    #[test]
    fn objects_of_an_allocation_each_are_rows_with_what_lies_between() {
        // Line 0x1000 ends in front of the third. Beginning 16 bytes later, the second would share
        // its line with it.
        let bases = [0x1000, 0x1020, 0x1040, 0x10c0];
        assert_rows(allocated(&bases, 24), &[&[0, 32, 64], &[0]]);
        assert_rows(allocated(&[0x1000, 0x1030, 0x1050], 24), &[&[0, 48, 80]]);
        // 24 bytes at a multiple of 16 may end 8 bytes into a line, and reach up to 64 bytes behind
        // their start, and not 80.
        assert_rows(allocated(&[0x1000, 0x1040], 24), &[&[0, 64]]);
        assert_rows(allocated(&[0x1000, 0x1050], 24), &[&[0], &[0]]);
        let rows = group_into_rows(allocated(&[0x1000, 0x1020], 24), 24, 64);
        assert_eq!(rows[0].objects[1].allocated, 1);
    }

    #[test]
    fn variables_beside_each_other_are_rows() {
        let mut places = parts(&[0x1000, 0x1020, 0x1040], 8);
        for place in &mut places {
            place.whole = Some(place.base);
        }
        assert_rows(places, &[&[0, 32], &[0]]);
    }

    #[test]
    fn elements_of_an_array_are_one_row() {
        let array = Some(ArrayExtent {
            base: Addr(0x1010),
            stride: 4,
            count: 2048,
        });
        let elements = |bases: &[u64], expect: &[u32]| {
            let mut places = parts(bases, 4);
            for place in &mut places {
                place.array = array;
                place.whole = array.map(|array| array.base);
            }
            let rows = group_into_rows(places, 4, 64);
            let found: Vec<u32> = rows.iter().map(|row| row.objects.len() as u32).collect();
            assert_eq!(found, expect);
        };
        let all: Vec<u64> = (0..100).map(|index| 0x1010 + 4 * index).collect();
        elements(&all, &[100]);
        // Elements that were not accessed are in the row; a line that was not ends it.
        elements(&[0x1010, 0x1030, 0x1070, 0x1200], &[25, 1]);
        // A row ends with the page.
        elements(&[0x1ff8, 0x1ffc, 0x2000], &[2, 1]);
    }
}

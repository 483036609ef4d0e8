//! Adjacent objects that can share lines: elements of an array, slots of a slab.
//!
//! The size and alignment of the type decide which lines neighbours share, so their accesses are
//! replayed together. Adjacent addresses make a row, whatever allocated the objects.

use relayout_contend::{ObjectExtent, TraceIndex};
use relayout_profile::{Addr, ProfileMeta, RunId};
use relayout_search::{ObjectHome, RecordedInstance};

/// Most objects in a row: a trace is cut to the time in which all of its memory was logged.
const ROW_OBJECTS_MAX: usize = 8;
/// Types larger than this many lines form no rows: little of them is on a shared line.
const ROW_LINES_MAX: u64 = 2;

/// Place of an object.
pub(super) struct ObjectPlace {
    pub run: RunId,
    pub base: Addr,
    /// Bytes of the object and of the memory behind it that belongs to it.
    pub bytes: u64,
    pub home: ObjectHome,
}

/// One object, or several adjacent ones.
pub(super) struct ObjectRow {
    first: ObjectPlace,
    elements: u32,
    stride: u64,
}

/// Groups neighbours that share a line and have the same stride. `size` is the size of the type.
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
        let object_stride = slot_stride(&place, size);
        let extends_row = |row: &ObjectRow| {
            row.first.run == place.run
                && row.stride == object_stride
                && row.first.base + u64::from(row.elements) * object_stride == place.base
                && (row.elements as usize) < ROW_OBJECTS_MAX
                && !place.base.is_multiple_of(line)
        };
        let is_small = size <= ROW_LINES_MAX * line && place.bytes == size && object_stride > 0;
        match rows.last_mut().filter(|row| is_small && extends_row(row)) {
            Some(row) => row.elements += 1,
            None => rows.push(ObjectRow {
                first: place,
                elements: 1,
                stride: object_stride,
            }),
        }
    }
    rows
}

fn slot_stride(place: &ObjectPlace, size: u64) -> u64 {
    match &place.home {
        ObjectHome::Slab { stride, .. } => u64::from(*stride),
        ObjectHome::Heap { .. } | ObjectHome::Fixed => size,
    }
}

impl ObjectRow {
    /// Returns the recorded accesses, one instance for each stretch of time in which the whole row
    /// was logged.
    pub fn instances(&self, index: &TraceIndex<'_>, meta: &ProfileMeta) -> Vec<RecordedInstance> {
        let recording = meta.first_run_of_recording(self.first.run);
        let before_last = u64::from(self.elements - 1) * self.stride;
        let traces = index.traces(ObjectExtent {
            run: self.first.run,
            base: self.first.base,
            bytes: u32::try_from(before_last + self.first.bytes).unwrap_or(u32::MAX),
        });
        let instance = |trace| RecordedInstance {
            run: self.first.run,
            recording,
            trace,
            home: self.first.home.clone(),
            elements: self.elements,
            stride: u32::try_from(self.stride).unwrap_or(0),
        };
        traces.into_iter().map(instance).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_rows(bases: &[u64], size: u64, expect: &[u32]) {
        let place = |base: &u64| ObjectPlace {
            run: RunId(0),
            base: Addr(*base),
            bytes: size,
            home: ObjectHome::Fixed,
        };
        let rows = group_into_rows(bases.iter().map(place).collect(), size, 64);
        let elements: Vec<u32> = rows.iter().map(|row| row.elements).collect();
        assert_eq!(elements, expect);
    }

    #[test]
    fn neighbours_that_share_lines_are_rows() {
        assert_rows(&[0x1000, 0x1018, 0x1030, 0x1100], 24, &[3, 1]);
        // Two to a line: the third starts one.
        assert_rows(&[0x1000, 0x1020, 0x1040, 0x1060], 32, &[2, 2]);
        assert_rows(&[0x1000, 0x1040], 64, &[1, 1]);
        assert_rows(&[0x1020, 0x1060], 64, &[2]);
        assert_rows(&[0x1000, 0x1030], 24, &[1, 1]);
    }
}

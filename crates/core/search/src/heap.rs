//! Place of an object in memory of `malloc`, where the type has another size or alignment.
//!
//! `malloc` gives every allocation the same small alignment, whatever its type declares: 16 bytes on
//! 64-bit Linux. Objects begin at any multiple of it, so every layout that needs no more alignment,
//! today's too, is judged at all of them. A layout that needs more needs another allocation call.

use crate::change::atom_placer::PlacedExtent;
use crate::mapping::narrow;
use crate::slab::ObjectSlot;
use crate::subject::{ObjectHome, RecordedInstance};

/// Bytes in front of each allocation of the GNU C library.
const HEADER_BYTES: u64 = 8;
/// Sizes of its allocations, header included, are multiples of this, in bytes ...
const CLASS_STEP: u64 = 16;
/// ... and at least this.
const CLASS_MIN: u64 = 32;
/// From this size on, in bytes, an allocation has pages of its own (`M_MMAP_THRESHOLD`).
const PAGES_FROM: u64 = 128 * 1024;
/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// Returns the memory that `malloc` of the GNU C library takes for a request, in bytes.
pub fn malloc_class(bytes: u64) -> u64 {
    match bytes {
        PAGES_FROM.. => bytes
            .saturating_add(2 * HEADER_BYTES)
            .next_multiple_of(PAGE_BYTES),
        _ => (bytes + HEADER_BYTES)
            .next_multiple_of(CLASS_STEP)
            .max(CLASS_MIN),
    }
}

/// Returns true if an object there gets `align` bytes of alignment only by another allocation call.
pub(crate) fn needs_other_call(home: &ObjectHome, align: u64) -> bool {
    match home {
        ObjectHome::Heap {
            align: given,
            follows_type: false,
            ..
        } => align > u64::from(*given),
        _ => false,
    }
}

/// Returns true for memory of an allocator that gives less than `align` bytes of alignment to an
/// array of a type that does not declare it.
pub(crate) fn gives_less(home: &ObjectHome, align: u64) -> bool {
    matches!(home, ObjectHome::Heap { align: given, .. } if align > u64::from(*given))
}

/// Returns the slot of an object in an allocation if the type of `extents` had the second extent
/// instead of the first, the recorded one, with `tail` bytes behind it.
pub(crate) fn heap_slot(
    instance: &RecordedInstance,
    extents: [PlacedExtent; 2],
    tail: u64,
    line: u64,
) -> ObjectSlot {
    let [today, then] = extents;
    let allocation = HeapAllocation::new(instance, extents);
    let (stride, first) = (allocation.stride_then, allocation.first);
    let before = allocation.index.saturating_mul(stride);
    let place = |start: u64, modulus: u64| {
        let aligned = start.next_multiple_of(allocation.align);
        ((aligned % modulus + before % modulus) % modulus) as u32
    };
    let step = allocation.given.min(line);
    let phases = match allocation.has_own_pages(today.size, then.size) {
        true => vec![place(first % (2 * line), line)],
        false => { 0..line / step }
            .map(|number| place(first % step + number * step, line))
            .collect(),
    };
    let request = allocation.count.saturating_mul(stride);
    let class = malloc_class(request.saturating_add(tail));
    ObjectSlot {
        cache: Some(format!("malloc-{class}")),
        bytes: class / allocation.count,
        phase: place(first % (2 * line), line),
        phases,
        pair_phase: place(first % (2 * line), 2 * line),
        starts: allocation.starts(instance, extents),
    }
}

/// Allocation that holds an object, or begins a row of objects.
struct HeapAllocation {
    /// Its first byte, or that of the array in it.
    first: u64,
    /// Alignment that any allocation has.
    given: u64,
    /// Alignment that the type's allocations have besides.
    align: u64,
    /// Objects in it.
    count: u64,
    /// Index of the object in it.
    index: u64,
    /// Bytes from one of its objects to the next as recorded ...
    stride_today: u64,
    /// ... and with the other extent.
    stride_then: u64,
}

impl HeapAllocation {
    fn new(instance: &RecordedInstance, [today, then]: [PlacedExtent; 2]) -> Self {
        let base = instance.trace.base;
        let (first, given, count, follows_type) = match &instance.home {
            ObjectHome::Heap {
                first,
                align,
                count,
                follows_type,
            } => (*first, u64::from(*align), *count, *follows_type),
            _ => (base, 1, 1, false),
        };
        let align = then.align.max(1);
        // A language that gives types their alignment gave it to the recorded objects.
        let is_followed = follows_type && first.is_multiple_of(today.align.max(1));
        let in_array = instance.row.get(1).filter(|second| second.allocated == 0);
        let stride_today = match in_array {
            Some(second) if count > 1 => u64::from(second.start),
            _ => today.size.max(1),
        };
        let gap = stride_today.saturating_sub(today.size);
        Self {
            first: first.0,
            given: given.max(1),
            align: match is_followed || then.align > today.align {
                true => align,
                false => 1,
            },
            count: count.max(1),
            index: base.saturating_sub(first) / stride_today,
            stride_today,
            stride_then: (then.size + gap).next_multiple_of(align),
        }
    }

    /// Returns true if it has pages of its own, today and with the other size: then it begins
    /// behind a header at the start of a page.
    fn has_own_pages(&self, today: u64, then: u64) -> bool {
        let is_large = |size: u64| self.count.saturating_mul(size) >= PAGES_FROM;
        self.first % PAGE_BYTES == 2 * HEADER_BYTES && is_large(today) && is_large(then)
    }

    /// Returns the starts of the objects of a row. An allocation behind another one keeps what lies
    /// between them, and moves as that one grows.
    fn starts(&self, instance: &RecordedInstance, extents: [PlacedExtent; 2]) -> Vec<u32> {
        let (mut index, mut count, mut start) = (self.index, self.count, 0_u64);
        let mut starts = vec![0];
        for pair in instance.row.windows(2) {
            let recorded = u64::from(pair[1].start - pair[0].start);
            if pair[1].allocated == 0 {
                start += between_elements(recorded, extents);
                index += 1;
            } else {
                let before = |stride: u64| index.saturating_mul(stride);
                let class = malloc_class(count.saturating_mul(self.stride_today));
                let other = (recorded + before(self.stride_today)).saturating_sub(class);
                let request = count.saturating_mul(self.stride_then);
                // Aligned allocations can follow each other without a header between them: an
                // alignment below the line leaves two of them on one line.
                let memory = match self.align > self.given {
                    true => request.next_multiple_of(self.align),
                    false => malloc_class(request),
                };
                let behind = start + other + memory.saturating_sub(before(self.stride_then));
                start = behind.next_multiple_of(self.align);
                (index, count) = (0, pair[1].allocated);
            }
            starts.push(narrow(start));
        }
        starts
    }
}

/// Returns the bytes from one element of an array to the next for the second extent, if there are
/// `recorded` for the first. What lies between elements stays.
pub(crate) fn between_elements(recorded: u64, [today, then]: [PlacedExtent; 2]) -> u64 {
    let gap = recorded.saturating_sub(today.size);
    (then.size + gap).next_multiple_of(then.align.max(1))
}

#[cfg(test)]
mod tests {
    use relayout_contend::ObjectTrace;
    use relayout_profile::{Addr, RunId};

    use super::*;
    use crate::subject::RowObject;

    fn element(base: u64) -> RecordedInstance {
        RecordedInstance {
            run: RunId(0),
            recording: RunId(0),
            trace: ObjectTrace {
                base: Addr(base),
                ..ObjectTrace::default()
            },
            home: ObjectHome::Heap {
                first: Addr(0x1010),
                align: 16,
                count: 4,
                follows_type: false,
            },
            row: Vec::new(),
        }
    }

    fn extent(size: u64, align: u64) -> PlacedExtent {
        PlacedExtent { size, align }
    }

    fn slot(instance: &RecordedInstance, size: u64, align: u64) -> ObjectSlot {
        heap_slot(instance, [extent(16, 8), extent(size, align)], 0, 64)
    }

    #[test]
    fn malloc_begins_at_any_multiple_of_16_whatever_the_size() {
        let second = element(0x1020);
        let today = slot(&second, 16, 8);
        assert_eq!(today.phase, 0x20);
        // The second element of an allocation that begins at 0, 16, 32 and 48.
        assert_eq!(today.phases, [16, 32, 48, 0]);
        assert_eq!(today.cache.as_deref(), Some("malloc-80"));
        let padded = slot(&second, 64, 8);
        assert_eq!(padded.phases, [0, 16, 32, 48]);
        assert_eq!((padded.phase, padded.bytes), (16, 68));
    }

    #[test]
    fn alignment_beyond_that_of_malloc_needs_another_call() {
        let second = element(0x1020);
        let aligned = slot(&second, 64, 64);
        assert_eq!((aligned.phase, aligned.phases), (0, vec![0; 4]));
        assert!(needs_other_call(&second.home, 64));
        assert!(!needs_other_call(&second.home, 16));
        assert!(!needs_other_call(&ObjectHome::Fixed, 64));
    }

    #[test]
    fn a_part_of_an_allocation_keeps_its_offset_in_it() {
        let mut part = element(0x1028);
        part.home = ObjectHome::Heap {
            first: Addr(0x1028),
            align: 16,
            count: 1,
            follows_type: false,
        };
        assert_eq!(slot(&part, 16, 8).phases, [8, 24, 40, 56]);
    }

    #[test]
    fn memory_with_pages_of_its_own_begins_behind_its_header() {
        let mut large = element(0x7000_0010);
        large.home = ObjectHome::Heap {
            first: Addr(0x7000_0010),
            align: 16,
            count: 10_000,
            follows_type: false,
        };
        assert_eq!(slot(&large, 16, 8).phases, [16]);
        assert_eq!(slot(&large, 64, 8).phases, [16]);
    }

    #[test]
    fn allocations_in_a_row_stay_side_by_side() {
        let mut row = element(0x1010);
        row.home = ObjectHome::Heap {
            first: Addr(0x1010),
            align: 16,
            count: 1,
            follows_type: true,
        };
        let object = |start| RowObject {
            start,
            allocated: 1,
        };
        row.row = [0, 32, 96].map(object).to_vec();
        // 32 bytes for 16, header included; between the second and the third lie 32 others.
        assert_eq!(slot(&row, 16, 8).starts, [0, 32, 96]);
        assert_eq!(slot(&row, 48, 8).starts, [0, 64, 160]);
        assert_eq!(slot(&row, 64, 64).starts, [0, 64, 192]);
        // Two that are aligned to 32 can share a line.
        assert_eq!(slot(&row, 32, 32).starts, [0, 32, 96]);
    }

    #[test]
    fn classes_of_malloc() {
        for (bytes, class) in [(1, 32), (24, 32), (25, 48), (40, 48), (131_072, 135_168)] {
            assert_eq!(malloc_class(bytes), class, "{bytes}");
        }
    }
}

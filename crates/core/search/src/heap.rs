//! Place of an object in memory of `malloc`, where the type has another size or alignment.
//!
//! `malloc` gives every allocation the same small alignment, whatever its type declares: 16 bytes on
//! 64-bit Linux. Objects of another size begin at any multiple of it, so a layout that needs no
//! alignment is judged at the worst one. A layout that needs more needs another allocation call.

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

/// Returns the slot of an object in an allocation if the type had this size and alignment, with
/// `tail` bytes behind it. `compiled` is the recorded size.
pub(crate) fn heap_slot(
    instance: &RecordedInstance,
    compiled: u64,
    [size, align, tail]: [u64; 3],
    line: u64,
) -> ObjectSlot {
    let base = instance.trace.base;
    let (first, given, count) = match &instance.home {
        ObjectHome::Heap {
            first,
            align,
            count,
            ..
        } => (*first, u64::from(*align).max(1), (*count).max(1)),
        _ => (base, 1, 1),
    };
    let recorded_stride = match u64::from(instance.stride) {
        0 => compiled.max(1),
        stride => stride,
    };
    let index = base.saturating_sub(first) / recorded_stride;
    let gap = recorded_stride.saturating_sub(compiled);
    let stride = (size + gap).next_multiple_of(align.max(1));
    let before = index.saturating_mul(stride);
    let place = |start: u64, modulus: u64| ((start % modulus + before % modulus) % modulus) as u32;
    // Today's allocations stay. An alignment that the allocator does not give needs a call that
    // does.
    let start = match (size == compiled, align > given) {
        (_, true) => (first % (2 * line)).next_multiple_of(align.min(2 * line)),
        _ => first % (2 * line),
    };
    let is_placed = size == compiled || align > given;
    let starts = (0..line).step_by(given.min(line) as usize);
    let other_phases = starts
        .filter(|_| !is_placed)
        .map(|start| place(start, line))
        .filter(|phase| *phase != place(start, line));
    let class = malloc_class(count.saturating_mul(stride).saturating_add(tail));
    ObjectSlot {
        cache: Some(format!("malloc-{class}")),
        bytes: class / count,
        phase: place(start, line),
        other_phases: other_phases.collect(),
        pair_phase: place(start, 2 * line),
        stride: narrow(stride),
    }
}

impl ObjectSlot {
    /// Returns all phases that the object may have.
    pub(crate) fn phases(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.phase).chain(self.other_phases.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use relayout_contend::ObjectTrace;
    use relayout_profile::{Addr, RunId};

    use super::*;

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
            elements: 1,
            stride: 16,
        }
    }

    #[test]
    fn what_malloc_returns_stays_where_it_is_until_the_size_changes() {
        let second = element(0x1020);
        let today = heap_slot(&second, 16, [16, 8, 0], 64);
        assert_eq!((today.phase, today.phases().count()), (0x20, 1));
        assert_eq!(today.cache.as_deref(), Some("malloc-80"));
        // Padded: at each of the four places that malloc may begin.
        let padded = heap_slot(&second, 16, [64, 8, 0], 64);
        let mut phases: Vec<u32> = padded.phases().collect();
        phases.sort_unstable();
        assert_eq!(phases, [0, 16, 32, 48]);
        assert_eq!((padded.stride, padded.bytes), (64, 68));
    }

    #[test]
    fn alignment_beyond_that_of_malloc_needs_another_call() {
        let second = element(0x1020);
        let aligned = heap_slot(&second, 16, [64, 64, 0], 64);
        assert_eq!((aligned.phase, aligned.phases().count()), (0, 1));
        assert!(needs_other_call(&second.home, 64));
        assert!(!needs_other_call(&second.home, 16));
        assert!(!needs_other_call(&ObjectHome::Fixed, 64));
    }

    #[test]
    fn classes_of_malloc() {
        for (bytes, class) in [(1, 32), (24, 32), (25, 48), (40, 48), (131_072, 135_168)] {
            assert_eq!(malloc_class(bytes), class, "{bytes}");
        }
    }
}

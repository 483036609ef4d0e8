//! Slab class and slot of an object whose type has another size. [`heap`](crate::heap) does it for
//! objects that `malloc` returned.

use crate::change::atom_placer::PlacedExtent;
use crate::heap;
use crate::mapping::narrow;
use crate::subject::{ObjectHome, RecordedInstance};

/// Sizes of the kernel's general caches below a page, in bytes (`kmalloc_info` in mm/slab_common.c,
/// SLUB, x86-64); larger sizes are powers of two.
const KMALLOC_BYTES: [u64; 12] = [8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096];

/// Slots of a slab that are told apart by their place in a line, at most.
const SLOTS_APART_MAX: u64 = 8;

/// Returns the size of the `kmalloc` cache that serves a request, in bytes.
pub fn kmalloc_class(bytes: u64) -> u64 {
    KMALLOC_BYTES
        .into_iter()
        .find(|class| *class >= bytes)
        .unwrap_or_else(|| bytes.checked_next_power_of_two().unwrap_or(bytes))
}

/// Returns the name of a `kmalloc` cache without its size (`kmalloc-`, `kmalloc-cg-`,
/// `kmalloc-rcl-`, `dma-kmalloc-`); `None` if `cache` is not one.
fn kmalloc_prefix(cache: &str) -> Option<&str> {
    let (prefix, size) = cache.rsplit_once('-')?;
    let is_size = size.trim_end_matches(['k', 'M']).parse::<u64>().is_ok();
    (is_size && prefix.contains("kmalloc")).then(|| &cache[..=prefix.len()])
}

fn size_name(bytes: u64) -> String {
    match bytes {
        1024.. if bytes.is_multiple_of(1024) => format!("{}k", bytes / 1024),
        _ => bytes.to_string(),
    }
}

/// Place of an object under another layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSlot {
    /// Slab cache; `None` outside of slabs.
    pub cache: Option<String>,
    /// Bytes per object, with the slot's unused rest.
    pub bytes: u64,
    /// Address modulo the line, in the allocation that was recorded.
    pub phase: u32,
    /// Addresses modulo the line that the allocator can give, by number of the place. A number
    /// means the same allocation for all layouts, modulo the number of places.
    pub phases: Vec<u32>,
    /// Address modulo two lines, in the allocation that was recorded.
    pub pair_phase: u32,
    /// Starts of the objects of a row, from the first one.
    pub starts: Vec<u32>,
}

impl ObjectSlot {
    /// Returns the number of the place of the recorded allocation.
    pub fn recorded_place(&self) -> usize {
        let recorded = { self.phases.iter() }.position(|phase| *phase == self.phase);
        recorded.unwrap_or(0)
    }
}

/// Returns the least number of bytes that were allocated behind the struct.
///
/// Three facts bound it from below. The recorded class: a smaller request would have come from a
/// smaller class. A flexible array has at least one element. Accessed bytes were allocated.
/// `compiled` is the size of the struct as recorded.
pub fn tail_bytes(instance: &RecordedInstance, compiled: u64, element: u64) -> u64 {
    let accesses = instance.trace.accesses.iter();
    let reached = accesses
        .map(|access| u64::from(instance.locate(access.offset).1) + u64::from(access.size))
        .max();
    // Objects of a row have others behind them.
    let reached = match instance.is_row() {
        true => 0,
        false => reached.unwrap_or(0).saturating_sub(compiled),
    };
    let element = element.max(1);
    let floor = match &instance.home {
        ObjectHome::Slab { cache, stride, .. } if kmalloc_prefix(cache).is_some() => {
            let stride = u64::from(*stride);
            let below = KMALLOC_BYTES
                .into_iter()
                .rev()
                .find(|class| *class < stride)
                .unwrap_or(0);
            (below + 1).saturating_sub(compiled)
        }
        ObjectHome::Slab { object_bytes, .. } => u64::from(*object_bytes).saturating_sub(compiled),
        ObjectHome::Heap { .. } | ObjectHome::Fixed => 0,
    };
    let at_least = if element > 1 { element } else { 0 };
    floor.max(reached).max(at_least).next_multiple_of(element)
}

/// Returns the slot of the object if the struct had the second of the `extents`; the first is the
/// recorded one.
///
/// Slots keep their index in the slab; `tail` is the number of bytes behind the struct.
pub(crate) fn object_slot(
    instance: &RecordedInstance,
    extents: [PlacedExtent; 2],
    tail: u64,
    line_bytes: u32,
) -> ObjectSlot {
    let line = u64::from(line_bytes.max(1));
    let [today, then] = extents;
    match &instance.home {
        ObjectHome::Slab {
            cache,
            first,
            stride,
            object_bytes,
        } if *stride > 0 => {
            let index = instance.trace.base.saturating_sub(*first) / u64::from(*stride);
            let (name, bytes) = match kmalloc_prefix(cache) {
                Some(prefix) => {
                    let class = kmalloc_class(then.size + tail);
                    (format!("{prefix}{}", size_name(class)), class)
                }
                None => {
                    let grown = (u64::from(*object_bytes) + then.size).saturating_sub(today.size);
                    let gap = u64::from(*stride).saturating_sub(u64::from(*object_bytes));
                    let on_line = u64::from(*stride).is_multiple_of(line) && gap > 0
                        || u64::from(*object_bytes).is_multiple_of(line);
                    let step = if on_line { line } else { 8 };
                    (cache.clone(), grown.next_multiple_of(step.max(then.align)))
                }
            };
            let start = |slot: u64| *first % (2 * line) + slot * bytes;
            let phases = { 0..slots_apart(bytes, line) }
                .map(|slot| (start(slot) % line) as u32)
                .collect();
            ObjectSlot {
                cache: Some(name),
                bytes,
                phase: (start(index) % line) as u32,
                phases,
                pair_phase: (start(index) % (2 * line)) as u32,
                starts: { instance.starts().zip(0..) }
                    .map(|(_, nth): (u32, u64)| narrow(nth * bytes))
                    .collect(),
            }
        }
        ObjectHome::Heap { .. } => heap::heap_slot(instance, extents, tail, line),
        _ => fixed_slot(instance, extents, tail, line),
    }
}

/// Returns the number of slots after which a slab's slots begin at the same places of a line again.
fn slots_apart(bytes: u64, line: u64) -> u64 {
    let common = 1 << bytes.trailing_zeros().min(line.trailing_zeros());
    (line / common).clamp(1, SLOTS_APART_MAX)
}

/// Returns the slot of an object at an address that does not depend on the layout.
fn fixed_slot(
    instance: &RecordedInstance,
    extents: [PlacedExtent; 2],
    tail: u64,
    line: u64,
) -> ObjectSlot {
    let [_, then] = extents;
    let start = (instance.trace.base % (2 * line)).next_multiple_of(then.align.clamp(1, 2 * line));
    let mut starts = vec![0];
    let mut behind = 0_u64;
    for pair in instance.row.windows(2) {
        behind += heap::between_elements(u64::from(pair[1].start - pair[0].start), extents);
        starts.push(narrow(behind));
    }
    ObjectSlot {
        cache: None,
        bytes: then.size + tail,
        phase: (start % line) as u32,
        phases: vec![(start % line) as u32],
        pair_phase: (start % (2 * line)) as u32,
        starts,
    }
}

//! Slab class and slot of an object whose type has another size. [`heap`](crate::heap) does it for
//! objects that `malloc` returned.

use crate::heap;
use crate::mapping::narrow;
use crate::subject::{ObjectHome, RecordedInstance};

/// Sizes of the kernel's general caches below a page, in bytes (`kmalloc_info` in mm/slab_common.c,
/// SLUB, x86-64); larger sizes are powers of two.
const KMALLOC_BYTES: [u64; 12] = [8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096];

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
    /// Address modulo the line.
    pub phase: u32,
    /// Further values that `phase` may have: an allocator decides where another size begins. The
    /// layout is judged by the worst.
    pub other_phases: Vec<u32>,
    /// Address modulo two lines.
    pub pair_phase: u32,
    /// Bytes from one object of a row to the next.
    pub stride: u32,
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
    let reached = reached.unwrap_or(0).saturating_sub(compiled);
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

/// Returns the slot of the object if the struct had `size` bytes and the alignment `align`.
///
/// Slots keep their index in the slab; `tail` is the number of bytes behind the struct.
pub fn object_slot(
    instance: &RecordedInstance,
    compiled: u64,
    size: u64,
    align: u64,
    tail: u64,
    line_bytes: u32,
) -> ObjectSlot {
    let line = u64::from(line_bytes.max(1));
    let base = instance.trace.base;
    match &instance.home {
        ObjectHome::Slab {
            cache,
            first,
            stride,
            object_bytes,
        } if *stride > 0 => {
            let index = base.saturating_sub(*first) / u64::from(*stride);
            let (name, bytes) = match kmalloc_prefix(cache) {
                Some(prefix) => {
                    let class = kmalloc_class(size + tail);
                    (format!("{prefix}{}", size_name(class)), class)
                }
                None => {
                    let grown = (u64::from(*object_bytes) + size).saturating_sub(compiled);
                    let gap = u64::from(*stride).saturating_sub(u64::from(*object_bytes));
                    let on_line = u64::from(*stride).is_multiple_of(line) && gap > 0
                        || u64::from(*object_bytes).is_multiple_of(line);
                    let step = if on_line { line } else { 8 };
                    (cache.clone(), grown.next_multiple_of(step.max(align)))
                }
            };
            let start = *first % (2 * line) + index * bytes;
            ObjectSlot {
                cache: Some(name),
                bytes,
                phase: (start % line) as u32,
                other_phases: Vec::new(),
                pair_phase: (start % (2 * line)) as u32,
                stride: narrow(bytes),
            }
        }
        ObjectHome::Heap { .. } => heap::heap_slot(instance, compiled, [size, align, tail], line),
        _ => {
            let start = (base % (2 * line)).next_multiple_of(align.clamp(1, 2 * line));
            // Bytes between two objects that are not an array stay.
            let gap = u64::from(instance.stride).saturating_sub(compiled);
            ObjectSlot {
                cache: None,
                bytes: size + tail,
                phase: (start % line) as u32,
                other_phases: Vec::new(),
                pair_phase: (start % (2 * line)) as u32,
                stride: narrow((size + gap).next_multiple_of(align.max(1))),
            }
        }
    }
}

//! Slab caches of pages: `struct page` -> `struct slab` -> `struct kmem_cache`.

use relayout_profile::Addr;
use relayout_profile::RunId;
use std::collections::HashMap;

use relayout_profile::{RangeKind, RangeRow};

use super::frames::{PageFrames, head_descriptor};
use super::layout::KernelOffsets;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};

/// Pages of one slab at most: the kernel's largest order is below.
const ORDER_MAX: u32 = 11;

struct SlabCacheShape {
    name: String,
    stride: u32,
    object_bytes: u32,
    left_pad_bytes: u64,
}

struct SlabWalk<'w, 'm> {
    memory: &'w GuestMemory<'m>,
    offsets: &'w KernelOffsets,
    frames: &'w PageFrames,
    caches: HashMap<u64, Option<SlabCacheShape>>,
}

/// One range for each slab that has one of `pages`.
pub fn ranges(
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    frames: &PageFrames,
    run: RunId,
    pages: &[u64],
) -> Vec<RangeRow> {
    let mut walk = SlabWalk {
        memory,
        offsets,
        frames,
        caches: HashMap::new(),
    };
    let slab_range = |&page: &u64| walk.slab_range(run, page);
    let mut ranges: Vec<RangeRow> = pages.iter().filter_map(slab_range).collect();
    ranges.sort_by_key(|r| r.start);
    ranges.dedup();
    ranges
}

impl SlabWalk<'_, '_> {
    /// The slab that the page at `address` (in the direct map) is part of.
    fn slab_range(&mut self, run: RunId, address: u64) -> Option<RangeRow> {
        let page = self.frames.descriptor(address)?;
        let head = head_descriptor(self.memory, self.offsets, page)?;
        let read_head = |offset: u64| self.memory.read_u64(head.wrapping_add(offset));
        let flags = read_head(self.offsets.page_flags)?;
        if flags >> self.offsets.slab_flag_bit & 1 == 0 {
            return None;
        }
        let start = self.frames.page(head)?;
        let order = self.compound_order(head);
        let bytes = PAGE_BYTES << order;
        if address.checked_sub(start)? >= bytes {
            return None;
        }
        let cache = read_head(self.offsets.slab_cache)?;
        let cache = self.read_cache(cache)?;
        let mut range = range_row(run, RangeKind::Slab, start, bytes);
        range.owner.clone_from(&cache.name);
        range.first = Addr(start.wrapping_add(cache.left_pad_bytes));
        range.stride = cache.stride;
        range.object_bytes = cache.object_bytes;
        Some(range)
    }

    /// Order of the compound page at `head`; 0 if it is not one.
    fn compound_order(&self, head: u64) -> u32 {
        let next = head.wrapping_add(self.offsets.page_size);
        let tail = next.wrapping_add(self.offsets.page_compound_head);
        let tail = self.memory.read_u64(tail);
        let order = self
            .offsets
            .compound_order
            .and_then(|at| self.memory.read_u32(next.wrapping_add(at)));
        match (tail, order) {
            (Some(tail), Some(order)) if tail == head.wrapping_add(1) => {
                (order & 0xff).min(ORDER_MAX)
            }
            _ => 0,
        }
    }

    fn read_cache(&mut self, at: u64) -> Option<&SlabCacheShape> {
        let (memory, offsets) = (self.memory, self.offsets);
        self.caches
            .entry(at)
            .or_insert_with(|| {
                let read_int = |offset: u64| memory.read_u32(at.wrapping_add(offset));
                let stride = read_int(offsets.cache_size).filter(|&s| s > 0)?;
                let object_bytes = read_int(offsets.cache_object_size)?;
                let left_pad_bytes = offsets.cache_red_left_pad.and_then(read_int).unwrap_or(0);
                let name = memory.read_u64(at.wrapping_add(offsets.cache_name))?;
                Some(SlabCacheShape {
                    name: memory.read_text(name)?,
                    stride,
                    object_bytes: object_bytes.min(stride),
                    left_pad_bytes: u64::from(left_pad_bytes.min(stride)),
                })
            })
            .as_ref()
    }
}

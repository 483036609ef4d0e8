//! Which slab cache a page belongs to: `struct page` -> `struct slab` -> `struct kmem_cache`.

use std::collections::HashMap;

use relayout_profile::{RangeKind, RangeRow};

use super::frames::Frames;
use super::layout::Offsets;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, row};

/// Pages of one slab at most: the kernel's largest order is below.
const ORDER_MAX: u32 = 11;

struct Cache {
    name: String,
    stride: u32,
    object_bytes: u32,
    left: u64,
}

struct Walk<'w, 'm> {
    memory: &'w GuestMemory<'m>,
    offsets: &'w Offsets,
    frames: &'w Frames,
    caches: HashMap<u64, Option<Cache>>,
}

/// One range for each slab that has one of `pages`.
pub fn ranges(
    memory: &GuestMemory<'_>,
    offsets: &Offsets,
    frames: &Frames,
    run: u16,
    pages: &[u64],
) -> Vec<RangeRow> {
    let mut walk = Walk {
        memory,
        offsets,
        frames,
        caches: HashMap::new(),
    };
    let slab_of = |&page: &u64| walk.slab_of(run, page);
    let mut ranges: Vec<RangeRow> = pages.iter().filter_map(slab_of).collect();
    ranges.sort_by_key(|r| r.start);
    ranges.dedup();
    ranges
}

impl Walk<'_, '_> {
    /// The slab that the page at `address` (in the direct map) is part of.
    fn slab_of(&mut self, run: u16, address: u64) -> Option<RangeRow> {
        let page = self.frames.descriptor(address)?;
        let compound = self.memory.u64(page + self.offsets.page_compound_head)?;
        let head = if compound & 1 == 1 {
            compound - 1
        } else {
            page
        };
        let flags = self.memory.u64(head + self.offsets.page_flags)?;
        if flags >> self.offsets.slab_flag_bit & 1 == 0 {
            return None;
        }
        let start = self.frames.page(head)?;
        let order = self.order(head);
        let bytes = PAGE_BYTES << order;
        if address.checked_sub(start)? >= bytes {
            return None;
        }
        let cache = self.memory.u64(head + self.offsets.slab_cache)?;
        let cache = self.cache(cache)?;
        let mut range = row(run, RangeKind::Slab, start, bytes);
        range.owner.clone_from(&cache.name);
        range.first = start + cache.left;
        range.stride = cache.stride;
        range.object_bytes = cache.object_bytes;
        Some(range)
    }

    /// Order of the compound page at `head`; 0 if it is not one.
    fn order(&self, head: u64) -> u32 {
        let next = head + self.offsets.page_size;
        let tail = self.memory.u64(next + self.offsets.page_compound_head);
        let order = self
            .offsets
            .compound_order
            .and_then(|at| self.memory.u32(next + at));
        match (tail, order) {
            (Some(tail), Some(order)) if tail == head + 1 => (order & 0xff).min(ORDER_MAX),
            _ => 0,
        }
    }

    fn cache(&mut self, at: u64) -> Option<&Cache> {
        let (memory, offsets) = (self.memory, self.offsets);
        self.caches
            .entry(at)
            .or_insert_with(|| {
                let stride = memory.u32(at + offsets.cache_size).filter(|&s| s > 0)?;
                let object_bytes = memory.u32(at + offsets.cache_object_size)?;
                let left = offsets
                    .cache_red_left_pad
                    .and_then(|o| memory.u32(at + o))
                    .unwrap_or(0);
                Some(Cache {
                    name: memory.text(memory.u64(at + offsets.cache_name)?)?,
                    stride,
                    object_bytes: object_bytes.min(stride),
                    left: u64::from(left.min(stride)),
                })
            })
            .as_ref()
    }
}

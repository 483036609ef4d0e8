//! Which slab cache a page belongs to: `struct page` -> `struct slab` -> `struct kmem_cache`.

use std::collections::HashMap;

use relayout_profile::{RangeKind, RangeRow};

use super::layout::Offsets;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, row};
use crate::{Error, Kernel};

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
    direct: u64,
    array: u64,
    caches: HashMap<u64, Option<Cache>>,
}

/// One range for each slab that has one of `pages`.
pub fn ranges(
    kernel: &Kernel<'_>,
    memory: &GuestMemory<'_>,
    offsets: &Offsets,
    run: u16,
    pages: &[u64],
    gaps: &mut Vec<String>,
) -> Result<Vec<RangeRow>, Error> {
    let bases =
        ["page_offset_base", "vmemmap_base"].map(|n| kernel.symbol(n).map(|at| memory.u64(at)));
    let [direct, array] = bases;
    let (Some(direct), Some(array)) = (direct?, array?) else {
        gaps.push("the bases of the direct map and the page array".into());
        return Ok(Vec::new());
    };
    let mut walk = Walk {
        memory,
        offsets,
        direct,
        array,
        caches: HashMap::new(),
    };
    let end = direct + memory.physical_end();
    let mut ranges: Vec<RangeRow> = pages
        .iter()
        .filter(|&&page| (direct..end).contains(&page))
        .filter_map(|&page| walk.slab_of(run, page))
        .collect();
    ranges.sort_by_key(|r| r.start);
    ranges.dedup();
    Ok(ranges)
}

impl Walk<'_, '_> {
    /// The slab that the page at `address` (in the direct map) is part of.
    fn slab_of(&mut self, run: u16, address: u64) -> Option<RangeRow> {
        let number = (address - self.direct) / PAGE_BYTES;
        let page = self.array + number * self.offsets.page_size;
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
        let first = head.checked_sub(self.array)? / self.offsets.page_size;
        let start = self.direct + first * PAGE_BYTES;
        let order = self.order(head);
        let bytes = PAGE_BYTES << order;
        if address >= start + bytes {
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

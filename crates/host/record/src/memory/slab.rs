//! Slab caches of pages: `struct page` -> `struct slab` -> `struct kmem_cache`.
//!
//! Slabs with sheaves (7.x) have the same descriptors as those with per-CPU slabs. Free objects may
//! lie in sheaves while their slab looks full, so nothing here rests on lists of free objects.

use relayout_profile::Addr;
use relayout_profile::RunId;
use std::collections::HashMap;

use relayout_profile::{RangeKind, RangeRow};

use super::lookup::{KernelLookup, MissingItem};
use super::page_types::PageType;
use super::pages::PageDescriptors;
use super::paging::GuestMemory;
use super::{PAGE_BYTES, range_row};

/// Offsets in `struct kmem_cache`, and of the pointer to it.
pub struct SlabReader {
    /// Offset of the cache's address in a slab's first descriptor.
    slab_cache: u64,
    name: u64,
    size: u64,
    object_size: u64,
    red_left_pad: Option<u64>,
}

impl SlabReader {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let slab_cache = lookup.member("slab", "slab_cache");
        Ok(Self {
            // Before 5.17, descriptors of slabs were those of pages.
            slab_cache: slab_cache.or_else(|missing| {
                let in_page = lookup.member("page", "slab_cache");
                in_page.map_err(|_| missing)
            })?,
            name: lookup.member("kmem_cache", "name")?,
            size: lookup.member("kmem_cache", "size")?,
            object_size: lookup.member("kmem_cache", "object_size")?,
            red_left_pad: lookup.member("kmem_cache", "red_left_pad").ok(),
        })
    }

    /// One range for each slab that has one of `pages`.
    pub fn ranges(
        &self,
        memory: &GuestMemory<'_>,
        descriptors: &PageDescriptors<'_>,
        run: RunId,
        pages: &[u64],
    ) -> Vec<RangeRow> {
        let mut walk = SlabWalk {
            memory,
            offsets: self,
            descriptors,
            caches: HashMap::new(),
        };
        let slab_range = |&page: &u64| walk.slab_range(run, page);
        let mut ranges: Vec<RangeRow> = pages.iter().filter_map(slab_range).collect();
        ranges.sort_by_key(|r| r.start);
        ranges.dedup();
        ranges
    }
}

struct SlabCacheShape {
    name: String,
    stride: u32,
    object_bytes: u32,
    left_pad_bytes: u64,
}

struct SlabWalk<'w, 'm> {
    memory: &'w GuestMemory<'m>,
    offsets: &'w SlabReader,
    descriptors: &'w PageDescriptors<'w>,
    caches: HashMap<u64, Option<SlabCacheShape>>,
}

impl SlabWalk<'_, '_> {
    /// The slab that the page at `address` (in the direct map) is part of.
    fn slab_range(&mut self, run: RunId, address: u64) -> Option<RangeRow> {
        let head = self.descriptors.head(self.memory, address)?;
        if self.descriptors.type_of(self.memory, head)? != PageType::Slab {
            return None;
        }
        let start = self.descriptors.frames.page(head)?;
        let bytes = PAGE_BYTES << self.descriptors.order(self.memory, head);
        if address.checked_sub(start)? >= bytes {
            return None;
        }
        let cache = head.wrapping_add(self.offsets.slab_cache);
        let cache = self.memory.read_u64(cache)?;
        let cache = self.read_cache(cache)?;
        let mut range = range_row(run, RangeKind::Slab, start, bytes);
        range.owner.clone_from(&cache.name);
        range.first = Addr(start.wrapping_add(cache.left_pad_bytes));
        range.stride = cache.stride;
        range.object_bytes = cache.object_bytes;
        Some(range)
    }

    fn read_cache(&mut self, at: u64) -> Option<&SlabCacheShape> {
        let (memory, offsets) = (self.memory, self.offsets);
        self.caches
            .entry(at)
            .or_insert_with(|| {
                let read_int = |offset: u64| memory.read_u32(at.wrapping_add(offset));
                let stride = read_int(offsets.size).filter(|&s| s > 0)?;
                let object_bytes = read_int(offsets.object_size)?;
                let left_pad_bytes = offsets.red_left_pad.and_then(read_int).unwrap_or(0);
                let name = memory.read_u64(at.wrapping_add(offsets.name))?;
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

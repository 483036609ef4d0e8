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
use super::requested_move::ObjectSize;
use super::{PAGE_BYTES, range_row};

const POINTER_BYTES: u32 = 8;
/// Alignment beyond which a cache's word for it is damaged.
const ALIGN_MAX: u32 = 1 << 16;
/// Beginning of the names of caches that objects of all types share.
pub const SHARED_CACHES: &str = "kmalloc-";
/// Bytes of the objects of these caches, as in `kmalloc_info` of the kernel's mm/slab_common.c.
const SIZE_CLASSES: [u32; 13] = [
    8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192,
];

/// Offsets in `struct kmem_cache`, and of the pointer to it.
pub struct SlabReader {
    /// Offset of the cache's address in a slab's first descriptor.
    slab_cache: u64,
    name: u64,
    size: u64,
    object_size: u64,
    red_left_pad: Option<u64>,
    slot_rules: Option<SlotRuleOffsets>,
}

/// Offsets of what decides how long a slot is.
struct SlotRuleOffsets {
    align: u64,
    offset: u64,
}

/// Slots of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlabSlots {
    /// Bytes from slot to slot.
    pub stride: u32,
    /// The cache has objects of all types.
    pub is_shared: bool,
    /// Bytes of an object.
    object_bytes: u32,
    /// What decides how long a slot is; `None` if slots hold more than that says.
    rules: Option<SlotRules>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotRules {
    /// Alignment of slots.
    align: u32,
    /// Bytes behind an object for the address of the next free one.
    pointer_bytes: u32,
}

/// A slab with its slots.
#[derive(Clone, Debug)]
pub struct KnownSlab {
    /// Its memory.
    pub range: RangeRow,
    /// Its slots.
    pub slots: SlabSlots,
}

impl SlabSlots {
    /// Makes the slots of a cache, whose `align` and `offset` (of the address of the next free object) are known or not.
    pub fn new(
        cache: &str,
        stride: u32,
        object_bytes: u32,
        align_and_offset: Option<(u32, u32)>,
    ) -> Self {
        let rules = align_and_offset.map(|(align, offset)| {
            let is_behind = offset >= object_bytes.next_multiple_of(POINTER_BYTES);
            SlotRules {
                align: align.clamp(POINTER_BYTES, ALIGN_MAX),
                pointer_bytes: u32::from(is_behind) * POINTER_BYTES,
            }
        });
        Self {
            stride,
            is_shared: cache.starts_with(SHARED_CACHES),
            object_bytes,
            rules: rules.filter(|rules| rules.stride(object_bytes) == Some(stride)),
        }
    }

    /// Returns the bytes from slot to slot if a type of `bytes` bytes in each object gets another size; `None` if they are not
    /// known. In a shared cache, the type is in another one then, with the smallest slots that it fits in.
    pub fn stride_with(&self, bytes: u32, size: ObjectSize) -> Option<u32> {
        if self.is_shared {
            return SIZE_CLASSES.into_iter().find(|&class| class >= size.bytes);
        }
        let around = self.object_bytes.checked_sub(bytes)?;
        let rules = self.rules?;
        let rules = SlotRules {
            align: rules.align.max(size.align),
            ..rules
        };
        rules.stride(size.bytes.checked_add(around)?)
    }
}

impl SlotRules {
    /// Returns the bytes from slot to slot, by `calculate_sizes` of the kernel's mm/slub.c.
    fn stride(self, object_bytes: u32) -> Option<u32> {
        let object = object_bytes.checked_next_multiple_of(POINTER_BYTES)?;
        { object.checked_add(self.pointer_bytes)? }.checked_next_multiple_of(self.align)
    }
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
            slot_rules: Self::find_slot_rules(lookup).ok(),
        })
    }

    fn find_slot_rules(lookup: &mut KernelLookup<'_, '_>) -> Result<SlotRuleOffsets, MissingItem> {
        Ok(SlotRuleOffsets {
            align: lookup.member("kmem_cache", "align")?,
            offset: lookup.member("kmem_cache", "offset")?,
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
        let slabs = self.slabs(memory, descriptors, run, pages);
        slabs.into_iter().map(|slab| slab.range).collect()
    }

    /// Each slab that has one of `pages`, by start.
    pub fn slabs(
        &self,
        memory: &GuestMemory<'_>,
        descriptors: &PageDescriptors<'_>,
        run: RunId,
        pages: &[u64],
    ) -> Vec<KnownSlab> {
        let mut walk = SlabWalk {
            memory,
            offsets: self,
            descriptors,
            caches: HashMap::new(),
        };
        let known_slab = |&page: &u64| walk.known_slab(run, page);
        let mut slabs: Vec<KnownSlab> = pages.iter().filter_map(known_slab).collect();
        slabs.sort_by_key(|slab| slab.range.start);
        slabs.dedup_by_key(|slab| slab.range.start);
        slabs
    }
}

struct SlabCacheShape {
    name: String,
    slots: SlabSlots,
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
    fn known_slab(&mut self, run: RunId, address: u64) -> Option<KnownSlab> {
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
        range.stride = cache.slots.stride;
        range.object_bytes = cache.slots.object_bytes;
        Some(KnownSlab {
            range,
            slots: cache.slots,
        })
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
                let align_and_offset = offsets
                    .slot_rules
                    .as_ref()
                    .and_then(|rules| Some((read_int(rules.align)?, read_int(rules.offset)?)));
                let object_bytes = object_bytes.min(stride);
                let name = memory.read_text(name)?;
                Some(SlabCacheShape {
                    slots: SlabSlots::new(&name, stride, object_bytes, align_and_offset),
                    name,
                    left_pad_bytes: u64::from(left_pad_bytes.min(stride)),
                })
            })
            .as_ref()
    }
}

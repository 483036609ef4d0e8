//! Slabs by the flag `PG_slab` of `page.flags`, other types by inverted bits of `page.page_type`,
//! whose numbers are macros: no debug information has them (up to 6.9).

use super::PageType;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// `page_type` of a page that has one: these bits, less those of its type.
const TYPE_BITS: u32 = 0xf000_0000;
const BUDDY_BIT: u32 = 0x80;
const TABLE_BIT: u32 = 0x200;
/// Bit of page tables while pages that a memory cgroup was charged for had a type (up to 5.10).
const TABLE_BIT_BEFORE: u32 = 0x400;

/// Places and bits of the types.
pub struct FlaggedTypes {
    flags: u64,
    slab_flag: u32,
    page_type: Option<u64>,
    table_bit: u32,
}

impl FlaggedTypes {
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let has_charged_type = lookup.member("page", "mem_cgroup").is_ok();
        Ok(Self {
            flags: lookup.member("page", "flags")?,
            slab_flag: lookup.bit_number("pageflags", "PG_slab")?,
            page_type: lookup.member("page", "page_type").ok(),
            table_bit: match has_charged_type {
                true => TABLE_BIT_BEFORE,
                false => TABLE_BIT,
            },
        })
    }

    pub fn type_of(&self, memory: &GuestMemory<'_>, head: u64) -> Option<PageType> {
        let flags = memory.read_u64(head.wrapping_add(self.flags))?;
        if flags >> self.slab_flag & 1 == 1 {
            return Some(PageType::Slab);
        }
        let Some(offset) = self.page_type else {
            return Some(PageType::Untyped);
        };
        let page_type = memory.read_u32(head.wrapping_add(offset))?;
        // A count of mappings is in the same place; it is nowhere near the bits of a type.
        if page_type & TYPE_BITS != TYPE_BITS || page_type == u32::MAX {
            return Some(PageType::Untyped);
        }
        Some(match !page_type {
            bits if bits & self.table_bit != 0 => PageType::Table,
            bits if bits & BUDDY_BIT != 0 => PageType::Free,
            _ => PageType::Other,
        })
    }
}

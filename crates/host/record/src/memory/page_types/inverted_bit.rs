//! All types by inverted bits of `page.page_type`, whose values `enum pagetype` has (6.10 and
//! 6.11): a page of a type has all upper bits but the type's own. Lower bits hold other data.

use super::PageType;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// Place and bits of the types.
pub struct InvertedBits {
    page_type: u64,
    slab: u32,
    table: Option<u32>,
    buddy: Option<u32>,
}

impl InvertedBits {
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let slab = lookup.enumerator("pagetype", "PG_slab")?;
        Ok(Self {
            page_type: lookup.member("page", "page_type")?,
            slab,
            table: lookup.enumerator("pagetype", "PG_table").ok(),
            buddy: lookup.enumerator("pagetype", "PG_buddy").ok(),
        })
    }

    pub fn type_of(&self, memory: &GuestMemory<'_>, head: u64) -> Option<PageType> {
        let page_type = memory.read_u32(head.wrapping_add(self.page_type))?;
        Some(self.type_of_value(page_type))
    }

    fn type_of_value(&self, page_type: u32) -> PageType {
        let all = self.slab | self.table.unwrap_or(0) | self.buddy.unwrap_or(0);
        // Bits above those of all types are set in every type, and in no count of mappings.
        let above = !(u32::MAX >> all.leading_zeros());
        if above == 0 || page_type & above != above || page_type == u32::MAX {
            return PageType::Untyped;
        }
        let lacks = |bit: Option<u32>| bit.is_some_and(|bit| bit != 0 && page_type & bit == 0);
        match () {
            () if lacks(Some(self.slab)) => PageType::Slab,
            () if lacks(self.table) => PageType::Table,
            () if lacks(self.buddy) => PageType::Free,
            () => PageType::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_the_bit_that_is_not_set() {
        let types = InvertedBits {
            page_type: 0,
            slab: 0x0200_0000,
            table: Some(0x1000_0000),
            buddy: Some(0x4000_0000),
        };
        let check = |value, expect| assert_eq!(types.type_of_value(value), expect, "{value:#x}");
        check(!0x0200_0000, PageType::Slab);
        check(!0x1000_0000 & !0xfff, PageType::Table);
        check(!0x4000_0000, PageType::Free);
        check(u32::MAX, PageType::Untyped);
        check(3, PageType::Untyped);
        check(u32::MAX - 5, PageType::Other);
    }
}

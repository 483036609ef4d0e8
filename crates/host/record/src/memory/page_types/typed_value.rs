//! Types as a value in the top byte of `page.page_type`: `PGTY_slab` and the like of `enum
//! pagetype` (6.12 and later).

use super::PageType;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// Values below this one are counts of mappings.
const LEAST_TYPE: u32 = 0x80;
/// Top byte of a page without a type: the count of mappings is -1.
const NO_TYPE: u32 = 0xff;
const TYPE_SHIFT: u32 = 24;

/// Place and values of the types.
pub struct TypedValues {
    page_type: u64,
    slab: u32,
    table: Option<u32>,
    buddy: Option<u32>,
}

impl TypedValues {
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let slab = lookup.enumerator("pagetype", "PGTY_slab")?;
        Ok(Self {
            page_type: lookup.member("page", "page_type")?,
            slab,
            table: lookup.enumerator("pagetype", "PGTY_table").ok(),
            buddy: lookup.enumerator("pagetype", "PGTY_buddy").ok(),
        })
    }

    pub fn type_of(&self, memory: &GuestMemory<'_>, head: u64) -> Option<PageType> {
        let page_type = memory.read_u32(head.wrapping_add(self.page_type))?;
        let value = page_type >> TYPE_SHIFT;
        Some(match value {
            NO_TYPE => PageType::Untyped,
            value if value == self.slab => PageType::Slab,
            value if Some(value) == self.table => PageType::Table,
            value if Some(value) == self.buddy => PageType::Free,
            ..LEAST_TYPE => PageType::Untyped,
            _ => PageType::Other,
        })
    }
}

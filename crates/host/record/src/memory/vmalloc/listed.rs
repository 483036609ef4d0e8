//! All areas on one list, `vmap_area_list` (up to 6.8).

use crate::memory::list::follow_list;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// The list.
pub struct AreaList {
    head: u64,
}

impl AreaList {
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let head = lookup.symbol("vmap_area_list")?;
        Ok(Self { head })
    }

    /// Returns the areas, whose node in the list is at `node_offset`.
    pub fn areas(&self, memory: &GuestMemory<'_>, node_offset: u64) -> Vec<u64> {
        let first = self.head.wrapping_sub(node_offset);
        follow_list(memory, first, node_offset, self.head)
    }
}

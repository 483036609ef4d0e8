//! Areas in a list that begins in the address space.

use super::MAPPINGS_MAX;
use crate::memory::lookup::{KernelLookup, MissingItem};
use crate::memory::paging::GuestMemory;

/// Offsets of the list's head and links.
pub struct ListedAreas {
    first: u64,
    next: u64,
}

impl ListedAreas {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            first: lookup.member("mm_struct", "mmap")?,
            next: lookup.member("vm_area_struct", "vm_next")?,
        })
    }

    /// Returns the areas of an address space, in the order of the list.
    pub fn areas(&self, memory: &GuestMemory<'_>, space: u64) -> Vec<u64> {
        let follow = |at: u64| memory.read_u64(at).filter(|&next| next != 0);
        let first = follow(space.wrapping_add(self.first));
        let areas = std::iter::successors(first, |area| follow(area.wrapping_add(self.next)));
        areas.take(MAPPINGS_MAX).collect()
    }
}

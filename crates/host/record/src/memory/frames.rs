//! Pages and their descriptors.

use super::PAGE_BYTES;
use super::areas::AddressAreas;

/// Addresses of the direct map and of the array of page descriptors.
pub struct PageFrames {
    direct_map_base: u64,
    page_array_base: u64,
    descriptor_bytes: u64,
    physical_bytes: u64,
}

impl PageFrames {
    /// Pages of the direct map, with descriptors of `descriptor_bytes`, which is not 0, from
    /// `page_array` on.
    pub fn new(areas: &AddressAreas, page_array: u64, descriptor_bytes: u64) -> Self {
        Self {
            direct_map_base: areas.direct_map,
            page_array_base: page_array,
            descriptor_bytes,
            physical_bytes: areas.physical_bytes,
        }
    }

    /// Addresses of all pages.
    pub fn pages(&self) -> impl Iterator<Item = u64> + use<> {
        let base = self.direct_map_base;
        (0..self.physical_bytes / PAGE_BYTES).map(move |number| base + number * PAGE_BYTES)
    }

    /// Descriptor of the page that has `address`, which is in the direct map.
    pub fn descriptor(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.direct_map_base)?;
        let number = (offset < self.physical_bytes).then_some(offset / PAGE_BYTES)?;
        self.page_array_base
            .checked_add(number * self.descriptor_bytes)
    }

    /// The page of a descriptor, in the direct map.
    pub fn page(&self, descriptor: u64) -> Option<u64> {
        let number = descriptor.checked_sub(self.page_array_base)? / self.descriptor_bytes;
        self.direct_map_base
            .checked_add(number.checked_mul(PAGE_BYTES)?)
    }

    /// Returns true if `descriptor` is one of the array.
    pub fn has_descriptor(&self, descriptor: u64) -> bool {
        let offset = descriptor.checked_sub(self.page_array_base);
        let bytes = self.physical_bytes / PAGE_BYTES * self.descriptor_bytes;
        offset.is_some_and(|offset| offset < bytes && offset % self.descriptor_bytes == 0)
    }
}

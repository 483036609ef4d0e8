//! Pages and their descriptors.

use super::PAGE_BYTES;
use super::layout::KernelOffsets;
use super::paging::GuestMemory;
use crate::{Error, GuestKernel};

/// Addresses of the direct map and of the array of page descriptors.
pub struct PageFrames {
    direct_map_base: u64,
    page_array_base: u64,
    descriptor_bytes: u64,
    physical_bytes: u64,
}

impl PageFrames {
    /// `None` where the guest's memory does not say.
    ///
    /// # Errors
    /// The debug file lacks the variables that hold the bases.
    pub fn read(
        kernel: &GuestKernel<'_>,
        memory: &GuestMemory<'_>,
        descriptor_bytes: u64,
    ) -> Result<Option<Self>, Error> {
        let direct = memory.read_u64(kernel.symbol_address("page_offset_base")?);
        let array = memory.read_u64(kernel.symbol_address("vmemmap_base")?);
        Ok(direct.zip(array).map(|(direct, array)| Self {
            direct_map_base: direct,
            page_array_base: array,
            descriptor_bytes,
            physical_bytes: memory.physical_end(),
        }))
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
}

/// Returns the descriptor that describes a page: of a compound page, that of its first page.
pub fn head_descriptor(
    memory: &GuestMemory<'_>,
    offsets: &KernelOffsets,
    descriptor: u64,
) -> Option<u64> {
    let compound = memory.read_u64(descriptor.wrapping_add(offsets.page_compound_head))?;
    Some(if compound & 1 == 1 {
        compound - 1
    } else {
        descriptor
    })
}

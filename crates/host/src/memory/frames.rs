//! Pages and their descriptors.

use super::PAGE_BYTES;
use super::paging::GuestMemory;
use crate::{Error, Kernel};

/// Where the direct map and the array of page descriptors are.
pub struct Frames {
    direct: u64,
    array: u64,
    descriptor_bytes: u64,
    bytes: u64,
}

impl Frames {
    /// `None` where the guest's memory does not say.
    ///
    /// # Errors
    /// The debug file lacks the variables that hold the bases.
    pub fn read(
        kernel: &Kernel<'_>,
        memory: &GuestMemory<'_>,
        descriptor_bytes: u64,
    ) -> Result<Option<Self>, Error> {
        let direct = memory.u64(kernel.symbol("page_offset_base")?);
        let array = memory.u64(kernel.symbol("vmemmap_base")?);
        Ok(direct.zip(array).map(|(direct, array)| Self {
            direct,
            array,
            descriptor_bytes,
            bytes: memory.physical_end(),
        }))
    }

    /// Descriptor of the page that has `address`, which is in the direct map.
    pub fn descriptor(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.direct)?;
        let number = (offset < self.bytes).then_some(offset / PAGE_BYTES)?;
        self.array.checked_add(number * self.descriptor_bytes)
    }

    /// The page of a descriptor, in the direct map.
    pub fn page(&self, descriptor: u64) -> Option<u64> {
        let number = descriptor.checked_sub(self.array)? / self.descriptor_bytes;
        self.direct.checked_add(number.checked_mul(PAGE_BYTES)?)
    }
}

//! The areas of the kernel's address space: image, direct map, array of page descriptors, vmalloc
//! space.

use relayout_profile::{RangeKind, RangeRow, RunId};

use super::lookup::KernelLookup;
use super::paging::{GuestMemory, PagingLevels};
use super::{PAGE_BYTES, range_row};

/// Variable with the start of the area, and the start of an area that no variable moves, with four
/// and with five levels of page tables (kernel documentation, `x86_64/mm.rst`).
struct AreaBase {
    variable: &'static str,
    fixed: [u64; 2],
}

const DIRECT_MAP: AreaBase = AreaBase {
    variable: "page_offset_base",
    fixed: [0xffff_8880_0000_0000, 0xff11_0000_0000_0000],
};
const PAGE_ARRAY: AreaBase = AreaBase {
    variable: "vmemmap_base",
    fixed: [0xffff_ea00_0000_0000, 0xffd4_0000_0000_0000],
};
const VMALLOC: AreaBase = AreaBase {
    variable: "vmalloc_base",
    fixed: [0xffff_c900_0000_0000, 0xffa0_0000_0000_0000],
};

/// Bytes of vmalloc space with four and with five levels of page tables.
const VMALLOC_BYTES: [u64; 2] = [32 << 40, 12800 << 40];

/// Finds the areas of one kernel.
pub struct AreaReader {
    image: Option<(u64, u64)>,
    direct_map: Option<u64>,
    page_array: Option<u64>,
    vmalloc: Option<u64>,
}

/// Starts of the areas.
pub struct AddressAreas {
    /// Start of the direct map.
    pub direct_map: u64,
    /// Address of the first page's descriptor.
    pub page_array: u64,
    vmalloc: u64,
    levels: PagingLevels,
}

impl AreaReader {
    /// Looks up what kernels of all kinds have: a kernel that moves no area has no variables.
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Self {
        let start = lookup.symbol("_text").ok();
        Self {
            image: start.zip(lookup.symbol("_end").ok()),
            direct_map: lookup.symbol(DIRECT_MAP.variable).ok(),
            page_array: lookup.symbol(PAGE_ARRAY.variable).ok(),
            vmalloc: lookup.symbol(VMALLOC.variable).ok(),
        }
    }

    /// Reads where the areas are. `None` if the memory does not say.
    pub fn read(&self, memory: &GuestMemory<'_>) -> Option<AddressAreas> {
        let levels = memory.levels();
        let start_of = |variable: Option<u64>, base: &AreaBase| match variable {
            Some(at) => memory.read_u64(at).filter(|&start| start != 0),
            None => Some(base.fixed[levels.index()]),
        };
        Some(AddressAreas {
            direct_map: start_of(self.direct_map, &DIRECT_MAP)?,
            page_array: start_of(self.page_array, &PAGE_ARRAY)?,
            vmalloc: start_of(self.vmalloc, &VMALLOC)?,
            levels,
        })
    }

    /// The range of the image alone.
    pub fn image_range(&self, run: RunId) -> Option<RangeRow> {
        let (start, end) = self.image?;
        let bytes = end.saturating_sub(start);
        Some(range_row(run, RangeKind::Image, start, bytes))
    }
}

impl AddressAreas {
    /// Ranges of all areas but the image. `descriptor_bytes` is the size of a page's descriptor.
    pub fn ranges(
        &self,
        memory: &GuestMemory<'_>,
        run: RunId,
        descriptor_bytes: u64,
    ) -> [RangeRow; 3] {
        let bytes = memory.physical_end();
        let array_bytes = bytes / PAGE_BYTES * descriptor_bytes;
        let vmalloc_bytes = VMALLOC_BYTES[self.levels.index()];
        [
            range_row(run, RangeKind::DirectMap, self.direct_map, bytes),
            range_row(run, RangeKind::PageArray, self.page_array, array_bytes),
            range_row(run, RangeKind::Vmalloc, self.vmalloc, vmalloc_bytes),
        ]
    }
}

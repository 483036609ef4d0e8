//! Areas of x86-64: variables tell their starts, or they are fixed (kernel documentation,
//! `x86_64/mm.rst`).

use super::AddressAreas;
use crate::memory::lookup::KernelLookup;
use crate::memory::paging::GuestMemory;

/// Variable with the start of the area, and the start of an area that no variable moves, with four
/// and with five levels of page tables.
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

/// Addresses of the variables. A kernel that moves no area has none.
pub struct X86Areas {
    direct_map: Option<u64>,
    page_array: Option<u64>,
    vmalloc: Option<u64>,
}

impl X86Areas {
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Self {
        Self {
            direct_map: lookup.symbol(DIRECT_MAP.variable).ok(),
            page_array: lookup.symbol(PAGE_ARRAY.variable).ok(),
            vmalloc: lookup.symbol(VMALLOC.variable).ok(),
        }
    }

    pub fn read(&self, memory: &GuestMemory<'_>) -> Option<AddressAreas> {
        let levels = memory.levels().index();
        let start_of = |variable: Option<u64>, base: &AreaBase| match variable {
            Some(at) => memory.read_u64(at).filter(|&start| start != 0),
            None => Some(base.fixed[levels]),
        };
        Some(AddressAreas {
            direct_map: start_of(self.direct_map, &DIRECT_MAP)?,
            physical_bytes: memory.layout().span_bytes(),
            page_array: Some(start_of(self.page_array, &PAGE_ARRAY)?),
            vmalloc: (start_of(self.vmalloc, &VMALLOC)?, VMALLOC_BYTES[levels]),
        })
    }
}

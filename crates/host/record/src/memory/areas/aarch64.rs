//! Areas of AArch64 (`arch/arm64/include/asm/memory.h`): all but the image's follow from the number
//! of bits that the kernel was built for, and from `memstart_addr`.
//!
//! No symbol tells that number, nor which of the forms of the page array a kernel has. So each is
//! tried, and the page tables tell: the image's own first page is in the direct map, and its
//! descriptor in the page array.

use super::AddressAreas;
use crate::memory::PAGE_BYTES;
use crate::memory::lookup::KernelLookup;
use crate::memory::paging::GuestMemory;

/// Bits of kernel addresses that kernels with pages of 4 KiB are built for.
const ADDRESS_BITS: [u32; 3] = [48, 52, 39];
/// Bits of addresses that a kernel for 52 bits falls back to.
const SMALLEST_BITS: u32 = 48;
const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Places of what the areas follow from.
pub struct Aarch64Areas {
    memory_start: Option<u64>,
    image: Option<(u64, u64)>,
}

/// Position of the array of page descriptors in the address space.
#[derive(Clone, Copy)]
enum PageArrayForm {
    /// The array ends 1 GiB below the end of the address space (6.9 and later).
    BelowOneGib,
    /// The array begins at a power of two below it (5.11 to 6.8).
    PowerOfTwo,
    /// The array ends 2 MiB below it (5.4 to 5.10).
    BelowTwoMib,
}

impl PageArrayForm {
    const ALL: [Self; 3] = [Self::BelowOneGib, Self::PowerOfTwo, Self::BelowTwoMib];

    /// Returns the start of the array of a kernel for addresses of so many bits.
    fn start(self, bits: u32, descriptor_bytes: u64) -> u64 {
        let direct_map_end = upper_half(bits.min(SMALLEST_BITS) - 1);
        let covered = direct_map_end.wrapping_sub(upper_half(bits));
        let rounded = descriptor_bytes.next_power_of_two();
        let below = match self {
            Self::BelowOneGib => GIB + covered / PAGE_BYTES * descriptor_bytes,
            Self::PowerOfTwo => (1 << bits) / PAGE_BYTES * rounded,
            Self::BelowTwoMib => 2 * MIB + covered / PAGE_BYTES * rounded,
        };
        0u64.wrapping_sub(below)
    }
}

/// Returns the start of the upper half of an address space of so many bits.
fn upper_half(bits: u32) -> u64 {
    u64::MAX << bits
}

impl Aarch64Areas {
    pub fn find(lookup: &KernelLookup<'_, '_>, image: Option<(u64, u64)>) -> Self {
        Self {
            memory_start: lookup.symbol("memstart_addr").ok(),
            image,
        }
    }

    pub fn read(&self, memory: &GuestMemory<'_>, descriptor_bytes: u64) -> Option<AddressAreas> {
        // No kernel has larger ones; 0 stands for a size that is not known.
        let descriptor_bytes = { Some(descriptor_bytes) }.filter(|&bytes| bytes <= PAGE_BYTES);
        let descriptor_bytes = descriptor_bytes.unwrap_or(0);
        let memory_start = memory.read_u64(self.memory_start?)?;
        let image = memory.image_physical();
        let (bits, direct_map) = ADDRESS_BITS.into_iter().find_map(|bits| {
            let direct_map = upper_half(bits).wrapping_sub(memory_start);
            let address = direct_map.wrapping_add(image);
            let is_mapped = memory.physical_address(address) == Some(image);
            is_mapped.then_some((bits, direct_map))
        })?;
        // A kernel for more bits than the CPU has gives `memstart_addr` a negative value.
        let first_page = (memory_start as i64 / PAGE_BYTES as i64) as u64;
        let descriptor = |form: PageArrayForm, physical: u64| {
            let number = (physical / PAGE_BYTES).wrapping_sub(first_page);
            let offset = number.wrapping_mul(descriptor_bytes);
            form.start(bits, descriptor_bytes).wrapping_add(offset)
        };
        let is_mapped = |form: &PageArrayForm| {
            descriptor_bytes > 0 && memory.physical_address(descriptor(*form, image)).is_some()
        };
        let form = PageArrayForm::ALL.into_iter().find(is_mapped);
        let lowest = memory.layout().start();
        let (_, vmalloc) = self.image?;
        let vmalloc_end = form.map_or(upper_half(SMALLEST_BITS - 2), |form| {
            form.start(bits, descriptor_bytes)
        });
        Some(AddressAreas {
            direct_map: direct_map.wrapping_add(lowest),
            physical_bytes: memory.layout().span_bytes(),
            page_array: form.map(|form| descriptor(form, lowest)),
            // The image is at the start of it.
            vmalloc: (vmalloc, vmalloc_end.saturating_sub(vmalloc)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::paging::PagingLevels;
    use crate::memory::paging::aarch64_tests::{IMAGE, IMAGE_AT, START, map_large, memory, reader};

    const VARIABLE_AT: u64 = 0x900;
    const LINEAR: u64 = 0xffff_0000_0000_0000;

    const AREAS: Aarch64Areas = Aarch64Areas {
        memory_start: Some(IMAGE + VARIABLE_AT),
        image: Some((IMAGE, IMAGE + 0x8000)),
    };

    /// Memory of a kernel with that `memstart_addr`.
    fn memory_with_start(memory_start: u64) -> Vec<u8> {
        let mut bytes = memory(PagingLevels::Four);
        let at = IMAGE_AT + VARIABLE_AT as usize;
        bytes[at..at + 8].copy_from_slice(&memory_start.to_le_bytes());
        bytes
    }

    /// Areas of a kernel with that `memstart_addr`, whose page array is mapped at `page_array`.
    #[track_caller]
    fn check(memory_start: u64, page_array: u64, expect: Option<(u64, u64)>) {
        let mut bytes = memory_with_start(memory_start);
        map_large(&mut bytes, page_array);
        let memory = reader().open(&bytes).expect("an image");
        let found = AREAS.read(&memory, 64);
        let found = found.map(|areas| (areas.direct_map, areas.page_array.expect("an array")));
        assert_eq!(found, expect);
    }

    #[test]
    fn a_descriptor_of_no_possible_size_leaves_the_array_out() {
        let bytes = memory_with_start(START);
        let memory = reader().open(&bytes).expect("an image");
        for descriptor_bytes in [0, PAGE_BYTES + 1, u64::MAX] {
            let found = AREAS.read(&memory, descriptor_bytes).expect("a direct map");
            assert_eq!((found.direct_map, found.page_array), (LINEAR, None));
        }
    }

    #[test]
    fn the_page_tables_tell_the_form() {
        for form in PageArrayForm::ALL {
            let start = form.start(48, 64);
            check(START, start, Some((LINEAR, start)));
        }
        // The linear map begins elsewhere.
        check(
            START + 0x1000,
            PageArrayForm::BelowOneGib.start(48, 64),
            None,
        );
    }

    /// `memstart_addr` is lowered so that a kernel for 52 bits uses the upper 48.
    #[test]
    fn kernels_for_more_bits_than_the_cpu_has() {
        let lowered = START.wrapping_sub((1 << 52) - (1 << 48));
        let form = PageArrayForm::BelowOneGib;
        let start = form.start(52, 64) + ((1 << 52) - (1 << 48)) / PAGE_BYTES * 64;
        check(lowered, start, Some((LINEAR, start)));
    }

    /// `VMEMMAP_START` of kernels for pages of 4 KiB, as their documentation
    /// (`arch/arm64/memory.rst`) has it.
    #[test]
    fn page_arrays_begin_where_kernels_put_them() {
        let check_start = |form: PageArrayForm, bits, expect: u64| {
            assert_eq!(form.start(bits, 64), expect, "{bits} bits");
        };
        check_start(PageArrayForm::BelowOneGib, 48, 0xffff_fdff_c000_0000);
        check_start(PageArrayForm::PowerOfTwo, 48, 0xffff_fc00_0000_0000);
        check_start(PageArrayForm::BelowTwoMib, 48, 0xffff_fdff_ffe0_0000);
        check_start(PageArrayForm::BelowOneGib, 52, 0xffff_c1ff_c000_0000);
        check_start(PageArrayForm::PowerOfTwo, 39, 0xffff_fffe_0000_0000);
    }
}

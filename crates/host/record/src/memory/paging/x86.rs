//! x86-64: the image is mapped at a fixed address, and `pgdir_shift` tells the levels.

use super::{ENTRIES, GuestMemory, ImageMapping, PagingLevels, PhysicalLayout, TableEntry};
use crate::memory::lookup::{KernelLookup, MissingItem};

/// The kernel image is mapped here with `nokaslr`: physical address plus this.
const IMAGE_BASE: u64 = 0xffff_ffff_8000_0000;
const IMAGE_BYTES: u64 = 1 << 30;
/// `pgdir_shift` with five levels.
const FIVE_LEVELS_SHIFT: u32 = 48;
const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Places of the top table and of the number of levels.
pub struct X86PagingReader {
    top_table: u64,
    /// Shift of an index into the top table (`pgdir_shift`), which kernels for both numbers of
    /// levels set as they boot.
    top_shift: Option<u64>,
}

impl X86PagingReader {
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            top_table: lookup.symbol("init_top_pgt")?,
            top_shift: lookup.symbol("pgdir_shift").ok(),
        })
    }

    /// Opens the memory of a machine with RAM in `bytes`.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> GuestMemory<'a> {
        let layout = PhysicalLayout::for_q35(bytes.len() as u64);
        let memory = GuestMemory::new_x86(bytes, self.top_table, layout, PagingLevels::Four);
        // The variable is in the image, which is read without page tables.
        let shift = self.top_shift.and_then(|at| memory.read_u32(at));
        let levels = match shift {
            Some(FIVE_LEVELS_SHIFT) => PagingLevels::Five,
            _ => PagingLevels::Four,
        };
        GuestMemory { levels, ..memory }
    }
}

impl<'a> GuestMemory<'a> {
    /// `top_table` is the address of the kernel's own top page table, in the image.
    pub fn new_x86(
        bytes: &'a [u8],
        top_table: u64,
        layout: PhysicalLayout,
        levels: PagingLevels,
    ) -> Self {
        Self {
            bytes,
            layout,
            image: ImageMapping {
                start: IMAGE_BASE,
                bytes: IMAGE_BYTES,
                physical: 0,
            },
            top_table: top_table.wrapping_sub(IMAGE_BASE),
            levels,
            fifth_mask: ENTRIES - 1,
            decode_entry,
        }
    }
}

fn decode_entry(level: u32, entry: u64) -> TableEntry {
    let address = entry & ADDRESS;
    match entry & PRESENT {
        0 => TableEntry::Absent,
        _ if level == 0 || (level < 3 && entry & LARGE != 0) => TableEntry::Page(address),
        _ => TableEntry::Table(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Top table at 0x1000, then 0x2000, 0x3000 and 0x4000 for one small page at 0x5000, and one
    /// 2 MiB page at 0.
    fn memory() -> Vec<u8> {
        let mut bytes = vec![0u8; 0x6000];
        let mut put =
            |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(0x1000 + 8 * 0x111, 0x2000 | PRESENT);
        put(0x2000, 0x3000 | PRESENT);
        put(0x3000, 0x4000 | PRESENT);
        put(0x3008, LARGE | PRESENT);
        put(0x4000 + 8 * 3, 0x5000 | PRESENT);
        put(0x5010, 0x1122_3344_5566_7788);
        bytes[0x5ffe] = b'x';
        bytes
    }

    #[test]
    fn walks_small_and_large_pages() {
        let bytes = memory();
        let low = PhysicalLayout::for_q35(0x6000);
        let memory = GuestMemory::new_x86(&bytes, IMAGE_BASE + 0x1000, low, PagingLevels::Four);
        let base = 0xffff_8880_0000_0000;
        assert_eq!(memory.read_u64(base + 0x3010), Some(0x1122_3344_5566_7788));
        assert_eq!(
            memory.read_u32(base + 0x20_5010),
            Some(0x5566_7788),
            "through the 2 MiB page"
        );
        assert_eq!(
            memory.read_u64(IMAGE_BASE + 0x5010),
            Some(0x1122_3344_5566_7788)
        );
        assert_eq!(memory.read_u64(base + 0x2000), None, "not mapped");
        assert_eq!(memory.read_u64(base + 0x3ffc), None, "runs out of the page");
        assert_eq!(memory.read_text(base + 0x3ffe).as_deref(), Some("x"));
        assert_eq!(memory.read_u64(u64::MAX - 3), None);
    }

    #[test]
    fn walks_a_fifth_level() {
        let mut bytes = memory();
        bytes.resize(0x8000, 0);
        // The top table at 0x7000 leads to the four levels of the other test.
        let entry = 0x7000 + 8 * 0x111;
        bytes[entry..entry + 8].copy_from_slice(&(0x1000 | PRESENT).to_le_bytes());
        let low = PhysicalLayout::for_q35(0x8000);
        let memory = GuestMemory::new_x86(&bytes, IMAGE_BASE + 0x7000, low, PagingLevels::Five);
        let base = 0xff11_0000_0000_0000 | 0x111 << 39;
        assert_eq!(memory.read_u64(base + 0x3010), Some(0x1122_3344_5566_7788));
        assert_eq!(memory.read_u64(0xffff_8880_0000_3010), None);
    }

    #[test]
    fn the_kernel_says_how_many_levels_it_uses() {
        let mut bytes = vec![0; 0x1000];
        let reader = X86PagingReader {
            top_table: IMAGE_BASE,
            top_shift: Some(IMAGE_BASE + 0x800),
        };
        for (shift, levels) in [(39, PagingLevels::Four), (48, PagingLevels::Five)] {
            bytes[0x800] = shift;
            assert_eq!(reader.open(&bytes).levels(), levels);
        }
    }
}

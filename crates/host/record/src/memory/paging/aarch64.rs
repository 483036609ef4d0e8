//! AArch64 with pages of 4 KiB: QEMU puts the image somewhere in memory, so it is found by the
//! kernel's banner. The top table is that of TTBR1; whether it has four levels or five (LPA2) is
//! what the image's own mapping shows.

use super::{GuestMemory, ImageMapping, PagingLevels, PhysicalLayout, TableEntry};
use crate::memory::lookup::{KernelLookup, MissingItem};

/// Images are loaded at multiples of this (`EFI_KIMG_ALIGN` at the least).
const IMAGE_ALIGN: usize = 64 << 10;
/// Entries of a table of the fifth level: addresses have 52 bits.
const FIFTH_ENTRIES: u64 = 16;
const VALID: u64 = 1;
/// Entry of a table; without it, of a large page.
const TABLE: u64 = 1 << 1;
/// Bits 47 to 12. With LPA2, higher ones are elsewhere; guests have no memory above them.
const ADDRESS: u64 = 0x0000_ffff_ffff_f000;
/// Highest level, counted from 0, whose entries can be large pages: 1 GiB each.
const LARGE_LEVEL_MAX: u32 = 2;

/// Places of the image, of the banner in it, and of the top table.
pub struct Aarch64PagingReader {
    image_start: u64,
    image_end: u64,
    top_table: u64,
    banner_at: u64,
    banner: String,
}

impl Aarch64PagingReader {
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let banner = lookup.kernel().read_banner().ok();
        Ok(Self {
            image_start: lookup.symbol("_text")?,
            image_end: lookup.symbol("_end")?,
            top_table: lookup.symbol("swapper_pg_dir")?,
            banner_at: lookup.symbol("linux_banner")?,
            banner: banner.ok_or_else(|| MissingItem("text of 'linux_banner'".into()))?,
        })
    }

    /// Opens the memory of a machine with RAM in `bytes`. `None` if the image is not in it, or not
    /// mapped.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Option<GuestMemory<'a>> {
        let layout = PhysicalLayout::for_virt(bytes.len() as u64);
        let physical = layout.start() + self.find_image(bytes)? as u64;
        let physical_of = |address: u64| {
            let offset = address.checked_sub(self.image_start)?;
            physical.checked_add(offset)
        };
        let mut memory = GuestMemory {
            bytes,
            layout,
            // No image yet, so that its own mapping is looked up.
            image: ImageMapping {
                start: self.image_start,
                bytes: 0,
                physical,
            },
            top_table: physical_of(self.top_table)?,
            levels: PagingLevels::Four,
            fifth_mask: FIFTH_ENTRIES - 1,
            decode_entry,
        };
        // The head of the image may be given back after the boot; the banner stays.
        let banner_physical = physical_of(self.banner_at)?;
        for levels in [PagingLevels::Four, PagingLevels::Five] {
            memory.levels = levels;
            if memory.physical_address(self.banner_at) == Some(banner_physical) {
                memory.image.bytes = self.image_end.saturating_sub(self.image_start);
                return Some(memory);
            }
        }
        None
    }

    /// Returns the offset of the image in the memory.
    fn find_image(&self, bytes: &[u8]) -> Option<usize> {
        let banner_at = usize::try_from(self.banner_at.checked_sub(self.image_start)?).ok()?;
        (0..bytes.len()).step_by(IMAGE_ALIGN).find(|start| {
            let rest = start.checked_add(banner_at).and_then(|at| bytes.get(at..));
            rest.is_some_and(|rest| rest.starts_with(self.banner.as_bytes()))
        })
    }
}

fn decode_entry(level: u32, entry: u64) -> TableEntry {
    let address = entry & ADDRESS;
    match (entry & VALID != 0, entry & TABLE != 0) {
        (false, _) => TableEntry::Absent,
        (true, true) if level > 0 => TableEntry::Table(address),
        (true, true) => TableEntry::Page(address),
        (true, false) if (1..=LARGE_LEVEL_MAX).contains(&level) => TableEntry::Page(address),
        (true, false) => TableEntry::Absent,
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const START: u64 = 1 << 30;
    pub const IMAGE: u64 = 0xffff_8000_8000_0000;
    pub const IMAGE_AT: usize = 0x3_0000;

    pub fn reader() -> Aarch64PagingReader {
        Aarch64PagingReader {
            image_start: IMAGE,
            image_end: IMAGE + 0x8000,
            top_table: IMAGE + 0x1000,
            banner_at: IMAGE + 0x800,
            banner: "Linux version 6.12".into(),
        }
    }

    /// An image at 0x30000 with tables in it. The image's first page is mapped, and the memory from
    /// 0xffff000000000000 on.
    pub fn memory(levels: PagingLevels) -> Vec<u8> {
        let mut bytes = vec![0u8; 0x4_0000];
        let banner = IMAGE_AT + 0x800;
        bytes[banner..banner + 18].copy_from_slice(b"Linux version 6.12");
        let mut put = |at: usize, value: u64| {
            let at = IMAGE_AT + at;
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        };
        let next = |at: u64| (START + IMAGE_AT as u64 + at) | TABLE | VALID;
        let top = match levels {
            PagingLevels::Four => 0x1000,
            PagingLevels::Five => {
                put(0x1000 + 8 * 15, next(0x2000));
                put(0x1000, next(0x6000));
                0x2000
            }
        };
        put(top + 8 * 0x100, next(0x3000));
        put(0x3000 + 8 * 2, next(0x4000));
        put(0x4000, next(0x5000));
        put(0x5000, next(0));
        // The linear map: a large page.
        put(top, next(0x6000));
        put(0x6000, START | VALID);
        bytes
    }

    /// Maps the memory at `address`, too, by a page of 2 MiB. The image has four levels of tables.
    pub fn map_large(bytes: &mut [u8], address: u64) {
        let mut put = |at: u64, value: u64| {
            let at = IMAGE_AT + at as usize;
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        };
        let next = |at: u64| (START + IMAGE_AT as u64 + at) | TABLE | VALID;
        put(0x1000 + 8 * (address >> 39 & 511), next(0x7000));
        put(0x7000 + 8 * (address >> 30 & 511), next(0x8000));
        put(0x8000 + 8 * (address >> 21 & 511), START | VALID);
    }

    #[test]
    fn walks_small_and_large_pages() {
        let bytes = memory(PagingLevels::Four);
        let memory = reader().open(&bytes).expect("an image");
        assert_eq!(memory.levels(), PagingLevels::Four);
        assert_eq!(memory.image_physical(), START + IMAGE_AT as u64);
        let banner = memory.read_text(IMAGE + 0x800);
        assert_eq!(banner.as_deref(), Some("Linux version 6.12"));
        let linear = 0xffff_0000_0000_0000 + IMAGE_AT as u64 + 0x800;
        assert_eq!(memory.read_text(linear), banner, "through the large page");
        assert_eq!(memory.read_u64(0xffff_4000_0000_0000), None, "not mapped");
        let lower_half = linear & 0x0000_ffff_ffff_ffff;
        assert_eq!(memory.read_u64(lower_half), None, "not the kernel's");
    }

    #[test]
    fn walks_a_fifth_level_of_16_entries() {
        let bytes = memory(PagingLevels::Five);
        let memory = reader().open(&bytes).expect("an image");
        assert_eq!(memory.levels(), PagingLevels::Five);
        let linear = 0xffff_0000_0000_0000 + IMAGE_AT as u64 + 0x800;
        assert!(memory.read_u64(linear).is_some());
    }

    #[test]
    fn memory_without_the_kernel_is_not_opened() {
        let mut bytes = memory(PagingLevels::Four);
        assert!(reader().open(&[]).is_none());
        assert!(reader().open(&bytes[..IMAGE_AT]).is_none());
        // Entries that lead nowhere.
        bytes[IMAGE_AT + 0x3010..IMAGE_AT + 0x3018].fill(0xff);
        assert!(reader().open(&bytes).is_none());
    }
}

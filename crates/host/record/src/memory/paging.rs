//! Translation of kernel addresses to offsets in the memory file, by x86-64 page tables of four or
//! five levels.

use super::PAGE_BYTES;
use super::lookup::{KernelLookup, MissingItem};

/// The kernel image is mapped here with `nokaslr`: physical address plus this.
const IMAGE_BASE: u64 = 0xffff_ffff_8000_0000;
/// `pgdir_shift` with five levels.
const FIVE_LEVELS_SHIFT: u32 = 48;
const PRESENT: u64 = 1;
const LARGE: u64 = 1 << 7;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
/// Longest text read from the guest.
const TEXT_MAX: u64 = 64;

/// Position of physical memory in the file: q35 moves the memory beyond the PCI hole above 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowMemory {
    low_bytes: u64,
}

impl LowMemory {
    /// Returns the split of a q35 machine with `bytes` of memory.
    pub fn for_q35(bytes: u64) -> Self {
        const HOLE: u64 = 0xb000_0000;
        Self {
            low_bytes: if bytes >= HOLE { 0x8000_0000 } else { bytes },
        }
    }

    fn file_offset(self, physical: u64) -> Option<u64> {
        const HIGH: u64 = 1 << 32;
        if physical < self.low_bytes {
            Some(physical)
        } else {
            Some(physical.checked_sub(HIGH)? + self.low_bytes)
        }
    }
}

/// Levels of page tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingLevels {
    /// 48-bit addresses.
    Four,
    /// 57-bit addresses (`la57`).
    Five,
}

impl PagingLevels {
    /// Number of the levels in tables of constants: 0 for four levels.
    pub fn index(self) -> usize {
        self as usize
    }

    fn count(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Five => 5,
        }
    }
}

/// Places of what the translation of addresses starts from.
pub struct PagingReader {
    top_table: u64,
    /// Shift of an index into the top table (`pgdir_shift`), which kernels for both numbers of
    /// levels set as they boot.
    top_shift: Option<u64>,
}

impl PagingReader {
    /// Looks up the kernel's own top page table.
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(Self {
            top_table: lookup.symbol("init_top_pgt")?,
            top_shift: lookup.symbol("pgdir_shift").ok(),
        })
    }

    /// Opens the memory of a machine with RAM in `bytes`.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> GuestMemory<'a> {
        let low = LowMemory::for_q35(bytes.len() as u64);
        let memory = GuestMemory::new(bytes, self.top_table, low, PagingLevels::Four);
        // The variable is in the image, which is read without page tables.
        let shift = self.top_shift.and_then(|at| memory.read_u32(at));
        let levels = match shift {
            Some(FIVE_LEVELS_SHIFT) => PagingLevels::Five,
            _ => PagingLevels::Four,
        };
        GuestMemory { levels, ..memory }
    }
}

/// The guest's memory, by kernel virtual address. Every read may fail: nothing in it is trusted.
pub struct GuestMemory<'a> {
    bytes: &'a [u8],
    low: LowMemory,
    top_table: u64,
    levels: PagingLevels,
}

impl<'a> GuestMemory<'a> {
    /// `top_table` is the address of the kernel's own top page table, in the image.
    pub fn new(bytes: &'a [u8], top_table: u64, low: LowMemory, levels: PagingLevels) -> Self {
        Self {
            bytes,
            low,
            top_table: top_table.wrapping_sub(IMAGE_BASE),
            levels,
        }
    }

    /// Levels of the page tables.
    pub fn levels(&self) -> PagingLevels {
        self.levels
    }

    /// One past the last physical address.
    pub fn physical_end(&self) -> u64 {
        let bytes = self.bytes.len() as u64;
        if bytes > self.low.low_bytes {
            (1 << 32) + bytes - self.low.low_bytes
        } else {
            bytes
        }
    }

    /// The pointer or counter at `address`.
    pub fn read_u64(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.read_array(address)?))
    }

    /// The int at `address`.
    pub fn read_u32(&self, address: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.read_array(address)?))
    }

    /// The NUL-terminated text at `address`, at most 64 bytes of it.
    pub fn read_text(&self, address: u64) -> Option<String> {
        let mut text = Vec::new();
        for at in address..address.checked_add(TEXT_MAX)? {
            match self.read_array::<1>(at)? {
                [0] => break,
                [byte] => text.push(byte),
            }
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn read_array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        if address % PAGE_BYTES + N as u64 > PAGE_BYTES {
            return None;
        }
        self.read_physical(self.translate(address)?)
    }

    fn read_physical<const N: usize>(&self, physical: u64) -> Option<[u8; N]> {
        let at = usize::try_from(self.low.file_offset(physical)?).ok()?;
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn translate(&self, address: u64) -> Option<u64> {
        if (IMAGE_BASE..IMAGE_BASE + (1 << 30)).contains(&address) {
            return Some(address - IMAGE_BASE);
        }
        let mut table = self.top_table;
        for level in (0..self.levels.count()).rev() {
            let shift = 12 + 9 * level;
            let index = address >> shift & 511;
            let entry = u64::from_le_bytes(self.read_physical(table.checked_add(index * 8)?)?);
            if entry & PRESENT == 0 {
                return None;
            }
            let within = (1u64 << shift) - 1;
            if level == 0 || (level < 3 && entry & LARGE != 0) {
                return Some((entry & ADDRESS & !within) | (address & within));
            }
            table = entry & ADDRESS;
        }
        None
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
        let low = LowMemory::for_q35(0x6000);
        let memory = GuestMemory::new(&bytes, IMAGE_BASE + 0x1000, low, PagingLevels::Four);
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
        let low = LowMemory::for_q35(0x8000);
        let memory = GuestMemory::new(&bytes, IMAGE_BASE + 0x7000, low, PagingLevels::Five);
        let base = 0xff11_0000_0000_0000 | 0x111 << 39;
        assert_eq!(memory.read_u64(base + 0x3010), Some(0x1122_3344_5566_7788));
        assert_eq!(memory.read_u64(0xffff_8880_0000_3010), None);
    }

    #[test]
    fn the_kernel_says_how_many_levels_it_uses() {
        let mut bytes = vec![0; 0x1000];
        let reader = PagingReader {
            top_table: IMAGE_BASE,
            top_shift: Some(IMAGE_BASE + 0x800),
        };
        for (shift, levels) in [(39, PagingLevels::Four), (48, PagingLevels::Five)] {
            bytes[0x800] = shift;
            assert_eq!(reader.open(&bytes).levels(), levels);
        }
    }

    #[test]
    fn memory_above_the_hole() {
        let low = LowMemory::for_q35(4 << 30);
        assert_eq!(low.file_offset(0x7fff_ffff), Some(0x7fff_ffff));
        assert_eq!(low.file_offset(0x8000_0000), None);
        assert_eq!(low.file_offset(1 << 32), Some(0x8000_0000));
        assert_eq!(
            LowMemory::for_q35(2 << 30).file_offset(0x7000_0000),
            Some(0x7000_0000)
        );
    }
}

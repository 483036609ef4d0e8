//! Translation of kernel addresses to offsets in the memory file, by x86-64 four-level page tables.

use super::PAGE_BYTES;

/// The kernel image is mapped here with `nokaslr`: physical address plus this.
const IMAGE_BASE: u64 = 0xffff_ffff_8000_0000;
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

/// The guest's memory, by kernel virtual address. Every read may fail: nothing in it is trusted.
pub struct GuestMemory<'a> {
    bytes: &'a [u8],
    low: LowMemory,
    top_table: u64,
}

impl<'a> GuestMemory<'a> {
    /// `top_table` is the address of the kernel's own top page table, in the image.
    pub fn new(bytes: &'a [u8], top_table: u64, low: LowMemory) -> Self {
        Self {
            bytes,
            low,
            top_table: top_table.wrapping_sub(IMAGE_BASE),
        }
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
        for level in (0..4).rev() {
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
        let memory = GuestMemory::new(&bytes, IMAGE_BASE + 0x1000, LowMemory::for_q35(0x6000));
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

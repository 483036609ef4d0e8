//! Translation of kernel addresses to offsets in the memory file, by the page tables of the guest's
//! machine.

mod aarch64;
mod layout;
mod x86;

use self::aarch64::Aarch64PagingReader;
#[cfg(test)]
pub use self::aarch64::tests as aarch64_tests;
pub use self::layout::PhysicalLayout;
use self::x86::X86PagingReader;
use super::PAGE_BYTES;
use super::lookup::{KernelLookup, MissingItem};
use crate::GuestMachine;

/// Entries of a table of any level but the fifth.
const ENTRIES: u64 = 512;
/// Number of the fifth level, counted from 0.
const FIFTH: u32 = 4;
/// Longest text read from the guest: a name in a folder.
const TEXT_MAX: u64 = 255;

/// Levels of page tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingLevels {
    /// 48-bit addresses.
    Four,
    /// 57-bit addresses (`la57` of x86-64), or 52-bit addresses (LPA2 of AArch64).
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

/// Reader of a machine's page tables, with the places of what they start from.
pub enum PagingReader {
    X86(X86PagingReader),
    Aarch64(Aarch64PagingReader),
}

impl PagingReader {
    /// Looks up the kernel's own top page table.
    pub fn find(lookup: &KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        Ok(match lookup.machine() {
            GuestMachine::X86 => Self::X86(X86PagingReader::find(lookup)?),
            GuestMachine::Aarch64 => Self::Aarch64(Aarch64PagingReader::find(lookup)?),
        })
    }

    /// Opens the memory of a machine with RAM in `bytes`. `None` if the kernel is not in it.
    pub fn open<'a>(&self, bytes: &'a [u8]) -> Option<GuestMemory<'a>> {
        match self {
            Self::X86(reader) => Some(reader.open(bytes)),
            Self::Aarch64(reader) => reader.open(bytes),
        }
    }
}

/// The kernel image, whose mapping needs no page tables.
#[derive(Clone, Copy, Debug)]
struct ImageMapping {
    start: u64,
    bytes: u64,
    /// Physical address of the start.
    physical: u64,
}

/// Target of an entry of a page table.
enum TableEntry {
    /// Physical address of the next table.
    Table(u64),
    /// Physical address of the page, which may be a large one.
    Page(u64),
    /// Nothing is mapped.
    Absent,
}

/// Returns what an entry of a table at that level, counted from 0 for the last one, leads to.
type EntryDecoder = fn(level: u32, entry: u64) -> TableEntry;

/// The guest's memory, by kernel virtual address. Every read may fail: nothing in it is trusted.
pub struct GuestMemory<'a> {
    bytes: &'a [u8],
    layout: PhysicalLayout,
    image: ImageMapping,
    /// Physical address of the kernel's own top page table.
    top_table: u64,
    levels: PagingLevels,
    /// Bits of an index into a fifth level's table.
    fifth_mask: u64,
    decode_entry: EntryDecoder,
}

impl GuestMemory<'_> {
    /// Levels of the page tables.
    pub fn levels(&self) -> PagingLevels {
        self.levels
    }

    /// Positions of the physical memory.
    pub fn layout(&self) -> PhysicalLayout {
        self.layout
    }

    /// Physical address of the image's start.
    pub fn image_physical(&self) -> u64 {
        self.image.physical
    }

    /// The pointer or counter at `address`.
    pub fn read_u64(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.read_array(address)?))
    }

    /// The int at `address`.
    pub fn read_u32(&self, address: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.read_array(address)?))
    }

    /// The NUL-terminated text at `address`, at most 255 bytes of it.
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
        self.read_physical(self.physical_address(address)?)
    }

    fn read_physical<const N: usize>(&self, physical: u64) -> Option<[u8; N]> {
        let at = usize::try_from(self.layout.file_offset(physical)?).ok()?;
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    /// Bits of an address that the tables translate. Those above are ones in the kernel's half.
    fn address_bits(&self) -> u32 {
        match self.levels {
            PagingLevels::Four => 48,
            PagingLevels::Five => 48 + (self.fifth_mask + 1).ilog2(),
        }
    }

    /// Returns the physical address of a virtual one; `None` if nothing is mapped there.
    pub fn physical_address(&self, address: u64) -> Option<u64> {
        let in_image = address.wrapping_sub(self.image.start);
        if in_image < self.image.bytes {
            return self.image.physical.checked_add(in_image);
        }
        if address < u64::MAX << self.address_bits() {
            return None;
        }
        let mut table = self.top_table;
        for level in (0..self.levels.count()).rev() {
            let shift = 12 + 9 * level;
            let mask = if level == FIFTH {
                self.fifth_mask
            } else {
                ENTRIES - 1
            };
            let index = address >> shift & mask;
            let entry = u64::from_le_bytes(self.read_physical(table.checked_add(index * 8)?)?);
            match (self.decode_entry)(level, entry) {
                TableEntry::Absent => return None,
                TableEntry::Page(page) => {
                    let within = (1u64 << shift) - 1;
                    return Some((page & !within) | (address & within));
                }
                TableEntry::Table(next) => table = next,
            }
        }
        None
    }
}

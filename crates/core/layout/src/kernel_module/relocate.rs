//! Relocations of a module: places in its sections that get the address of a symbol.

use object::{
    Object as _, ObjectSection as _, ObjectSymbol, Relocation, RelocationFlags, RelocationKind,
    RelocationTarget, SectionIndex, SymbolSection,
};
use rustc_hash::FxHashMap;

use super::{FileSection, ModuleFile};

/// Bits of the offset within a page of 4 KiB.
const PAGE_OFFSET: u64 = 0xfff;

/// A module that is being linked.
pub struct ModuleLinker<'l, 'a> {
    pub file: &'l ModuleFile<'a>,
    /// Link-time addresses of the sections that are in memory.
    pub addresses: &'l FxHashMap<SectionIndex, u64>,
    /// Returns the address of a symbol of the kernel.
    pub symbol_address: &'l dyn Fn(&str) -> Option<u64>,
    /// The file, with what was filled in so far.
    pub linked: Vec<u8>,
    /// Relocations that a file of this length may still have.
    pub relocations_left: usize,
}

impl<'a> ModuleLinker<'_, 'a> {
    /// Fills in the places of `section`, whose contents begin at offset `start` of the file. Places
    /// of kinds that only code has and no evidence rests on stay as they are.
    pub fn relocate(&mut self, section: &FileSection<'_, '_>, start: usize) {
        let section_address = self.addresses.get(&section.index()).copied().unwrap_or(0);
        for (offset, relocation) in section.relocations() {
            let Some(left) = self.relocations_left.checked_sub(1) else {
                return;
            };
            self.relocations_left = left;
            let at = usize::try_from(offset).ok();
            let Some(at) = at.and_then(|offset| start.checked_add(offset)) else {
                continue;
            };
            let Some(target) = self.target_address(&relocation) else {
                continue;
            };
            let value = target.wrapping_add(relocation.addend().cast_unsigned());
            let place = section_address.wrapping_add(offset);
            let bytes = usize::from(relocation.size() / 8);
            match relocation.kind() {
                RelocationKind::Absolute => self.write(at, bytes, value),
                RelocationKind::Relative | RelocationKind::PltRelative => {
                    self.write(at, bytes, value.wrapping_sub(place));
                }
                _ => self.relocate_instruction(at, place, value, relocation.flags()),
            }
        }
    }

    /// Link-time address of a symbol of the module, or address of one of the kernel; 0 if nobody
    /// has it.
    pub fn symbol_value<'d>(&self, symbol: &impl ObjectSymbol<'d>) -> u64 {
        match symbol.section() {
            SymbolSection::Section(index) => {
                let start = self.addresses.get(&index).copied().unwrap_or(0);
                symbol.address().wrapping_add(start)
            }
            SymbolSection::Undefined => {
                let name = symbol.name().ok();
                name.and_then(self.symbol_address).unwrap_or(0)
            }
            _ => symbol.address(),
        }
    }

    /// Writes the low bytes of `value` at an offset of the file, if the file is long enough.
    pub fn write(&mut self, at: usize, bytes: usize, value: u64) {
        let end = at.checked_add(bytes);
        let place = end.and_then(|end| self.linked.get_mut(at..end));
        let value = value.to_le_bytes();
        if let (Some(place), Some(value)) = (place, value.get(..bytes)) {
            place.copy_from_slice(value);
        }
    }

    fn target_address(&self, relocation: &Relocation) -> Option<u64> {
        match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = self.file.symbol_by_index(index).ok()?;
                let address = self.symbol_value(&symbol);
                (address != 0 || !symbol.is_undefined()).then_some(address)
            }
            RelocationTarget::Section(index) => self.addresses.get(&index).copied(),
            _ => None,
        }
    }

    /// Fills in a field of an instruction of AArch64: a call, or a half of an address.
    fn relocate_instruction(&mut self, at: usize, place: u64, value: u64, flags: RelocationFlags) {
        use object::elf;
        let RelocationFlags::Elf { r_type } = flags else {
            return;
        };
        let page = |address: u64| address & !PAGE_OFFSET;
        let pages = page(value).wrapping_sub(page(place)) >> 12;
        let low = value & PAGE_OFFSET;
        // Field by mask, and its content.
        let (mask, field) = match r_type {
            elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => {
                (0x03ff_ffff, value.wrapping_sub(place) >> 2)
            }
            elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_PREL_PG_HI21_NC => {
                (0x60ff_ffe0, (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5)
            }
            elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => {
                (0x003f_fc00, low << 10)
            }
            elf::R_AARCH64_LDST16_ABS_LO12_NC => (0x003f_fc00, low >> 1 << 10),
            elf::R_AARCH64_LDST32_ABS_LO12_NC => (0x003f_fc00, low >> 2 << 10),
            elf::R_AARCH64_LDST64_ABS_LO12_NC => (0x003f_fc00, low >> 3 << 10),
            elf::R_AARCH64_LDST128_ABS_LO12_NC => (0x003f_fc00, low >> 4 << 10),
            _ => return,
        };
        let bytes = at.checked_add(4).and_then(|end| self.linked.get(at..end));
        let Some(&[a, b, c, d]) = bytes else {
            return;
        };
        let old = u64::from(u32::from_le_bytes([a, b, c, d]));
        self.write(at, 4, old & !mask | field & mask);
    }
}

//! Memory operands of an instruction, so that addresses are known before it executes.

use relayout_machine::LineAccess;

use crate::insn::aarch64::IndexPart;

/// Memory operand: its address by registers, and what the instruction does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOperand {
    /// Number of the base register.
    pub base: Option<u8>,
    /// Index register.
    pub index: Option<IndexRegister>,
    /// Added to these; of an operand relative to the instruction, all of the address.
    pub displacement: u64,
    /// Segment whose start is added.
    pub segment: Option<BasedSegment>,
    /// Number of a bit, which may lie outside of the operand.
    pub bit: Option<BitNumber>,
    /// Use of the memory.
    pub access: LineAccess,
    /// Bytes that are accessed; of a string instruction those of one element.
    pub bytes: u8,
    /// Bytes from the first on whose lines are ordered; those of a string are counted when it executes.
    pub ordered_bytes: u8,
    /// The address is rounded down to a multiple of this.
    pub alignment: u8,
    /// QEMU does not call back for the access.
    pub is_unseen: bool,
    /// What is stored there, where that is known before the instruction executes.
    pub stored: Option<StoredValue>,
}

/// Value that a plain store stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredValue {
    /// That of the lowest bytes of the general register with this number.
    Register(u8),
    /// A constant.
    Constant(u64),
}

/// Register that is added to a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexRegister {
    /// Number of the register.
    pub number: u8,
    /// Part of it that counts.
    pub part: IndexPart,
    /// Factor of its value.
    pub factor: u8,
}

impl IndexRegister {
    /// Returns the amount that is added to the base, by the register's value.
    pub fn amount(self, value: u64) -> u64 {
        let part = match self.part {
            IndexPart::Whole => value,
            IndexPart::UnsignedHalf => u64::from(value as u32),
            IndexPart::SignedHalf => i64::from(value as i32) as u64,
        };
        part.wrapping_mul(self.factor.into())
    }
}

/// Register with the number of a bit in memory, for `bt` and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitNumber {
    /// Number of the register.
    pub register: u8,
    /// Bits of the operand: 16, 32 or 64.
    pub width: u8,
}

impl BitNumber {
    /// Returns the bytes from the operand's address to the word with the bit, by the register's value.
    pub fn word_offset(self, value: u64) -> u64 {
        let number = match self.width {
            16 => i64::from(value as i16),
            32 => i64::from(value as i32),
            _ => value as i64,
        };
        let width = i64::from(self.width);
        (number.div_euclid(width) * (width / 8)) as u64
    }
}

/// Segment that does not begin at address 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasedSegment {
    /// `%fs`.
    Fs,
    /// `%gs`.
    Gs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_index_counts() {
        let check = |part, value: u64, expect: u64| {
            let index = IndexRegister {
                number: 2,
                part,
                factor: 4,
            };
            assert_eq!(index.amount(value), expect, "{part:?} of {value:#x}");
        };
        check(IndexPart::Whole, 0x1_0000_0001, 0x4_0000_0004);
        check(IndexPart::UnsignedHalf, 0x1_ffff_ffff, 0x3_ffff_fffc);
        check(IndexPart::SignedHalf, 0x1_ffff_ffff, -4i64 as u64);
    }
}

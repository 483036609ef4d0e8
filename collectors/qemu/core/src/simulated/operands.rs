//! Memory operands of an instruction, so that addresses are known before it executes.

use relayout_machine::LineAccess;

/// Memory operand: its address by registers, and what the instruction does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOperand {
    /// Number of the base register.
    pub base: Option<u8>,
    /// Number of the index register, and the factor of its value.
    pub index: Option<(u8, u8)>,
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

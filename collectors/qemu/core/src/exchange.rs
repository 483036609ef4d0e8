//! Compare-and-exchange instructions: whether they stored.
//!
//! QEMU calls back twice for one, first with the value that was in memory, then with the value that
//! it would store. It stores if the former is the value that the instruction expects, which is still
//! in its registers.

use crate::api::MemValue;
use crate::registers::RegisterReader;

/// Registers that hold the value which a compare-and-exchange expects in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedRegisters {
    /// Number of the register, or of the one with the lower half.
    pub low: u8,
    /// Number of the register with the upper half.
    pub high: Option<u8>,
}

/// Bits of [`ExpectedRegisters::to_byte`].
const IS_KNOWN: u8 = 0x80;
const IS_PAIR: u8 = 0x40;
const NUMBER: u8 = 0x1f;
/// The upper half is in the register with the next number, or in the one after that.
const SKIPS: u8 = 0x20;

impl ExpectedRegisters {
    /// One register.
    pub fn single(low: u8) -> Self {
        Self { low, high: None }
    }

    /// Two registers.
    pub fn pair(low: u8, high: u8) -> Self {
        Self {
            low,
            high: Some(high),
        }
    }

    /// Packs the registers; 0 is none. A pair is of neighbours, or has one register between.
    pub fn to_byte(registers: Option<Self>) -> u8 {
        registers.map_or(0, |Self { low, high }| {
            let pair = high.map_or(0, |high| IS_PAIR | if high == low + 2 { SKIPS } else { 0 });
            IS_KNOWN | pair | low & NUMBER
        })
    }

    /// Unpacks the registers.
    pub fn from_byte(byte: u8) -> Option<Self> {
        let low = byte & NUMBER;
        let high = low + if byte & SKIPS == 0 { 1 } else { 2 };
        (byte & IS_KNOWN != 0).then(|| Self {
            low,
            high: (byte & IS_PAIR != 0).then_some(high),
        })
    }

    /// Returns the value in the registers, which an instruction that accesses `size` bytes expects.
    ///
    /// # Safety
    /// As for [`RegisterReader::read`].
    pub unsafe fn read(self, registers: &RegisterReader, size: u8) -> Option<u128> {
        // SAFETY: as promised.
        let low = unsafe { registers.read(self.low) }?;
        let Some(high) = self.high else {
            return Some(low_bytes(low.into(), size));
        };
        // SAFETY: as promised.
        let high = unsafe { registers.read(high) }?;
        let half = size / 2;
        let low = low_bytes(low.into(), half);
        let high = low_bytes(high.into(), half);
        Some(low | high << (8 * u32::from(half)))
    }
}

/// The lowest `size` bytes of a value.
fn low_bytes(value: u128, size: u8) -> u128 {
    match size {
        ..16 => value & ((1 << (8 * u32::from(size))) - 1),
        _ => value,
    }
}

/// The value that a compare-and-exchange found in memory.
#[derive(Clone, Copy, Debug)]
pub struct FoundValue {
    pub addr: u64,
    value: u128,
}

impl FoundValue {
    /// The value at `addr` as QEMU reports it.
    pub fn new(addr: u64, value: &MemValue) -> Self {
        let value = u128::from(value.low) | u128::from(value.high) << 64;
        Self { addr, value }
    }

    /// Returns whether its lowest `size` bytes are `expected`.
    pub fn is_expected(self, expected: u128, size: u8) -> bool {
        low_bytes(self.value, size) == expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_fit_a_byte() {
        for registers in [
            None,
            Some(ExpectedRegisters::single(0)),
            Some(ExpectedRegisters::single(31)),
            Some(ExpectedRegisters::pair(0, 2)),
            Some(ExpectedRegisters::pair(28, 29)),
        ] {
            let byte = ExpectedRegisters::to_byte(registers);
            assert_eq!(ExpectedRegisters::from_byte(byte), registers);
        }
    }

    #[test]
    fn only_the_accessed_bytes_count() {
        let found = |low: u128, high: u128| FoundValue {
            addr: 0,
            value: low | high << 64,
        };
        assert!(found(0x1234_5678, 0).is_expected(0x78, 1));
        assert!(!found(0x1234_5678, 0).is_expected(0x79, 1));
        assert!(found(u128::from(u64::MAX), 7).is_expected(u128::from(u64::MAX), 8));
        assert!(!found(5, 7).is_expected(5, 16));
        assert!(found(5, 7).is_expected(5 | (7 << 64), 16));
    }
}

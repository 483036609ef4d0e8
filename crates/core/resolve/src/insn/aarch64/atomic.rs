//! Atomic instructions of AArch64: those of the Large System Extensions, by their bits.
//!
//! Encodings are those of the Arm Architecture Reference Manual, C4.1 "Loads and Stores". A pair of
//! load-exclusive and store-exclusive is a loop of several instructions, whose change is not told.

use crate::insn::DwarfRegister;
use crate::insn::atomic::{AtomicChange, AtomicInsn};

/// Register number 31: reads as zero, and drops what is written.
const ZERO_REGISTER: u32 = 31;

/// Returns the atomic instruction at the start of `code`.
pub(super) fn atomic(code: &[u8]) -> Option<AtomicInsn> {
    let word = u32::from_le_bytes(code.get(..4)?.try_into().ok()?);
    let (target, compared) = (word & 0x1f, word >> 16 & 0x1f);
    let (change, result) = if word & 0x3f20_0c00 == 0x3820_0000 {
        (memory_operation(word)?, target)
    } else if word & 0x3fa0_7c00 == 0x08a0_7c00 {
        // CAS: the value before replaces the expected one.
        (AtomicChange::CompareExchange, compared)
    } else {
        return None;
    };
    Some(AtomicInsn {
        change,
        result: (result != ZERO_REGISTER).then_some(DwarfRegister(result as u8)),
        is_result_used: result != ZERO_REGISTER,
        sets_flags: false,
        len: 4,
    })
}

/// Change of an atomic memory operation, by its bits o3 and opc.
fn memory_operation(word: u32) -> Option<AtomicChange> {
    match word >> 12 & 0xf {
        0b0000 => Some(AtomicChange::Add),
        0b0001 => Some(AtomicChange::ClearBits),
        0b0010 => Some(AtomicChange::ToggleBits),
        0b0011 => Some(AtomicChange::SetBits),
        0b1000 => Some(AtomicChange::Exchange),
        _ => None,
    }
}

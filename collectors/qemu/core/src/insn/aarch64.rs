//! AArch64 instructions.
//!
//! Loads and stores are plain accesses, but for those that QEMU makes one atomic read-modify-write:
//! the LSE instructions (`ldadd`, `swp`, `cas`), and the store of a load-exclusive and
//! store-exclusive pair, which QEMU makes a compare-and-exchange with the value that was loaded.

mod load_store;

use relayout_shadow::wire::{COMPARE_EXCHANGE, LOCKED};

pub use self::load_store::{AddressForm, IndexPart, LoadStore, LoadStoreKind, decode_load_store};
use super::MemoryUse;
use crate::exchange::ExpectedRegisters;

/// `yield`.
pub const YIELD: u32 = 0xd503_203f;
/// `wfe`.
pub const WFE: u32 = 0xd503_205f;
/// `dc zva, x0`.
const DC_ZVA: u32 = 0xd50b_7420;
/// Number of the stack pointer for [`RegisterReader`](crate::registers::RegisterReader). Instructions name it by 31,
/// which stands for zero elsewhere.
pub const STACK_POINTER: u8 = 32;

/// Returns true for `yield` and `wfe`. QEMU does not wait in `wfe` when it runs CPUs in threads of
/// their own.
pub fn is_pause(bytes: &[u8]) -> bool {
    matches!(instruction_word(bytes), Some(YIELD | WFE))
}

/// Decodes the use from an instruction's bytes. Unknown instructions count as plain accesses.
pub fn memory_use(bytes: &[u8]) -> MemoryUse {
    let access = instruction_word(bytes).and_then(decode_load_store);
    let Some(access) = access else {
        return MemoryUse::PLAIN;
    };
    let (uncertain, compares, expected) = match access.kind {
        // QEMU reports the value that it stores.
        LoadStoreKind::Swap => (false, 0, None),
        // QEMU reports the operand.
        LoadStoreKind::Arithmetic => (true, 0, None),
        // QEMU reports the value that it would store. What a store-exclusive expects is in QEMU's monitor.
        LoadStoreKind::StoreExclusive => (true, COMPARE_EXCHANGE, None),
        LoadStoreKind::CompareAndSwap(register) => {
            let expected = ExpectedRegisters::single(register);
            (true, COMPARE_EXCHANGE, Some(expected))
        }
        LoadStoreKind::CompareAndSwapPair(low) => {
            let expected = ExpectedRegisters::pair(low, low | 1);
            (true, COMPARE_EXCHANGE, Some(expected))
        }
        LoadStoreKind::Load
        | LoadStoreKind::LoadExclusive
        | LoadStoreKind::Store
        | LoadStoreKind::Zero => return MemoryUse::PLAIN,
    };
    MemoryUse {
        read_write: true,
        uncertain,
        instruction: LOCKED | compares,
        expected,
    }
}

/// Returns the number of a register in instructions, and that of `sp`.
pub fn register_number(name: &str) -> Option<u8> {
    if name == "sp" {
        return Some(STACK_POINTER);
    }
    let number = name.strip_prefix('x')?.parse().ok()?;
    (number < 31).then_some(number)
}

/// Returns the word that the bytes of an instruction are.
pub fn instruction_word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: u32, read_write: bool, uncertain: bool, instruction: u8) {
        let used = memory_use(&word.to_le_bytes());
        let found = (used.read_write, used.uncertain, used.instruction);
        assert_eq!(found, (read_write, uncertain, instruction), "{word:08x}");
    }

    /// Words as assembled by binutils.
    #[test]
    fn atomics_of_both_kinds_are_read_modify_writes() {
        let exchange = LOCKED | COMPARE_EXCHANGE;
        check(0xb821_0062, true, true, LOCKED); // ldadd w1, w2, [x3]
        check(0xf8e1_107f, true, true, LOCKED); // ldclral x1, xzr, [x3]
        check(0x7861_3062, true, true, LOCKED); // ldseth... w1, w2, [x3]
        check(0xf8a1_8062, true, false, LOCKED); // swpa x1, x2, [x3]
        check(0xc8e1_fc62, true, true, exchange); // casal x1, x2, [x3]
        check(0x88a1_7c62, true, true, exchange); // cas w1, w2, [x3]
        check(0x4820_7c82, true, true, exchange); // casp x0, x1, x2, x3, [x4]
        check(0x8801_7c62, true, true, exchange); // stxr w1, w2, [x3]
        check(0xc801_fc62, true, true, exchange); // stlxr w1, x2, [x3]
        check(0xc821_0c82, true, true, exchange); // stxp w1, x2, x3, [x4]
    }

    #[test]
    fn compare_and_swap_has_what_it_expects_in_registers() {
        let expected = |word: u32| memory_use(&word.to_le_bytes()).expected;
        let (single, pair) = (ExpectedRegisters::single(1), ExpectedRegisters::pair(0, 1));
        assert_eq!(expected(0xc8e1_fc62), Some(single)); // casal x1, x2, [x3]
        assert_eq!(expected(0x4820_7c82), Some(pair)); // casp x0, x1, x2, x3, [x4]
        assert_eq!(expected(0x8801_7c62), None); // stxr w1, w2, [x3]
        assert_eq!(expected(0xb821_0062), None); // ldadd w1, w2, [x3]
        assert_eq!(
            ["x0", "x30", "x31", "xzr", "sp"].map(register_number),
            [Some(0), Some(30), None, None, Some(STACK_POINTER)]
        );
    }

    #[test]
    fn loads_and_stores_are_plain() {
        check(0xc85f_7c62, false, false, 0); // ldxr x2, [x3]
        check(0xc87f_0c82, false, false, 0); // ldxp x2, x3, [x4]
        check(0xc8df_fc62, false, false, 0); // ldar x2, [x3]
        check(0xc89f_fc62, false, false, 0); // stlr x2, [x3]
        check(0xf8bf_c062, false, false, 0); // ldapr x2, [x3]
        check(0xf940_0062, false, false, 0); // ldr x2, [x3]
        check(0xf861_6862, false, false, 0); // ldr x2, [x3, x1]
        check(0xa9bf_7bfd, false, false, 0); // stp x29, x30, [sp, #-16]!
        check(0xd50b_7420, false, false, 0); // dc zva, x0
    }

    #[test]
    fn waiting_instructions_are_pauses() {
        assert!(is_pause(&YIELD.to_le_bytes()));
        assert!(is_pause(&WFE.to_le_bytes()));
        assert!(!is_pause(&0xd503_201f_u32.to_le_bytes()), "nop");
        assert!(!is_pause(&[0x3f, 0x20]));
    }

    #[test]
    fn bytes_that_are_no_instruction_are_plain() {
        assert_eq!(memory_use(&[]), MemoryUse::PLAIN);
        assert_eq!(memory_use(&[0; 16]), MemoryUse::PLAIN);
    }
}

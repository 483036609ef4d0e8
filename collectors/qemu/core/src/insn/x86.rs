//! x86-64 instructions.
//!
//! An instruction that reads and writes the same memory counts as a read-write, and only its store
//! calls back. If it is locked, the value that QEMU reports for the store is not the one that it
//! leaves: it is an addend, or the value that a compare-and-exchange would have stored.
//!
//! Opcodes and groups are those of the Intel SDM, volume 2, appendix A.

use relayout_shadow::wire::{COMPARE_EXCHANGE, LOCKED, STRING};

use super::MemoryUse;
use crate::exchange::ExpectedRegisters;
use crate::registers::{CONTROL_3, FS_BASE, GS_BASE};

/// The instruction `pause`.
pub const PAUSE: [u8; 2] = [0xf3, 0x90];

/// Decodes the use from an instruction's bytes. Unknown instructions count as plain accesses.
pub fn memory_use(bytes: &[u8]) -> MemoryUse {
    let plain = MemoryUse::PLAIN;
    let mut rest = bytes;
    let mut locked = false;
    while let [first, tail @ ..] = rest {
        locked |= *first == 0xf0;
        match first {
            0xf0 | 0x66 | 0x67 | 0xf2 | 0xf3 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 => {
                rest = tail
            }
            0x40..=0x4f => {
                rest = tail;
                break;
            }
            _ => break,
        }
    }
    let (two_byte, opcode, modrm) = match rest {
        [0x0f, opcode, modrm, ..] => (true, *opcode, *modrm),
        [opcode, ..] if is_string(*opcode) => {
            return MemoryUse {
                instruction: STRING,
                ..plain
            };
        }
        [opcode, modrm, ..] => (false, *opcode, *modrm),
        _ => return plain,
    };
    if modrm >> 6 == 3 {
        return plain;
    }
    let group = modrm >> 3 & 7;
    let read_write = if two_byte {
        two_byte_rw(opcode, group)
    } else {
        one_byte_rw(opcode, group)
    };
    MemoryUse {
        read_write,
        uncertain: read_write && locked,
        instruction: kind_bits(two_byte, opcode, group, locked),
        expected: expected_registers(two_byte, opcode, group),
    }
}

const RAX: u8 = 0;
const RDX: u8 = 2;

/// Returns the number of a register that an instruction names or implies, or of the start of a
/// segment.
pub fn register_number(name: &str) -> Option<u8> {
    const NAMES: [&str; 16] = [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    match name {
        "fs_base" => return Some(FS_BASE),
        "gs_base" => return Some(GS_BASE),
        "cr3" => return Some(CONTROL_3),
        _ => {}
    }
    let number = NAMES.iter().position(|&known| known == name)?;
    u8::try_from(number).ok()
}

/// Returns where `cmpxchg`, `cmpxchg8b` and `cmpxchg16b` have the value that they expect.
fn expected_registers(two_byte: bool, opcode: u8, group: u8) -> Option<ExpectedRegisters> {
    match (two_byte, opcode, group) {
        (true, 0xb0 | 0xb1, _) => Some(ExpectedRegisters::single(RAX)),
        (true, 0xc7, 1) => Some(ExpectedRegisters::pair(RAX, RDX)),
        _ => None,
    }
}

/// Returns whether a one-byte opcode is that of a string instruction: `movs`, `cmps`, `stos`,
/// `lods`, `scas`.
fn is_string(opcode: u8) -> bool {
    matches!(opcode, 0xa4..=0xa7 | 0xaa..=0xaf)
}

/// The kind of an instruction with a memory operand. `xchg` is locked without a prefix.
fn kind_bits(two_byte: bool, opcode: u8, group: u8, locked: bool) -> u8 {
    let (exchanges, compares) = match (two_byte, opcode) {
        (false, 0x86 | 0x87) => (true, false),
        (true, 0xb0 | 0xb1) => (false, true),
        (true, 0xc7) => (false, group == 1),
        _ => (false, false),
    };
    let locked = if locked || exchanges { LOCKED } else { 0 };
    locked | if compares { COMPARE_EXCHANGE } else { 0 }
}

fn one_byte_rw(opcode: u8, group: u8) -> bool {
    match opcode {
        // add, or, adc, sbb, and, sub, xor with a memory destination (0x38, 0x39 is cmp)
        0x00..=0x37 => opcode & 7 < 2,
        0x80 | 0x81 | 0x83 => group != 7,
        0x86 | 0x87 => true,
        0xc0 | 0xc1 | 0xd0..=0xd3 => true,
        0xf6 | 0xf7 => matches!(group, 2 | 3),
        0xfe => group < 2,
        0xff => group < 2,
        _ => false,
    }
}

fn two_byte_rw(opcode: u8, group: u8) -> bool {
    match opcode {
        0xa4 | 0xa5 | 0xac | 0xad => true,
        0xab | 0xb3 | 0xbb => true,
        0xba => group >= 5,
        0xb0 | 0xb1 | 0xc0 | 0xc1 => true,
        0xc7 => group == 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], read_write: bool, uncertain: bool) {
        let used = memory_use(bytes);
        let found = (used.read_write, used.uncertain);
        assert_eq!(found, (read_write, uncertain), "{bytes:02x?}");
    }

    #[test]
    fn kinds_of_instructions() {
        let check = |bytes: &[u8], kind: u8| {
            assert_eq!(memory_use(bytes).instruction, kind, "{bytes:02x?}");
        };
        check(&[0xf0, 0x48, 0x0f, 0xb1, 0x17], LOCKED | COMPARE_EXCHANGE); // lock cmpxchg
        check(&[0x65, 0x48, 0x0f, 0xb1, 0x17], COMPARE_EXCHANGE); // cmpxchg %rdx,%gs:(%rdi)
        check(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], LOCKED | COMPARE_EXCHANGE); // lock cmpxchg16b
        check(&[0x48, 0x0f, 0xc7, 0x27], 0); // xsavec (%rdi)
        check(&[0xf0, 0x0f, 0xc1, 0x07], LOCKED); // lock xadd %eax,(%rdi)
        check(&[0x48, 0x87, 0x07], LOCKED); // xchg %rax,(%rdi)
        check(&[0x48, 0x89, 0x47, 0x38], 0); // mov %rax,0x38(%rdi)
        check(&[0xf3, 0x48, 0xa5], STRING); // rep movsq
        check(&[0xaa], STRING); // stosb
        check(&[0xa8, 0x01], 0); // test $1,%al
    }

    #[test]
    fn expected_values_are_in_the_accumulator() {
        let expected = |bytes: &[u8]| memory_use(bytes).expected;
        let (single, pair) = (
            ExpectedRegisters::single(RAX),
            ExpectedRegisters::pair(RAX, RDX),
        );
        assert_eq!(expected(&[0xf0, 0x48, 0x0f, 0xb1, 0x17]), Some(single)); // lock cmpxchg
        assert_eq!(expected(&[0xf0, 0x0f, 0xb0, 0x17]), Some(single)); // lock cmpxchg %dl,(%rdi)
        assert_eq!(expected(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f]), Some(pair)); // lock cmpxchg16b
        assert_eq!(expected(&[0x48, 0x0f, 0xc7, 0x27]), None); // xsavec (%rdi)
        assert_eq!(expected(&[0xf0, 0x0f, 0xc1, 0x07]), None); // lock xadd %eax,(%rdi)
        assert_eq!(
            (
                register_number("rax"),
                register_number("rdx"),
                register_number("eflags")
            ),
            (Some(RAX), Some(RDX), None)
        );
    }

    #[test]
    fn knows_read_modify_write() {
        check(&[0xf0, 0x48, 0x0f, 0xb1, 0x17], true, true); // lock cmpxchg %rdx,(%rdi)
        check(&[0xf0, 0x0f, 0xc1, 0x07], true, true); // lock xadd %eax,(%rdi)
        check(&[0x48, 0x87, 0x07], true, false); // xchg %rax,(%rdi)
        check(&[0x65, 0xff, 0x05, 0, 0, 0, 0], true, false); // incl %gs:0(%rip)
        check(&[0x83, 0x47, 0x10, 0x01], true, false); // addl $1,0x10(%rdi)
        check(&[0x48, 0x0f, 0xba, 0x2f, 0x03], true, false); // btsq $3,(%rdi)
        check(&[0x48, 0x0f, 0xc7, 0x0f], true, false); // cmpxchg16b (%rdi)
        check(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], true, true); // lock cmpxchg16b (%rdi)
    }

    #[test]
    fn the_memory_operand_decides_not_the_mnemonic() {
        check(&[0x66, 0xf0, 0x0f, 0xc1, 0x07], true, true); // lock xadd %ax,(%rdi)
        check(&[0xf0, 0xff, 0x0f], true, true); // lock decl (%rdi)
        check(&[0x0f, 0xc1, 0x07], true, false); // xadd %eax,(%rdi)
        check(&[0xf7, 0x1f], true, false); // negl (%rdi)
        check(&[0xf7, 0x27], false, false); // mull (%rdi): reads only
        check(&[0xff, 0x37], false, false); // push (%rdi)
        check(&[0x0f, 0xba, 0x27, 3], false, false); // btl $3,(%rdi)
        check(&[0x0f, 0xc7, 0x27], false, false); // xsavec (%rdi)
        check(&[0x48, 0xd1, 0x27], true, false); // shlq (%rdi)
        check(&[0xa4], false, false); // movsb: two places
        check(&[0xf3, 0x48, 0xa5], false, false); // rep movsq
        check(&[0xc5, 0xfd, 0x6f, 0x07], false, false); // vmovdqa (%rdi),%ymm0
        check(&[0x03, 0x07], false, false); // add (%rdi),%eax
    }

    #[test]
    fn leaves_plain_accesses_alone() {
        check(&[0x48, 0x8b, 0x47, 0x38], false, false); // mov 0x38(%rdi),%rax
        check(&[0x48, 0x89, 0x47, 0x38], false, false); // mov %rax,0x38(%rdi)
        check(&[0x83, 0x7f, 0x10, 0x01], false, false); // cmpl $1,0x10(%rdi)
        check(&[0x39, 0x07], false, false); // cmp %eax,(%rdi)
        check(&[0x01, 0xc7], false, false); // add %eax,%edi: registers
        check(&[0xff, 0x57, 0x08], false, false); // call *8(%rdi)
        check(&[], false, false);
        check(&[0xf0, 0xf0, 0x48], false, false);
    }
}

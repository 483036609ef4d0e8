//! Memory operands of an x86-64 instruction.

use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};
use relayout_machine::LineAccess;

use crate::insn::aarch64::IndexPart;
use crate::simulated::operands::{
    BasedSegment, BitNumber, IndexRegister, MemoryOperand, StoredValue,
};

/// Returns the operands of an instruction, in the order in which they are accessed; none of a `nop`.
pub fn memory_operands(
    instruction: &Instruction,
    factory: &mut InstructionInfoFactory,
) -> Vec<MemoryOperand> {
    if instruction.mnemonic() == Mnemonic::Nop {
        return Vec::new();
    }
    let (is_locked, bit) = (is_locked(instruction), bit_number(instruction));
    let stored = stored_value(instruction);
    let used = factory.info(instruction).used_memory();
    { used.iter() }
        .filter_map(|used| memory_operand(used, is_locked))
        .map(|operand| MemoryOperand {
            bit,
            stored,
            // Of a string with a prefix, only the instruction knows the size of an element.
            bytes: match operand.bytes {
                0 => instruction.memory_size().size() as u8,
                bytes => bytes,
            },
            ..operand
        })
        .collect()
}

/// Returns true for instructions that no other CPU can interrupt: `xchg` needs no prefix.
pub fn is_locked(instruction: &Instruction) -> bool {
    instruction.has_lock_prefix()
        || (instruction.mnemonic() == Mnemonic::Xchg && instruction.op0_kind() == OpKind::Memory)
}

fn memory_operand(used: &UsedMemory, is_locked: bool) -> Option<MemoryOperand> {
    let access = match used.access() {
        OpAccess::Read | OpAccess::CondRead => LineAccess::Load,
        OpAccess::Write | OpAccess::CondWrite => LineAccess::Store,
        OpAccess::ReadWrite | OpAccess::ReadCondWrite if is_locked => LineAccess::Atomic,
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => LineAccess::Update,
        OpAccess::None | OpAccess::NoMemAccess => return None,
    };
    let segment = match used.segment() {
        Register::FS => Some(BasedSegment::Fs),
        Register::GS => Some(BasedSegment::Gs),
        _ => None,
    };
    let is_relative = used.base() == Register::RIP;
    let base = match used.base() {
        Register::None | Register::RIP => None,
        base => Some(general_register(base)?),
    };
    let index = match used.index() {
        Register::None => None,
        index => Some(IndexRegister {
            number: general_register(index)?,
            part: IndexPart::Whole,
            factor: used.scale() as u8,
        }),
    };
    debug_assert!(!is_relative || index.is_none());
    Some(MemoryOperand {
        base,
        index,
        displacement: used.displacement(),
        segment,
        bit: None,
        access,
        bytes: used.memory_size().size() as u8,
        ordered_bytes: 1,
        alignment: 1,
        is_unseen: false,
        stored: None,
    })
}

/// Returns the register with the number of a bit, of an instruction that has one.
fn bit_number(instruction: &Instruction) -> Option<BitNumber> {
    let is_bit = matches!(
        instruction.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    if !is_bit || instruction.op1_kind() != OpKind::Register {
        return None;
    }
    let register = instruction.op1_register();
    Some(BitNumber {
        register: register.full_register().number() as u8,
        width: 8 * register.size() as u8,
    })
}

/// Returns what a `mov` to memory stores; `None` for other instructions, and for the second byte of a register.
fn stored_value(instruction: &Instruction) -> Option<StoredValue> {
    if instruction.mnemonic() != Mnemonic::Mov || instruction.op0_kind() != OpKind::Memory {
        return None;
    }
    if instruction.op1_kind() != OpKind::Register {
        return Some(StoredValue::Constant(instruction.immediate(1)));
    }
    let register = instruction.op1_register();
    let is_second_byte = matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    );
    (register.is_gpr() && !is_second_byte)
        .then(|| StoredValue::Register(register.full_register().number() as u8))
}

/// Returns the number of a 64-bit general register.
fn general_register(register: Register) -> Option<u8> {
    (register.is_gpr64()).then(|| register.number() as u8)
}

#[cfg(test)]
mod tests {
    use super::super::X86Decoder;
    use super::*;

    const PC: u64 = 0xffff_ffff_8100_0000;

    fn operands(bytes: &[u8]) -> Vec<MemoryOperand> {
        X86Decoder::default().decode(PC, bytes).operands
    }

    fn operand(base: u8, displacement: i64, access: LineAccess, bytes: u8) -> MemoryOperand {
        MemoryOperand {
            base: Some(base),
            index: None,
            displacement: displacement as u64,
            segment: None,
            bit: None,
            access,
            bytes,
            ordered_bytes: 1,
            alignment: 1,
            is_unseen: false,
            stored: None,
        }
    }

    const RBX: u8 = 3;
    const RSP: u8 = 4;
    const RSI: u8 = 6;
    const RDI: u8 = 7;

    #[test]
    fn addresses_by_registers() {
        let check = |bytes: &[u8], expect: &[MemoryOperand]| {
            let mut found = operands(bytes);
            found.iter_mut().for_each(|operand| operand.stored = None);
            assert_eq!(found, expect, "{bytes:02x?}");
        };
        use LineAccess::*;
        check(&[0x48, 0x8b, 0x43, 0x38], &[operand(RBX, 0x38, Load, 8)]); // mov 0x38(%rbx),%rax
        check(
            &[0x48, 0x89, 0x83, 0xf0, 0xff, 0xff, 0xff],
            &[operand(RBX, -16, Store, 8)],
        );
        check(&[0xff, 0x07], &[operand(RDI, 0, Update, 4)]); // incl (%rdi)
        check(&[0xf0, 0x0f, 0xb1, 0x17], &[operand(RDI, 0, Atomic, 4)]); // lock cmpxchg %edx,(%rdi)
        check(&[0x48, 0x87, 0x07], &[operand(RDI, 0, Atomic, 8)]); // xchg %rax,(%rdi)
        check(&[0x41, 0x8b, 0x04, 0x24], &[operand(12, 0, Load, 4)]); // mov (%r12),%eax
        let indexed = MemoryOperand {
            index: Some(IndexRegister {
                number: 9,
                part: IndexPart::Whole,
                factor: 8,
            }),
            ..operand(15, 0x10, Load, 8)
        };
        check(&[0x4b, 0x8b, 0x44, 0xcf, 0x10], &[indexed]); // mov 0x10(%r15,%r9,8),%rax
        let relative = MemoryOperand {
            base: None,
            ..operand(0, (PC + 7 + 0x100) as i64, Load, 8)
        };
        check(&[0x48, 0x8b, 0x05, 0, 1, 0, 0], &[relative]); // mov 0x100(%rip),%rax
        let own = MemoryOperand {
            segment: Some(BasedSegment::Gs),
            ..relative
        };
        check(&[0x65, 0x48, 0x8b, 0x05, 0xff, 0, 0, 0], &[own]); // mov %gs:0xff(%rip),%rax
    }

    #[test]
    fn bits_lie_where_their_number_says() {
        let bit = |bytes: &[u8]| operands(bytes)[0].bit.expect("a bit of a register");
        let long = bit(&[0xf0, 0x48, 0x0f, 0xab, 0x10]); // lock bts %rdx,(%rax)
        assert_eq!((long.register, long.word_offset(200)), (2, 24));
        assert_eq!(long.word_offset(-1i64 as u64), -8i64 as u64);
        let short = bit(&[0x0f, 0xa3, 0x10]); // bt %edx,(%rax)
        assert_eq!(short.word_offset(0xffff_ffff_0000_0021), 4);
        assert_eq!(operands(&[0x0f, 0xba, 0x20, 0x40])[0].bit, None); // btl $0x40,(%rax)
    }

    #[test]
    fn a_plain_store_stores_a_register_or_a_constant() {
        let check = |bytes: &[u8], expect: Option<StoredValue>| {
            assert_eq!(operands(bytes)[0].stored, expect, "{bytes:02x?}");
        };
        check(&[0x89, 0x43, 0x14], Some(StoredValue::Register(0))); // mov %eax,0x14(%rbx)
        check(&[0x44, 0x88, 0x3b], Some(StoredValue::Register(15))); // mov %r15b,(%rbx)
        check(&[0x88, 0x23], None); // mov %ah,(%rbx)
        let minus_one = StoredValue::Constant(u64::MAX);
        check(&[0x48, 0xc7, 0x03, 0xff, 0xff, 0xff, 0xff], Some(minus_one)); // movq $-1,(%rbx)
        check(&[0xc6, 0x03, 0x07], Some(StoredValue::Constant(7))); // movb $7,(%rbx)
        check(&[0x8b, 0x03], None); // mov (%rbx),%eax
        check(&[0x01, 0x03], None); // add %eax,(%rbx)
        check(&[0x0f, 0x11, 0x03], None); // movups %xmm0,(%rbx)
    }

    #[test]
    fn elements_of_strings_have_a_size() {
        let elements = |bytes: &[u8]| operands(bytes)[0].bytes;
        assert_eq!(elements(&[0xf3, 0x48, 0xa5]), 8); // rep movsq
        assert_eq!(elements(&[0xf3, 0x66, 0xab]), 2); // rep stosw
    }

    #[test]
    fn implied_operands() {
        let check = |bytes: &[u8], expect: &[MemoryOperand]| {
            assert_eq!(operands(bytes), expect, "{bytes:02x?}");
        };
        use LineAccess::*;
        check(&[0x53], &[operand(RSP, -8, Store, 8)]); // push %rbx
        check(&[0xc3], &[operand(RSP, 0, Load, 8)]); // ret
        check(&[0xe8, 0, 0, 0, 0], &[operand(RSP, -8, Store, 8)]); // call
        check(
            &[0xa4],
            &[operand(RDI, 0, Store, 1), operand(RSI, 0, Load, 1)],
        ); // movsb
        check(&[0x8d, 0x07], &[]); // lea (%rdi),%eax
        check(&[0x0f, 0x1f, 0x40, 0], &[]); // nopl 0(%rax)
        check(&[0x90], &[]);
        check(&[0x0f, 0x0b], &[]); // ud2
        check(&[], &[]);
    }
}

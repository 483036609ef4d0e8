//! Atomic instructions of x86-64, and the registers that instructions use.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
};

use super::{dwarf_register, writes};
use crate::insn::atomic::{AtomicChange, AtomicInsn, RegisterUse};

fn decode(code: &[u8]) -> Option<Instruction> {
    let code = &code[..code.len().min(15)];
    let insn = Decoder::with_ip(64, code, 0, DecoderOptions::NONE).decode();
    (!insn.is_invalid()).then_some(insn)
}

/// Returns the atomic instruction at the start of `code`: one with a lock prefix, or an exchange
/// with memory, which locks by itself.
pub(super) fn atomic(code: &[u8]) -> Option<AtomicInsn> {
    let insn = decode(code)?;
    let has_memory = (0..insn.op_count()).any(|operand| insn.op_kind(operand) == OpKind::Memory);
    let is_exchange = insn.mnemonic() == Mnemonic::Xchg;
    if !has_memory || !insn.has_lock_prefix() && !is_exchange {
        return None;
    }
    let is_negative = (0..insn.op_count())
        .filter_map(|operand| insn.try_immediate(operand).ok())
        .any(|value| value as i64 <= -1);
    let change = match insn.mnemonic() {
        Mnemonic::Xchg => AtomicChange::Exchange,
        Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b => {
            AtomicChange::CompareExchange
        }
        Mnemonic::Add if is_negative => AtomicChange::Subtract,
        Mnemonic::Sub if is_negative => AtomicChange::Add,
        Mnemonic::Add | Mnemonic::Inc | Mnemonic::Xadd | Mnemonic::Adc => AtomicChange::Add,
        Mnemonic::Sub | Mnemonic::Dec | Mnemonic::Sbb => AtomicChange::Subtract,
        Mnemonic::Or | Mnemonic::Bts => AtomicChange::SetBits,
        Mnemonic::And | Mnemonic::Btr => AtomicChange::ClearBits,
        Mnemonic::Xor | Mnemonic::Btc => AtomicChange::ToggleBits,
        _ => return None,
    };
    let returns_value = matches!(insn.mnemonic(), Mnemonic::Xchg | Mnemonic::Xadd);
    let registers = (0..insn.op_count()).filter(|&op| insn.op_kind(op) == OpKind::Register);
    let result = { registers.map(|operand| insn.op_register(operand)).next() }
        .filter(|_| returns_value)
        .and_then(dwarf_register);
    Some(AtomicInsn {
        change,
        result,
        is_result_used: false,
        sets_flags: insn.rflags_modified() != 0,
        len: insn.len() as u8,
    })
}

/// Returns the registers that the instruction at the start of `code` uses.
pub(super) fn register_use(code: &[u8]) -> Option<RegisterUse> {
    let insn = decode(code)?;
    let mut factory = InstructionInfoFactory::new();
    let mut used = RegisterUse {
        reads_flags: insn.rflags_read() != 0,
        overwrites_flags: insn.rflags_modified() != 0,
        ..RegisterUse::default()
    };
    for register in factory.info(&insn).used_registers() {
        let Some(number) = dwarf_register(register.register()) else {
            continue;
        };
        let reads = matches!(
            register.access(),
            OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        if reads {
            used.reads.insert(number);
        } else if writes(register.access()) {
            used.overwrites.insert(number);
        }
    }
    Some(used)
}

/// Returns true for a return from a function.
pub(super) fn is_return(code: &[u8]) -> bool {
    decode(code).is_some_and(|insn| insn.mnemonic() == Mnemonic::Ret)
}

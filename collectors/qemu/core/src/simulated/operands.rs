//! Memory operands of an instruction, so that addresses are known before it executes.

use iced_x86::{
    Code, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    Register, UsedMemory,
};
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
    /// Use of the memory.
    pub access: LineAccess,
}

/// Segment that does not begin at address 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasedSegment {
    /// `%fs`.
    Fs,
    /// `%gs`.
    Gs,
}

/// Reads the operands of instructions.
pub struct OperandReader {
    factory: InstructionInfoFactory,
}

impl Default for OperandReader {
    fn default() -> Self {
        Self {
            factory: InstructionInfoFactory::new(),
        }
    }
}

impl OperandReader {
    /// Returns the operands of the instruction with these bytes at `pc`, in the order in which they
    /// are accessed; none of an instruction that is not understood.
    pub fn read_operands(&mut self, pc: u64, bytes: &[u8]) -> Vec<MemoryOperand> {
        let instruction = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE).decode();
        if instruction.code() == Code::INVALID || instruction.mnemonic() == Mnemonic::Nop {
            return Vec::new();
        }
        let is_locked = is_locked(&instruction);
        let used = self.factory.info(&instruction).used_memory();
        { used.iter() }
            .filter_map(|used| memory_operand(used, is_locked))
            .collect()
    }
}

/// Returns true for instructions that no other CPU can interrupt: `xchg` needs no prefix.
pub fn is_locked(instruction: &Instruction) -> bool {
    instruction.has_lock_prefix()
        || (instruction.mnemonic() == Mnemonic::Xchg && instruction.op0_kind() == iced_x86::OpKind::Memory)
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
        index => Some((general_register(index)?, used.scale() as u8)),
    };
    debug_assert!(!is_relative || index.is_none());
    Some(MemoryOperand {
        base,
        index,
        displacement: used.displacement(),
        segment,
        access,
    })
}

/// Returns the number of a 64-bit general register.
fn general_register(register: Register) -> Option<u8> {
    (register.is_gpr64()).then(|| register.number() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC: u64 = 0xffff_ffff_8100_0000;

    fn operands(bytes: &[u8]) -> Vec<MemoryOperand> {
        OperandReader::default().read_operands(PC, bytes)
    }

    fn operand(base: u8, displacement: i64, access: LineAccess) -> MemoryOperand {
        MemoryOperand {
            base: Some(base),
            index: None,
            displacement: displacement as u64,
            segment: None,
            access,
        }
    }

    const RBX: u8 = 3;
    const RSP: u8 = 4;
    const RSI: u8 = 6;
    const RDI: u8 = 7;

    #[test]
    fn addresses_by_registers() {
        let check = |bytes: &[u8], expect: &[MemoryOperand]| {
            assert_eq!(operands(bytes), expect, "{bytes:02x?}");
        };
        use LineAccess::*;
        check(&[0x48, 0x8b, 0x43, 0x38], &[operand(RBX, 0x38, Load)]); // mov 0x38(%rbx),%rax
        check(&[0x48, 0x89, 0x83, 0xf0, 0xff, 0xff, 0xff], &[operand(RBX, -16, Store)]);
        check(&[0xff, 0x07], &[operand(RDI, 0, Update)]); // incl (%rdi)
        check(&[0xf0, 0x0f, 0xb1, 0x17], &[operand(RDI, 0, Atomic)]); // lock cmpxchg %edx,(%rdi)
        check(&[0x48, 0x87, 0x07], &[operand(RDI, 0, Atomic)]); // xchg %rax,(%rdi)
        check(&[0x41, 0x8b, 0x04, 0x24], &[operand(12, 0, Load)]); // mov (%r12),%eax
        let indexed = MemoryOperand { index: Some((9, 8)), ..operand(15, 0x10, Load) };
        check(&[0x4b, 0x8b, 0x44, 0xcf, 0x10], &[indexed]); // mov 0x10(%r15,%r9,8),%rax
        let relative = MemoryOperand { base: None, ..operand(0, (PC + 7 + 0x100) as i64, Load) };
        check(&[0x48, 0x8b, 0x05, 0, 1, 0, 0], &[relative]); // mov 0x100(%rip),%rax
        let own = MemoryOperand { segment: Some(BasedSegment::Gs), ..relative };
        check(&[0x65, 0x48, 0x8b, 0x05, 0xff, 0, 0, 0], &[own]); // mov %gs:0xff(%rip),%rax
    }

    #[test]
    fn implied_operands() {
        let check = |bytes: &[u8], expect: &[MemoryOperand]| {
            assert_eq!(operands(bytes), expect, "{bytes:02x?}");
        };
        use LineAccess::*;
        check(&[0x53], &[operand(RSP, -8, Store)]); // push %rbx
        check(&[0xc3], &[operand(RSP, 0, Load)]); // ret
        check(&[0xe8, 0, 0, 0, 0], &[operand(RSP, -8, Store)]); // call
        check(&[0xa4], &[operand(RDI, 0, Store), operand(RSI, 0, Load)]); // movsb
        check(&[0x8d, 0x07], &[]); // lea (%rdi),%eax
        check(&[0x0f, 0x1f, 0x40, 0], &[]); // nopl 0(%rax)
        check(&[0x90], &[]);
        check(&[0x0f, 0x0b], &[]); // ud2
        check(&[], &[]);
    }
}

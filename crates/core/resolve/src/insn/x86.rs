//! x86-64, decoded with iced-x86.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register, UsedMemory,
};

use super::atomic::{AtomicInsn, RegisterUse};
use super::{
    AddressSegment, DecodedInsn, DwarfRegister, Effects, InsnEffect, InsnFlow, InstructionSet,
    MemoryOperand, OPERANDS_MAX, RegSet,
};

mod atomic;

/// x86-64 with the System V calling convention.
#[derive(Clone, Copy, Debug, Default)]
pub struct X86InsnSet;

/// Returns the number of string instructions with a repeat prefix, such as `rep movsq`, in the code
/// of a function.
///
/// ```
/// use relayout_resolve::insn::x86::count_repeated_strings;
///
/// assert_eq!(count_repeated_strings(&[0xf3, 0x48, 0xa5, 0xc3]), 1, "rep movsq; ret");
/// assert_eq!(count_repeated_strings(&[0x48, 0xa5, 0xf3, 0xc3]), 0, "movsq; rep ret");
/// ```
pub fn count_repeated_strings(code: &[u8]) -> u32 {
    // Few functions need to be decoded.
    let may_have = code.windows(3).any(|bytes| {
        let is_string = |byte: u8| matches!(byte, 0xa4..=0xa7 | 0xaa | 0xab | 0xae | 0xaf);
        matches!(bytes[0], 0xf2 | 0xf3) && (is_string(bytes[1]) || is_string(bytes[2]))
    });
    if !may_have {
        return 0;
    }
    let instructions = Decoder::new(64, code, DecoderOptions::NONE).into_iter();
    let repeated = instructions.filter(|insn| {
        insn.is_string_instruction() && (insn.has_repe_prefix() || insn.has_repne_prefix())
    });
    repeated.count() as u32
}

impl InstructionSet for X86InsnSet {
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<DecodedInsn> {
        let bytes = &bytes[..bytes.len().min(15)];
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let insn = decoder.decode();
        if insn.is_invalid() {
            return None;
        }
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&insn);
        let used = info.used_memory().iter().filter_map(|m| operand(&insn, m));
        let memory = join_operands(used);
        let mut clobbers = RegSet::default();
        for used in info.used_registers() {
            if writes(used.access()) {
                clobbers.0 |= dwarf_register(used.register()).map_or(0, |r| 1 << r.0);
            }
        }
        Some(DecodedInsn {
            address,
            len: insn.len() as u8,
            memory,
            effects: effects(&insn, &memory),
            clobbers,
            flow: flow(&insn),
        })
    }

    fn atomic(&self, bytes: &[u8]) -> Option<AtomicInsn> {
        atomic::atomic(bytes)
    }

    fn register_use(&self, bytes: &[u8]) -> Option<RegisterUse> {
        atomic::register_use(bytes)
    }

    fn is_return(&self, bytes: &[u8]) -> bool {
        atomic::is_return(bytes)
    }

    fn call_clobbers(&self) -> RegSet {
        // rax, rdx, rcx, rsi, rdi, r8 to r11
        RegSet(1 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8)
    }

    fn result_register(&self) -> DwarfRegister {
        DwarfRegister(0)
    }

    fn parameter_register(&self, number: u8) -> Option<DwarfRegister> {
        // rdi, rsi, rdx, rcx, r8, r9
        const PARAMETERS: [u8; 6] = [5, 4, 1, 2, 8, 9];
        PARAMETERS
            .get(usize::from(number))
            .copied()
            .map(DwarfRegister)
    }

    fn is_thread_pointer(&self, memory: &MemoryOperand) -> bool {
        let alone = memory.base.is_none() && memory.index.is_none();
        memory.segment == AddressSegment::Local && alone && memory.displacement == 0
    }

    fn thread_local(&self, offset: u64, segment_bytes: u64, segment_align: u64) -> Option<u64> {
        // Variant II of the ELF TLS ABI: the segment ends at the thread pointer.
        let below = segment_bytes.checked_next_multiple_of(segment_align)?;
        Some(offset.wrapping_add(below))
    }

    fn register_by_name(&self, name: &str) -> Option<DwarfRegister> {
        const LOW: [&str; 8] = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];
        if let Some(n) = LOW.iter().position(|low| *low == name) {
            return Some(DwarfRegister(n as u8));
        }
        let n = name.strip_prefix('r')?.parse().ok()?;
        (8..16).contains(&n).then_some(DwarfRegister(n))
    }

    fn stack_pointer(&self) -> DwarfRegister {
        DwarfRegister(7)
    }

    fn entry_stack_offset(&self) -> i64 {
        -8
    }
}

/// Returns the DWARF number of a general-purpose register, given by any of its parts.
fn dwarf_register(register: Register) -> Option<DwarfRegister> {
    // iced orders rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ...; DWARF does not.
    const DWARF: [u8; 8] = [0, 2, 1, 3, 7, 6, 4, 5];
    let full = register.full_register();
    if !full.is_gpr64() {
        return None;
    }
    let n = full.number();
    Some(DwarfRegister(DWARF.get(n).copied().unwrap_or(n as u8)))
}

/// Returns the register that an operand names as a whole pointer: only 64-bit names do.
fn pointer_register(register: Register) -> Option<DwarfRegister> {
    register
        .is_gpr64()
        .then(|| dwarf_register(register))
        .flatten()
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn segment(register: Register) -> AddressSegment {
    match register {
        Register::GS | Register::FS => AddressSegment::Local,
        _ => AddressSegment::Flat,
    }
}

/// Returns true for operands that are accessed piece by piece: areas such as that of `xsave`, whose
/// size is not fixed (0) or exceeds any register.
fn walks_memory(bytes: usize) -> bool {
    bytes == 0 || bytes > 64
}

fn operand(insn: &Instruction, used: &UsedMemory) -> Option<MemoryOperand> {
    let (reads, writes) = (reads(used.access()), writes(used.access()));
    if !reads && !writes {
        return None;
    }
    // Gathers and scatters have a vector register as the index.
    let vector = used.index() != Register::None && dwarf_register(used.index()).is_none();
    let walks = vector || walks_memory(used.memory_size().size());
    // The number of a bit in a register may select another word.
    let word = bit_number(insn).map(|r| (r, 8));
    Some(MemoryOperand {
        segment: segment(used.segment()),
        base: dwarf_register(used.base()),
        index: word.or(dwarf_register(used.index()).map(|r| (r, used.scale() as u8))),
        displacement: used.displacement() as i64,
        bytes: used.memory_size().size() as u32,
        reads,
        writes,
        string: insn.is_string_instruction() || walks,
    })
}

/// Returns the register that counts bits from the start of the operand of `bt`, `bts`, `btr` or
/// `btc`.
fn bit_number(insn: &Instruction) -> Option<DwarfRegister> {
    let is_bit = matches!(
        insn.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    let of_memory = insn.op0_kind() == OpKind::Memory && insn.op1_kind() == OpKind::Register;
    (is_bit && of_memory)
        .then(|| dwarf_register(insn.op1_register()))
        .flatten()
}

/// Merges adjacent operands: `iretq` pops five words.
fn join_operands(
    operands: impl Iterator<Item = MemoryOperand>,
) -> [Option<MemoryOperand>; OPERANDS_MAX] {
    let mut joined: [Option<MemoryOperand>; OPERANDS_MAX] = [None; OPERANDS_MAX];
    for operand in operands {
        if joined
            .iter_mut()
            .flatten()
            .any(|known| join_adjacent(known, &operand))
        {
            continue;
        }
        if let Some(free) = joined.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(operand);
        }
    }
    joined
}

/// Merges `next` into `first` if it is adjacent and accessed alike. Returns true if so.
fn join_adjacent(first: &mut MemoryOperand, next: &MemoryOperand) -> bool {
    let start = first.displacement.min(next.displacement);
    let lower = if start == first.displacement {
        *first
    } else {
        *next
    };
    let upper = if start == first.displacement {
        *next
    } else {
        *first
    };
    let whole = MemoryOperand {
        displacement: start,
        bytes: first.bytes.saturating_add(next.bytes),
        ..*first
    };
    let alike = MemoryOperand {
        displacement: first.displacement,
        bytes: first.bytes,
        ..*next
    } == *first;
    let adjacent =
        lower.displacement.checked_add(i64::from(lower.bytes)) == Some(upper.displacement);
    let joins = alike && adjacent && !first.string && first.base.is_some();
    if joins {
        *first = whole;
    }
    joins
}

/// Returns the explicit operand of `lea`, which accesses no memory.
fn address_operand(insn: &Instruction) -> MemoryOperand {
    MemoryOperand {
        segment: AddressSegment::Flat,
        base: if insn.is_ip_rel_memory_operand() {
            None
        } else {
            dwarf_register(insn.memory_base())
        },
        index: dwarf_register(insn.memory_index()).map(|r| (r, insn.memory_index_scale() as u8)),
        displacement: insn.memory_displacement64() as i64,
        bytes: 0,
        reads: false,
        writes: false,
        string: false,
    }
}

fn flow(insn: &Instruction) -> InsnFlow {
    match insn.flow_control() {
        FlowControl::Next => InsnFlow::Next,
        FlowControl::UnconditionalBranch => InsnFlow::Jump(insn.near_branch_target()),
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => match insn.code() {
            Code::Xend | Code::Xabort_imm8 => InsnFlow::Next,
            _ => InsnFlow::Branch(insn.near_branch_target()),
        },
        FlowControl::Call if insn.op0_kind() == OpKind::NearBranch64 => {
            InsnFlow::Call(Some(insn.near_branch_target()))
        }
        FlowControl::Call | FlowControl::IndirectCall => InsnFlow::Call(None),
        FlowControl::IndirectBranch | FlowControl::Return => InsnFlow::Stop,
        // ud2 ends WARN(), after which the kernel continues; BUG() marks its end as unreachable
        // itself.
        FlowControl::Exception | FlowControl::Interrupt => InsnFlow::Next,
    }
}

fn effects(insn: &Instruction, memory: &[Option<MemoryOperand>; OPERANDS_MAX]) -> Effects {
    match insn.mnemonic() {
        Mnemonic::Push => push(insn, memory),
        Mnemonic::Pop => pop(insn, memory),
        Mnemonic::Mov => single_effect(mov(insn, memory)),
        Mnemonic::Lea => single_effect(lea(insn)),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec => {
            single_effect(add(insn, memory))
        }
        Mnemonic::Imul | Mnemonic::Shl | Mnemonic::Sal => single_effect(multiply(insn)),
        Mnemonic::Movsxd | Mnemonic::Cdqe => single_effect(extend(insn)),
        Mnemonic::Xor => single_effect(zero_idiom(insn)),
        Mnemonic::Xchg => single_effect(xchg(insn, memory)),
        m if is_cmov(m) => single_effect(select(insn)),
        _ => Effects::default(),
    }
}

fn single_effect(effect: Option<InsnEffect>) -> Effects {
    [effect, None, None]
}

fn push(insn: &Instruction, memory: &[Option<MemoryOperand>; OPERANDS_MAX]) -> Effects {
    let move_stack = InsnEffect::AddConstant {
        dst: DwarfRegister(7),
        value: i64::from(insn.stack_pointer_increment()),
    };
    let stored = memory.iter().flatten().find(|m| m.writes).copied();
    let store = pointer_register(insn.op0_register())
        .zip(stored)
        .map(|(src, memory)| InsnEffect::Store { memory, src });
    // The operand is relative to the stack pointer before the push.
    [store.or(Some(move_stack)), store.map(|_| move_stack), None]
}

fn pop(insn: &Instruction, memory: &[Option<MemoryOperand>; OPERANDS_MAX]) -> Effects {
    let move_stack = InsnEffect::AddConstant {
        dst: DwarfRegister(7),
        value: i64::from(insn.stack_pointer_increment()),
    };
    let loaded = memory.iter().flatten().find(|m| m.reads).copied();
    let load = pointer_register(insn.op0_register())
        .zip(loaded)
        .map(|(dst, memory)| InsnEffect::Load { dst, memory });
    [load.or(Some(move_stack)), load.map(|_| move_stack), None]
}

fn mov(insn: &Instruction, memory: &[Option<MemoryOperand>; OPERANDS_MAX]) -> Option<InsnEffect> {
    match (insn.op0_kind(), insn.op1_kind()) {
        (OpKind::Register, OpKind::Register) if insn.op0_register().is_gpr32() => extend(insn),
        (OpKind::Register, OpKind::Register) => Some(InsnEffect::Copy {
            dst: pointer_register(insn.op0_register())?,
            src: pointer_register(insn.op1_register())?,
        }),
        (OpKind::Register, OpKind::Memory) => Some(InsnEffect::Load {
            dst: pointer_register(insn.op0_register())?,
            memory: memory[0]?,
        }),
        (OpKind::Memory, OpKind::Register) => Some(InsnEffect::Store {
            memory: memory[0]?,
            src: pointer_register(insn.op1_register())?,
        }),
        (OpKind::Register, OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64) => {
            Some(InsnEffect::Constant {
                dst: number_register(insn.op0_register())?,
                value: insn.immediate(1),
            })
        }
        _ => None,
    }
}

fn lea(insn: &Instruction) -> Option<InsnEffect> {
    let dst = pointer_register(insn.op0_register())?;
    Some(InsnEffect::Address {
        dst,
        memory: address_operand(insn),
    })
}

fn add(insn: &Instruction, memory: &[Option<MemoryOperand>; OPERANDS_MAX]) -> Option<InsnEffect> {
    if insn.op0_kind() != OpKind::Register {
        return None;
    }
    let dst = pointer_register(insn.op0_register())?;
    let constant = |value: i64| Some(InsnEffect::AddConstant { dst, value });
    let negative = insn.mnemonic() == Mnemonic::Sub;
    match insn.mnemonic() {
        Mnemonic::Inc => return constant(1),
        Mnemonic::Dec => return constant(-1),
        _ => {}
    }
    match insn.op1_kind() {
        OpKind::Immediate8to64 | OpKind::Immediate32to64 => {
            let value = insn.immediate(1) as i64;
            constant(if negative {
                value.wrapping_neg()
            } else {
                value
            })
        }
        OpKind::Register => {
            let src = pointer_register(insn.op1_register())?;
            Some(match negative {
                false => InsnEffect::AddRegister { dst, src },
                true => InsnEffect::Subtract {
                    dst,
                    from: dst,
                    subtrahend: src,
                    scale: 1,
                },
            })
        }
        OpKind::Memory if !negative => Some(InsnEffect::AddMemory {
            dst,
            memory: memory[0]?,
        }),
        _ => None,
    }
}

/// Returns the effect of a multiplication by a constant.
fn multiply(insn: &Instruction) -> Option<InsnEffect> {
    let dst = number_register(insn.op0_register())?;
    let (src, by) = match insn.mnemonic() {
        Mnemonic::Imul if insn.op_count() == 3 && insn.op1_kind() == OpKind::Register => {
            (number_register(insn.op1_register())?, insn.immediate(2))
        }
        Mnemonic::Shl | Mnemonic::Sal if insn.op1_kind() == OpKind::Immediate8 => {
            (dst, 1u64.checked_shl(u32::from(insn.immediate8()))?)
        }
        _ => return None,
    };
    Some(InsnEffect::Multiply { dst, src, by })
}

/// Returns the effect of `mov %eax,%edx`, `movslq %eax,%rdx` or `cltq`.
fn extend(insn: &Instruction) -> Option<InsnEffect> {
    if insn.mnemonic() == Mnemonic::Cdqe {
        let (dst, src) = (DwarfRegister(0), DwarfRegister(0));
        return Some(InsnEffect::Extend { dst, src });
    }
    let registers = insn.op0_kind() == OpKind::Register && insn.op1_kind() == OpKind::Register;
    registers.then_some(())?;
    Some(InsnEffect::Extend {
        dst: number_register(insn.op0_register())?,
        src: number_register(insn.op1_register())?,
    })
}

/// Returns the register if it is written as a whole, including zeroing of its upper half.
fn number_register(register: Register) -> Option<DwarfRegister> {
    let whole = register.is_gpr32() || register.is_gpr64();
    whole.then(|| dwarf_register(register)).flatten()
}

/// Returns the effect of `xor %eax, %eax`.
fn zero_idiom(insn: &Instruction) -> Option<InsnEffect> {
    let (a, b) = (insn.op0_register(), insn.op1_register());
    let same = insn.op0_kind() == OpKind::Register && insn.op1_kind() == OpKind::Register && a == b;
    let dst = number_register(a).filter(|_| same)?;
    Some(InsnEffect::Constant { dst, value: 0 })
}

fn xchg(insn: &Instruction, memory: &[Option<MemoryOperand>; OPERANDS_MAX]) -> Option<InsnEffect> {
    let memory = memory[0].filter(|_| insn.op1_kind() == OpKind::Register)?;
    let dst = pointer_register(insn.op1_register())?;
    Some(InsnEffect::Load { dst, memory })
}

fn is_cmov(mnemonic: Mnemonic) -> bool {
    use Mnemonic::{
        Cmova, Cmovae, Cmovb, Cmovbe, Cmove, Cmovg, Cmovge, Cmovl, Cmovle, Cmovne, Cmovno, Cmovnp,
        Cmovns, Cmovo, Cmovp, Cmovs,
    };
    matches!(
        mnemonic,
        Cmova
            | Cmovae
            | Cmovb
            | Cmovbe
            | Cmove
            | Cmovg
            | Cmovge
            | Cmovl
            | Cmovle
            | Cmovne
            | Cmovno
            | Cmovnp
            | Cmovns
            | Cmovo
            | Cmovp
            | Cmovs
    )
}

fn select(insn: &Instruction) -> Option<InsnEffect> {
    if insn.op1_kind() != OpKind::Register {
        return None;
    }
    let dst = pointer_register(insn.op0_register())?;
    let src = pointer_register(insn.op1_register())?;
    Some(InsnEffect::Select {
        dst,
        either: [dst, src],
    })
}

#[cfg(test)]
mod tests;

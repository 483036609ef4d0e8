//! x86-64, decoded with iced-x86.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register, UsedMemory,
};

use super::{Effect, Effects, Flow, Insn, Machine, Memory, OPERANDS_MAX, Reg, RegSet, Segment};

/// x86-64 with the System V calling convention.
#[derive(Clone, Copy, Debug, Default)]
pub struct X86_64;

impl Machine for X86_64 {
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<Insn> {
        let bytes = &bytes[..bytes.len().min(15)];
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let insn = decoder.decode();
        if insn.is_invalid() {
            return None;
        }
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&insn);
        let used = info.used_memory().iter().filter_map(|m| operand(&insn, m));
        let memory = joined(used);
        let mut clobbers = RegSet::default();
        for used in info.used_registers() {
            if writes(used.access()) {
                clobbers.0 |= reg(used.register()).map_or(0, |r| 1 << r.0);
            }
        }
        Some(Insn {
            address,
            len: insn.len() as u8,
            memory,
            effects: effects(&insn, &memory),
            clobbers,
            flow: flow(&insn),
        })
    }

    fn call_clobbers(&self) -> RegSet {
        // rax, rdx, rcx, rsi, rdi, r8 to r11
        RegSet(1 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8)
    }

    fn result(&self) -> Reg {
        Reg(0)
    }

    fn parameter(&self, number: u8) -> Option<Reg> {
        // rdi, rsi, rdx, rcx, r8, r9
        const PARAMETERS: [u8; 6] = [5, 4, 1, 2, 8, 9];
        PARAMETERS.get(usize::from(number)).copied().map(Reg)
    }

    fn is_thread_pointer(&self, memory: &Memory) -> bool {
        let alone = memory.base.is_none() && memory.index.is_none();
        memory.segment == Segment::Local && alone && memory.displacement == 0
    }

    fn thread_local(&self, offset: u64, segment_bytes: u64, segment_align: u64) -> Option<u64> {
        // Variant II of the ELF TLS ABI: the segment ends where the thread pointer points.
        let below = segment_bytes.checked_next_multiple_of(segment_align)?;
        Some(offset.wrapping_add(below))
    }

    fn register(&self, name: &str) -> Option<Reg> {
        const LOW: [&str; 8] = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"];
        if let Some(n) = LOW.iter().position(|low| *low == name) {
            return Some(Reg(n as u8));
        }
        let n = name.strip_prefix('r')?.parse().ok()?;
        (8..16).contains(&n).then_some(Reg(n))
    }

    fn stack_pointer(&self) -> Reg {
        Reg(7)
    }

    fn entry_stack_offset(&self) -> i64 {
        -8
    }
}

/// The DWARF number of a general-purpose register, by any of its parts.
fn reg(register: Register) -> Option<Reg> {
    // iced orders rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ...; DWARF does not.
    const DWARF: [u8; 8] = [0, 2, 1, 3, 7, 6, 4, 5];
    let full = register.full_register();
    if !full.is_gpr64() {
        return None;
    }
    let n = full.number();
    Some(Reg(DWARF.get(n).copied().unwrap_or(n as u8)))
}

/// A register as a whole pointer: only the 64-bit name qualifies.
fn pointer(register: Register) -> Option<Reg> {
    register.is_gpr64().then(|| reg(register)).flatten()
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

fn segment(register: Register) -> Segment {
    match register {
        Register::GS | Register::FS => Segment::Local,
        _ => Segment::Flat,
    }
}

/// Whether an operand of so many bytes is accessed piece by piece: the areas of `xsave` and the
/// like, whose size is not fixed (0) or larger than any register.
fn walks(bytes: usize) -> bool {
    bytes == 0 || bytes > 64
}

fn operand(insn: &Instruction, used: &UsedMemory) -> Option<Memory> {
    let (reads, writes) = (reads(used.access()), writes(used.access()));
    if !reads && !writes {
        return None;
    }
    // Gathers and scatters: the index is a register of many.
    let vector = used.index() != Register::None && reg(used.index()).is_none();
    let walks = vector || walks(used.memory_size().size());
    // A bit's number in a register may be that of a bit in another word.
    let word = bit_number(insn).map(|r| (r, 8));
    Some(Memory {
        segment: segment(used.segment()),
        base: reg(used.base()),
        index: word.or(reg(used.index()).map(|r| (r, used.scale() as u8))),
        displacement: used.displacement() as i64,
        bytes: used.memory_size().size() as u32,
        reads,
        writes,
        string: insn.is_string_instruction() || walks,
    })
}

/// The register that counts bits from the start of the operand of `bt`, `bts`, `btr` or `btc`.
fn bit_number(insn: &Instruction) -> Option<Reg> {
    let is_bit = matches!(
        insn.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    let of_memory = insn.op0_kind() == OpKind::Memory && insn.op1_kind() == OpKind::Register;
    (is_bit && of_memory)
        .then(|| reg(insn.op1_register()))
        .flatten()
}

/// Operands, of which those that follow each other count as one: `iretq` pops five words.
fn joined(all: impl Iterator<Item = Memory>) -> [Option<Memory>; OPERANDS_MAX] {
    let mut joined: [Option<Memory>; OPERANDS_MAX] = [None; OPERANDS_MAX];
    for operand in all {
        if joined
            .iter_mut()
            .flatten()
            .any(|known| join(known, &operand))
        {
            continue;
        }
        if let Some(free) = joined.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(operand);
        }
    }
    joined
}

/// Makes `next` a part of `first` if it lies right behind or before it and is accessed alike.
fn join(first: &mut Memory, next: &Memory) -> bool {
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
    let whole = Memory {
        displacement: start,
        bytes: first.bytes.saturating_add(next.bytes),
        ..*first
    };
    let alike = Memory {
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

/// The explicit operand of `lea`, which accesses nothing.
fn address_operand(insn: &Instruction) -> Memory {
    Memory {
        segment: Segment::Flat,
        base: if insn.is_ip_rel_memory_operand() {
            None
        } else {
            reg(insn.memory_base())
        },
        index: reg(insn.memory_index()).map(|r| (r, insn.memory_index_scale() as u8)),
        displacement: insn.memory_displacement64() as i64,
        bytes: 0,
        reads: false,
        writes: false,
        string: false,
    }
}

fn flow(insn: &Instruction) -> Flow {
    match insn.flow_control() {
        FlowControl::Next => Flow::Next,
        FlowControl::UnconditionalBranch => Flow::Jump(insn.near_branch_target()),
        FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => match insn.code() {
            Code::Xend | Code::Xabort_imm8 => Flow::Next,
            _ => Flow::Branch(insn.near_branch_target()),
        },
        FlowControl::Call if insn.op0_kind() == OpKind::NearBranch64 => {
            Flow::Call(Some(insn.near_branch_target()))
        }
        FlowControl::Call | FlowControl::IndirectCall => Flow::Call(None),
        FlowControl::IndirectBranch | FlowControl::Return => Flow::Stop,
        // ud2 ends WARN(), after which the kernel goes on; BUG() marks it unreachable itself.
        FlowControl::Exception | FlowControl::Interrupt => Flow::Next,
    }
}

fn effects(insn: &Instruction, memory: &[Option<Memory>; OPERANDS_MAX]) -> Effects {
    match insn.mnemonic() {
        Mnemonic::Push => push(insn, memory),
        Mnemonic::Pop => pop(insn, memory),
        Mnemonic::Mov => one(mov(insn, memory)),
        Mnemonic::Lea => one(lea(insn)),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec => one(add(insn, memory)),
        Mnemonic::Imul | Mnemonic::Shl | Mnemonic::Sal => one(multiply(insn)),
        Mnemonic::Movsxd | Mnemonic::Cdqe => one(extend(insn)),
        Mnemonic::Xor => one(zero(insn)),
        Mnemonic::Xchg => one(xchg(insn, memory)),
        m if is_cmov(m) => one(select(insn)),
        _ => Effects::default(),
    }
}

fn one(effect: Option<Effect>) -> Effects {
    [effect, None, None]
}

fn push(insn: &Instruction, memory: &[Option<Memory>; OPERANDS_MAX]) -> Effects {
    let move_stack = Effect::AddConstant {
        dst: Reg(7),
        value: i64::from(insn.stack_pointer_increment()),
    };
    let stored = memory.iter().flatten().find(|m| m.writes).copied();
    let store = pointer(insn.op0_register())
        .zip(stored)
        .map(|(src, memory)| Effect::Store { memory, src });
    // The operand is relative to the stack pointer before the push.
    [store.or(Some(move_stack)), store.map(|_| move_stack), None]
}

fn pop(insn: &Instruction, memory: &[Option<Memory>; OPERANDS_MAX]) -> Effects {
    let move_stack = Effect::AddConstant {
        dst: Reg(7),
        value: i64::from(insn.stack_pointer_increment()),
    };
    let loaded = memory.iter().flatten().find(|m| m.reads).copied();
    let load = pointer(insn.op0_register())
        .zip(loaded)
        .map(|(dst, memory)| Effect::Load { dst, memory });
    [load.or(Some(move_stack)), load.map(|_| move_stack), None]
}

fn mov(insn: &Instruction, memory: &[Option<Memory>; OPERANDS_MAX]) -> Option<Effect> {
    match (insn.op0_kind(), insn.op1_kind()) {
        (OpKind::Register, OpKind::Register) if insn.op0_register().is_gpr32() => extend(insn),
        (OpKind::Register, OpKind::Register) => Some(Effect::Copy {
            dst: pointer(insn.op0_register())?,
            src: pointer(insn.op1_register())?,
        }),
        (OpKind::Register, OpKind::Memory) => Some(Effect::Load {
            dst: pointer(insn.op0_register())?,
            memory: memory[0]?,
        }),
        (OpKind::Memory, OpKind::Register) => Some(Effect::Store {
            memory: memory[0]?,
            src: pointer(insn.op1_register())?,
        }),
        (OpKind::Register, OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64) => {
            Some(Effect::Constant {
                dst: number(insn.op0_register())?,
                value: insn.immediate(1),
            })
        }
        _ => None,
    }
}

fn lea(insn: &Instruction) -> Option<Effect> {
    let dst = pointer(insn.op0_register())?;
    Some(Effect::Address {
        dst,
        memory: address_operand(insn),
    })
}

fn add(insn: &Instruction, memory: &[Option<Memory>; OPERANDS_MAX]) -> Option<Effect> {
    if insn.op0_kind() != OpKind::Register {
        return None;
    }
    let dst = pointer(insn.op0_register())?;
    let constant = |value: i64| Some(Effect::AddConstant { dst, value });
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
            let src = pointer(insn.op1_register())?;
            Some(match negative {
                false => Effect::AddRegister { dst, src },
                true => Effect::Subtract {
                    dst,
                    from: dst,
                    what: src,
                    scale: 1,
                },
            })
        }
        OpKind::Memory if !negative => Some(Effect::AddMemory {
            dst,
            memory: memory[0]?,
        }),
        _ => None,
    }
}

/// By a constant.
fn multiply(insn: &Instruction) -> Option<Effect> {
    let dst = number(insn.op0_register())?;
    let (src, by) = match insn.mnemonic() {
        Mnemonic::Imul if insn.op_count() == 3 && insn.op1_kind() == OpKind::Register => {
            (number(insn.op1_register())?, insn.immediate(2))
        }
        Mnemonic::Shl | Mnemonic::Sal if insn.op1_kind() == OpKind::Immediate8 => {
            (dst, 1u64.checked_shl(u32::from(insn.immediate8()))?)
        }
        _ => return None,
    };
    Some(Effect::Multiply { dst, src, by })
}

/// `mov %eax,%edx`, `movslq %eax,%rdx`, `cltq`
fn extend(insn: &Instruction) -> Option<Effect> {
    if insn.mnemonic() == Mnemonic::Cdqe {
        let (dst, src) = (Reg(0), Reg(0));
        return Some(Effect::Extend { dst, src });
    }
    let registers = insn.op0_kind() == OpKind::Register && insn.op1_kind() == OpKind::Register;
    registers.then_some(())?;
    Some(Effect::Extend {
        dst: number(insn.op0_register())?,
        src: number(insn.op1_register())?,
    })
}

/// A register that is written as a whole, if only to zero the upper half.
fn number(register: Register) -> Option<Reg> {
    let whole = register.is_gpr32() || register.is_gpr64();
    whole.then(|| reg(register)).flatten()
}

/// `xor %eax, %eax`
fn zero(insn: &Instruction) -> Option<Effect> {
    let (a, b) = (insn.op0_register(), insn.op1_register());
    let same = insn.op0_kind() == OpKind::Register && insn.op1_kind() == OpKind::Register && a == b;
    let dst = number(a).filter(|_| same)?;
    Some(Effect::Constant { dst, value: 0 })
}

fn xchg(insn: &Instruction, memory: &[Option<Memory>; OPERANDS_MAX]) -> Option<Effect> {
    let memory = memory[0].filter(|_| insn.op1_kind() == OpKind::Register)?;
    let dst = pointer(insn.op1_register())?;
    Some(Effect::Load { dst, memory })
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

fn select(insn: &Instruction) -> Option<Effect> {
    if insn.op1_kind() != OpKind::Register {
        return None;
    }
    let dst = pointer(insn.op0_register())?;
    let src = pointer(insn.op1_register())?;
    Some(Effect::Select {
        dst,
        either: [dst, src],
    })
}

#[cfg(test)]
mod tests;

//! x86-64, decoded with iced-x86.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register, UsedMemory,
};

use super::{Effect, Flow, Insn, Machine, Memory, Reg, RegSet, Segment};

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
        let mut memory = [None; 2];
        let used = info.used_memory().iter().filter_map(|m| operand(&insn, m));
        for (slot, operand) in memory.iter_mut().zip(used) {
            *slot = Some(operand);
        }
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
    Some(Memory {
        segment: segment(used.segment()),
        base: reg(used.base()),
        index: reg(used.index()).map(|r| (r, used.scale() as u8)),
        displacement: used.displacement() as i64,
        bytes: used.memory_size().size() as u32,
        reads,
        writes,
        string: insn.is_string_instruction() || walks(used.memory_size().size()),
    })
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

fn effects(insn: &Instruction, memory: &[Option<Memory>; 2]) -> [Option<Effect>; 2] {
    match insn.mnemonic() {
        Mnemonic::Push => push(insn, memory),
        Mnemonic::Pop => pop(insn, memory),
        Mnemonic::Mov => [mov(insn, memory), None],
        Mnemonic::Lea => [lea(insn), None],
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec => [add(insn, memory), None],
        Mnemonic::Xor => [zero(insn), None],
        Mnemonic::Xchg => xchg(insn, memory),
        m if is_cmov(m) => [select(insn), None],
        _ => [None, None],
    }
}

fn push(insn: &Instruction, memory: &[Option<Memory>; 2]) -> [Option<Effect>; 2] {
    let move_stack = Effect::AddConstant {
        dst: Reg(7),
        value: i64::from(insn.stack_pointer_increment()),
    };
    let stored = memory.iter().flatten().find(|m| m.writes).copied();
    let store = pointer(insn.op0_register())
        .zip(stored)
        .map(|(src, memory)| Effect::Store { memory, src });
    // The operand is relative to the stack pointer before the push.
    [store.or(Some(move_stack)), store.map(|_| move_stack)]
}

fn pop(insn: &Instruction, memory: &[Option<Memory>; 2]) -> [Option<Effect>; 2] {
    let move_stack = Effect::AddConstant {
        dst: Reg(7),
        value: i64::from(insn.stack_pointer_increment()),
    };
    let loaded = memory.iter().flatten().find(|m| m.reads).copied();
    let load = pointer(insn.op0_register())
        .zip(loaded)
        .map(|(dst, memory)| Effect::Load { dst, memory });
    [load.or(Some(move_stack)), load.map(|_| move_stack)]
}

fn mov(insn: &Instruction, memory: &[Option<Memory>; 2]) -> Option<Effect> {
    match (insn.op0_kind(), insn.op1_kind()) {
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
            let whole = insn.op0_register().is_gpr64() || insn.op0_register().is_gpr32();
            let dst = whole.then(|| reg(insn.op0_register())).flatten()?;
            Some(Effect::Constant {
                dst,
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

fn add(insn: &Instruction, memory: &[Option<Memory>; 2]) -> Option<Effect> {
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
        OpKind::Register if !negative => Some(Effect::AddRegister {
            dst,
            src: pointer(insn.op1_register())?,
        }),
        OpKind::Memory if !negative => Some(Effect::AddMemory {
            dst,
            memory: memory[0]?,
        }),
        _ => None,
    }
}

/// `xor %eax, %eax`
fn zero(insn: &Instruction) -> Option<Effect> {
    let (a, b) = (insn.op0_register(), insn.op1_register());
    let same = insn.op0_kind() == OpKind::Register && insn.op1_kind() == OpKind::Register && a == b;
    let whole = a.is_gpr32() || a.is_gpr64();
    (same && whole)
        .then(|| reg(a))
        .flatten()
        .map(|dst| Effect::Constant { dst, value: 0 })
}

fn xchg(insn: &Instruction, memory: &[Option<Memory>; 2]) -> [Option<Effect>; 2] {
    let (Some(m), true) = (memory[0], insn.op1_kind() == OpKind::Register) else {
        return [None, None];
    };
    let load = pointer(insn.op1_register()).map(|dst| Effect::Load { dst, memory: m });
    [load, None]
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
    Some(Effect::Select {
        dst: pointer(insn.op0_register())?,
        src: pointer(insn.op1_register())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8]) -> Insn {
        X86_64
            .decode(0x1000, bytes)
            .expect("test input is an instruction")
    }

    fn check(bytes: &[u8], expect: Memory) {
        let insn = decode(bytes);
        assert_eq!(insn.memory[0], Some(expect), "{bytes:02x?}");
    }

    fn memory() -> Memory {
        Memory {
            segment: Segment::Flat,
            base: None,
            index: None,
            displacement: 0,
            bytes: 8,
            reads: true,
            writes: false,
            string: false,
        }
    }

    #[test]
    fn base_and_displacement() {
        // mov 0x38(%rbx),%rax
        check(
            &[0x48, 0x8b, 0x43, 0x38],
            Memory {
                base: Some(Reg(3)),
                displacement: 0x38,
                ..memory()
            },
        );
    }

    #[test]
    fn rip_relative_is_absolute() {
        // mov 0x10(%rip),%rax
        check(
            &[0x48, 0x8b, 0x05, 0x10, 0, 0, 0],
            Memory {
                displacement: 0x1017,
                ..memory()
            },
        );
    }

    #[test]
    fn per_cpu_absolute() {
        // mov %gs:0x1fbc0,%rax
        check(
            &[0x65, 0x48, 0x8b, 0x04, 0x25, 0xc0, 0xfb, 0x01, 0x00],
            Memory {
                segment: Segment::Local,
                displacement: 0x1fbc0,
                ..memory()
            },
        );
    }

    #[test]
    fn index_and_scale() {
        // mov -0x7d000000(,%rax,8),%rdx
        check(
            &[0x48, 0x8b, 0x14, 0xc5, 0, 0, 0, 0x83],
            Memory {
                index: Some((Reg(0), 8)),
                displacement: -0x7d00_0000,
                ..memory()
            },
        );
    }

    #[test]
    fn locked_compare_exchange_reads_and_writes() {
        // lock cmpxchg %rdx,(%rdi)
        let insn = decode(&[0xf0, 0x48, 0x0f, 0xb1, 0x17]);
        let m = insn.operand(true).expect("has an operand");
        assert_eq!((m.base, m.reads, m.writes), (Some(Reg(5)), true, true));
    }

    #[test]
    fn string_instructions_have_two_operands() {
        // rep movsq
        let insn = decode(&[0xf3, 0x48, 0xa5]);
        assert_eq!(insn.operand(false).and_then(|m| m.base), Some(Reg(4)));
        assert_eq!(insn.operand(true).and_then(|m| m.base), Some(Reg(5)));
        assert!(insn.memory.iter().flatten().all(|m| m.string));
    }

    #[test]
    fn push_stores_below_the_stack_pointer() {
        let insn = decode(&[0x53]); // push %rbx
        let [
            Some(Effect::Store {
                memory,
                src: Reg(3),
            }),
            Some(Effect::AddConstant { value, .. }),
        ] = insn.effects
        else {
            panic!("{:?}", insn.effects);
        };
        assert_eq!(
            (memory.base, memory.displacement, value),
            (Some(Reg(7)), -8, -8)
        );
    }

    #[test]
    fn kernel_constant_is_sign_extended() {
        // mov $0xffffffff82000000,%rdi
        let insn = decode(&[0x48, 0xc7, 0xc7, 0, 0, 0, 0x82]);
        assert_eq!(
            insn.effects[0],
            Some(Effect::Constant {
                dst: Reg(5),
                value: 0xffff_ffff_8200_0000
            })
        );
    }

    #[test]
    fn call_to_known_target() {
        assert_eq!(
            decode(&[0xe8, 0xfb, 0, 0, 0]).flow,
            Flow::Call(Some(0x1100))
        );
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..20), pc: u64) {
            if let Some(insn) = X86_64.decode(pc, &bytes) {
                prop_assert!(usize::from(insn.len) <= bytes.len());
                prop_assert!(insn.len > 0);
            }
        }
    }
}

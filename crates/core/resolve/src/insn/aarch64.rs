//! AArch64, decoded with yaxpeax-arm.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand, ShiftStyle, SizeCode};

use super::atomic::{AtomicInsn, RegisterUse};
use super::{
    AddressSegment, DecodedInsn, DwarfRegister, Effects, InsnEffect, InsnFlow, InstructionSet,
    MemoryOperand, OPERANDS_MAX, RegSet,
};

mod access;
mod atomic;

use access::OpcodeAccess;

/// AArch64 with the procedure call standard of Arm (AAPCS64).
#[derive(Clone, Copy, Debug, Default)]
pub struct Aarch64InsnSet;

/// Bytes of an instruction.
const BYTES: usize = 4;
/// Number of `sp`; in operands that cannot name `sp`, of the zero register.
const SP: u16 = 31;
/// The link register.
const LR: DwarfRegister = DwarfRegister(30);
/// Number of `tpidr_el0`, the thread pointer of programs, without the bit that all system registers
/// have.
const TPIDR_EL0: u16 = 0x5e82;
/// Number of `tpidr_el1`, which holds the base of a CPU's own area in the kernel.
const TPIDR_EL1: u16 = 0x4684;
/// Number of `tpidr_el2`, which a kernel that is a hypervisor uses instead.
const TPIDR_EL2: u16 = 0x6682;
/// Bytes of a thread's control block, between the thread pointer and the program's own thread-local
/// segment: variant I of the ELF TLS ABI.
const CONTROL_BLOCK_BYTES: u64 = 16;

impl InstructionSet for Aarch64InsnSet {
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<DecodedInsn> {
        let word = bytes.get(..BYTES)?;
        if !address.is_multiple_of(BYTES as u64) {
            return None;
        }
        let insn = InstDecoder::default()
            .decode(&mut U8Reader::new(word))
            .ok()?;
        let place = address_operand(address, &insn);
        let memory = place.and_then(|place| memory_operand(&insn, place));
        let mut clobbers = written_registers(&insn);
        if let Some(moved) = place.and_then(|place| place.base_update) {
            clobbers.insert(moved.0);
        }
        Some(DecodedInsn {
            address,
            len: BYTES as u8,
            memory: [memory, None],
            effects: effects(address, &insn, place, memory),
            clobbers,
            flow: flow(address, &insn),
        })
    }

    fn atomic(&self, bytes: &[u8]) -> Option<AtomicInsn> {
        atomic::atomic(bytes)
    }

    fn register_use(&self, _: &[u8]) -> Option<RegisterUse> {
        // Not needed: an atomic instruction without use of its result drops it.
        None
    }

    fn is_return(&self, _: &[u8]) -> bool {
        false
    }

    fn call_clobbers(&self) -> RegSet {
        // x0 to x17, x18 (the platform's, not kept on Linux), x30
        RegSet(((1 << 19) - 1) | (1 << LR.0))
    }

    fn result_register(&self) -> DwarfRegister {
        DwarfRegister(0)
    }

    fn parameter_register(&self, number: u8) -> Option<DwarfRegister> {
        (number < 8).then_some(DwarfRegister(number))
    }

    fn is_thread_pointer(&self, _: &MemoryOperand) -> bool {
        false
    }

    fn thread_local(&self, offset: u64, _: u64, segment_align: u64) -> Option<u64> {
        offset.checked_sub(CONTROL_BLOCK_BYTES.checked_next_multiple_of(segment_align)?)
    }

    fn register_by_name(&self, _: &str) -> Option<DwarfRegister> {
        // Kernels for AArch64 have no such stubs.
        None
    }

    fn stack_pointer(&self) -> DwarfRegister {
        DwarfRegister(SP as u8)
    }

    fn entry_stack_offset(&self) -> i64 {
        0
    }
}

/// Address of a memory operand.
#[derive(Clone, Copy)]
struct AddressOperand {
    base: Option<DwarfRegister>,
    index: Option<(DwarfRegister, u8)>,
    displacement: i64,
    /// Change of the base, before or after the access.
    base_update: Option<(DwarfRegister, BaseUpdate)>,
}

/// Amount by which a base changes.
#[derive(Clone, Copy)]
enum BaseUpdate {
    Bytes(i64),
    Register(DwarfRegister),
}

fn address_operand(address: u64, insn: &Instruction) -> Option<AddressOperand> {
    // `adr` and branches have the same operand, but access no memory.
    let literal = access::opcode_access(insn.opcode).is_some();
    insn.operands.iter().find_map(|operand| match *operand {
        Operand::RegPreIndex(base, by, back) => Some(AddressOperand {
            base: Some(register(base)),
            index: None,
            displacement: by.into(),
            base_update: back.then(|| (register(base), BaseUpdate::Bytes(by.into()))),
        }),
        Operand::RegPostIndex(base, by) => Some(AddressOperand {
            base: Some(register(base)),
            index: None,
            displacement: 0,
            base_update: Some((register(base), BaseUpdate::Bytes(by.into()))),
        }),
        Operand::RegPostIndexReg(base, by) => Some(AddressOperand {
            base: Some(register(base)),
            index: None,
            displacement: 0,
            base_update: Some((register(base), BaseUpdate::Register(register(by)))),
        }),
        Operand::RegRegOffset(base, index, _, _, shift) => Some(AddressOperand {
            base: Some(register(base)),
            index: (index != SP).then(|| (register(index), 1 << shift.min(7))),
            displacement: 0,
            base_update: None,
        }),
        Operand::PCOffset(by) if literal => Some(AddressOperand {
            base: None,
            index: None,
            displacement: address.wrapping_add(by as u64) as i64,
            base_update: None,
        }),
        _ => None,
    })
}

fn memory_operand(insn: &Instruction, place: AddressOperand) -> Option<MemoryOperand> {
    let OpcodeAccess {
        reads,
        writes,
        width,
    } = access::opcode_access(insn.opcode)?;
    Some(MemoryOperand {
        segment: AddressSegment::Flat,
        base: place.base,
        index: place.index,
        displacement: place.displacement,
        bytes: width.bytes(&insn.operands),
        reads,
        writes,
        string: false,
    })
}

fn register(register: u16) -> DwarfRegister {
    DwarfRegister((register & 31) as u8)
}

/// Returns the general-purpose register of a destination operand; the zero register is none.
fn destination_register(operand: &Operand) -> Option<DwarfRegister> {
    match *operand {
        Operand::Register(_, n) if n != SP => Some(register(n)),
        Operand::RegisterOrSP(_, n) => Some(register(n)),
        _ => None,
    }
}

/// Returns the register of an operand that names a whole pointer: only 64-bit names do.
fn pointer_register(operand: &Operand) -> Option<DwarfRegister> {
    match *operand {
        Operand::Register(SizeCode::X, n) if n != SP => Some(register(n)),
        Operand::RegisterOrSP(SizeCode::X, n) => Some(register(n)),
        Operand::RegShift(ShiftStyle::LSL, 0, SizeCode::X, n) if n != SP => Some(register(n)),
        _ => None,
    }
}

fn is_zero(operand: &Operand) -> bool {
    matches!(
        *operand,
        Operand::Register(_, SP) | Operand::RegShift(_, _, _, SP)
    )
}

/// Returns the registers that hold another value afterwards, except a base that changes.
fn written_registers(insn: &Instruction) -> RegSet {
    use Opcode as O;
    let mut written = RegSet::default();
    let mut add = |number: usize| {
        if let Some(reg) = destination_register(&insn.operands[number]) {
            written.insert(reg);
        }
    };
    match (insn.opcode, access::opcode_access(insn.opcode)) {
        (O::CBZ | O::CBNZ | O::TBZ | O::TBNZ | O::CCMP | O::CCMN | O::MSR | O::SYS(_), _) => {}
        (O::BR | O::RET | O::BRAA | O::BRAAZ | O::BRAB | O::BRABZ, _) => {}
        (O::BL | O::BLR | O::BLRAA | O::BLRAAZ | O::BLRAB | O::BLRABZ, _) => written.insert(LR),
        (O::SYSL(_), _) => add(2),
        (O::CASP(_), _) => {
            if let Operand::RegisterPair(_, first) = insn.operands[0] {
                written.insert(register(first));
                written.insert(register(first + 1));
            }
        }
        (O::CAS(_) | O::CASB(_) | O::CASH(_), _) => add(0),
        // Atomic operations return the old value in their second register.
        (_, Some(access)) if access.reads && access.writes => add(1),
        (_, Some(access)) if access.reads => {
            add(0);
            add(1);
        }
        (opcode, Some(_)) if access::has_status(opcode) => add(0),
        (_, Some(_)) => {}
        (opcode, None) if signs_link(opcode) => written.insert(LR),
        _ => add(0),
    }
    written
}

/// Returns true for pointer authentication, which changes the link register or registers between
/// calls, none of which holds an object's address.
fn signs_link(opcode: Opcode) -> bool {
    use Opcode as O;
    matches!(
        opcode,
        O::PACIASP
            | O::PACIBSP
            | O::PACIAZ
            | O::PACIBZ
            | O::AUTIASP
            | O::AUTIBSP
            | O::AUTIAZ
            | O::AUTIBZ
            | O::XPACLRI
    )
}

fn flow(address: u64, insn: &Instruction) -> InsnFlow {
    use Opcode as O;
    let target = || {
        insn.operands.iter().find_map(|operand| match *operand {
            Operand::PCOffset(by) => Some(address.wrapping_add(by as u64)),
            _ => None,
        })
    };
    match insn.opcode {
        O::B => target().map_or(InsnFlow::Stop, InsnFlow::Jump),
        O::Bcc(_) | O::BCcc(_) | O::CBZ | O::CBNZ | O::TBZ | O::TBNZ => {
            target().map_or(InsnFlow::Next, InsnFlow::Branch)
        }
        O::BL => InsnFlow::Call(target()),
        O::BLR | O::BLRAA | O::BLRAAZ | O::BLRAB | O::BLRABZ => InsnFlow::Call(None),
        O::BR | O::BRAA | O::BRAAZ | O::BRAB | O::BRABZ => InsnFlow::Stop,
        O::RET | O::RETAA | O::RETAB | O::ERET | O::ERETAA | O::ERETAB | O::DRPS => InsnFlow::Stop,
        // `brk` ends WARN(), after which the kernel continues.
        _ => InsnFlow::Next,
    }
}

fn effects(
    address: u64,
    insn: &Instruction,
    place: Option<AddressOperand>,
    memory: Option<MemoryOperand>,
) -> Effects {
    let Some(memory) = memory else {
        return [computed_effect(address, insn), None, None];
    };
    let [first, second] = pointer_transfers(insn, memory);
    let back = place.and_then(|place| place.base_update);
    let back = back.map(|(dst, by)| match by {
        BaseUpdate::Bytes(value) => InsnEffect::AddConstant { dst, value },
        BaseUpdate::Register(src) => InsnEffect::AddRegister { dst, src },
    });
    [first, second, back]
}

/// Returns the loads and stores of whole pointers.
fn pointer_transfers(
    insn: &Instruction,
    memory: MemoryOperand,
) -> [Option<InsnEffect>; OPERANDS_MAX] {
    use Opcode as O;
    let [a, b, ..] = &insn.operands;
    let half = |number: i64| MemoryOperand {
        displacement: memory.displacement.wrapping_add(8 * number),
        bytes: 8,
        ..memory
    };
    let load =
        |to: &Operand, memory| pointer_register(to).map(|dst| InsnEffect::Load { dst, memory });
    let store = |from: &Operand, memory| {
        pointer_register(from).map(|src| InsnEffect::Store { memory, src })
    };
    match insn.opcode {
        O::LDR
        | O::LDUR
        | O::LDTR
        | O::LDAR
        | O::LDLAR
        | O::LDAPR
        | O::LDAPUR
        | O::LDXR
        | O::LDAXR
        | O::CAS(_) => [load(a, memory), None],
        O::SWP(_) => [load(b, memory), None],
        O::LDP | O::LDNP | O::LDXP | O::LDAXP => [load(a, half(0)), load(b, half(1))],
        O::STR | O::STUR | O::STTR | O::STLR | O::STLLR | O::STLUR => [store(a, memory), None],
        O::STP | O::STNP => [store(a, half(0)), store(b, half(1))],
        _ => [None, None],
    }
}

/// Returns the effect of an instruction without memory operand.
fn computed_effect(address: u64, insn: &Instruction) -> Option<InsnEffect> {
    use Opcode as O;
    let [dst, a, b, c] = &insn.operands;
    let to = pointer_register(dst);
    match insn.opcode {
        O::ADR | O::ADRP => {
            let Operand::PCOffset(by) = *a else {
                return None;
            };
            let from = match insn.opcode {
                O::ADRP => address & !0xfff,
                _ => address,
            };
            let value = from.wrapping_add(by as u64);
            Some(InsnEffect::Constant { dst: to?, value })
        }
        O::MOVZ => {
            let value = immediate(a)? as u64;
            let dst = destination_register(dst)?;
            Some(InsnEffect::Constant { dst, value })
        }
        O::ORR if is_zero(a) && is_zero(b) => Some(InsnEffect::Constant { dst: to?, value: 0 }),
        O::ORR if is_zero(a) => Some(InsnEffect::Copy {
            dst: to?,
            src: pointer_register(b)?,
        }),
        O::ADD | O::ADDS | O::SUB | O::SUBS => {
            sum_effect(insn.opcode, to?, pointer_register(a)?, b)
        }
        O::MADD | O::SMADDL | O::UMADDL => Some(InsnEffect::AddProduct {
            dst: to?,
            base: pointer_register(c),
            factors: [number_register(a)?, number_register(b)?],
        }),
        O::UBFM | O::SBFM => shift_effect(to?, number_register(a)?, immediate(b)?, immediate(c)?),
        O::CSEL => Some(InsnEffect::Select {
            dst: to?,
            either: [pointer_register(a)?, pointer_register(b)?],
        }),
        O::MRS => match *a {
            Operand::SystemReg(TPIDR_EL0 | TPIDR_EL1 | TPIDR_EL2) => {
                Some(InsnEffect::LocalBase { dst: to? })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the register of an operand that is read as a number, by either of its names.
fn number_register(operand: &Operand) -> Option<DwarfRegister> {
    match *operand {
        Operand::Register(_, n) if n != SP => Some(register(n)),
        _ => None,
    }
}

/// Returns the effect of a shift: `lsl`, `ubfiz` and `sbfiz` multiply, extensions (`sxtw`) keep the
/// number, others select bits.
fn shift_effect(
    dst: DwarfRegister,
    src: DwarfRegister,
    rotate: i64,
    last: i64,
) -> Option<InsnEffect> {
    match (rotate, last) {
        (0, 31) => Some(InsnEffect::Extend { dst, src }),
        (rotate, last) if last < rotate => {
            let shift = u32::try_from(64 - rotate).ok()?;
            let by = 1u64.checked_shl(shift)?;
            Some(InsnEffect::Multiply { dst, src, by })
        }
        _ => None,
    }
}

/// Returns the effect `dst = base + addend`, or minus.
fn sum_effect(
    opcode: Opcode,
    dst: DwarfRegister,
    base: DwarfRegister,
    addend: &Operand,
) -> Option<InsnEffect> {
    let minus = matches!(opcode, Opcode::SUB | Opcode::SUBS);
    let (index, displacement) = match *addend {
        Operand::RegShift(ShiftStyle::LSR | ShiftStyle::ASR | ShiftStyle::ROR, ..) => return None,
        Operand::RegShift(_, shift @ 0..=7, _, n) if n != SP => {
            (Some((register(n), 1 << shift)), 0)
        }
        Operand::RegShift(..) => return None,
        Operand::Register(_, n) if n != SP => (Some((register(n), 1)), 0),
        _ => {
            let value = immediate(addend)?;
            (None, if minus { value.wrapping_neg() } else { value })
        }
    };
    if let Some((subtrahend, scale)) = index.filter(|_| minus) {
        return Some(InsnEffect::Subtract {
            dst,
            from: base,
            subtrahend,
            scale,
        });
    }
    let memory = MemoryOperand {
        segment: AddressSegment::Flat,
        base: Some(base),
        index,
        displacement,
        bytes: 0,
        reads: false,
        writes: false,
        string: false,
    };
    Some(InsnEffect::Address { dst, memory })
}

fn immediate(operand: &Operand) -> Option<i64> {
    match *operand {
        Operand::Immediate(value) => Some(value.into()),
        Operand::Imm16(value) => Some(value.into()),
        Operand::Imm64(value) => Some(value as i64),
        Operand::ImmShift(value, shift) => Some(u64::from(value).checked_shl(shift.into())? as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

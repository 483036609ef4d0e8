//! AArch64, decoded with yaxpeax-arm.

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand, ShiftStyle, SizeCode};

use super::{Effect, Effects, Flow, Insn, Machine, Memory, OPERANDS_MAX, Reg, RegSet, Segment};

mod access;

use access::Access;

/// AArch64 with the procedure call standard of Arm (AAPCS64).
#[derive(Clone, Copy, Debug, Default)]
pub struct Aarch64;

/// Bytes of an instruction.
const BYTES: usize = 4;
/// Number of `sp`; where `sp` cannot be meant, of the register that is always zero.
const SP: u16 = 31;
/// The link register.
const LR: Reg = Reg(30);
/// Number of `tpidr_el0` (without the bit that all such have), the thread pointer of programs.
const TPIDR_EL0: u16 = 0x5e82;
/// Number of `tpidr_el1`, with which the kernel finds a CPU's own area.
const TPIDR_EL1: u16 = 0x4684;
/// Number of `tpidr_el2`, which a kernel that is a hypervisor uses instead.
const TPIDR_EL2: u16 = 0x6682;
/// Bytes of a thread's control block, which lie between the thread pointer and the program's own
/// thread-local segment: variant I of the ELF TLS ABI.
const CONTROL_BLOCK_BYTES: u64 = 16;

impl Machine for Aarch64 {
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<Insn> {
        let word = bytes.get(..BYTES)?;
        if !address.is_multiple_of(BYTES as u64) {
            return None;
        }
        let insn = InstDecoder::default()
            .decode(&mut U8Reader::new(word))
            .ok()?;
        let place = place(address, &insn);
        let memory = place.and_then(|place| memory(&insn, place));
        let mut clobbers = written(&insn);
        if let Some(moved) = place.and_then(|place| place.moved) {
            clobbers.insert(moved.0);
        }
        Some(Insn {
            address,
            len: BYTES as u8,
            memory: [memory, None],
            effects: effects(address, &insn, place, memory),
            clobbers,
            flow: flow(address, &insn),
        })
    }

    fn call_clobbers(&self) -> RegSet {
        // x0 to x17, x18 (of the platform: not kept on Linux), x30
        RegSet(((1 << 19) - 1) | (1 << LR.0))
    }

    fn result(&self) -> Reg {
        Reg(0)
    }

    fn parameter(&self, number: u8) -> Option<Reg> {
        (number < 8).then_some(Reg(number))
    }

    fn is_thread_pointer(&self, _: &Memory) -> bool {
        false
    }

    fn thread_local(&self, offset: u64, _: u64, segment_align: u64) -> Option<u64> {
        offset.checked_sub(CONTROL_BLOCK_BYTES.checked_next_multiple_of(segment_align)?)
    }

    fn register(&self, _: &str) -> Option<Reg> {
        // Its kernels have no such stubs.
        None
    }

    fn stack_pointer(&self) -> Reg {
        Reg(SP as u8)
    }

    fn entry_stack_offset(&self) -> i64 {
        0
    }
}

/// Where a memory operand is.
#[derive(Clone, Copy)]
struct Place {
    base: Option<Reg>,
    index: Option<(Reg, u8)>,
    displacement: i64,
    /// The base is moved, before or after.
    moved: Option<(Reg, By)>,
}

/// What a base is moved by.
#[derive(Clone, Copy)]
enum By {
    Bytes(i64),
    Register(Reg),
}

fn place(address: u64, insn: &Instruction) -> Option<Place> {
    // `adr` and branches have the same operand, but access nothing.
    let literal = access::of(insn.opcode).is_some();
    insn.operands.iter().find_map(|operand| match *operand {
        Operand::RegPreIndex(base, by, back) => Some(Place {
            base: Some(number(base)),
            index: None,
            displacement: by.into(),
            moved: back.then(|| (number(base), By::Bytes(by.into()))),
        }),
        Operand::RegPostIndex(base, by) => Some(Place {
            base: Some(number(base)),
            index: None,
            displacement: 0,
            moved: Some((number(base), By::Bytes(by.into()))),
        }),
        Operand::RegPostIndexReg(base, by) => Some(Place {
            base: Some(number(base)),
            index: None,
            displacement: 0,
            moved: Some((number(base), By::Register(number(by)))),
        }),
        Operand::RegRegOffset(base, index, _, _, shift) => Some(Place {
            base: Some(number(base)),
            index: (index != SP).then(|| (number(index), 1 << shift.min(7))),
            displacement: 0,
            moved: None,
        }),
        Operand::PCOffset(by) if literal => Some(Place {
            base: None,
            index: None,
            displacement: address.wrapping_add(by as u64) as i64,
            moved: None,
        }),
        _ => None,
    })
}

fn memory(insn: &Instruction, place: Place) -> Option<Memory> {
    let Access {
        reads,
        writes,
        width,
    } = access::of(insn.opcode)?;
    Some(Memory {
        segment: Segment::Flat,
        base: place.base,
        index: place.index,
        displacement: place.displacement,
        bytes: width.bytes(&insn.operands),
        reads,
        writes,
        string: false,
    })
}

fn number(register: u16) -> Reg {
    Reg((register & 31) as u8)
}

/// A general-purpose register that is a destination; the zero register is none.
fn written_register(operand: &Operand) -> Option<Reg> {
    match *operand {
        Operand::Register(_, n) if n != SP => Some(number(n)),
        Operand::RegisterOrSP(_, n) => Some(number(n)),
        _ => None,
    }
}

/// A register as a whole pointer: only the 64-bit name qualifies.
fn pointer(operand: &Operand) -> Option<Reg> {
    match *operand {
        Operand::Register(SizeCode::X, n) if n != SP => Some(number(n)),
        Operand::RegisterOrSP(SizeCode::X, n) => Some(number(n)),
        Operand::RegShift(ShiftStyle::LSL, 0, SizeCode::X, n) if n != SP => Some(number(n)),
        _ => None,
    }
}

fn is_zero(operand: &Operand) -> bool {
    matches!(
        *operand,
        Operand::Register(_, SP) | Operand::RegShift(_, _, _, SP)
    )
}

/// Registers that hold something else afterwards; a base that moves is not among them.
fn written(insn: &Instruction) -> RegSet {
    use Opcode as O;
    let mut written = RegSet::default();
    let mut add = |number: usize| {
        if let Some(reg) = written_register(&insn.operands[number]) {
            written.insert(reg);
        }
    };
    match (insn.opcode, access::of(insn.opcode)) {
        (O::CBZ | O::CBNZ | O::TBZ | O::TBNZ | O::CCMP | O::CCMN | O::MSR | O::SYS(_), _) => {}
        (O::BR | O::RET | O::BRAA | O::BRAAZ | O::BRAB | O::BRABZ, _) => {}
        (O::BL | O::BLR | O::BLRAA | O::BLRAAZ | O::BLRAB | O::BLRABZ, _) => written.insert(LR),
        (O::SYSL(_), _) => add(2),
        (O::CASP(_), _) => {
            if let Operand::RegisterPair(_, first) = insn.operands[0] {
                written.insert(number(first));
                written.insert(number(first + 1));
            }
        }
        (O::CAS(_) | O::CASB(_) | O::CASH(_), _) => add(0),
        // Atomic operations return what was there in their second register.
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

/// Whether pointer authentication changes the link register, or those between calls, which hold no
/// object's address.
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

fn flow(address: u64, insn: &Instruction) -> Flow {
    use Opcode as O;
    let target = || {
        insn.operands.iter().find_map(|operand| match *operand {
            Operand::PCOffset(by) => Some(address.wrapping_add(by as u64)),
            _ => None,
        })
    };
    match insn.opcode {
        O::B => target().map_or(Flow::Stop, Flow::Jump),
        O::Bcc(_) | O::BCcc(_) | O::CBZ | O::CBNZ | O::TBZ | O::TBNZ => {
            target().map_or(Flow::Next, Flow::Branch)
        }
        O::BL => Flow::Call(target()),
        O::BLR | O::BLRAA | O::BLRAAZ | O::BLRAB | O::BLRABZ => Flow::Call(None),
        O::BR | O::BRAA | O::BRAAZ | O::BRAB | O::BRABZ => Flow::Stop,
        O::RET | O::RETAA | O::RETAB | O::ERET | O::ERETAA | O::ERETAB | O::DRPS => Flow::Stop,
        // `brk` ends WARN(), after which the kernel goes on.
        _ => Flow::Next,
    }
}

fn effects(
    address: u64,
    insn: &Instruction,
    place: Option<Place>,
    memory: Option<Memory>,
) -> Effects {
    let Some(memory) = memory else {
        return [computed(address, insn), None, None];
    };
    let [first, second] = moved_pointers(insn, memory);
    let back = place.and_then(|place| place.moved);
    let back = back.map(|(dst, by)| match by {
        By::Bytes(value) => Effect::AddConstant { dst, value },
        By::Register(src) => Effect::AddRegister { dst, src },
    });
    [first, second, back]
}

/// Whole pointers that are loaded or stored.
fn moved_pointers(insn: &Instruction, memory: Memory) -> [Option<Effect>; OPERANDS_MAX] {
    use Opcode as O;
    let [a, b, ..] = &insn.operands;
    let half = |number: i64| Memory {
        displacement: memory.displacement.wrapping_add(8 * number),
        bytes: 8,
        ..memory
    };
    let load = |to: &Operand, memory| pointer(to).map(|dst| Effect::Load { dst, memory });
    let store = |from: &Operand, memory| pointer(from).map(|src| Effect::Store { memory, src });
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

/// What is computed without memory.
fn computed(address: u64, insn: &Instruction) -> Option<Effect> {
    use Opcode as O;
    let [dst, a, b, c] = &insn.operands;
    let to = pointer(dst);
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
            Some(Effect::Constant { dst: to?, value })
        }
        O::MOVZ => {
            let value = immediate(a)? as u64;
            let dst = written_register(dst)?;
            Some(Effect::Constant { dst, value })
        }
        O::ORR if is_zero(a) && is_zero(b) => Some(Effect::Constant { dst: to?, value: 0 }),
        O::ORR if is_zero(a) => Some(Effect::Copy {
            dst: to?,
            src: pointer(b)?,
        }),
        O::ADD | O::ADDS | O::SUB | O::SUBS => sum(insn.opcode, to?, pointer(a)?, b),
        O::MADD | O::SMADDL | O::UMADDL => Some(Effect::AddProduct {
            dst: to?,
            base: pointer(c),
            factors: [number_of(a)?, number_of(b)?],
        }),
        O::UBFM | O::SBFM => shifted(to?, number_of(a)?, immediate(b)?, immediate(c)?),
        O::CSEL => Some(Effect::Select {
            dst: to?,
            either: [pointer(a)?, pointer(b)?],
        }),
        O::MRS => match *a {
            Operand::SystemReg(TPIDR_EL0 | TPIDR_EL1 | TPIDR_EL2) => {
                Some(Effect::LocalBase { dst: to? })
            }
            _ => None,
        },
        _ => None,
    }
}

/// A register read as a number, by either of its names.
fn number_of(operand: &Operand) -> Option<Reg> {
    match *operand {
        Operand::Register(_, n) if n != SP => Some(number(n)),
        _ => None,
    }
}

/// `lsl`, `ubfiz` and `sbfiz` multiply; extensions (`sxtw`) keep the number. Others pick bits.
fn shifted(dst: Reg, src: Reg, rotate: i64, last: i64) -> Option<Effect> {
    match (rotate, last) {
        (0, 31) => Some(Effect::Extend { dst, src }),
        (rotate, last) if last < rotate => {
            let shift = u32::try_from(64 - rotate).ok()?;
            let by = 1u64.checked_shl(shift)?;
            Some(Effect::Multiply { dst, src, by })
        }
        _ => None,
    }
}

/// `dst = base + addend`, or minus.
fn sum(opcode: Opcode, dst: Reg, base: Reg, addend: &Operand) -> Option<Effect> {
    let minus = matches!(opcode, Opcode::SUB | Opcode::SUBS);
    let (index, displacement) = match *addend {
        Operand::RegShift(ShiftStyle::LSR | ShiftStyle::ASR | ShiftStyle::ROR, ..) => return None,
        Operand::RegShift(_, shift @ 0..=7, _, n) if n != SP => (Some((number(n), 1 << shift)), 0),
        Operand::RegShift(..) => return None,
        Operand::Register(_, n) if n != SP => (Some((number(n), 1)), 0),
        _ => {
            let value = immediate(addend)?;
            (None, if minus { value.wrapping_neg() } else { value })
        }
    };
    if let Some((what, scale)) = index.filter(|_| minus) {
        return Some(Effect::Subtract {
            dst,
            from: base,
            what,
            scale,
        });
    }
    let memory = Memory {
        segment: Segment::Flat,
        base: Some(base),
        index,
        displacement,
        bytes: 0,
        reads: false,
        writes: false,
        string: false,
    };
    Some(Effect::Address { dst, memory })
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

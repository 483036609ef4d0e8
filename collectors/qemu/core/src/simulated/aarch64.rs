//! Facts about an AArch64 instruction by its bytes.
//!
//! Encodings of system instructions are those of the Arm ARM (DDI 0487), sections C4.1.91 "Branches, Exception
//! Generating and System instructions", C5.3 (`tlbi`) and D23 (registers).

use relayout_machine::LineAccess;

use super::decoded_instruction::{DecodedInstruction, PageChange, ProcessorEffect};
use super::operands::{IndexRegister, MemoryOperand};
use crate::insn::aarch64::{
    AddressForm, LoadStore, LoadStoreKind, STACK_POINTER, WFE, YIELD, decode_load_store,
    instruction_word,
};

/// `sevl`.
const SEVL: u32 = 0xd503_20bf;
/// `eret`, and the same after authentication of the address with either key.
const RETURNS: [u32; 3] = [0xd69f_03e0, 0xd69f_0bff, 0xd69f_0fff];
/// Number that stands for `sp` as a base.
const BASE_IS_SP: u8 = 31;

/// Pattern of instructions: bits that are compared, and their values.
struct InstructionPattern {
    mask: u32,
    bits: u32,
}

impl InstructionPattern {
    const fn new(mask: u32, bits: u32) -> Self {
        Self { mask, bits }
    }

    fn includes(&self, word: u32) -> bool {
        word & self.mask == self.bits
    }
}

/// `svc`, with any number.
const SVC: InstructionPattern = InstructionPattern::new(0xffe0_001f, 0xd400_0001);
/// `wfet`, with any register.
const WFET: InstructionPattern = InstructionPattern::new(0xffff_ffe0, 0xd503_1000);
/// `isb`, with any option.
const ISB: InstructionPattern = InstructionPattern::new(0xffff_f0ff, 0xd503_30df);
/// `dsb`, with any option.
const DSB: InstructionPattern = InstructionPattern::new(0xffff_f0ff, 0xd503_309f);
/// `dmb`, with any option.
const DMB: InstructionPattern = InstructionPattern::new(0xffff_f0ff, 0xd503_30bf);
/// `msr`, to a register by its number.
const MSR: InstructionPattern = InstructionPattern::new(0xfff0_0000, 0xd510_0000);
/// `mrs`.
const MRS: InstructionPattern = InstructionPattern::new(0xfff0_0000, 0xd530_0000);
/// `tlbi`, of any kind.
const TLBI: InstructionPattern = InstructionPattern::new(0xfff8_f000, 0xd508_8000);

/// Returns the number of a system register, as instructions have it in their bits 5 to 19.
const fn system_register([op0, op1, crn, crm, op2]: [u32; 5]) -> u32 {
    (op0 - 2) << 14 | op1 << 11 | crn << 7 | crm << 3 | op2
}

const TTBR0_EL1: u32 = system_register([3, 0, 2, 0, 0]);
const TTBR1_EL1: u32 = system_register([3, 0, 2, 0, 1]);
/// Generates interrupts of other CPUs.
const ICC_SGI1R_EL1: u32 = system_register([3, 0, 12, 11, 5]);
/// Ends an interrupt.
const ICC_EOIR1_EL1: u32 = system_register([3, 0, 12, 12, 1]);
/// Timers: `CNTP_TVAL_EL0` to `CNTP_CVAL_EL0`, and `CNTV_TVAL_EL0` to `CNTV_CVAL_EL0`.
const TIMERS: [u32; 6] = [
    system_register([3, 3, 14, 2, 0]),
    system_register([3, 3, 14, 2, 1]),
    system_register([3, 3, 14, 2, 2]),
    system_register([3, 3, 14, 3, 0]),
    system_register([3, 3, 14, 3, 1]),
    system_register([3, 3, 14, 3, 2]),
];
/// Counters: `CNTPCT_EL0`, `CNTVCT_EL0`, and their forms that are read in order.
const COUNTERS: [u32; 4] = [
    system_register([3, 3, 14, 0, 1]),
    system_register([3, 3, 14, 0, 2]),
    system_register([3, 3, 14, 0, 5]),
    system_register([3, 3, 14, 0, 6]),
];

/// Values of `CRm` of the kinds of `tlbi` that are for the own CPU only: of one address, and of a range.
const OWN_TLBI: [u32; 2] = [7, 6];
/// Values of the lower two bits of a barrier's option that order loads, and that order stores, only.
const LOADS_ONLY: u32 = 1;
const STORES_ONLY: u32 = 2;

/// Returns the facts about the instruction with these bytes at `pc`; one without operands and effects if it is not
/// understood.
pub fn decode(pc: u64, bytes: &[u8]) -> DecodedInstruction {
    let Some(word) = instruction_word(bytes) else {
        return DecodedInstruction::default();
    };
    match decode_load_store(word) {
        Some(access) => {
            let operand = memory_operand(pc, access);
            DecodedInstruction {
                is_locked: operand.access == LineAccess::Atomic,
                operands: vec![operand],
                ..DecodedInstruction::default()
            }
        }
        None => DecodedInstruction {
            effect: processor_effect(word),
            page_change: page_change(word),
            ..DecodedInstruction::default()
        },
    }
}

fn memory_operand(pc: u64, access: LoadStore) -> MemoryOperand {
    let base_register = |base| match base {
        BASE_IS_SP => STACK_POINTER,
        base => base,
    };
    let (base, index, displacement) = match access.address {
        AddressForm::Offset { base, offset } => (Some(base_register(base)), None, offset as u64),
        AddressForm::Indexed {
            base,
            index,
            part,
            shift,
        } => {
            let index = IndexRegister {
                number: index,
                part,
                factor: 1 << shift,
            };
            (Some(base_register(base)), Some(index), 0)
        }
        AddressForm::Literal(distance) => (None, None, pc.wrapping_add_signed(distance)),
        AddressForm::Block { register } => (Some(register), None, 0),
    };
    let is_unseen = access.kind == LoadStoreKind::Zero;
    MemoryOperand {
        base,
        index,
        displacement,
        segment: None,
        bit: None,
        access: line_access(access.kind),
        bytes: access.bytes,
        // A pair, or a structure of vectors, may be two accesses of QEMU.
        ordered_bytes: access.bytes,
        alignment: match is_unseen {
            true => access.bytes,
            false => 1,
        },
        is_unseen,
        stored: None,
    }
}

/// Returns the access to the line.
///
/// A store-exclusive has to have the line before it can tell whether it stored, so it waits like an atomic instruction.
/// A load-exclusive loads: it fetches the line for the store behind it where its site has learnt that
/// ([`LoadBeforeStore`](relayout_machine::MachineRule::LoadBeforeStore)). Between the two, other CPUs may take the line.
/// That cannot go on for ever: QEMU lets the store fail only if another CPU's store has changed the value.
fn line_access(kind: LoadStoreKind) -> LineAccess {
    match kind {
        LoadStoreKind::Load | LoadStoreKind::LoadExclusive => LineAccess::Load,
        LoadStoreKind::Store | LoadStoreKind::Zero => LineAccess::Store,
        LoadStoreKind::StoreExclusive
        | LoadStoreKind::Swap
        | LoadStoreKind::Arithmetic
        | LoadStoreKind::CompareAndSwap(_)
        | LoadStoreKind::CompareAndSwapPair(_) => LineAccess::Atomic,
    }
}

fn processor_effect(word: u32) -> ProcessorEffect {
    let register = word >> 5 & 0x7fff;
    match word {
        YIELD => ProcessorEffect::Yield,
        WFE => ProcessorEffect::WaitForEvent,
        SEVL => ProcessorEffect::SetEvent,
        _ if WFET.includes(word) => ProcessorEffect::WaitForEvent,
        _ if SVC.includes(word) || RETURNS.contains(&word) => ProcessorEffect::SystemCall,
        // Spin loops of programs have it as a hint, too. But clocks need it before they read the counter, so that a CPU
        // that slept there would lose time: it only takes time.
        _ if ISB.includes(word) => ProcessorEffect::Synchronize,
        _ if DSB.includes(word) || is_full_barrier(word) => ProcessorEffect::Barrier,
        _ if MRS.includes(word) && COUNTERS.contains(&register) => ProcessorEffect::ReadTicks,
        _ if MSR.includes(word) && register == ICC_EOIR1_EL1 => ProcessorEffect::InterruptReturn,
        _ if TLBI.includes(word) || is_slow_write(word, register) => ProcessorEffect::RegisterWrite,
        _ => ProcessorEffect::None,
    }
}

fn is_full_barrier(word: u32) -> bool {
    let ordered = word >> 8 & 3;
    DMB.includes(word) && ordered != LOADS_ONLY && ordered != STORES_ONLY
}

fn is_slow_write(word: u32, register: u32) -> bool {
    let registers = [TTBR0_EL1, TTBR1_EL1, ICC_SGI1R_EL1];
    MSR.includes(word) && (registers.contains(&register) || TIMERS.contains(&register))
}

fn page_change(word: u32) -> PageChange {
    if TLBI.includes(word) {
        let crm = word >> 8 & 0xf;
        return match OWN_TLBI.contains(&crm) {
            true => PageChange::OwnCpu,
            false => PageChange::AllCpus,
        };
    }
    match MSR.includes(word) && word >> 5 & 0x7fff == TTBR0_EL1 {
        true => PageChange::OwnCpu,
        false => PageChange::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::aarch64::IndexPart;

    const PC: u64 = 0xffff_8000_0800_0000;

    fn decoded(word: u32) -> DecodedInstruction {
        decode(PC, &word.to_le_bytes())
    }

    fn operand(word: u32) -> MemoryOperand {
        let decoded = decoded(word);
        assert_eq!(decoded.operands.len(), 1, "{word:08x}");
        decoded.operands[0]
    }

    /// Words as assembled by binutils, as all below.
    #[test]
    fn addresses_by_registers() {
        let stack = operand(0xa97e_07e0); // ldp x0, x1, [sp, #-32]
        assert_eq!((stack.base, stack.index), (Some(STACK_POINTER), None));
        assert_eq!(stack.displacement, -32i64 as u64);
        assert_eq!((stack.bytes, stack.ordered_bytes), (16, 16));
        let indexed = operand(0xb8a2_d820); // ldrsw x0, [x1, w2, sxtw #2]
        let index = IndexRegister {
            number: 2,
            part: IndexPart::SignedHalf,
            factor: 4,
        };
        assert_eq!((indexed.base, indexed.index), (Some(1), Some(index)));
        let literal = operand(0x98ff_fe00); // ldrsw x0, .-64
        assert_eq!((literal.base, literal.displacement), (None, PC - 0x40));
        let zeroed = operand(0xd50b_7423); // dc zva, x3
        assert_eq!((zeroed.base, zeroed.alignment), (Some(3), 64));
        assert!(zeroed.is_unseen);
    }

    #[test]
    fn accesses() {
        let check = |word: u32, access, is_locked| {
            let decoded = decoded(word);
            assert_eq!(decoded.operands[0].access, access, "{word:08x}");
            assert_eq!(decoded.is_locked, is_locked, "{word:08x}");
        };
        check(0xf940_0020, LineAccess::Load, false); // ldr x0, [x1]
        check(0x089f_fc20, LineAccess::Store, false); // stlrb w0, [x1]
        check(0xc85f_7c20, LineAccess::Load, false); // ldxr x0, [x1]
        check(0xc800_ffe1, LineAccess::Atomic, true); // stlxr w0, x1, [sp]
        check(0xb820_0041, LineAccess::Atomic, true); // ldadd w0, w1, [x2]
        check(0x88a0_7c41, LineAccess::Atomic, true); // cas w0, w1, [x2]
        check(0xf8bf_c020, LineAccess::Load, false); // ldapr x0, [x1]
    }

    #[test]
    fn effects_on_the_processor() {
        let check = |word: u32, expect| {
            assert_eq!(decoded(word).effect, expect, "{word:08x}");
        };
        check(0xd503_203f, ProcessorEffect::Yield);
        check(0xd503_205f, ProcessorEffect::WaitForEvent);
        check(0xd503_1003, ProcessorEffect::WaitForEvent); // wfet x3
        check(0xd503_20bf, ProcessorEffect::SetEvent); // sevl
        check(0xd503_207f, ProcessorEffect::None); // wfi
        check(0xd503_3fdf, ProcessorEffect::Synchronize); // isb
        check(0xd503_3bbf, ProcessorEffect::Barrier); // dmb ish
        check(0xd503_3fbf, ProcessorEffect::Barrier); // dmb sy
        check(0xd503_3abf, ProcessorEffect::None); // dmb ishst
        check(0xd503_39bf, ProcessorEffect::None); // dmb ishld
        check(0xd503_3b9f, ProcessorEffect::Barrier); // dsb ish
        check(0xd400_0001, ProcessorEffect::SystemCall); // svc #0
        check(0xd69f_03e0, ProcessorEffect::SystemCall); // eret
        check(0xd53b_e040, ProcessorEffect::ReadTicks); // mrs x0, cntvct_el0
        check(0xd518_2000, ProcessorEffect::RegisterWrite); // msr ttbr0_el1, x0
        check(0xd51b_e340, ProcessorEffect::RegisterWrite); // msr cntv_cval_el0, x0
        check(0xd518_cba0, ProcessorEffect::RegisterWrite); // msr icc_sgi1r_el1, x0
        check(0xd508_831f, ProcessorEffect::RegisterWrite); // tlbi vmalle1is
        check(0xd518_cc20, ProcessorEffect::InterruptReturn); // msr icc_eoir1_el1, x0
        check(0xd538_cc00, ProcessorEffect::None); // mrs x0, icc_iar1_el1
        check(0xd503_42df, ProcessorEffect::None); // msr daifset, #2
        check(0xd518_4100, ProcessorEffect::None); // msr sp_el0, x0
    }

    #[test]
    fn changes_of_page_tables_are_known() {
        let check = |word: u32, expect| {
            assert_eq!(decoded(word).page_change, expect, "{word:08x}");
        };
        check(0xd508_831f, PageChange::AllCpus); // tlbi vmalle1is
        check(0xd508_83a0, PageChange::AllCpus); // tlbi vale1is, x0
        check(0xd508_871f, PageChange::OwnCpu); // tlbi vmalle1
        check(0xd508_8720, PageChange::OwnCpu); // tlbi vae1, x0
        check(0xd518_2000, PageChange::OwnCpu); // msr ttbr0_el1, x0
        check(0xd518_2020, PageChange::None); // msr ttbr1_el1, x0
        check(0xd53b_e040, PageChange::None); // mrs x0, cntvct_el0
        check(0xd50b_7423, PageChange::None); // dc zva, x3
    }

    #[test]
    fn bytes_that_are_no_instruction_have_no_facts() {
        assert_eq!(decode(PC, &[]), DecodedInstruction::default());
        assert_eq!(decode(PC, &[0; 16]), DecodedInstruction::default());
    }
}

//! Atomic instructions by what they do with the value, and the use of the value before.
//!
//! A sum that nobody reads while adding, a ticket that is drawn, a word of flags and a lock all move
//! their line alike. The instructions tell them apart: `lock add`, `lock xadd` whose result is used,
//! `lock or`, `xchg` and `lock cmpxchg`.

use super::{DwarfRegister, InsnFlow, InstructionSet, RegSet};

/// Instructions behind an atomic one that are searched for a use of its result.
const LOOKAHEAD: usize = 24;

/// Change that an atomic instruction makes to the value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomicChange {
    /// Another value takes its place: `xchg`.
    Exchange,
    /// Another value takes its place if it is as expected: `cmpxchg`.
    CompareExchange,
    /// Addition of a register or of a positive constant.
    Add,
    /// Subtraction, or addition of a negative constant.
    Subtract,
    /// Bits are set: `or`, `bts`.
    SetBits,
    /// Bits are cleared: `and`, `btr`.
    ClearBits,
    /// Bits are inverted: `xor`, `btc`.
    ToggleBits,
}

/// Use of what an atomic instruction returns: the value before, or flags about the value then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResultUse {
    /// Nothing uses it.
    Unused,
    /// The program uses the value.
    Value,
    /// The program only tests the value then: for zero, or its sign.
    Tested,
    /// The code does not show it.
    Unknown,
}

/// Atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicInsn {
    /// Change.
    pub change: AtomicChange,
    /// Register that receives the value before.
    pub result: Option<DwarfRegister>,
    /// The program uses the result: an instruction whose result is not used has no register for it.
    pub is_result_used: bool,
    /// The flags tell about the value then.
    pub sets_flags: bool,
    /// Bytes of the instruction.
    pub len: u8,
}

/// Registers and flags that an instruction reads and overwrites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterUse {
    /// Registers read.
    pub reads: RegSet,
    /// Registers overwritten.
    pub overwrites: RegSet,
    /// Reads flags of arithmetic.
    pub reads_flags: bool,
    /// Overwrites flags of arithmetic.
    pub overwrites_flags: bool,
}

/// Returns the atomic instruction at the start of `code` and the use of its result in the code
/// behind it. `None` if it is no atomic instruction.
///
/// ```
/// use relayout_resolve::insn::atomic::{AtomicChange, ResultUse, atomic_use};
/// use relayout_resolve::insn::x86::X86InsnSet;
///
/// // lock xadd %eax,(%rdi); ret: the value before is returned.
/// let code = [0xf0, 0x0f, 0xc1, 0x07, 0xc3];
/// let expect = Some((AtomicChange::Add, ResultUse::Value));
/// assert_eq!(atomic_use(&X86InsnSet, &code), expect);
/// ```
pub fn atomic_use(machine: &dyn InstructionSet, code: &[u8]) -> Option<(AtomicChange, ResultUse)> {
    let insn = machine.atomic(code)?;
    let behind = code.get(usize::from(insn.len)..).unwrap_or_default();
    let result_use = match insn.result {
        Some(_) if insn.is_result_used => ResultUse::Value,
        Some(register) => register_use(machine, behind, register),
        None if insn.sets_flags => flags_use(machine, behind),
        None => ResultUse::Unused,
    };
    Some((insn.change, result_use))
}

/// Returns the use of `register` in `code`, which continues until the first jump.
///
/// `code` may be what follows a call, and `register` that of its result.
pub fn register_use(
    machine: &dyn InstructionSet,
    code: &[u8],
    register: DwarfRegister,
) -> ResultUse {
    let is_in = |set: RegSet| set.iter().any(|other| other == register);
    follow(machine, code, |used| {
        let is_read = is_in(used.reads).then_some(ResultUse::Value);
        is_read.or(is_in(used.overwrites).then_some(ResultUse::Unused))
    })
    .unwrap_or_else(|end| match end {
        // A function returns it, or passes nothing on.
        CodeEnd::Return if register == machine.result_register() => ResultUse::Value,
        CodeEnd::Return => ResultUse::Unused,
        CodeEnd::Call if is_in(machine.call_clobbers()) => ResultUse::Unused,
        CodeEnd::Call | CodeEnd::Unknown => ResultUse::Unknown,
    })
}

/// Returns the use of the flags in `code`.
fn flags_use(machine: &dyn InstructionSet, code: &[u8]) -> ResultUse {
    follow(machine, code, |used| {
        let is_read = used.reads_flags.then_some(ResultUse::Tested);
        is_read.or(used.overwrites_flags.then_some(ResultUse::Unused))
    })
    .unwrap_or_else(|end| match end {
        // Flags do not outlive a function.
        CodeEnd::Return | CodeEnd::Call => ResultUse::Unused,
        CodeEnd::Unknown => ResultUse::Unknown,
    })
}

/// End of the code that was followed.
enum CodeEnd {
    Return,
    Call,
    Unknown,
}

/// Follows `code` until `decide` answers; the error is the end of the code that can be followed.
fn follow(
    machine: &dyn InstructionSet,
    code: &[u8],
    decide: impl Fn(&RegisterUse) -> Option<ResultUse>,
) -> Result<ResultUse, CodeEnd> {
    let mut at = 0;
    for _ in 0..LOOKAHEAD {
        let rest = code.get(at..).unwrap_or_default();
        let (Some(insn), Some(used)) =
            (machine.decode(at as u64, rest), machine.register_use(rest))
        else {
            return Err(CodeEnd::Unknown);
        };
        let is_return = insn.flow == InsnFlow::Stop && machine.is_return(rest);
        if !is_return && let Some(answer) = decide(&used) {
            return Ok(answer);
        }
        at = match insn.flow {
            InsnFlow::Next | InsnFlow::Branch(_) => at + usize::from(insn.len.max(1)),
            InsnFlow::Jump(target) => match usize::try_from(target) {
                // Loops and code in front are not followed.
                Ok(target) if target > at && target < code.len() => target,
                _ => return Err(CodeEnd::Unknown),
            },
            InsnFlow::Call(_) => return Err(CodeEnd::Call),
            InsnFlow::Stop if is_return => return Err(CodeEnd::Return),
            InsnFlow::Stop => return Err(CodeEnd::Unknown),
        };
    }
    Err(CodeEnd::Unknown)
}

/// Returns the change and whether the result is used, of an entry point of ThreadSanitizer:
/// `__tsan_atomic32_fetch_add`. `result_use` is that of the returned value.
pub fn entry_point_use(name: &str, result_use: ResultUse) -> Option<(AtomicChange, ResultUse)> {
    let rest = name.strip_prefix("__tsan_atomic")?;
    let (_, operation) = rest.split_once('_')?;
    let change = match operation {
        "exchange" => AtomicChange::Exchange,
        "fetch_add" => AtomicChange::Add,
        "fetch_sub" => AtomicChange::Subtract,
        "fetch_or" => AtomicChange::SetBits,
        "fetch_and" | "fetch_nand" => AtomicChange::ClearBits,
        "fetch_xor" => AtomicChange::ToggleBits,
        _ if operation.starts_with("compare_exchange") => AtomicChange::CompareExchange,
        _ => return None,
    };
    Some((change, result_use))
}

#[cfg(test)]
mod tests {
    use super::super::aarch64::Aarch64InsnSet;
    use super::super::x86::X86InsnSet;
    use super::*;

    #[track_caller]
    fn check(code: &[u8], expect: Option<(AtomicChange, ResultUse)>) {
        assert_eq!(atomic_use(&X86InsnSet, code), expect, "{code:x?}");
    }

    #[test]
    fn x86_changes() {
        use AtomicChange::*;
        use ResultUse::*;
        // lock incl (%rdi); ret
        check(&[0xf0, 0xff, 0x07, 0xc3], Some((Add, Unused)));
        // lock decl (%rdi); je
        check(&[0xf0, 0xff, 0x0f, 0x74, 0x00], Some((Subtract, Tested)));
        // lock addl $-1,(%rdi); sete %al
        check(
            &[0xf0, 0x83, 0x07, 0xff, 0x0f, 0x94, 0xc0],
            Some((Subtract, Tested)),
        );
        // lock add %rax,(%rdi); xor %eax,%eax; je: other flags
        check(
            &[0xf0, 0x48, 0x01, 0x07, 0x31, 0xc0, 0x74, 0x00],
            Some((Add, Unused)),
        );
        // lock xadd %eax,(%rdi); mov %eax,%ecx
        check(&[0xf0, 0x0f, 0xc1, 0x07, 0x89, 0xc1], Some((Add, Value)));
        // lock xadd %ecx,(%rdi); mov $1,%ecx
        check(
            &[0xf0, 0x0f, 0xc1, 0x0f, 0xb9, 1, 0, 0, 0],
            Some((Add, Unused)),
        );
        // xchg %eax,(%rdi); ret
        check(&[0x87, 0x07, 0xc3], Some((Exchange, Value)));
        // lock cmpxchg %edx,(%rdi); jne
        check(
            &[0xf0, 0x0f, 0xb1, 0x17, 0x75, 0x00],
            Some((CompareExchange, Tested)),
        );
        // lock orl $1,(%rdi); ret
        check(&[0xf0, 0x83, 0x0f, 0x01, 0xc3], Some((SetBits, Unused)));
        // lock andl %eax,(%rdi); ret
        check(&[0xf0, 0x21, 0x07, 0xc3], Some((ClearBits, Unused)));
        // lock bts %rax,(%rdi); setc %al
        check(
            &[0xf0, 0x48, 0x0f, 0xab, 0x07, 0x0f, 0x92, 0xc0],
            Some((SetBits, Tested)),
        );
        // Not atomic: incl (%rdi), mov %eax,(%rdi), cut code, none.
        check(&[0xff, 0x07], None);
        check(&[0x89, 0x07], None);
        check(&[0xf0], None);
        check(&[], None);
    }

    #[test]
    fn aarch64_changes() {
        use AtomicChange::*;
        use ResultUse::*;
        let check = |words: &[u32], expect| {
            let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(atomic_use(&Aarch64InsnSet, &code), expect, "{words:x?}");
        };
        // ldadd w1, wzr, [x0] (stadd); ldaddal w1, w2, [x0]
        check(&[0xb821_001f], Some((Add, Unused)));
        check(&[0xb8e1_0002], Some((Add, Value)));
        // swpal w1, w2, [x0]; casal w1, w2, [x0]
        check(&[0xb8e1_8002], Some((Exchange, Value)));
        check(&[0x88e1_fc02], Some((CompareExchange, Value)));
        // ldclr, ldeor, ldset to wzr
        check(&[0xb821_101f], Some((ClearBits, Unused)));
        check(&[0xb821_201f], Some((ToggleBits, Unused)));
        check(&[0xb821_301f], Some((SetBits, Unused)));
        // ldr w0, [x1]
        check(&[0xb940_0020], None);
        check(&[], None);
    }

    #[test]
    fn entry_points() {
        let add = entry_point_use("__tsan_atomic64_fetch_add", ResultUse::Unused);
        assert_eq!(add, Some((AtomicChange::Add, ResultUse::Unused)));
        let weak = entry_point_use("__tsan_atomic8_compare_exchange_weak", ResultUse::Value);
        assert_eq!(
            weak.map(|(change, _)| change),
            Some(AtomicChange::CompareExchange)
        );
        for name in ["__tsan_atomic32_load", "__tsan_write8", "memcpy", ""] {
            assert_eq!(entry_point_use(name, ResultUse::Unknown), None, "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_code_panics(code in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
            let _ = atomic_use(&X86InsnSet, &code);
            let _ = atomic_use(&Aarch64InsnSet, &code);
        }
    }
}

//! Effects of one machine instruction on memory and registers, in terms that hold for every
//! machine.
//!
//! Registers carry their DWARF numbers, so that a location description (`DW_OP_reg3`) and a decoded
//! operand need no table in between. Only effects that matter for following pointers are kept:
//! copies, address arithmetic, loads and stores of whole pointers. Every other instruction clobbers
//! its destination.

pub mod aarch64;
pub mod atomic;
pub mod x86;

/// Returns the instruction set of the machine that a profile names; x86-64 if it names none. `None`
/// for an unknown machine.
///
/// ```
/// use relayout_resolve::insn::{InsnFlow, instruction_set};
///
/// let machine = instruction_set("x86_64").expect("a known machine");
/// let load = machine.decode(0x1000, &[0x48, 0x8b, 0x43, 0x38]).expect("mov 0x38(%rbx),%rax");
/// let operand = load.operand(false).expect("a memory operand");
/// assert_eq!((operand.displacement, operand.bytes), (0x38, 8));
/// assert_eq!(load.flow, InsnFlow::Next);
/// ```
pub fn instruction_set(name: &str) -> Option<&'static dyn InstructionSet> {
    match name {
        "" | "x86_64" => Some(&x86::X86InsnSet),
        "aarch64" => Some(&aarch64::Aarch64InsnSet),
        _ => None,
    }
}

/// General-purpose register by its DWARF number (x86-64: rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5,
/// rbp 6, rsp 7, r8 to r15 their own numbers; AArch64: x0 to x30 their own, sp 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DwarfRegister(pub u8);

/// Registers that an analysis tells apart; higher numbers are ignored.
pub const REGISTERS: usize = 32;

/// Set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegSet(pub u32);

impl RegSet {
    /// Adds `reg`.
    pub fn insert(&mut self, reg: DwarfRegister) {
        if usize::from(reg.0) < REGISTERS {
            self.0 |= 1 << reg.0;
        }
    }

    /// Returns the members, ascending.
    pub fn iter(self) -> impl Iterator<Item = DwarfRegister> {
        (0..REGISTERS as u8)
            .filter(move |n| self.0 & (1 << n) != 0)
            .map(DwarfRegister)
    }
}

/// Address space of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSegment {
    /// Plain virtual addresses.
    Flat,
    /// Addresses relative to the base of the running CPU's (or thread's) own area: `%gs:` in the
    /// x86-64 kernel, `%fs:` in x86-64 programs. Other machines load the base into a register
    /// ([`InsnEffect::LocalBase`]).
    Local,
}

/// Memory operand: `base + index * scale + displacement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryOperand {
    /// Address space.
    pub segment: AddressSegment,
    /// Base register.
    pub base: Option<DwarfRegister>,
    /// Index register and scale.
    pub index: Option<(DwarfRegister, u8)>,
    /// Displacement in bytes. Without base and index it is the absolute address; pc-relative
    /// operands are resolved.
    pub displacement: i64,
    /// Bytes accessed; 0 if the instruction does not fix the size.
    pub bytes: u32,
    /// The instruction loads from the operand.
    pub reads: bool,
    /// The instruction stores to the operand.
    pub writes: bool,
    /// The operand walks through memory (`rep movs`, `xsave`) or is in several places (a gather):
    /// the registers name only its start.
    pub string: bool,
}

impl MemoryOperand {
    /// Returns the absolute address, if the operand uses no register.
    pub fn absolute(&self) -> Option<u64> {
        let fixed =
            self.base.is_none() && self.index.is_none() && self.segment == AddressSegment::Flat;
        fixed.then_some(self.displacement as u64)
    }
}

/// Effect of an instruction on the registers and slots that hold pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsnEffect {
    /// `dst = src`.
    Copy {
        /// Register written.
        dst: DwarfRegister,
        /// Register read.
        src: DwarfRegister,
    },
    /// `dst = value`.
    Constant {
        /// Register written.
        dst: DwarfRegister,
        /// Value of the register.
        value: u64,
    },
    /// `dst = dst + value`.
    AddConstant {
        /// Register changed.
        dst: DwarfRegister,
        /// Number added.
        value: i64,
    },
    /// `dst = dst + src`.
    AddRegister {
        /// Register changed.
        dst: DwarfRegister,
        /// Register added.
        src: DwarfRegister,
    },
    /// `dst = src * by`.
    Multiply {
        /// Register written.
        dst: DwarfRegister,
        /// Register read.
        src: DwarfRegister,
        /// Factor.
        by: u64,
    },
    /// `dst = base + a * b`.
    AddProduct {
        /// Register written.
        dst: DwarfRegister,
        /// Register added to; `None` if there is none.
        base: Option<DwarfRegister>,
        /// `a` and `b`.
        factors: [DwarfRegister; 2],
    },
    /// `dst = from - subtrahend * scale`.
    Subtract {
        /// Register written.
        dst: DwarfRegister,
        /// Register subtracted from.
        from: DwarfRegister,
        /// Register subtracted.
        subtrahend: DwarfRegister,
        /// Factor of the subtrahend.
        scale: u8,
    },
    /// `dst = src`, cut to fewer bits and extended again: a number, but no pointer.
    Extend {
        /// Register written.
        dst: DwarfRegister,
        /// Register read.
        src: DwarfRegister,
    },
    /// `dst = dst + [memory]`.
    AddMemory {
        /// Register changed.
        dst: DwarfRegister,
        /// Operand added.
        memory: MemoryOperand,
    },
    /// `dst = address of memory`.
    Address {
        /// Register written.
        dst: DwarfRegister,
        /// Operand, of which only the address is used.
        memory: MemoryOperand,
    },
    /// `dst = [memory]`, a whole pointer.
    Load {
        /// Register written.
        dst: DwarfRegister,
        /// Operand loaded.
        memory: MemoryOperand,
    },
    /// `[memory] = src`, a whole pointer.
    Store {
        /// Operand stored to.
        memory: MemoryOperand,
        /// Register stored.
        src: DwarfRegister,
    },
    /// `dst = either`.
    Select {
        /// Register written.
        dst: DwarfRegister,
        /// Registers of which one is read.
        either: [DwarfRegister; 2],
    },
    /// `dst = base of the running CPU's (or thread's) own area`.
    LocalBase {
        /// Register written.
        dst: DwarfRegister,
    },
}

/// Flow of control after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsnFlow {
    /// Continues at the next instruction.
    Next,
    /// Continues at the target.
    Jump(u64),
    /// Continues at the target or at the next instruction.
    Branch(u64),
    /// Continues at the next instruction, after a function; `None` for a call through a pointer.
    Call(Option<u64>),
    /// Continues at an unknown address: a return, a jump through a register, a trap.
    Stop,
}

/// Memory operands of an instruction, at most, with adjacent ones counted as one: a copy has two.
pub const OPERANDS_MAX: usize = 2;

/// Effects of one instruction that are followed, at most: an AArch64 pair of loads also changes its
/// base.
pub const EFFECTS_MAX: usize = 3;

/// Effects of one instruction.
pub type Effects = [Option<InsnEffect>; EFFECTS_MAX];

/// Decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedInsn {
    /// Virtual address.
    pub address: u64,
    /// Length in bytes.
    pub len: u8,
    /// Memory operands, including implicit ones.
    pub memory: [Option<MemoryOperand>; OPERANDS_MAX],
    /// Effects on pointers, in order. All read the state before the instruction.
    pub effects: Effects,
    /// Registers with an unknown value afterwards, unless an effect sets it.
    pub clobbers: RegSet,
    /// Flow of control after the instruction.
    pub flow: InsnFlow,
}

impl DecodedInsn {
    /// Returns the address of the slot through which a jump or call goes, if it is fixed: a slot
    /// that the dynamic linker fills.
    pub fn target_slot(&self) -> Option<u64> {
        let through = matches!(self.flow, InsnFlow::Call(None) | InsnFlow::Stop);
        let mut operands = self.memory.iter().flatten().filter(|m| m.reads);
        let slot = { operands.find_map(MemoryOperand::absolute) };
        slot.filter(|_| through)
    }

    /// Returns the address of the next instruction.
    pub fn next_address(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.len))
    }

    /// Returns the operand of an access: for a store one that is written, else one that is read,
    /// else the only one.
    pub fn operand(&self, writes: bool) -> Option<&MemoryOperand> {
        let mut operands = self.memory.iter().flatten();
        let fits = |m: &&MemoryOperand| if writes { m.writes } else { m.reads };
        operands.clone().find(fits).or_else(|| operands.next())
    }
}

/// Instruction decoder and calling convention of a machine.
pub trait InstructionSet: Sync {
    /// Decodes the instruction at the start of `bytes`, which is at `address`; `None` if it is
    /// none.
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<DecodedInsn>;

    /// Returns the atomic instruction at the start of `bytes`; `None` if it is none.
    fn atomic(&self, bytes: &[u8]) -> Option<atomic::AtomicInsn>;

    /// Returns the registers that the instruction at the start of `bytes` uses; `None` where this is
    /// not known.
    fn register_use(&self, bytes: &[u8]) -> Option<atomic::RegisterUse>;

    /// Returns true for a return from a function.
    fn is_return(&self, bytes: &[u8]) -> bool;

    /// Returns the registers that a call does not preserve.
    fn call_clobbers(&self) -> RegSet;

    /// Returns the register of a returned pointer.
    fn result_register(&self) -> DwarfRegister;

    /// Returns the register of a parameter, counted from 0, that is a pointer or an integer; `None`
    /// if it is passed in memory.
    fn parameter_register(&self, number: u8) -> Option<DwarfRegister>;

    /// Returns true for the word that holds the running thread's own base address, to which a
    /// program adds the offsets of thread-local variables.
    fn is_thread_pointer(&self, memory: &MemoryOperand) -> bool;

    /// Converts an offset from the thread pointer to one in the program's own thread-local segment
    /// of this size and alignment, in bytes.
    fn thread_local(&self, offset: u64, segment_bytes: u64, segment_align: u64) -> Option<u64>;

    /// Returns the register of a name as in the kernel's stubs (`rax`, `r8`).
    fn register_by_name(&self, name: &str) -> Option<DwarfRegister>;

    /// Returns the stack pointer.
    fn stack_pointer(&self) -> DwarfRegister;

    /// Returns the stack pointer's value at a function's first instruction, relative to the DWARF
    /// canonical frame address, in bytes.
    fn entry_stack_offset(&self) -> i64;
}

//! What one machine instruction does to memory and to registers, in terms that hold for every
//! machine.
//!
//! Registers carry their DWARF numbers, so that a location description (`DW_OP_reg3`) and a decoded
//! operand meet without a table in between. Only what helps to follow pointers is kept: copies,
//! address arithmetic, loads and stores of whole pointers. Everything else clobbers.

pub mod aarch64;
pub mod x86;

/// The decoder for code of the machine with that name in a profile; a profile that names none is of
/// x86-64. `None` if there is none.
pub fn instruction_set(name: &str) -> Option<&'static dyn InstructionSet> {
    match name {
        "" | "x86_64" => Some(&x86::X86InsnSet),
        "aarch64" => Some(&aarch64::Aarch64InsnSet),
        _ => None,
    }
}

/// A general-purpose register by its DWARF number (x86-64: rax 0, rdx 1, rcx 2, rbx 3, rsi 4,
/// rdi 5, rbp 6, rsp 7, r8 to r15 their own numbers; AArch64: x0 to x30 their own, sp 31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DwarfRegister(pub u8);

/// Registers that an analysis keeps apart; numbers from here up are ignored.
pub const REGISTERS: usize = 32;

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegSet(pub u32);

impl RegSet {
    /// Adds `reg`.
    pub fn insert(&mut self, reg: DwarfRegister) {
        if usize::from(reg.0) < REGISTERS {
            self.0 |= 1 << reg.0;
        }
    }

    /// The members, ascending.
    pub fn iter(self) -> impl Iterator<Item = DwarfRegister> {
        (0..REGISTERS as u8)
            .filter(move |n| self.0 & (1 << n) != 0)
            .map(DwarfRegister)
    }
}

/// Which address space an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSegment {
    /// Plain virtual addresses.
    Flat,
    /// Relative to the base of the running CPU's (or thread's) own area: `%gs:` in the x86-64
    /// kernel, `%fs:` in x86-64 programs. Machines without such operands load the base into a
    /// register ([`Effect::LocalBase`]).
    Local,
}

/// A memory operand: `base + index * scale + displacement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryOperand {
    /// Address space.
    pub segment: AddressSegment,
    /// Base register.
    pub base: Option<DwarfRegister>,
    /// Index register and what it is multiplied by.
    pub index: Option<(DwarfRegister, u8)>,
    /// Displacement in bytes; with neither base nor index it is the absolute address
    /// (pc-relative operands come resolved).
    pub displacement: i64,
    /// Bytes accessed; 0 where the instruction does not fix it.
    pub bytes: u32,
    /// It loads from the operand.
    pub reads: bool,
    /// It stores to the operand.
    pub writes: bool,
    /// The operand walks through memory (`rep movs`, `xsave`) or is in several places (a gather):
    /// the registers name only where it starts.
    pub string: bool,
}

impl MemoryOperand {
    /// The absolute address, if no register takes part.
    pub fn absolute(&self) -> Option<u64> {
        let fixed =
            self.base.is_none() && self.index.is_none() && self.segment == AddressSegment::Flat;
        fixed.then_some(self.displacement as u64)
    }
}

/// One thing an instruction does to the registers and slots that hold pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsnEffect {
    /// `dst = src`
    Copy {
        /// Register written.
        dst: DwarfRegister,
        /// Register read.
        src: DwarfRegister,
    },
    /// `dst = value`
    Constant {
        /// Register written.
        dst: DwarfRegister,
        /// Its value.
        value: u64,
    },
    /// `dst = dst + value`
    AddConstant {
        /// Register changed.
        dst: DwarfRegister,
        /// What is added.
        value: i64,
    },
    /// `dst = dst + src`
    AddRegister {
        /// Register changed.
        dst: DwarfRegister,
        /// Register added.
        src: DwarfRegister,
    },
    /// `dst = src * by`
    Multiply {
        /// Register written.
        dst: DwarfRegister,
        /// Register read.
        src: DwarfRegister,
        /// What it is multiplied by.
        by: u64,
    },
    /// `dst = base + a * b`
    AddProduct {
        /// Register written.
        dst: DwarfRegister,
        /// Register added to; nothing if there is none.
        base: Option<DwarfRegister>,
        /// `a` and `b`.
        factors: [DwarfRegister; 2],
    },
    /// `dst = from - what * scale`
    Subtract {
        /// Register written.
        dst: DwarfRegister,
        /// Register subtracted from.
        from: DwarfRegister,
        /// Register subtracted.
        subtrahend: DwarfRegister,
        /// What that one is multiplied by.
        scale: u8,
    },
    /// `dst = src`, cut to fewer bits and extended again: a number, but no pointer.
    Extend {
        /// Register written.
        dst: DwarfRegister,
        /// Register read.
        src: DwarfRegister,
    },
    /// `dst = dst + [memory]`
    AddMemory {
        /// Register changed.
        dst: DwarfRegister,
        /// What is added.
        memory: MemoryOperand,
    },
    /// `dst = address of memory`
    Address {
        /// Register written.
        dst: DwarfRegister,
        /// The operand; nothing is accessed.
        memory: MemoryOperand,
    },
    /// `dst = [memory]`, a whole pointer
    Load {
        /// Register written.
        dst: DwarfRegister,
        /// What is loaded.
        memory: MemoryOperand,
    },
    /// `[memory] = src`, a whole pointer
    Store {
        /// What is stored to.
        memory: MemoryOperand,
        /// Register stored.
        src: DwarfRegister,
    },
    /// `dst = one or the other`
    Select {
        /// Register written.
        dst: DwarfRegister,
        /// Registers of which one is read.
        either: [DwarfRegister; 2],
    },
    /// `dst = base of the running CPU's (or thread's) own area`
    LocalBase {
        /// Register written.
        dst: DwarfRegister,
    },
}

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsnFlow {
    /// At the next instruction.
    Next,
    /// At the target only.
    Jump(u64),
    /// At the target or the next instruction.
    Branch(u64),
    /// At the next instruction, after a function (`None`: through a pointer).
    Call(Option<u64>),
    /// Nowhere that can be told: a return, a jump through a register, a trap.
    Stop,
}

/// Memory operands that an instruction has at most, those that follow each other counted as one: a
/// copy has two.
pub const OPERANDS_MAX: usize = 2;

/// Effects that are followed of one instruction: an AArch64 pair of loads moves its base as well.
pub const EFFECTS_MAX: usize = 3;

/// Effects of one instruction.
pub type Effects = [Option<InsnEffect>; EFFECTS_MAX];

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodedInsn {
    /// Its virtual address.
    pub address: u64,
    /// Its bytes.
    pub len: u8,
    /// Memory it accesses, implicit operands included.
    pub memory: [Option<MemoryOperand>; OPERANDS_MAX],
    /// What it does to pointers, in order; all read the state before the instruction.
    pub effects: Effects,
    /// Registers that hold something unknown afterwards unless an effect says what.
    pub clobbers: RegSet,
    /// Where execution goes on.
    pub flow: InsnFlow,
}

impl DecodedInsn {
    /// Where the address is stored that a jump or call goes to, if that place is fixed: a slot that
    /// the dynamic linker filled.
    pub fn target_slot(&self) -> Option<u64> {
        let through = matches!(self.flow, InsnFlow::Call(None) | InsnFlow::Stop);
        let mut operands = self.memory.iter().flatten().filter(|m| m.reads);
        let slot = { operands.find_map(MemoryOperand::absolute) };
        slot.filter(|_| through)
    }

    /// Address of the instruction after it.
    pub fn next_address(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.len))
    }

    /// The operand behind an access: the one that writes if `writes`, else one that reads; the only
    /// one if there is one.
    pub fn operand(&self, writes: bool) -> Option<&MemoryOperand> {
        let mut operands = self.memory.iter().flatten();
        let fits = |m: &&MemoryOperand| if writes { m.writes } else { m.reads };
        operands.clone().find(fits).or_else(|| operands.next())
    }
}

/// A machine's instruction decoder and calling convention.
pub trait InstructionSet: Sync {
    /// Decodes the instruction at the start of `bytes`, which is at `address`; `None` if it is not
    /// one.
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<DecodedInsn>;

    /// Registers that a call by the machine's convention does not preserve.
    fn call_clobbers(&self) -> RegSet;

    /// Register that holds a returned pointer.
    fn result_register(&self) -> DwarfRegister;

    /// Register that holds a called function's parameter, counted from 0, where pointers and whole
    /// numbers are; `None` past those that are passed in registers.
    fn parameter_register(&self, number: u8) -> Option<DwarfRegister>;

    /// Whether the operand is the word that holds the running thread's own base address, to which
    /// offsets of thread-local variables are added. Of programs.
    fn is_thread_pointer(&self, memory: &MemoryOperand) -> bool;

    /// Where what lies `offset` bytes from the thread pointer is in the program's own thread-local
    /// segment of so many bytes and such an alignment, in bytes from its start.
    fn thread_local(&self, offset: u64, segment_bytes: u64, segment_align: u64) -> Option<u64>;

    /// The general-purpose register of that name, as the kernel's stubs have it (`rax`, `r8`).
    fn register_by_name(&self, name: &str) -> Option<DwarfRegister>;

    /// The stack pointer.
    fn stack_pointer(&self) -> DwarfRegister;

    /// Value of the stack pointer at a function's first instruction, relative to the DWARF
    /// canonical frame address, in bytes.
    fn entry_stack_offset(&self) -> i64;
}

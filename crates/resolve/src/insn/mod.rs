//! What one machine instruction does to memory and to registers, in terms that hold for every
//! machine.
//!
//! Registers carry their DWARF numbers, so that a location description (`DW_OP_reg3`) and a decoded
//! operand meet without a table in between. Only what helps to follow pointers is kept: copies,
//! address arithmetic, loads and stores of whole pointers. Everything else clobbers.

pub mod x86;

/// A general-purpose register by its DWARF number (x86-64: rax 0, rdx 1, rcx 2, rbx 3, rsi 4,
/// rdi 5, rbp 6, rsp 7, r8 to r15 their own numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u8);

/// Registers that an analysis keeps apart; numbers from here up are ignored.
pub const REGISTERS: usize = 32;

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegSet(pub u32);

impl RegSet {
    /// Adds `reg`.
    pub fn insert(&mut self, reg: Reg) {
        if usize::from(reg.0) < REGISTERS {
            self.0 |= 1 << reg.0;
        }
    }

    /// The members, ascending.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        (0..REGISTERS as u8)
            .filter(move |n| self.0 & (1 << n) != 0)
            .map(Reg)
    }
}

/// Which address space an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Plain virtual addresses.
    Flat,
    /// Relative to the base of the running CPU's (or thread's) own area: `%gs:` in the x86-64
    /// kernel, `%fs:` in x86-64 programs.
    Local,
}

/// A memory operand: `base + index * scale + displacement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Address space.
    pub segment: Segment,
    /// Base register.
    pub base: Option<Reg>,
    /// Index register and what it is multiplied by.
    pub index: Option<(Reg, u8)>,
    /// Displacement in bytes; with neither base nor index it is the absolute address
    /// (pc-relative operands come resolved).
    pub displacement: i64,
    /// Bytes accessed; 0 where the instruction does not fix it.
    pub bytes: u32,
    /// It loads from the operand.
    pub reads: bool,
    /// It stores to the operand.
    pub writes: bool,
    /// The operand walks through memory (`rep movs`, `xsave`): the registers name only its start.
    pub string: bool,
}

impl Memory {
    /// The absolute address, if no register takes part.
    pub fn absolute(&self) -> Option<u64> {
        let fixed = self.base.is_none() && self.index.is_none() && self.segment == Segment::Flat;
        fixed.then_some(self.displacement as u64)
    }
}

/// One thing an instruction does to the registers and slots that hold pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `dst = src`
    Copy {
        /// Register written.
        dst: Reg,
        /// Register read.
        src: Reg,
    },
    /// `dst = value`
    Constant {
        /// Register written.
        dst: Reg,
        /// Its value.
        value: u64,
    },
    /// `dst = dst + value`
    AddConstant {
        /// Register changed.
        dst: Reg,
        /// What is added.
        value: i64,
    },
    /// `dst = dst + src`
    AddRegister {
        /// Register changed.
        dst: Reg,
        /// Register added.
        src: Reg,
    },
    /// `dst = dst + [memory]`
    AddMemory {
        /// Register changed.
        dst: Reg,
        /// What is added.
        memory: Memory,
    },
    /// `dst = address of memory`
    Address {
        /// Register written.
        dst: Reg,
        /// The operand; nothing is accessed.
        memory: Memory,
    },
    /// `dst = [memory]`, a whole pointer
    Load {
        /// Register written.
        dst: Reg,
        /// What is loaded.
        memory: Memory,
    },
    /// `[memory] = src`, a whole pointer
    Store {
        /// What is stored to.
        memory: Memory,
        /// Register stored.
        src: Reg,
    },
    /// `dst = condition ? src : dst`
    Select {
        /// Register that may be written.
        dst: Reg,
        /// Register read.
        src: Reg,
    },
}

/// Where execution goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
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

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Its virtual address.
    pub address: u64,
    /// Its bytes.
    pub len: u8,
    /// Memory it accesses, implicit operands included.
    pub memory: [Option<Memory>; 2],
    /// What it does to pointers, in order; all read the state before `clobbers`.
    pub effects: [Option<Effect>; 2],
    /// Registers that hold something unknown afterwards unless an effect says what.
    pub clobbers: RegSet,
    /// Where execution goes on.
    pub flow: Flow,
}

impl Insn {
    /// Where the address is stored that a jump or call goes to, if that place is fixed: a slot that
    /// the dynamic linker filled.
    pub fn target_slot(&self) -> Option<u64> {
        let through = matches!(self.flow, Flow::Call(None) | Flow::Stop);
        let mut operands = self.memory.iter().flatten().filter(|m| m.reads);
        let slot = { operands.find_map(Memory::absolute) };
        slot.filter(|_| through)
    }

    /// Address of the instruction after it.
    pub fn next(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.len))
    }

    /// The operand behind an access: the one that writes if `writes`, else one that reads; the only
    /// one if there is one.
    pub fn operand(&self, writes: bool) -> Option<&Memory> {
        let mut all = self.memory.iter().flatten();
        let fits = |m: &&Memory| if writes { m.writes } else { m.reads };
        all.clone().find(fits).or_else(|| all.next())
    }
}

/// A machine's instruction decoder and calling convention.
pub trait Machine: Sync {
    /// Decodes the instruction at the start of `bytes`, which is at `address`; `None` if it is not
    /// one.
    fn decode(&self, address: u64, bytes: &[u8]) -> Option<Insn>;

    /// Registers that a call by the machine's convention does not preserve.
    fn call_clobbers(&self) -> RegSet;

    /// Register that holds a returned pointer.
    fn result(&self) -> Reg;

    /// Register that holds a called function's parameter, counted from 0, where pointers and whole
    /// numbers are; `None` past those that are passed in registers.
    fn parameter(&self, number: u8) -> Option<Reg>;

    /// Whether the operand is the word that holds the running thread's own base address, to which
    /// offsets of thread-local variables are added. Of programs.
    fn is_thread_pointer(&self, memory: &Memory) -> bool;

    /// The stack pointer.
    fn stack_pointer(&self) -> Reg;

    /// Value of the stack pointer at a function's first instruction, relative to the DWARF
    /// canonical frame address, in bytes.
    fn entry_stack_offset(&self) -> i64;
}

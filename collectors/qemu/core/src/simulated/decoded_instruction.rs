//! Facts about an instruction by its bytes.

use super::operands::MemoryOperand;

/// An instruction, as far as a simulation needs to know it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DecodedInstruction {
    /// Its memory operands, in the order in which they are accessed.
    pub operands: Vec<MemoryOperand>,
    /// No other CPU can interrupt it.
    pub is_locked: bool,
    /// What it does to the processor.
    pub effect: ProcessorEffect,
    /// It changes what a CPU knows of its page tables: it writes CR3 or CR4, or is `invlpg` or `invpcid`.
    pub changes_pages: bool,
    /// String of which it accesses more than one element.
    pub string: Option<RepeatedString>,
}

/// String instruction with a prefix to repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatedString {
    /// It copies, fills or loads as many elements as `rcx` says.
    Counted,
    /// It compares, and may end earlier.
    Compared,
}

/// Effect of an instruction beyond registers and memory, which takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProcessorEffect {
    /// It has none.
    #[default]
    None,
    /// It waits in a spin loop.
    Pause,
    /// It enters the kernel, or returns from it.
    SystemCall,
    /// It returns from an interrupt.
    InterruptReturn,
    /// It writes a control register, or one of the model.
    RegisterWrite,
    /// It reads the time stamp counter.
    ReadTicks,
}

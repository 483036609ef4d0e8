//! Facts about an instruction by its bytes.

use super::aarch64;
use super::operands::MemoryOperand;
use super::x86::X86Decoder;
use crate::insn::TranslatedMachine;

/// An instruction, as far as a simulation needs to know it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct DecodedInstruction {
    /// Its memory operands, in the order in which they are accessed.
    pub operands: Vec<MemoryOperand>,
    /// No other CPU can interrupt it.
    pub is_locked: bool,
    /// What it does to the processor.
    pub effect: ProcessorEffect,
    /// CPUs whose knowledge of their page tables it changes.
    pub page_change: PageChange,
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

/// CPUs that an instruction makes forget what they know of their page tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PageChange {
    /// None.
    #[default]
    None,
    /// Its own: it writes CR3, CR4 or TTBR0, or is `invlpg`, `invpcid` or a local `tlbi`.
    OwnCpu,
    /// All: it is a `tlbi` that others hear of.
    AllCpus,
}

/// Effect of an instruction beyond registers and memory, which takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProcessorEffect {
    /// It has none.
    #[default]
    None,
    /// It waits in a spin loop: `pause`.
    Pause,
    /// The same, at no cost of its own: `yield`.
    Yield,
    /// It waits until another CPU stores to a line that it has loaded, unless it has an event: `wfe`.
    WaitForEvent,
    /// It gives the CPU an event: `sevl`.
    SetEvent,
    /// It lets all earlier instructions end first: `isb`.
    Synchronize,
    /// It waits for earlier accesses.
    Barrier,
    /// It enters the kernel, or returns from it.
    SystemCall,
    /// It returns from an interrupt, or ends it at the interrupt controller.
    InterruptReturn,
    /// It writes a control register, or one of the model, or changes what other CPUs know of page tables.
    RegisterWrite,
    /// It reads the counter of time.
    ReadTicks,
}

impl ProcessorEffect {
    /// Returns whether a CPU sleeps in the instruction while nothing changes that it looks at.
    pub fn is_pause(self) -> bool {
        matches!(self, Self::Pause | Self::Yield | Self::WaitForEvent)
    }
}

/// Decodes the instructions of a machine.
pub enum InstructionDecoder {
    /// x86-64.
    X86(X86Decoder),
    /// AArch64.
    Aarch64,
}

impl InstructionDecoder {
    /// Makes the decoder of a machine.
    pub fn new(machine: TranslatedMachine) -> Self {
        match machine {
            TranslatedMachine::X86 => Self::X86(X86Decoder::default()),
            TranslatedMachine::Aarch64 => Self::Aarch64,
        }
    }

    /// Returns the facts about the instruction with these bytes at `pc`; one without operands and effects if it is not
    /// understood.
    pub fn decode(&mut self, pc: u64, bytes: &[u8]) -> DecodedInstruction {
        match self {
            Self::X86(decoder) => decoder.decode(pc, bytes),
            Self::Aarch64 => aarch64::decode(pc, bytes),
        }
    }
}

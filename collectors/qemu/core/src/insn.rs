//! Properties of an instruction that the plugin needs when it is translated.

pub mod aarch64;
mod x86;

use crate::exchange::ExpectedRegisters;
use crate::markers::{self, GuestMarker};

/// Use of an instruction's memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// The instruction reads and writes the same bytes.
    pub read_write: bool,
    /// The value that it leaves in memory is unknown.
    pub uncertain: bool,
    /// Kind, as `VisitRecord::instruction`.
    pub instruction: u8,
    /// Registers with the value that a compare-and-exchange expects, where they are known.
    pub expected: Option<ExpectedRegisters>,
}

impl MemoryUse {
    /// Use of an instruction that reads or writes.
    const PLAIN: Self = Self {
        read_write: false,
        uncertain: false,
        instruction: 0,
        expected: None,
    };
}

/// Machine whose instructions QEMU translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranslatedMachine {
    /// x86-64.
    X86,
    /// AArch64.
    Aarch64,
}

impl TranslatedMachine {
    /// Returns the machine of the name that QEMU gives it.
    pub fn from_target_name(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Decodes the use of memory from an instruction's bytes. Unknown instructions count as plain
    /// accesses.
    pub fn memory_use(self, bytes: &[u8]) -> MemoryUse {
        match self {
            Self::X86 => x86::memory_use(bytes),
            Self::Aarch64 => aarch64::memory_use(bytes),
        }
    }

    /// Returns true for an instruction of a CPU that waits in a loop. It often waits for a CPU that
    /// the host is not running, so the thread yields.
    pub fn is_pause(self, bytes: &[u8]) -> bool {
        match self {
            Self::X86 => bytes == x86::PAUSE,
            Self::Aarch64 => aarch64::is_pause(bytes),
        }
    }

    /// Returns the number in instructions of the general register that QEMU calls `name`.
    pub fn register_number(self, name: &str) -> Option<u8> {
        match self {
            Self::X86 => x86::register_number(name),
            Self::Aarch64 => aarch64::register_number(name),
        }
    }

    /// Returns the marker that these instruction bytes encode, if any.
    pub fn decode_marker(self, bytes: &[u8]) -> Option<GuestMarker> {
        match self {
            Self::X86 => markers::decode_x86(bytes),
            Self::Aarch64 => markers::decode_aarch64(bytes),
        }
    }
}

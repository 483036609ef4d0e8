//! What the plugin knows of an access beside its place.

use relayout_shadow::{AccessFacts, AccessValue};

use crate::api::GetValue;
use crate::clock::InstructionClock;

/// Numbers that a memory callback gets from the translation of its instruction, in one word: the
/// site, whether the value that the instruction leaves is unknown, its kind, and how many
/// instructions of its block come from it on.
#[derive(Clone, Copy)]
pub struct CallbackData(u64);

const UNCERTAIN_AT: u32 = 32;
const INSTRUCTION_AT: u32 = 33;
const LEFT_AT: u32 = 40;

impl CallbackData {
    /// Packs the numbers; `instruction` is below 128.
    pub fn new(site: u32, uncertain: bool, instruction: u8, left: usize) -> Self {
        Self(
            u64::from(site)
                | u64::from(uncertain) << UNCERTAIN_AT
                | u64::from(instruction) << INSTRUCTION_AT
                | (left as u64) << LEFT_AT,
        )
    }

    /// The numbers that a callback got.
    #[inline(always)]
    pub fn from_pointer(data: *mut std::ffi::c_void) -> Self {
        Self(data as u64)
    }

    /// The word as a callback's data.
    pub fn to_pointer(self) -> *mut std::ffi::c_void {
        self.0 as usize as *mut std::ffi::c_void
    }

    /// Number of the site.
    #[inline(always)]
    pub fn site(self) -> u32 {
        self.0 as u32
    }

    /// Returns whether the value that QEMU reports is not the one that the instruction leaves.
    fn is_uncertain(self) -> bool {
        self.0 >> UNCERTAIN_AT & 1 == 1
    }

    /// Kind of the instruction, as `VisitRecord::instruction`.
    fn instruction(self) -> u8 {
        (self.0 >> INSTRUCTION_AT) as u8 & 0x7f
    }

    /// Instructions of the block from this one on.
    fn left(self) -> u64 {
        self.0 >> LEFT_AT
    }
}

/// An access that a vCPU makes now.
pub struct VcpuAccess<'a> {
    pub vcpu: usize,
    pub clock: &'a InstructionClock,
    pub get_value: Option<GetValue>,
    /// QEMU's description of the access.
    pub info: u32,
    pub data: CallbackData,
}

impl AccessFacts for VcpuAccess<'_> {
    fn value(self) -> Option<AccessValue> {
        // SAFETY: made within the memory callback that `info` belongs to.
        let value = unsafe { self.get_value?(self.info) };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&value.low.to_le_bytes());
        bytes[8..].copy_from_slice(&value.high.to_le_bytes());
        Some(AccessValue::Seen {
            bytes,
            certain: !self.data.is_uncertain(),
        })
    }

    fn clock(&self) -> Option<u64> {
        let executed = self.clock.instructions(self.vcpu);
        Some(executed.saturating_sub(self.data.left()))
    }

    fn instruction(&self) -> u8 {
        self.data.instruction()
    }
}

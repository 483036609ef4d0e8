//! What the plugin knows of an access beside its place.

use relayout_shadow::{AccessFacts, AccessValue};

use crate::api;
use crate::exchange::{ExpectedRegisters, FoundValue};
use crate::insn::MemoryUse;
use crate::plugin::RecordingPlugin;

/// Numbers that a memory callback gets from the translation of its instruction, in one word: the
/// site, whether the value that the instruction leaves is unknown, its kind, how many instructions of
/// its block come from it on, and the registers with the value that a compare-and-exchange expects.
#[derive(Clone, Copy)]
pub struct CallbackData(u64);

const UNCERTAIN_AT: u32 = 32;
const INSTRUCTION_AT: u32 = 33;
const LEFT_AT: u32 = 40;
const EXPECTED_AT: u32 = 56;

impl CallbackData {
    /// Packs what is known of the instruction at `site`, from which on its block has `left`, at most
    /// as many as 16 bits hold.
    pub fn new(site: u32, used: MemoryUse, left: usize) -> Self {
        let expected = ExpectedRegisters::to_byte(used.expected);
        Self(
            u64::from(site)
                | u64::from(used.uncertain) << UNCERTAIN_AT
                | u64::from(used.instruction & 0x7f) << INSTRUCTION_AT
                | (left as u64 & 0xffff) << LEFT_AT
                | u64::from(expected) << EXPECTED_AT,
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
        self.0 >> LEFT_AT & 0xffff
    }

    /// Registers with the value that the instruction expects.
    fn expected(self) -> Option<ExpectedRegisters> {
        ExpectedRegisters::from_byte((self.0 >> EXPECTED_AT) as u8)
    }
}

/// An access that a vCPU makes now.
pub struct VcpuAccess<'a> {
    pub plugin: &'a RecordingPlugin,
    pub vcpu: usize,
    /// What the last compare-and-exchange found in memory.
    pub found: &'a Option<FoundValue>,
    pub vaddr: u64,
    /// QEMU's description of the access.
    pub info: u32,
    pub data: CallbackData,
}

impl AccessFacts for VcpuAccess<'_> {
    fn value(&self) -> Option<AccessValue> {
        // SAFETY: made within the memory callback that `info` belongs to.
        let value = unsafe { self.plugin.get_value?(self.info) };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&value.low.to_le_bytes());
        bytes[8..].copy_from_slice(&value.high.to_le_bytes());
        Some(AccessValue::Seen {
            bytes,
            certain: !self.data.is_uncertain(),
        })
    }

    fn clock(&self) -> Option<u64> {
        let executed = self.plugin.clock.instructions(self.vcpu);
        Some(executed.saturating_sub(self.data.left()))
    }

    fn instruction(&self) -> u8 {
        self.data.instruction()
    }

    fn stored(&self) -> Option<bool> {
        let expected = self.data.expected()?;
        let found = self.found.filter(|found| found.addr == self.vaddr)?;
        let size = api::access_size(self.info);
        let registers = self.plugin.registers.get()?.as_ref()?;
        // SAFETY: made within a callback that reads registers, as that of all instructions that
        // expect a value.
        let value = unsafe { expected.read(registers, size) }?;
        Some(found.is_expected(value, size))
    }
}

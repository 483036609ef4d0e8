//! Addresses that an instruction is about to access, by registers.

use super::SimulatedGuest;
use super::operands::{BasedSegment, MemoryOperand};
use super::translate::AccessInstruction;
use crate::registers::{FS_BASE, GS_BASE, RegisterReader};

/// Bytes of a string that are ordered before its instruction, at most.
const STRING_MAX: u64 = 4096;
/// Number of the register with the count of repetitions, `rcx`.
const COUNT_REGISTER: u8 = 1;

impl SimulatedGuest {
    /// Returns the bytes of an operand that are ordered: of a string all that its repetitions access.
    pub(super) fn operand_bytes(
        &self,
        n: usize,
        operand: &MemoryOperand,
        instruction: &AccessInstruction,
    ) -> u64 {
        if !instruction.is_counted_string() {
            return operand.ordered_bytes.into();
        }
        let count = self.register(n, COUNT_REGISTER).unwrap_or(1);
        count.saturating_mul(operand.bytes.into()).min(STRING_MAX)
    }

    /// Reads a register of CPU `n`, in a callback that reads registers.
    pub(super) fn register(&self, n: usize, number: u8) -> Option<u64> {
        let find = || {
            // SAFETY: within a callback of a CPU.
            unsafe { RegisterReader::find(self.plugin.machine) }
        };
        let reader = self.plugin.registers.get_or_init(find).as_ref()?;
        let seat = &self.seats[n];
        let buffer = seat.buffer.get().unwrap_or_else(|| {
            let buffer = reader.new_buffer();
            seat.buffer.set(Some(buffer));
            buffer
        });
        // SAFETY: within a callback that reads registers.
        unsafe { reader.read_into(buffer, number) }
    }

    /// Computes the address of an operand from registers.
    pub(super) fn operand_address(&self, n: usize, operand: &MemoryOperand) -> Option<u64> {
        let read = |number| self.register(n, number);
        let mut address = operand.displacement;
        if let Some(base) = operand.base {
            address = address.wrapping_add(read(base)?);
        }
        if let Some(index) = operand.index {
            address = address.wrapping_add(index.amount(read(index.number)?));
        }
        if let Some(bit) = operand.bit {
            address = address.wrapping_add(bit.word_offset(read(bit.register)?));
        }
        if let Some(segment) = operand.segment {
            let start = match segment {
                BasedSegment::Fs => FS_BASE,
                BasedSegment::Gs => GS_BASE,
            };
            address = address.wrapping_add(read(start)?);
        }
        Some(address & !(u64::from(operand.alignment) - 1))
    }
}

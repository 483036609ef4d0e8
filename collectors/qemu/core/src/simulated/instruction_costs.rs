//! Costs of instructions that do not wait for memory.

use super::decoded_instruction::{DecodedInstruction, ProcessorEffect};

/// Costs of instructions in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionCosts {
    /// Any instruction.
    pub any: u64,
    /// A locked one, or a barrier, beyond that.
    pub locked: u64,
    /// `pause`, beyond that.
    pub pause: u64,
}

/// Costs beyond that of any instruction, in picoseconds: of system calls and their return, of a
/// return from an interrupt (with its entry), of writes to model-specific and control registers,
/// of reading the time stamp counter, and of letting earlier instructions end. Chosen as orders of magnitude; none decides a ratio
/// (docs/record-kernel.md).
const SYSTEM_CALL: u64 = 25_000;
const INTERRUPT_RETURN: u64 = 200_000;
const REGISTER_WRITE: u64 = 60_000;
const READ_TICKS: u64 = 8_000;
const SYNCHRONIZE: u64 = 10_000;

/// The default is assumed: five instructions in a nanosecond, and 6 ns for an atomic one.
impl Default for InstructionCosts {
    fn default() -> Self {
        Self {
            any: 200,
            locked: 6000,
            pause: 40_000,
        }
    }
}

impl InstructionCosts {
    /// Returns the cost of an instruction.
    pub fn cost_ps(&self, instruction: &DecodedInstruction) -> u64 {
        let effect = match instruction.effect {
            ProcessorEffect::None
            | ProcessorEffect::Yield
            | ProcessorEffect::WaitForEvent
            | ProcessorEffect::SetEvent => 0,
            ProcessorEffect::Synchronize => SYNCHRONIZE,
            ProcessorEffect::Barrier => self.locked,
            ProcessorEffect::Pause => self.pause,
            ProcessorEffect::SystemCall => SYSTEM_CALL,
            ProcessorEffect::InterruptReturn => INTERRUPT_RETURN,
            ProcessorEffect::RegisterWrite => REGISTER_WRITE,
            ProcessorEffect::ReadTicks => READ_TICKS,
        };
        let locked = match instruction.is_locked {
            true => self.locked,
            false => 0,
        };
        self.any + effect + locked
    }
}

#[cfg(test)]
mod tests {
    use super::super::decoded_instruction::InstructionDecoder;
    use super::InstructionCosts;
    use crate::insn::TranslatedMachine;

    #[test]
    fn costs() {
        let costs = InstructionCosts {
            any: 200,
            locked: 6000,
            pause: 40_000,
        };
        let check = |machine, bytes: &[u8], cost| {
            let instruction = InstructionDecoder::new(machine).decode(0, bytes);
            assert_eq!(costs.cost_ps(&instruction), cost, "{bytes:02x?}");
        };
        let check_x86 = |bytes: &[u8], cost| check(TranslatedMachine::X86, bytes, cost);
        check_x86(&[0x48, 0x8b, 0x47, 0x38], 200); // mov 0x38(%rdi),%rax
        check_x86(&[0xf0, 0x48, 0x0f, 0xb1, 0x17], 6200); // lock cmpxchg %rdx,(%rdi)
        check_x86(&[0xf3, 0x90], 40_200); // pause
        check_x86(&[0x0f, 0x05], 25_200); // syscall
        check_x86(&[0x48, 0xcf], 200_200); // iretq
        let check_aarch64 =
            |word: u32, cost| check(TranslatedMachine::Aarch64, &word.to_le_bytes(), cost);
        check_aarch64(0xf940_0020, 200); // ldr x0, [x1]
        check_aarch64(0xb820_0041, 6200); // ldadd w0, w1, [x2]
        check_aarch64(0xd503_3bbf, 6200); // dmb ish
        check_aarch64(0xd503_205f, 200); // wfe
        check_aarch64(0xd503_3fdf, 10_200); // isb
        check_aarch64(0xd400_0001, 25_200); // svc #0
    }
}

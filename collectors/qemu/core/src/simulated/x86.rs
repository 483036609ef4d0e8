//! Facts about an x86-64 instruction by its bytes.

mod operands;

use iced_x86::{
    Code, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register,
};

use self::operands::{is_locked, memory_operands};
use super::decoded_instruction::{DecodedInstruction, PageChange, ProcessorEffect, RepeatedString};

/// Decodes x86-64 instructions.
pub struct X86Decoder {
    factory: InstructionInfoFactory,
}

impl Default for X86Decoder {
    fn default() -> Self {
        Self {
            factory: InstructionInfoFactory::new(),
        }
    }
}

impl X86Decoder {
    /// Returns what the instruction with these bytes at `pc` is; one without operands and effects if it is not understood.
    pub fn decode(&mut self, pc: u64, bytes: &[u8]) -> DecodedInstruction {
        let instruction = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE).decode();
        if instruction.code() == Code::INVALID {
            return DecodedInstruction::default();
        }
        DecodedInstruction {
            operands: memory_operands(&instruction, &mut self.factory),
            is_locked: is_locked(&instruction),
            effect: processor_effect(&instruction),
            page_change: page_change(&instruction),
            string: repeated_string(&instruction),
        }
    }
}

fn processor_effect(instruction: &Instruction) -> ProcessorEffect {
    match instruction.mnemonic() {
        Mnemonic::Pause => ProcessorEffect::Pause,
        Mnemonic::Syscall | Mnemonic::Sysretq => ProcessorEffect::SystemCall,
        Mnemonic::Iretd | Mnemonic::Iretq => ProcessorEffect::InterruptReturn,
        Mnemonic::Wrmsr => ProcessorEffect::RegisterWrite,
        Mnemonic::Rdtsc => ProcessorEffect::ReadTicks,
        _ if written_control_register(instruction).is_some() => ProcessorEffect::RegisterWrite,
        _ => ProcessorEffect::None,
    }
}

fn page_change(instruction: &Instruction) -> PageChange {
    let changes = match instruction.mnemonic() {
        Mnemonic::Invlpg | Mnemonic::Invpcid => true,
        _ => matches!(
            written_control_register(instruction),
            Some(Register::CR3 | Register::CR4)
        ),
    };
    match changes {
        true => PageChange::OwnCpu,
        false => PageChange::None,
    }
}

fn written_control_register(instruction: &Instruction) -> Option<Register> {
    let is_register = instruction.op0_kind() == OpKind::Register;
    let register = instruction.op0_register();
    (instruction.mnemonic() == Mnemonic::Mov && is_register && register.is_cr()).then_some(register)
}

fn repeated_string(instruction: &Instruction) -> Option<RepeatedString> {
    let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    if !repeats || !instruction.is_string_instruction() {
        return None;
    }
    let compares = matches!(
        instruction.mnemonic(),
        Mnemonic::Cmpsb
            | Mnemonic::Cmpsw
            | Mnemonic::Cmpsd
            | Mnemonic::Cmpsq
            | Mnemonic::Scasb
            | Mnemonic::Scasw
            | Mnemonic::Scasd
            | Mnemonic::Scasq
    );
    Some(match compares {
        true => RepeatedString::Compared,
        false => RepeatedString::Counted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> DecodedInstruction {
        X86Decoder::default().decode(0xffff_ffff_8100_0000, bytes)
    }

    #[test]
    fn strings_repeat() {
        let check = |bytes: &[u8], expect| {
            assert_eq!(decoded(bytes).string, expect, "{bytes:02x?}");
        };
        check(&[0xf3, 0x48, 0xa5], Some(RepeatedString::Counted)); // rep movsq
        check(&[0xf3, 0x66, 0xab], Some(RepeatedString::Counted)); // rep stosw
        check(&[0x66, 0xf3, 0xab], Some(RepeatedString::Counted));
        check(&[0xf3, 0xac], Some(RepeatedString::Counted)); // rep lodsb
        check(&[0xf3, 0xa6], Some(RepeatedString::Compared)); // repe cmpsb
        check(&[0xf2, 0xae], Some(RepeatedString::Compared)); // repne scasb
        check(&[0xa4], None); // movsb
        check(&[0xf2, 0x0f, 0x10, 0x07], None); // movsd (%rdi),%xmm0
        check(&[0xf3, 0x0f, 0xb8, 0xa5, 0, 0, 0, 0], None); // popcnt
    }

    #[test]
    fn changes_of_page_tables_are_known() {
        for changes in [
            &[0x0f, 0x22, 0xd8][..],               // mov %rax,%cr3
            &[0x41, 0x0f, 0x22, 0xdc],             // mov %r12,%cr3
            &[0x0f, 0x22, 0xe0],                   // mov %rax,%cr4
            &[0x0f, 0x01, 0x3f],                   // invlpg (%rdi)
            &[0x66, 0x0f, 0x38, 0x82, 0x04, 0x24], // invpcid (%rsp),%rax
        ] {
            let found = decoded(changes).page_change;
            assert_eq!(found, PageChange::OwnCpu, "{changes:02x?}");
        }
        for other in [
            &[0x0f, 0x22, 0xc0][..], // mov %rax,%cr0
            &[0x0f, 0x20, 0xd8],     // mov %cr3,%rax
            &[0x0f, 0x01, 0xf8],     // swapgs
            &[0x0f, 0x01, 0x1f],     // lidt (%rdi)
            &[],
        ] {
            let found = decoded(other).page_change;
            assert_eq!(found, PageChange::None, "{other:02x?}");
        }
    }

    #[test]
    fn effects_on_the_processor() {
        let check = |bytes: &[u8], expect| {
            assert_eq!(decoded(bytes).effect, expect, "{bytes:02x?}");
        };
        check(&[0xf3, 0x90], ProcessorEffect::Pause);
        check(&[0x90], ProcessorEffect::None); // nop
        check(&[0x0f, 0x05], ProcessorEffect::SystemCall);
        check(&[0x48, 0x0f, 0x07], ProcessorEffect::SystemCall); // sysretq
        check(&[0x48, 0xcf], ProcessorEffect::InterruptReturn);
        check(&[0x0f, 0x30], ProcessorEffect::RegisterWrite); // wrmsr
        check(&[0x41, 0x0f, 0x22, 0xdc], ProcessorEffect::RegisterWrite); // mov %r12,%cr3
        check(&[0x0f, 0x20, 0xd8], ProcessorEffect::None); // mov %cr3,%rax
        check(&[0x0f, 0x31], ProcessorEffect::ReadTicks);
    }
}

//! The marker instruction with which a program opens its own window.

use crate::GuestMachine;

/// Bytes of the marker on x86-64: a long no-op whose displacement is relayout's number.
const X86_START: [u8; 8] = [0x0f, 0x1f, 0x84, 0x00, 0x01, 0x00, 0x4c, 0x52];
/// Bytes of the marker on AArch64: `movz xzr, #0x5201`.
const AARCH64_START: [u8; 4] = [0x3f, 0x40, 0x8a, 0xd2];

/// Returns true if the program has the marker, and so decides itself when its window opens.
pub(crate) fn has_start_marker(program: &[u8], machine: GuestMachine) -> bool {
    match machine {
        GuestMachine::X86 => { program.windows(X86_START.len()) }.any(|bytes| bytes == X86_START),
        GuestMachine::Aarch64 => { program.chunks_exact(4) }.any(|bytes| bytes == AARCH64_START),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_instructions_of_the_machine() {
        let check = |program: &[u8], x86, aarch64| {
            assert_eq!(has_start_marker(program, GuestMachine::X86), x86);
            assert_eq!(has_start_marker(program, GuestMachine::Aarch64), aarch64);
        };
        check(&[&[0x90][..], &X86_START].concat(), true, false);
        check(&[&[0; 4][..], &AARCH64_START].concat(), false, true);
        check(&[&[0; 2][..], &AARCH64_START].concat(), false, false);
        check(&[], false, false);
    }
}

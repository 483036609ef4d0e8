//! Machines of guests: what differs between them when a kernel is booted.

use object::Architecture;

/// Machine of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestMachine {
    /// x86-64.
    X86,
    /// AArch64 (arm64).
    Aarch64,
}

impl GuestMachine {
    /// Returns the machine of an ELF file of that architecture, if guests can have it.
    pub fn from_architecture(architecture: Architecture) -> Option<Self> {
        match architecture {
            Architecture::X86_64 => Some(Self::X86),
            Architecture::Aarch64 => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Name of the machine, as in profiles and in the names of programs.
    ///
    /// ```
    /// assert_eq!(relayout_record::GuestMachine::Aarch64.name(), "aarch64");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Properties of the machine that QEMU emulates.
    pub(crate) fn model(self) -> &'static MachineModel {
        match self {
            Self::X86 => &X86_MODEL,
            Self::Aarch64 => &AARCH64_MODEL,
        }
    }
}

/// Properties of an emulated machine, and what its kernel has to be told.
pub(crate) struct MachineModel {
    /// Value of QEMU's `-M`.
    pub machine: &'static str,
    /// Value of QEMU's `-cpu`.
    pub cpu: &'static str,
    /// Parameters of the kernel that recording rests on.
    pub parameters: &'static str,
    /// Symbol of the driver of the serial console that `parameters` name.
    pub console_symbol: &'static str,
    /// Option of the kernel's configuration that builds that driver in.
    pub console_option: &'static str,
}

const X86_MODEL: MachineModel = MachineModel {
    machine: "q35",
    // CPUs without five levels of page tables, and without fast string instructions: with them the
    // kernel copies by `rep movsb`, which QEMU emulates byte by byte.
    cpu: "max,la57=off,erms=off,fsrm=off",
    // Addresses as linked, one type per slab cache, no patched-in branches that differ between
    // machines. The kernel's check that timer interrupts arrive counts them for some time of the
    // host's, and panics where the host is too busy to deliver enough. Each CPU would measure for a
    // second how many loops of a delay are a jiffy (`lpj`), which are cycles of the time stamp counter.
    parameters: "console=ttyS0 panic=-1 oops=panic nokaslr mitigations=off quiet tsc=reliable \
                 no_timer_check lpj=8000000 slab_nomerge",
    console_symbol: "univ8250_console",
    console_option: "CONFIG_SERIAL_8250_CONSOLE",
};

const AARCH64_MODEL: MachineModel = MachineModel {
    machine: "virt,gic-version=3",
    // A CPU with atomic instructions (LSE), and without instructions for copies (MOPS), whose
    // accesses QEMU does not show.
    cpu: "neoverse-n1",
    parameters: "console=ttyAMA0 panic=-1 oops=panic nokaslr mitigations=off quiet slab_nomerge",
    console_symbol: "amba_console",
    console_option: "CONFIG_SERIAL_AMBA_PL011_CONSOLE",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_guests_are_64_bit_ones() {
        let check = |architecture, expect| {
            assert_eq!(GuestMachine::from_architecture(architecture), expect);
        };
        check(Architecture::X86_64, Some(GuestMachine::X86));
        check(Architecture::Aarch64, Some(GuestMachine::Aarch64));
        check(Architecture::Arm, None);
        check(Architecture::X86_64_X32, None);
    }
}

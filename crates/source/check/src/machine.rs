//! Processor architectures of files.

use std::fmt;

/// Processor architecture. The 32-bit and 64-bit variants of an architecture can share a name; the
/// pointer size distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is its own name")]
pub enum MachineArchitecture {
    X86_64,
    I386,
    Arm,
    Arm64,
    Riscv,
    Powerpc,
    S390,
    Mips,
    Loongarch,
    Sparc,
}

/// Names of an architecture.
struct ArchitectureNames {
    machine: MachineArchitecture,
    /// Name of its folder in the kernel's `arch/`.
    name: &'static str,
    /// Other usual names.
    others: &'static [&'static str],
    /// ELF `e_machine` numbers.
    elf: &'static [u16],
    /// Macro that compilers define.
    compiler_macro: &'static str,
    /// Macro of the kernel's configuration.
    kernel_macro: &'static str,
}

const ARCHITECTURES: [ArchitectureNames; 10] = [
    ArchitectureNames {
        machine: MachineArchitecture::X86_64,
        name: "x86_64",
        others: &["amd64", "x86-64"],
        elf: &[62],
        compiler_macro: "__x86_64__",
        kernel_macro: "CONFIG_X86_64",
    },
    ArchitectureNames {
        machine: MachineArchitecture::I386,
        name: "i386",
        others: &["i486", "i586", "i686"],
        elf: &[3],
        compiler_macro: "__i386__",
        kernel_macro: "CONFIG_X86_32",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Arm,
        name: "arm",
        others: &["armv7l"],
        elf: &[40],
        compiler_macro: "__arm__",
        kernel_macro: "CONFIG_ARM",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Arm64,
        name: "arm64",
        others: &["aarch64"],
        elf: &[183],
        compiler_macro: "__aarch64__",
        kernel_macro: "CONFIG_ARM64",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Riscv,
        name: "riscv",
        others: &[],
        elf: &[243],
        compiler_macro: "__riscv",
        kernel_macro: "CONFIG_RISCV",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Powerpc,
        name: "powerpc",
        others: &[],
        elf: &[20, 21],
        compiler_macro: "__powerpc__",
        kernel_macro: "CONFIG_PPC",
    },
    ArchitectureNames {
        machine: MachineArchitecture::S390,
        name: "s390",
        others: &["s390x"],
        elf: &[22],
        compiler_macro: "__s390__",
        kernel_macro: "CONFIG_S390",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Mips,
        name: "mips",
        others: &[],
        elf: &[8],
        compiler_macro: "__mips__",
        kernel_macro: "CONFIG_MIPS",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Loongarch,
        name: "loongarch",
        others: &[],
        elf: &[258],
        compiler_macro: "__loongarch__",
        kernel_macro: "CONFIG_LOONGARCH",
    },
    ArchitectureNames {
        machine: MachineArchitecture::Sparc,
        name: "sparc",
        others: &[],
        elf: &[2, 18, 43],
        compiler_macro: "__sparc__",
        kernel_macro: "CONFIG_SPARC",
    },
];

impl MachineArchitecture {
    /// Name of the architecture.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Macro that compilers define for the architecture.
    pub(crate) fn compiler_macro(self) -> &'static str {
        self.row().compiler_macro
    }

    /// Macro of the kernel's configuration for the architecture.
    pub(crate) fn kernel_macro(self) -> &'static str {
        self.row().kernel_macro
    }

    /// Returns the architecture with this name or other usual name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::find(|row| row.name == name || row.others.contains(&name))
    }

    /// Returns the architecture with this ELF `e_machine` number.
    pub fn from_elf(number: u16) -> Option<Self> {
        Self::find(|row| row.elf.contains(&number))
    }

    /// Iterates over all names that [`as_str`](Self::as_str) returns.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ARCHITECTURES.iter().map(|row| row.name)
    }

    fn find(is_wanted: impl Fn(&ArchitectureNames) -> bool) -> Option<Self> {
        let found = ARCHITECTURES.iter().find(|row| is_wanted(row))?;
        Some(found.machine)
    }

    fn row(self) -> &'static ArchitectureNames {
        let mut rows = ARCHITECTURES.iter();
        rows.find(|row| row.machine == self)
            .expect("the table has all architectures")
    }
}

impl fmt::Display for MachineArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::MachineArchitecture;

    #[test]
    fn every_name_is_read_back() {
        for name in MachineArchitecture::names() {
            assert_eq!(MachineArchitecture::from_name(name).unwrap().as_str(), name);
        }
        assert_eq!(
            MachineArchitecture::from_name("aarch64"),
            Some(MachineArchitecture::Arm64)
        );
        assert_eq!(
            MachineArchitecture::from_elf(62),
            Some(MachineArchitecture::X86_64)
        );
        assert_eq!(MachineArchitecture::from_elf(0), None);
    }
}

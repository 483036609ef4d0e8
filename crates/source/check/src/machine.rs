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

/// Architectures with their names as in the kernel's `arch/` folder, other usual names, and the ELF
/// `e_machine` numbers.
const ARCHITECTURES: [(MachineArchitecture, &str, &[&str], &[u16]); 10] = [
    (
        MachineArchitecture::X86_64,
        "x86_64",
        &["amd64", "x86-64"],
        &[62],
    ),
    (
        MachineArchitecture::I386,
        "i386",
        &["i486", "i586", "i686"],
        &[3],
    ),
    (MachineArchitecture::Arm, "arm", &["armv7l"], &[40]),
    (MachineArchitecture::Arm64, "arm64", &["aarch64"], &[183]),
    (MachineArchitecture::Riscv, "riscv", &[], &[243]),
    (MachineArchitecture::Powerpc, "powerpc", &[], &[20, 21]),
    (MachineArchitecture::S390, "s390", &["s390x"], &[22]),
    (MachineArchitecture::Mips, "mips", &[], &[8]),
    (MachineArchitecture::Loongarch, "loongarch", &[], &[258]),
    (MachineArchitecture::Sparc, "sparc", &[], &[2, 18, 43]),
];

impl MachineArchitecture {
    /// Name of the architecture.
    pub fn as_str(self) -> &'static str {
        let row = ARCHITECTURES.iter().find(|(machine, ..)| *machine == self);
        row.map_or("", |(_, name, ..)| name)
    }

    /// Returns the architecture with this name or other usual name.
    pub fn from_name(name: &str) -> Option<Self> {
        let named = |(_, own, others, _): &&(Self, &str, &[&str], &[u16])| {
            *own == name || others.contains(&name)
        };
        ARCHITECTURES
            .iter()
            .find(named)
            .map(|(machine, ..)| *machine)
    }

    /// Returns the architecture with this ELF `e_machine` number.
    pub fn from_elf(number: u16) -> Option<Self> {
        let numbered = |(.., numbers): &&(Self, &str, &[&str], &[u16])| numbers.contains(&number);
        ARCHITECTURES
            .iter()
            .find(numbered)
            .map(|(machine, ..)| *machine)
    }

    /// Iterates over all names that [`as_str`](Self::as_str) returns.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ARCHITECTURES.iter().map(|(_, name, ..)| *name)
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

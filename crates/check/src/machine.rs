//! Which processor a file is for.

use std::fmt;

/// A processor architecture. Whether it is the 32 or the 64-bit kind is told by the pointer's size,
/// where both have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is its own name")]
pub enum Machine {
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

/// Each with its name, as of the kernel's folders in `arch/`, other usual names, and its numbers in
/// the `e_machine` of ELF.
const ALL: [(Machine, &str, &[&str], &[u16]); 10] = [
    (Machine::X86_64, "x86_64", &["amd64", "x86-64"], &[62]),
    (Machine::I386, "i386", &["i486", "i586", "i686"], &[3]),
    (Machine::Arm, "arm", &["armv7l"], &[40]),
    (Machine::Arm64, "arm64", &["aarch64"], &[183]),
    (Machine::Riscv, "riscv", &[], &[243]),
    (Machine::Powerpc, "powerpc", &[], &[20, 21]),
    (Machine::S390, "s390", &["s390x"], &[22]),
    (Machine::Mips, "mips", &[], &[8]),
    (Machine::Loongarch, "loongarch", &[], &[258]),
    (Machine::Sparc, "sparc", &[], &[2, 18, 43]),
];

impl Machine {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        let own = ALL.iter().find(|(machine, ..)| *machine == self);
        own.map_or("", |(_, name, ..)| name)
    }

    /// The machine of this or another usual name.
    pub fn from_name(name: &str) -> Option<Self> {
        let named = |(_, own, others, _): &&(Self, &str, &[&str], &[u16])| {
            *own == name || others.contains(&name)
        };
        ALL.iter().find(named).map(|(machine, ..)| *machine)
    }

    /// The machine of this number in the `e_machine` of ELF.
    pub fn from_elf(number: u16) -> Option<Self> {
        let numbered = |(.., numbers): &&(Self, &str, &[&str], &[u16])| numbers.contains(&number);
        ALL.iter().find(numbered).map(|(machine, ..)| *machine)
    }

    /// All names that [`as_str`](Self::as_str) gives.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(_, name, ..)| *name)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn every_name_is_read_back() {
        for name in Machine::names() {
            assert_eq!(Machine::from_name(name).unwrap().as_str(), name);
        }
        assert_eq!(Machine::from_name("aarch64"), Some(Machine::Arm64));
        assert_eq!(Machine::from_elf(62), Some(Machine::X86_64));
        assert_eq!(Machine::from_elf(0), None);
    }
}

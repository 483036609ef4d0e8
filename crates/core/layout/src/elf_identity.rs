//! What kind of file it is, from its headers alone.

use object::read::elf::FileHeader as _;

use crate::elf::{ElfBinary, with_elf};

/// What the headers of an ELF file say of the program in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfIdentity {
    /// `e_machine` of ELF.
    pub machine: u16,
    /// Bytes of an address.
    pub pointer_bytes: u64,
    /// The least byte of a number comes first.
    pub little_endian: bool,
    /// GNU build id in lower-case hexadecimal, if it has one.
    pub build_id: Option<String>,
}

impl ElfIdentity {
    /// `None` where `bytes` are no ELF file, as raw BTF is not.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let elf = ElfBinary::parse(bytes).ok()?;
        let machine = with_elf!(&elf, file => file.elf_header().e_machine(file.endian()));
        let build_id = elf.build_id().map(|id| {
            let digits = id.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        });
        Some(Self {
            machine: machine.0,
            pointer_bytes: elf.pointer_size(),
            little_endian: elf.is_little_endian(),
            build_id,
        })
    }
}

//! Machine and build of an ELF file, from its headers.

use object::read::elf::FileHeader as _;

use crate::elf::{ElfBinary, with_elf};

/// Machine and build of an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfIdentity {
    /// `e_machine` of the ELF header.
    pub machine: u16,
    /// Size of an address in bytes.
    pub pointer_bytes: u64,
    /// True if the least significant byte of a number comes first.
    pub little_endian: bool,
    /// GNU build id in lower-case hexadecimal, if the file has one.
    pub build_id: Option<String>,
}

impl ElfIdentity {
    /// Identity of an ELF file; `None` for other files, such as raw BTF.
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

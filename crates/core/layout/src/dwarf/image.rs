//! Instructions of a linked file to the dynamic linker: slots for addresses, and the thread-local
//! segment.

use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use crate::elf::{ElfBinary, with_elf};

/// Slot that the dynamic linker fills with the address of a named symbol. Calls and accesses to
/// other files go through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportSlot<'a> {
    /// Linked address of the slot.
    pub slot: u64,
    /// Name of the symbol, without a version.
    pub name: &'a str,
}

/// Initial image of a file's thread-local variables (`PT_TLS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsSegment {
    /// Size in memory in bytes.
    pub bytes: u64,
    /// Alignment in bytes, at least 1.
    pub align: u64,
}

/// Import slots by address, including those of the procedure linkage table.
pub(super) fn read_imports<'a>(elf: &ElfBinary<'a>) -> Vec<ImportSlot<'a>> {
    let mut imports: Vec<ImportSlot<'a>> = with_elf!(elf, file => {
        let symbols = file.dynamic_symbol_table();
        let relocations = file.dynamic_relocations().into_iter().flatten();
        relocations
            .filter_map(|(slot, relocation)| {
                let RelocationTarget::Symbol(index) = relocation.target() else { return None };
                let name = symbols.as_ref()?.symbol_by_index(index).ok()?.name().ok()?;
                Some(ImportSlot { slot, name }).filter(|_| !name.is_empty())
            })
            .collect()
    });
    imports.sort_by_key(|import| import.slot);
    imports
}

pub(super) fn read_tls(elf: &ElfBinary<'_>) -> Option<TlsSegment> {
    with_elf!(elf, file => read_tls_segment(file))
}

fn read_tls_segment<H: FileHeader>(file: &ElfFile<'_, H>) -> Option<TlsSegment> {
    let endian = file.endian();
    let mut headers = file.elf_program_headers().iter();
    let header = headers.find(|header| header.p_type(endian) == object::elf::PT_TLS)?;
    let bytes: u64 = header.p_memsz(endian).into();
    let align: u64 = header.p_align(endian).into();
    Some(TlsSegment {
        bytes,
        align: align.max(1),
    })
}

//! Facts that the headers of an ELF file tell.

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object as _};

use crate::GuestMachine;

/// Libraries that a program or library needs, as its dynamic section says.
pub(crate) struct LibraryNeeds {
    /// Names, or paths.
    pub names: Vec<String>,
    /// Folders in which the loader looks, each text with several between `:`.
    pub folders: Vec<String>,
    /// The folders come before those of the environment (`DT_RPATH`).
    pub comes_first: bool,
}

/// Reads what an ELF file needs: nothing if it has no dynamic section.
///
/// # Errors
/// The file is damaged.
pub(crate) fn library_needs(bytes: &[u8]) -> object::Result<LibraryNeeds> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let table = header
        .sections(endian, bytes)?
        .dynamic_table(endian, bytes)?;
    let texts = |tag| -> object::Result<Vec<String>> {
        let entries = table.iter().filter(|entry| entry.tag == tag);
        let text = |entry| Ok(String::from_utf8_lossy(table.string(entry)?).into_owned());
        entries.map(text).collect()
    };
    let later = texts(DT_RUNPATH)?;
    let comes_first = later.is_empty();
    Ok(LibraryNeeds {
        names: texts(DT_NEEDED)?,
        folders: if comes_first { texts(DT_RPATH)? } else { later },
        comes_first,
    })
}

/// Returns true for an ELF file of this machine.
pub(crate) fn is_for_machine(bytes: &[u8], machine: GuestMachine) -> bool {
    let file = object::File::parse(bytes);
    file.is_ok_and(|file| GuestMachine::from_architecture(file.architecture()) == Some(machine))
}

/// Returns the loader that a 64-bit program asks for; `None` if it is linked statically.
pub(crate) fn requested_loader(bytes: &[u8]) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let interpreter = |segment: &_| ProgramHeader::interpreter(segment, endian, bytes).ok()?;
    let path = segments.iter().find_map(interpreter)?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// Returns the GNU build id of a file, in hexadecimal.
pub(crate) fn build_id(bytes: &[u8]) -> Option<String> {
    let file = object::File::parse(bytes).ok()?;
    let id = file.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

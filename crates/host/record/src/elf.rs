//! Facts that the headers of an ELF file tell.

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object as _, elf::FileHeader64};

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

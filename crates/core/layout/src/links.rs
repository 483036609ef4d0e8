//! References of a file to another that has its debug information.

use crate::Error;
use crate::elf::ElfBinary;

/// Debug information of a file, and references to a file that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugLinks {
    /// True if the file itself has DWARF or BTF.
    pub has_types: bool,
    /// GNU build id, by which debug files are installed (`.build-id/ab/cdef.debug`).
    pub build_id: Option<Vec<u8>>,
    /// Debug file that `objcopy --add-gnu-debuglink` named.
    pub debug_link: Option<DebugLink>,
}

/// Debug file by name (`.gnu_debuglink`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugLink {
    /// Name without folder.
    pub name: String,
    /// CRC-32 of the whole file, as zlib computes it.
    pub crc: u32,
}

/// Sections that describe types.
const TYPE_SECTIONS: [&str; 4] = [".debug_info", ".debug_types", ".debug_info.dwo", ".BTF"];

impl DebugLinks {
    /// Reads the references of an ELF file.
    ///
    /// # Errors
    /// Not an ELF file, truncated, malformed.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let elf = ElfBinary::parse(bytes)?;
        let section = elf.section(".gnu_debuglink")?;
        Ok(Self {
            has_types: TYPE_SECTIONS.iter().any(|name| elf.has_section(name)),
            build_id: elf.build_id(),
            debug_link: section
                .and_then(|section| parse_debug_link(&section, elf.is_little_endian())),
        })
    }
}

/// Returns a build id as people write it: lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(relayout_layout::links::build_id_text(&[0x0a, 0xb1]), "0ab1");
/// ```
pub fn build_id_text(build_id: &[u8]) -> String {
    build_id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses `.gnu_debuglink`: a name that ends with a zero byte, and the CRC at the next multiple of
/// 4.
fn parse_debug_link(section: &[u8], little: bool) -> Option<DebugLink> {
    let end = section.iter().position(|byte| *byte == 0)?;
    let sum = section.get((end + 1).next_multiple_of(4)..)?;
    let sum = *sum.first_chunk()?;
    Some(DebugLink {
        name: String::from_utf8_lossy(&section[..end]).into_owned(),
        crc: if little {
            u32::from_le_bytes(sum)
        } else {
            u32::from_be_bytes(sum)
        },
    })
}

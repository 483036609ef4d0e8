//! ELF as a container: finds sections, checks that they lie inside the file, and hands out their
//! contents decompressed and, for relocatable objects, relocated.

use std::borrow::Cow;

use object::elf::{FileHeader32, FileHeader64, SHT_NOBITS};
use object::read::RelocationMap;
use object::read::elf::{ElfFile, FileHeader};
use object::{Endianness, Object, ObjectKind, ObjectSection, ReadRef};

use crate::Error;

/// Most bytes that one compressed byte can become: zstd repeats a byte 128 KiB long in a block of 4
/// (zlib stays below 1,033). Room for what a section claims is made before it is decompressed.
const EXPANSION_MAX: u64 = 1 << 15;
/// Largest size a compressed section may claim, in bytes: a guard against absurd headers.
const DECOMPRESSED_SIZE_MAX: u64 = 16 << 30;

/// A checked ELF file of either class.
pub(crate) enum Elf<'a> {
    Elf32(ElfFile<'a, FileHeader32<Endianness>>),
    Elf64(ElfFile<'a, FileHeader64<Endianness>>),
}

/// Runs the same expression for either class of file.
macro_rules! with_elf {
    ($elf:expr, $file:ident => $body:expr) => {
        match $elf {
            $crate::elf::Elf::Elf32($file) => $body,
            $crate::elf::Elf::Elf64($file) => $body,
        }
    };
}
pub(crate) use with_elf;

impl<'a> Elf<'a> {
    /// Checks magic, headers and section bounds.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(Error::NotElf {
                found: describe_start(bytes),
            });
        }
        match bytes.get(4) {
            Some(1) => Ok(Self::Elf32(parse_class(bytes)?)),
            Some(2) => Ok(Self::Elf64(parse_class(bytes)?)),
            Some(class) => Err(Error::Elf(format!("unknown class {class} in byte 4"))),
            None => Err(truncated("the header", 5, bytes)),
        }
    }

    /// Contents of the named section as they should be read; `None` where there is none.
    pub(crate) fn section(&self, name: &str) -> Result<Option<Cow<'a, [u8]>>, Error> {
        with_elf!(self, file => section_of(file, name))
    }

    pub(crate) fn has_section(&self, name: &str) -> bool {
        with_elf!(self, file => file.section_by_name(name).is_some_and(|section| section.size() > 0))
    }

    pub(crate) fn is_little_endian(&self) -> bool {
        with_elf!(self, file => file.is_little_endian())
    }

    /// Size of an address in bytes.
    pub(crate) fn pointer_size(&self) -> u64 {
        match self {
            Self::Elf32(_) => 4,
            Self::Elf64(_) => 8,
        }
    }

    pub(crate) fn build_id(&self) -> Option<Vec<u8>> {
        with_elf!(self, file => file.build_id().ok().flatten().map(<[u8]>::to_vec))
    }
}

fn parse_class<'a, H>(bytes: &'a [u8]) -> Result<ElfFile<'a, H>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let header_size = size_of::<H>() as u64;
    if (bytes.len() as u64) < header_size {
        return Err(truncated("the header", header_size, bytes));
    }
    let header = H::parse(bytes).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let table_start: u64 = header.e_shoff(endian).into();
    let table_size = u64::from(header.e_shnum(endian)) * u64::from(header.e_shentsize(endian));
    let table_end = table_start.saturating_add(table_size);
    if table_end > bytes.len() as u64 {
        return Err(truncated("the section table", table_end, bytes));
    }
    let file = ElfFile::<H>::parse(bytes).map_err(malformed)?;
    check_section_bounds(&file, bytes)?;
    Ok(file)
}

fn check_section_bounds<'a, H>(file: &ElfFile<'a, H>, bytes: &'a [u8]) -> Result<(), Error>
where
    H: FileHeader<Endian = Endianness>,
{
    use object::read::elf::SectionHeader;
    let endian = file.endian();
    for (index, section) in file.elf_section_table().enumerate() {
        if section.sh_type(endian) == SHT_NOBITS {
            continue;
        }
        let start: u64 = section.sh_offset(endian).into();
        let size: u64 = section.sh_size(endian).into();
        let end = start.saturating_add(size);
        if index.0 > 0 && bytes.read_bytes_at(start, size).is_err() {
            let name = file
                .elf_section_table()
                .section_name(endian, section)
                .unwrap_or(b"?");
            let part = format!("section {}", String::from_utf8_lossy(name));
            return Err(truncated(part, end, bytes));
        }
    }
    Ok(())
}

fn section_of<'a, H>(file: &ElfFile<'a, H>, name: &str) -> Result<Option<Cow<'a, [u8]>>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let Some(section) = file.section_by_name(name) else {
        return Ok(None);
    };
    let compressed = section.compressed_data().map_err(malformed)?;
    let claimed = compressed.uncompressed_size;
    let possible = (compressed.data.len() as u64).saturating_mul(EXPANSION_MAX);
    if claimed > possible.min(DECOMPRESSED_SIZE_MAX) {
        return Err(Error::Elf(format!("section {name} claims {claimed} bytes")));
    }
    let mut data = section.uncompressed_data().map_err(malformed)?;
    if file.kind() == ObjectKind::Relocatable {
        let mut map = RelocationMap::default();
        let mut known = Vec::new();
        for (offset, relocation) in section.relocations() {
            // Kinds that a linker would resolve (TLS, GOT) have no value here; they stay as they are.
            let size = relocation.size();
            if map.add(file, offset, relocation).is_ok() && matches!(size, 8 | 16 | 32 | 64) {
                known.push((offset, usize::from(size / 8)));
            }
        }
        relocate(&known, &map, file.is_little_endian(), &mut data);
    }
    Ok(Some(data))
}

/// Writes relocated values into the section, so that readers need not know about relocations.
/// `known` holds the offset in the section and the size in bytes of each relocated place.
fn relocate(known: &[(u64, usize)], map: &RelocationMap, little: bool, data: &mut Cow<'_, [u8]>) {
    for &(offset, size) in known {
        let Ok(start) = usize::try_from(offset) else {
            continue;
        };
        if start.checked_add(size).is_none_or(|end| end > data.len()) {
            continue;
        }
        let place = &mut data.to_mut()[start..start + size];
        let significance = |index: usize| if little { index } else { size - 1 - index };
        let mut wide = [0u8; 8];
        for (index, byte) in place.iter().enumerate() {
            wide[significance(index)] = *byte;
        }
        let value = map.relocate(offset, u64::from_le_bytes(wide)).to_le_bytes();
        for (index, byte) in place.iter_mut().enumerate() {
            *byte = value[significance(index)];
        }
    }
}

fn truncated(part: impl Into<String>, needed: u64, bytes: &[u8]) -> Error {
    Error::Truncated {
        part: part.into(),
        needed,
        found: bytes.len() as u64,
    }
}

fn malformed(error: object::Error) -> Error {
    Error::Elf(error.to_string())
}

/// Names well-known other formats, since giving the boot image instead of vmlinux is common.
fn describe_start(bytes: &[u8]) -> String {
    let known: [(&[u8], &str); 7] = [
        (b"\x1f\x8b", "gzip data; decompress it first"),
        (b"\xfd7zXZ", "xz data; decompress it first"),
        (b"\x28\xb5\x2f\xfd", "zstd data; decompress it first"),
        (b"!<arch>", "an archive; extract an object from it first"),
        (b"\xcf\xfa\xed\xfe", "a Mach-O header; only ELF is read"),
        (
            b"PAR1",
            "a Parquet header; a binary with debug information is wanted here",
        ),
        (b"#!", "a script"),
    ];
    if bytes.is_empty() {
        return "nothing: it is empty".to_owned();
    }
    if bytes.get(0x202..0x206) == Some(b"HdrS") {
        return "a Linux boot image (bzImage); give the vmlinux with debug information".to_owned();
    }
    if let Some((_, name)) = known.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*name).to_owned();
    }
    let start: Vec<String> = bytes
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("bytes {}", start.join(" "))
}

//! ELF container: finds sections, validates that they lie inside the file, and returns their
//! contents decompressed and, for relocatable objects, relocated.
use std::borrow::Cow;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use gimli::RunTimeEndian;
use object::elf::{FileHeader32, FileHeader64, SHT_NOBITS};
use object::read::elf::{ElfFile, ElfSection, FileHeader};
use object::{
    CompressionFormat, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, ReadRef,
    Relocation, RelocationEncoding, RelocationKind, RelocationTarget, SectionIndex,
};
use rustc_hash::FxHashMap;

use crate::Error;

/// Largest total length of decompressed or joined sections, as a multiple of the file's length.
/// Sections of the 6.1 cloud kernel, compressed by objcopy, become at most 5 times as long.
const EXPANSION_MAX: u64 = 64;
/// Length in bytes that sections of any file may have: small sections of zeros compress better.
const EXPANSION_FLOOR: u64 = 1 << 20;

/// ELF file whose headers and section bounds are valid.
pub(crate) struct ElfBinary<'a> {
    pub(crate) class: ElfClass<'a>,
    starts: SectionStarts,
    expansion: ExpansionBudget,
}

/// ELF file of either class.
pub(crate) enum ElfClass<'a> {
    Elf32(ElfFile<'a, FileHeader32<Endianness>>),
    Elf64(ElfFile<'a, FileHeader64<Endianness>>),
}

/// Offset of each debug section of a relocatable object among the sections of the same name, in
/// bytes, as if a linker had joined them.
#[derive(Default)]
struct SectionStarts(FxHashMap<SectionIndex, u64>);

/// Runs the same expression for either class of file.
macro_rules! with_elf {
    ($elf:expr, $file:ident => $body:expr) => {
        match &$elf.class {
            $crate::elf::ElfClass::Elf32($file) => $body,
            $crate::elf::ElfClass::Elf64($file) => $body,
        }
    };
}
pub(crate) use with_elf;

impl<'a> ElfBinary<'a> {
    /// Parses the file, and validates magic, headers and section bounds.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(Error::NotElf {
                found: describe_start(bytes),
            });
        }
        match bytes.get(4) {
            Some(1) => Ok(Self::new(ElfClass::Elf32(parse_class(bytes)?), bytes)),
            Some(2) => Ok(Self::new(ElfClass::Elf64(parse_class(bytes)?), bytes)),
            Some(class) => Err(Error::Elf(format!("unknown class {class} in byte 4"))),
            None => Err(truncated("the header", 5, bytes)),
        }
    }

    fn new(class: ElfClass<'a>, bytes: &[u8]) -> Self {
        let starts = match &class {
            ElfClass::Elf32(file) => SectionStarts::read(file),
            ElfClass::Elf64(file) => SectionStarts::read(file),
        };
        let room = ExpansionBudget::for_file(bytes);
        Self {
            class,
            starts,
            expansion: room,
        }
    }

    /// Contents of the named section, decompressed and relocated; `None` without such a section.
    pub(crate) fn section(&self, name: &str) -> Result<Option<Cow<'a, [u8]>>, Error> {
        with_elf!(self, file => joined_section(file, &self.starts, &self.expansion, name))
    }

    /// Returns true if a section of that name has contents.
    pub(crate) fn has_section(&self, name: &str) -> bool {
        with_elf!(self, file => sections_named(file, name).any(|section| has_contents(&section)))
    }

    pub(crate) fn is_little_endian(&self) -> bool {
        with_elf!(self, file => file.is_little_endian())
    }

    pub(crate) fn endian(&self) -> RunTimeEndian {
        if self.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        }
    }

    /// Size of an address in bytes.
    pub(crate) fn pointer_size(&self) -> u64 {
        match self.class {
            ElfClass::Elf32(_) => 4,
            ElfClass::Elf64(_) => 8,
        }
    }

    /// Returns true if the file holds only gcc's intermediate code of link-time optimisation.
    pub(crate) fn is_link_time(&self) -> bool {
        let of_gcc = |name: &[u8]| name.starts_with(b".gnu.lto_");
        with_elf!(self, file => file.sections().any(|section| section.name_bytes().is_ok_and(of_gcc)))
    }

    /// Reserves bytes for contents that are decompressed elsewhere.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<(), Error> {
        self.expansion.reserve(bytes)
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
    validate_section_bounds(&file, bytes)?;
    Ok(file)
}

fn validate_section_bounds<'a, H>(file: &ElfFile<'a, H>, bytes: &'a [u8]) -> Result<(), Error>
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

/// Contents of all sections of that name, one after another. A relocatable object has several where
/// a linker would choose one (type units, functions in groups) or join them.
fn joined_section<'a, H>(
    file: &ElfFile<'a, H>,
    starts: &SectionStarts,
    room: &ExpansionBudget,
    name: &str,
) -> Result<Option<Cow<'a, [u8]>>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let mut joined: Option<Cow<'a, [u8]>> = None;
    for section in sections_named(file, name) {
        let data = section_contents(file, starts, room, &section)?;
        match &mut joined {
            None => joined = Some(data),
            Some(before) => {
                // Many headers may lead to the same bytes.
                room.reserve(data.len() as u64)?;
                before.to_mut().extend_from_slice(&data);
            }
        }
        // Only objects have relocations, and only they repeat names.
        if starts.0.is_empty() {
            break;
        }
    }
    Ok(joined)
}

/// Returns true if the section has contents. A file that only keeps debug information has other
/// sections without.
fn has_contents<'a, H>(section: &ElfSection<'a, '_, H>) -> bool
where
    H: FileHeader<Endian = Endianness>,
{
    use object::read::elf::SectionHeader;
    let header = section.elf_section_header();
    let endian = section.elf_file().endian();
    section.size() > 0 && header.sh_type(endian) != SHT_NOBITS
}

fn sections_named<'f, 'a, H>(
    file: &'f ElfFile<'a, H>,
    name: &'f str,
) -> impl Iterator<Item = ElfSection<'a, 'f, H>>
where
    H: FileHeader<Endian = Endianness>,
{
    file.sections().filter(move |section| {
        section
            .name_bytes()
            .is_ok_and(|found| is_named(found, name))
    })
}

/// Returns true if a section has this name. GNU once wrote `.zdebug_info` for a compressed
/// `.debug_info`.
fn is_named(found: &[u8], name: &str) -> bool {
    let old = || found.strip_prefix(b".z") == name.as_bytes().strip_prefix(b".");
    found == name.as_bytes() || name.starts_with(".debug_") && old()
}

fn section_contents<'a, H>(
    file: &ElfFile<'a, H>,
    starts: &SectionStarts,
    room: &ExpansionBudget,
    section: &ElfSection<'a, '_, H>,
) -> Result<Cow<'a, [u8]>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let compressed = section.compressed_data().map_err(malformed)?;
    if compressed.format != CompressionFormat::None {
        room.reserve(compressed.uncompressed_size)?;
    }
    let mut data = section.uncompressed_data().map_err(malformed)?;
    if file.kind() == ObjectKind::Relocatable {
        let little = file.is_little_endian();
        for (offset, relocation) in section.relocations() {
            if let Some(known) = KnownRelocation::from_relocation(file, starts, &relocation) {
                known.apply(offset, little, &mut data);
            }
        }
    }
    Ok(data)
}

/// Bytes that sections may still add to the bytes of the file.
struct ExpansionBudget {
    left: AtomicU64,
    total: u64,
}

impl ExpansionBudget {
    fn for_file(bytes: &[u8]) -> Self {
        let all = (bytes.len() as u64)
            .saturating_mul(EXPANSION_MAX)
            .saturating_add(EXPANSION_FLOOR);
        Self {
            left: AtomicU64::new(all),
            total: all,
        }
    }

    /// Reserves bytes before they are allocated.
    fn reserve(&self, bytes: u64) -> Result<(), Error> {
        let enough = |left: u64| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Relaxed, Relaxed, enough);
        taken
            .map(drop)
            .map_err(|_| Error::Expands { max: self.total })
    }
}

/// Relocation whose value is known before linking: sections of one name follow each other from 0
/// on.
struct KnownRelocation {
    bytes: usize,
    value: u64,
    /// True if the bytes at the offset are added to the value.
    adds: bool,
}

impl KnownRelocation {
    /// Relocation with a known value; `None` for those that only a linker can resolve (TLS, GOT).
    fn from_relocation<'a, H>(
        file: &ElfFile<'a, H>,
        starts: &SectionStarts,
        relocation: &Relocation,
    ) -> Option<Self>
    where
        H: FileHeader<Endian = Endianness>,
    {
        let generic = relocation.encoding() == RelocationEncoding::Generic;
        let bits = relocation.size();
        if !generic
            || relocation.kind() != RelocationKind::Absolute
            || !matches!(bits, 8 | 16 | 32 | 64)
        {
            return None;
        }
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index).ok()?;
                let section = symbol.section_index();
                let start = section.map_or(0, |section| starts.start_of(section));
                symbol.address().wrapping_add(start)
            }
            RelocationTarget::Section(index) => starts.start_of(index),
            _ => return None,
        };
        Some(Self {
            bytes: usize::from(bits / 8),
            value: target.wrapping_add(relocation.addend().cast_unsigned()),
            adds: relocation.has_implicit_addend(),
        })
    }

    /// Writes the value into the section, so that readers see relocated contents.
    fn apply(&self, offset: u64, little: bool, data: &mut Cow<'_, [u8]>) {
        let Some(end) = usize::try_from(offset)
            .ok()
            .and_then(|start| start.checked_add(self.bytes))
            .filter(|end| *end <= data.len())
        else {
            return;
        };
        let place = &mut data.to_mut()[end - self.bytes..end];
        let significance = |index: usize| {
            if little {
                index
            } else {
                self.bytes - 1 - index
            }
        };
        let mut old = [0u8; 8];
        if self.adds {
            for (index, byte) in place.iter().enumerate() {
                old[significance(index)] = *byte;
            }
        }
        let value = u64::from_le_bytes(old).wrapping_add(self.value);
        for (index, byte) in place.iter_mut().enumerate() {
            *byte = value.to_le_bytes()[significance(index)];
        }
    }
}

impl SectionStarts {
    fn start_of(&self, section: SectionIndex) -> u64 {
        self.0.get(&section).copied().unwrap_or(0)
    }

    /// Offsets of a relocatable object's debug sections; empty for other files.
    fn read<'a, H>(file: &ElfFile<'a, H>) -> Self
    where
        H: FileHeader<Endian = Endianness>,
    {
        let mut starts = Self::default();
        if file.kind() != ObjectKind::Relocatable {
            return starts;
        }
        let mut ends: FxHashMap<&[u8], u64> = FxHashMap::default();
        for section in file.sections() {
            let Some(name) = section.name_bytes().ok().and_then(debug_name) else {
                continue;
            };
            let size = section
                .compressed_data()
                .map_or(0, |data| data.uncompressed_size);
            let end = ends.entry(name).or_insert(0);
            starts.0.insert(section.index(), *end);
            *end = end.saturating_add(size);
        }
        starts
    }
}

/// `debug_info` of `.debug_info` and `.zdebug_info`.
fn debug_name(section: &[u8]) -> Option<&[u8]> {
    let name = section
        .strip_prefix(b".z")
        .or_else(|| section.strip_prefix(b"."))?;
    name.starts_with(b"debug_").then_some(name)
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

/// Name of the format that the bytes have instead of ELF. A boot image in place of the vmlinux is a
/// common mistake.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_a_file_share_the_room() {
        let room = ExpansionBudget::for_file(&[0; 100]);
        assert!(room.reserve(EXPANSION_FLOOR).is_ok());
        assert!(room.reserve(100 * EXPANSION_MAX - 1).is_ok());
        assert!(matches!(room.reserve(2), Err(Error::Expands { max }) if max == room.total));
        assert!(room.reserve(1).is_ok());
        assert!(room.reserve(u64::MAX).is_err());
    }
}

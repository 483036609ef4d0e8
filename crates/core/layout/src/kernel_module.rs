//! Kernel modules: relocatable files, which a kernel gives addresses when it loads them.
//!
//! Debug information is about one address for each byte. [`link_module`] gives a module's sections
//! addresses that follow from the file alone, and makes an executable of it: equal files have equal
//! link-time addresses in all recordings. [`module_sections`] returns these addresses.

mod relocate;

use std::ops::Range;

use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{
    CompressionFormat, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, SectionIndex,
};
use rustc_hash::FxHashMap;

use self::relocate::ModuleLinker;
use crate::Error;
use crate::elf::{ElfBinary, ElfClass};

/// Section with the variables of a module that each CPU has a copy of.
pub const PER_CPU_SECTION: &str = ".data..percpu";
/// Section with the texts that describe a module.
const DESCRIPTION_SECTION: &str = ".modinfo";

/// Link-time addresses of modules for x86-64: those of its kernels' modules, so that the image is
/// near enough for calls.
const X86_ADDRESSES: Range<u64> = 0xffff_ffff_c000_0000..0xffff_ffff_d000_0000;
/// Link-time addresses of modules for AArch64: below the image of all its kernels.
const AARCH64_ADDRESSES: Range<u64> = 0xffff_8000_0000_0000..0xffff_8000_0800_0000;

/// Offset of `e_type` in the header of an ELF file.
const TYPE_AT: usize = 16;
/// `ET_EXEC`
const EXECUTABLE: u64 = 2;
/// Offsets in a section's header.
const FLAGS_AT: usize = 8;
const ADDRESS_AT: usize = 16;
const OFFSET_AT: usize = 24;
const SIZE_AT: usize = 32;
/// Offset of the value in a symbol.
const VALUE_AT: usize = 8;
const SYMBOL_BYTES: usize = 24;
/// Bytes of the shortest relocation. Many headers may lead to the same bytes.
const RELOCATION_BYTES_MIN: usize = 16;

/// Section of a module that is in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSection {
    /// Its name.
    pub name: String,
    /// Link-time address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Texts that describe a module (`.modinfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleDescription {
    /// Release and options of its kernel: `6.1.0-56-cloud-amd64 SMP preempt mod_unload`.
    pub version_magic: String,
    /// Names of the modules that must be loaded before it.
    pub dependencies: Vec<String>,
}

/// Returns true if an address is one that [`link_module`] gives: code of a module names its own
/// data by such addresses, and those of its kernel by others.
pub fn is_module_address(address: u64) -> bool {
    X86_ADDRESSES.contains(&address) || AARCH64_ADDRESSES.contains(&address)
}

/// Returns the sections of a module that are in memory, with their link-time addresses.
///
/// # Errors
/// The file is no module, or is truncated.
pub fn module_sections(bytes: &[u8]) -> Result<Vec<ModuleSection>, Error> {
    let elf = ElfBinary::parse(bytes)?;
    let file = module_file(&elf)?;
    let addresses = section_addresses(file)?;
    let sections = file.sections().filter_map(|section| {
        Some(ModuleSection {
            name: section.name().ok()?.to_owned(),
            address: *addresses.get(&section.index())?,
            bytes: section.size(),
        })
    });
    Ok(sections.collect())
}

/// Reads the description of a module.
///
/// # Errors
/// The file is no module, or is truncated.
pub fn module_description(bytes: &[u8]) -> Result<ModuleDescription, Error> {
    let elf = ElfBinary::parse(bytes)?;
    module_file(&elf)?;
    let texts = elf.section(DESCRIPTION_SECTION)?.unwrap_or_default();
    let mut description = ModuleDescription::default();
    for text in texts.split(|&byte| byte == 0) {
        let text = String::from_utf8_lossy(text);
        match text.split_once('=') {
            Some(("vermagic", value)) => description.version_magic = value.to_owned(),
            Some(("depends", value)) => {
                let names = value.split(',').filter(|name| !name.is_empty());
                description.dependencies = names.map(str::to_owned).collect();
            }
            _ => {}
        }
    }
    Ok(description)
}

/// Returns the module as an executable: its sections have link-time addresses, and what it names is
/// filled in. `symbol_address` returns the addresses of the kernel's symbols.
///
/// # Errors
/// The file is no module, is truncated, or expands to too much.
pub fn link_module(
    bytes: &[u8],
    symbol_address: &dyn Fn(&str) -> Option<u64>,
) -> Result<Vec<u8>, Error> {
    let elf = ElfBinary::parse(bytes)?;
    let file = module_file(&elf)?;
    let addresses = section_addresses(file)?;
    let mut linker = ModuleLinker {
        file,
        addresses: &addresses,
        symbol_address,
        linked: bytes.to_vec(),
        relocations_left: bytes.len() / RELOCATION_BYTES_MIN,
    };
    for section in file.sections() {
        let header = section_header_at(file, section.index())?;
        if let Some(&address) = addresses.get(&section.index()) {
            linker.write(header + ADDRESS_AT, 8, address);
        }
        let place = place_contents(&elf, &section, header, &mut linker)?;
        if let Some(start) = place {
            linker.relocate(&section, start);
        }
    }
    if let Some(table) = symbol_table_at(file) {
        for symbol in file.symbols() {
            let address = linker.symbol_value(&symbol);
            let at = symbol.index().0.checked_mul(SYMBOL_BYTES);
            let at = at.and_then(|at| at.checked_add(table + VALUE_AT));
            if let Some(at) = at {
                linker.write(at, 8, address);
            }
        }
    }
    linker.write(TYPE_AT, 2, EXECUTABLE);
    Ok(linker.linked)
}

type ModuleFile<'a> = ElfFile64<'a, Endianness>;
type FileSection<'a, 'f> = object::read::elf::ElfSection64<'a, 'f, Endianness>;

fn module_file<'e, 'a>(elf: &'e ElfBinary<'a>) -> Result<&'e ModuleFile<'a>, Error> {
    match &elf.class {
        ElfClass::Elf64(file)
            if file.kind() == ObjectKind::Relocatable && file.is_little_endian() =>
        {
            Ok(file)
        }
        _ => Err(Error::Elf("the file is no kernel module".to_owned())),
    }
}

fn is_loaded(section: &FileSection<'_, '_>) -> bool {
    let header = section.elf_section_header();
    let flags = header.sh_flags(section.elf_file().endian()).0;
    flags & object::elf::SHF_ALLOC.0 != 0
}

/// Link-time address of each section that is in memory: one after the other, as aligned as they
/// want to be.
fn section_addresses(file: &ModuleFile<'_>) -> Result<FxHashMap<SectionIndex, u64>, Error> {
    let area = match file.architecture() {
        object::Architecture::Aarch64 => AARCH64_ADDRESSES,
        _ => X86_ADDRESSES,
    };
    let mut addresses = FxHashMap::default();
    let mut next = area.start;
    for section in file.sections().filter(is_loaded) {
        let place = next.checked_next_multiple_of(section.align().max(1));
        let end = place.and_then(|start| start.checked_add(section.size()));
        let (Some(start), Some(end)) = (place, end.filter(|end| *end <= area.end)) else {
            return Err(Error::Elf("the module is too large".to_owned()));
        };
        addresses.insert(section.index(), start);
        next = end;
    }
    Ok(addresses)
}

/// Offset of a section's header in the file.
fn section_header_at(file: &ModuleFile<'_>, section: SectionIndex) -> Result<usize, Error> {
    let (endian, header) = (file.endian(), file.elf_header());
    let start = header.e_shoff.get(endian);
    let bytes = u64::from(header.e_shentsize.get(endian));
    let at = (section.0 as u64).checked_mul(bytes);
    let at = at.and_then(|at| usize::try_from(at.checked_add(start)?).ok());
    at.ok_or_else(|| Error::Elf("the section table is damaged".to_owned()))
}

fn symbol_table_at(file: &ModuleFile<'_>) -> Option<usize> {
    let section = file
        .section_by_index(file.elf_symbol_table().section())
        .ok()?;
    usize::try_from(section.elf_section_header().sh_offset.get(file.endian())).ok()
}

/// Returns the offset of the section's contents in the linked file, at whose end those of a
/// compressed section are added; `None` if it has none.
fn place_contents(
    elf: &ElfBinary<'_>,
    section: &FileSection<'_, '_>,
    header: usize,
    linker: &mut ModuleLinker<'_, '_>,
) -> Result<Option<usize>, Error> {
    let malformed = |error: object::Error| Error::Elf(error.to_string());
    let compressed = section.compressed_data().map_err(malformed)?;
    if compressed.format == CompressionFormat::None {
        let range = section.file_range();
        return Ok(range.and_then(|(start, _)| usize::try_from(start).ok()));
    }
    elf.reserve(compressed.uncompressed_size)?;
    let data = section.uncompressed_data().map_err(malformed)?;
    let start = linker.linked.len();
    linker.linked.extend_from_slice(&data);
    linker.write(header + FLAGS_AT, 8, 0);
    linker.write(header + OFFSET_AT, 8, start as u64);
    linker.write(header + SIZE_AT, 8, data.len() as u64);
    Ok(Some(start))
}

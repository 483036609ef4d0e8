//! What can be wrong with a file that should describe types.
use crate::dwarf::DieOffset;

/// Why type information could not be read. The message says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The first bytes are not ELF's.
    #[error(
        "not an ELF file: it starts with {found}; a vmlinux, program or object file with debug information is needed"
    )]
    NotElf {
        /// What the first bytes look like, and which file was probably meant.
        found: String,
    },
    /// The ELF header promises more bytes than there are.
    #[error(
        "truncated ELF file: {part} ends at byte {needed}, the file has {found}; copy or build it again"
    )]
    Truncated {
        /// Which part is cut off.
        part: String,
        /// Where that part ends, in bytes from the start of the file.
        needed: u64,
        /// Length of the file in bytes.
        found: u64,
    },
    /// An ELF file whose structure contradicts itself.
    #[error("malformed ELF file: {0}")]
    Elf(String),
    /// Sections would become far longer than the file, as in no file that a compiler made.
    #[error(
        "malformed ELF file: its sections would take more than {max} bytes, decompressed or joined; if it is sound, decompress it with `objcopy --decompress-debug-sections`"
    )]
    Expands {
        /// How many bytes they may take in a file of this length.
        max: u64,
    },
    /// Neither DWARF nor BTF.
    #[error(
        "no debug information: neither DWARF (.debug_info) nor BTF (.BTF); build with -g, or take the unstripped file from the distribution's debug package"
    )]
    NoDebugInfo,
    /// DWARF was asked for, only BTF is there.
    #[error(
        "no DWARF (.debug_info), only BTF; build with -g (kernel: CONFIG_DEBUG_INFO_DWARF5), or take the unstripped file from the distribution's debug package"
    )]
    NoDwarf,
    /// BTF was asked for, only DWARF is there.
    #[error("no BTF (.BTF section); the file has DWARF, which can be read instead")]
    NoBtf,
    /// The types are in other files (`.dwo`, what `dwz` moved), of which none can be read.
    #[error("all types are in other files: {0}")]
    NothingButMissing(String),
    /// Link-time optimisation's intermediate code: what a type looks like is decided by the linker.
    #[error(
        "an object of link-time optimisation (-flto) has no debug information yet; give the linked program, or compile with -ffat-lto-objects"
    )]
    LinkTime,
    /// A section is compressed or has relocations, and there was nowhere to keep what it becomes.
    #[error(
        "section {section} is compressed or relocatable; read the file with a section store of its own"
    )]
    NeedsStore {
        /// The first such section.
        section: &'static str,
    },
    /// A DWARF section contradicts itself.
    #[error("malformed DWARF in {place}: {source}")]
    Dwarf {
        /// Section and offset.
        place: String,
        /// What gimli says.
        source: gimli::Error,
    },
    /// A BTF blob contradicts itself.
    #[error("malformed BTF at byte {offset}: {what}")]
    Btf {
        /// From the start of the blob, in bytes.
        offset: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// No entry at this offset.
    #[error("no debug information entry at offset {:#x} of .debug_info", .0.0)]
    NoSuchDie(DieOffset),
    /// Types nested by value more deeply than any compiler writes them.
    #[error("types nest too deeply at offset {:#x} of .debug_info", .0.0)]
    TooDeep(DieOffset),
}

impl Error {
    pub(crate) fn dwarf(place: impl Into<String>) -> impl FnOnce(gimli::Error) -> Self {
        let place = place.into();
        move |source| Self::Dwarf { place, source }
    }
}

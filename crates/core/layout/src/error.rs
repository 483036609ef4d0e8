//! Errors of reading type information.
use crate::dwarf::DieOffset;

/// Error of reading type information. The message names a remedy where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file does not begin as ELF does.
    #[error(
        "not an ELF file: it starts with {found}; a vmlinux, program or object file with debug information is needed"
    )]
    NotElf {
        /// Format of the first bytes, and the file that was probably meant.
        found: String,
    },
    /// The ELF header tells of more bytes than the file has.
    #[error(
        "truncated ELF file: {part} ends at byte {needed}, the file has {found}; copy or build it again"
    )]
    Truncated {
        /// Part that is cut off.
        part: String,
        /// End of that part in bytes from the start of the file.
        needed: u64,
        /// Length of the file in bytes.
        found: u64,
    },
    /// The structure of the ELF file contradicts itself.
    #[error("malformed ELF file: {0}")]
    Elf(String),
    /// Sections would become far longer than the file, as in no file that a compiler made.
    #[error(
        "malformed ELF file: its sections would take more than {max} bytes, decompressed or joined; if it is sound, decompress it with `objcopy --decompress-debug-sections`"
    )]
    Expands {
        /// Largest total length of sections for a file of this length, in bytes.
        max: u64,
    },
    /// The file has neither DWARF nor BTF.
    #[error(
        "no debug information: neither DWARF (.debug_info) nor BTF (.BTF); build with -g, or take the unstripped file from the distribution's debug package"
    )]
    NoDebugInfo,
    /// The file has BTF, but no DWARF.
    #[error(
        "no DWARF (.debug_info), only BTF; build with -g (kernel: CONFIG_DEBUG_INFO_DWARF5), or take the unstripped file from the distribution's debug package"
    )]
    NoDwarf,
    /// The file has DWARF, but no BTF.
    #[error("no BTF (.BTF section); the file has DWARF, which can be read instead")]
    NoBtf,
    /// The types are in other files (`.dwo`, or a file by `dwz`), and none of them can be read.
    #[error("all types are in other files: {0}")]
    NothingButMissing(String),
    /// The object holds intermediate code of link-time optimisation. The linker decides about
    /// layouts.
    #[error(
        "an object of link-time optimisation (-flto) has no debug information yet; give the linked program, or compile with -ffat-lto-objects"
    )]
    LinkTime,
    /// A section is compressed or has relocations, and there is no store to keep its contents.
    #[error(
        "section {section} is compressed or relocatable; read the file with a section store of its own"
    )]
    NeedsStore {
        /// First such section.
        section: &'static str,
    },
    /// A DWARF section contradicts itself.
    #[error("malformed DWARF in {place}: {source}")]
    Dwarf {
        /// Section and offset.
        place: String,
        /// Error of gimli.
        source: gimli::Error,
    },
    /// A BTF blob contradicts itself.
    #[error("malformed BTF at byte {offset}: {problem}")]
    Btf {
        /// Offset in bytes from the start of the blob.
        offset: usize,
        /// Problem at that offset.
        problem: &'static str,
    },
    /// The kernel's BTF lacks a type of a module's distilled base.
    #[error(
        "this module was built for a kernel with other types: {wanted}, which its BTF refers to (.BTF.base), {problem} in the BTF of the kernel (--btf-base); give the vmlinux of a kernel that can load the module"
    )]
    DistilledBtf {
        /// Keyword, name and size of the type.
        wanted: String,
        /// Reason why no type of the kernel stands for it.
        problem: &'static str,
    },
    /// No entry begins at this offset.
    #[error("no debug information entry at offset {:#x} of .debug_info", .0.0)]
    NoSuchDie(DieOffset),
    /// Types nest by value more deeply than any compiler writes them.
    #[error("types nest too deeply at offset {:#x} of .debug_info", .0.0)]
    TooDeep(DieOffset),
}

impl Error {
    pub(crate) fn dwarf(place: impl Into<String>) -> impl FnOnce(gimli::Error) -> Self {
        let place = place.into();
        move |source| Self::Dwarf { place, source }
    }
}

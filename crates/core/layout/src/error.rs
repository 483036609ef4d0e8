//! Errors of reading type information.
use relayout_messages::UserFacingError;

use crate::dwarf::{DieOffset, MissingCompanion};

/// Error of reading type information. The message names a remedy where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file does not begin as ELF does.
    #[error("not an ELF file: it starts with {found}; {DEBUG_FILE}")]
    NotElf {
        /// Format of the first bytes, and the file that was probably meant.
        found: String,
    },
    /// The ELF header tells of more bytes than the file has.
    #[error(
        "truncated ELF file: {part} ends at byte {needed}, the file has {found}; {COMPLETE_FILE}"
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
        "malformed ELF file: its sections would take more than {max} bytes, decompressed or joined; {DECOMPRESS}"
    )]
    Expands {
        /// Largest total length of sections for a file of this length, in bytes.
        max: u64,
    },
    /// The file has neither DWARF nor BTF.
    #[error("no debug information: neither DWARF (.debug_info) nor BTF (.BTF); {WITH_DEBUG_INFO}")]
    NoDebugInfo,
    /// The file has BTF, but no DWARF.
    #[error("no DWARF (.debug_info), only BTF; {WITH_DWARF}")]
    NoDwarf,
    /// The file has DWARF, but no BTF.
    #[error("no BTF (.BTF section); {READ_DWARF}")]
    NoBtf,
    /// The types are in other files (`.dwo`, or a file by `dwz`), and none of them can be read.
    #[error("all types are in other files: {0}")]
    NothingButMissing(MissingCompanion),
    /// The object holds intermediate code of link-time optimisation. The linker decides about
    /// layouts.
    #[error(
        "an object of link-time optimisation (-flto) has no debug information yet; {LINKED_PROGRAM}"
    )]
    LinkTime,
    /// A section is compressed or has relocations, and there is no store to keep its contents.
    #[error("section {section} is compressed or relocatable; {OWN_STORE}")]
    NeedsStore {
        /// First such section.
        section: &'static str,
    },
    /// A DWARF section contradicts itself.
    #[error("malformed DWARF in {place}: {cause}")]
    Dwarf {
        /// Section and offset.
        place: String,
        /// Error of gimli.
        cause: gimli::Error,
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
        "this module was built for a kernel with other types: {wanted}, which its BTF refers to (.BTF.base), {problem} in the BTF of the kernel (--btf-base); {FITTING_KERNEL}"
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

/// Remedies, each at the end of a message.
const DEBUG_FILE: &str = "a vmlinux, program or object file with debug information is needed";
const COMPLETE_FILE: &str = "copy or build it again";
const DECOMPRESS: &str = "if it is sound, decompress it with `objcopy --decompress-debug-sections`";
const WITH_DEBUG_INFO: &str =
    "build with -g, or take the unstripped file from the distribution's debug package";
const WITH_DWARF: &str = "build with -g (kernel: CONFIG_DEBUG_INFO_DWARF5), or take the unstripped \
                          file from the distribution's debug package";
const READ_DWARF: &str = "the file has DWARF, which can be read instead";
const LINKED_PROGRAM: &str = "give the linked program, or compile with -ffat-lto-objects";
const OWN_STORE: &str = "read the file with a section store of its own";
const FITTING_KERNEL: &str = "give the vmlinux of a kernel that can load the module";

impl Error {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::NotElf { .. } => DEBUG_FILE,
            Self::Truncated { .. } => COMPLETE_FILE,
            Self::Expands { .. } => DECOMPRESS,
            Self::NoDebugInfo => WITH_DEBUG_INFO,
            Self::NoDwarf => WITH_DWARF,
            Self::NoBtf => READ_DWARF,
            Self::LinkTime => LINKED_PROGRAM,
            Self::NeedsStore { .. } => OWN_STORE,
            Self::DistilledBtf { .. } => FITTING_KERNEL,
            Self::NothingButMissing(missing) => return missing.remedy(),
            Self::Elf(_)
            | Self::Dwarf { .. }
            | Self::Btf { .. }
            | Self::NoSuchDie(_)
            | Self::TooDeep(_) => return None,
        };
        Some(remedy.to_owned())
    }

    pub(crate) fn dwarf(place: impl Into<String>) -> impl FnOnce(gimli::Error) -> Self {
        let place = place.into();
        move |cause| Self::Dwarf { place, cause }
    }
}

impl UserFacingError for Error {
    fn user_remedy(&self) -> Option<String> {
        self.remedy()
    }
}

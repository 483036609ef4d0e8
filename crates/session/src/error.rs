//! Errors of a session, each with the file or name at fault and the remedy.

use std::error::Error as StdError;
use std::io;
use std::path::{Path, PathBuf};

use relayout_layout::abi::AbiError;
use relayout_patch::EditRefusal;

use crate::advise::LayoutFileProblem;
use crate::host_error::from_through;

/// Error of any crate, kept as the cause.
pub type Cause = Box<dyn StdError + Send + Sync>;

/// Input that cannot be used, or a failed step on a file or process.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The profile cannot be read.
    #[error("{0}")]
    Profile(#[from] relayout_profile::Error),
    /// The memory allowed for profiles is no number.
    #[error("{name} is '{value}': a number of GB above 0 is needed, as in {name}=8")]
    MemoryVariable {
        /// Environment variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// A file, process or measurement failed.
    #[error("{0}")]
    Host(#[from] crate::HostError),
    /// The objects of the profile cannot be resolved.
    #[error("{0}")]
    Resolve(#[from] relayout_resolve::Error),
    /// The profile names no debug file and none was given.
    #[error(
        "the profile does not say which debug file it was recorded with; give one with --debug FILE"
    )]
    NoDebugFile,
    /// The debug file cannot be read.
    #[error(
        "cannot read the debug file {}; give the {kind} with build id {build_id} with --debug FILE",
        path.display()
    )]
    DebugFile {
        /// File.
        path: PathBuf,
        /// `vmlinux` or `program`.
        kind: &'static str,
        /// Build id of the recording.
        build_id: String,
        /// Cause.
        source: io::Error,
    },
    /// The debug file belongs to another user, and the profile has no build id.
    #[error(
        "the profile names the debug file {} without a build id, and the file belongs to another user; \
         if it is the recorded {kind}, give it with --debug",
        path.display()
    )]
    ForeignDebugFile {
        /// File.
        path: PathBuf,
        /// `vmlinux` or `program`.
        kind: &'static str,
    },
    /// The debug file is of another build.
    #[error(
        "{} is of another build than the recording: its build id is {found}, the recording's \
         {expected}; give the {kind} of the recorded build with --debug FILE",
        path.display()
    )]
    OtherBuild {
        /// File.
        path: PathBuf,
        /// `vmlinux` or `program`.
        kind: &'static str,
        /// Build id of the file.
        found: String,
        /// Build id of the recording.
        expected: String,
    },
    /// The debug information cannot be read.
    #[error("cannot read the debug information of {}", path.display())]
    DebugInformation {
        /// File.
        path: PathBuf,
        /// Cause.
        source: relayout_layout::Error,
    },
    /// The types of a file cannot be read.
    #[error("cannot read the types of {}", path.display())]
    Types {
        /// File.
        path: PathBuf,
        /// Cause.
        source: Cause,
    },
    /// The variables of a program cannot be read.
    #[error("cannot read the variables of {}", path.display())]
    Variables {
        /// File.
        path: PathBuf,
        /// Cause.
        source: Cause,
    },
    /// A program has no symbols.
    #[error("{} has no symbols; give the program before it was stripped", .0.display())]
    NoSymbols(PathBuf),
    /// A build of another configuration cannot be read.
    #[error("configuration {name}")]
    Configuration {
        /// Name of the configuration.
        name: String,
        /// Cause.
        source: Box<Error>,
    },
    /// A machine file cannot be read.
    #[error("`relayout probe -o FILE` writes the file that --machine reads")]
    MachineFile(#[source] crate::HostError),
    /// A machine file has no costs of accesses.
    #[error(
        "{}: it does not have the costs of all accesses: an earlier version wrote it, or the \
         machine was too noisy; `{command}` measures again",
        path.display()
    )]
    MissingCosts {
        /// Machine file.
        path: PathBuf,
        /// Command that measures again.
        command: &'static str,
    },
    /// The profile has several types that a name may mean.
    #[error("{name} may be several types of the profile: {list}; give one of them")]
    SeveralTypes {
        /// Name.
        name: String,
        /// Types.
        list: String,
    },
    /// The profile has no object of a struct.
    #[error(
        "no object of struct {name} is in the profile{suggestion} (see `relayout report` for those \
         that are)"
    )]
    NoObject {
        /// Struct.
        name: String,
        /// Sentence with similar names, or nothing.
        suggestion: String,
    },
    /// The layout of the type is not the user's.
    #[error(
        "{name} is a type of the standard library, which lays it out, and holds no struct of the program"
    )]
    StandardType {
        /// Type.
        name: String,
    },
    /// The named member is the pointer to virtual functions, or a base class's part of the object.
    #[error("struct {name}: the compiler places '{member}', no order of members moves it")]
    CompilersMember {
        /// Struct.
        name: String,
        /// Member.
        member: String,
    },
    /// A struct lacks a member that should stay at its offset.
    #[error("struct {name} has no member '{member}'{suggestion}")]
    NoMember {
        /// Struct.
        name: String,
        /// Member.
        member: String,
        /// Sentence with similar names, or nothing.
        suggestion: String,
    },
    /// No object of the profile has the type or variable that a report is asked for.
    #[error(
        "no type or variable of the profile is named `{name}`{suggestion} (`relayout report PROFILE \
         --top 0` lists those that are contended)"
    )]
    UnknownFindingName {
        /// Name.
        name: String,
        /// Sentence with similar names, or nothing.
        suggestion: String,
    },
    /// A path is of another kind than its place among the arguments needs.
    #[error("{} is {found}: {remedy}", path.display())]
    MisplacedPath {
        /// Path.
        path: PathBuf,
        /// Kind that the path is of.
        found: &'static str,
        /// Command that takes it.
        remedy: String,
    },
    /// A build refers to a file with types that cannot be read, so its types are not known to differ.
    #[error("cannot tell if {} and {} differ: {missing}", old.display(), new.display())]
    MissingComparedTypes {
        /// The earlier build.
        old: PathBuf,
        /// The later build.
        new: PathBuf,
        /// Sentence about the file.
        missing: String,
    },
    /// No compared build has a type of this name.
    #[error(
        "neither {} nor {} has a struct, union or class named `{name}`{suggestion}",
        old.display(),
        new.display()
    )]
    UnknownComparedType {
        /// The earlier build.
        old: PathBuf,
        /// The later build.
        new: PathBuf,
        /// Name.
        name: String,
        /// Sentence with similar names, or nothing.
        suggestion: String,
    },
    /// Debug information is malformed.
    #[error("{0}")]
    Layout(#[from] relayout_layout::Error),
    /// A struct cannot be laid out by the C ABI.
    #[error("{0}")]
    Abi(#[from] AbiError),
    /// The definition in a layout file cannot be read.
    #[error("{0}")]
    Definition(EditRefusal),
    /// A layout file does not describe the struct.
    #[error("{}", path.display())]
    LayoutFile {
        /// File.
        path: PathBuf,
        /// Cause.
        source: LayoutFileProblem,
    },
    /// No folder exists for compiled objects.
    #[error("there is no folder for compiled objects: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// A compiled object cannot be read.
    #[error("cannot read the compiled object")]
    CompiledObject(#[source] relayout_layout::Error),
    /// No finding has the rank.
    #[error("there is no finding of rank {rank}: the profile has {findings}")]
    NoSuchRank {
        /// Rank.
        rank: u32,
        /// Number of findings.
        findings: usize,
    },
}

from_through!(
    Error, Host: relayout_files::Error,
    relayout_files::FileError,
    relayout_probe::Error,
    relayout_toolchain::compile::Error,
    relayout_toolchain::kernel_build::Error,
);

impl Error {
    pub(crate) fn types<E: Into<Cause>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |source| Self::Types {
            path: path.to_owned(),
            source: source.into(),
        }
    }

    pub(crate) fn variables<E: Into<Cause>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |source| Self::Variables {
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

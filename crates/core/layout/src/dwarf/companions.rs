//! Files that a debug file refers to: split units (`.dwo`), packages of them (`.dwp`), and the file
//! that `dwz` moved common types to. This crate asks for them by name and checks that they belong.

use std::fmt;

use crate::Error;

/// Opens the files that a debug file refers to. What it hands out has to live as long as the types.
pub trait CompanionFiles: Sync {
    /// The file that `dwz` moved to what several programs have in common.
    fn supplementary(&self, link: &SupplementaryLink) -> Option<&[u8]>;

    /// The package of split units, beside the program as `PROGRAM.dwp`.
    fn package(&self) -> Option<&[u8]>;

    /// Split units, as many and in the order as asked for. Called once.
    fn split_units(&self, wanted: &[SplitUnit]) -> Vec<Option<&[u8]>>;
}

/// No such files at all.
#[derive(Clone, Copy, Debug)]
pub struct NoCompanions;

impl CompanionFiles for NoCompanions {
    fn supplementary(&self, _: &SupplementaryLink) -> Option<&[u8]> {
        None
    }

    fn package(&self) -> Option<&[u8]> {
        None
    }

    fn split_units(&self, wanted: &[SplitUnit]) -> Vec<Option<&[u8]>> {
        vec![None; wanted.len()]
    }
}

/// What a file says about the one that `dwz` made (`.gnu_debugaltlink`, `.debug_sup`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplementaryLink {
    /// Path, absolute or relative to the file that has the link.
    pub name: String,
    /// Its build id.
    pub build_id: Vec<u8>,
}

/// What a unit says about the file that its types were split off into.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitUnit {
    /// Path, absolute or relative to `folder`.
    pub name: String,
    /// Where the compiler ran.
    pub folder: Option<String>,
    /// Which unit of that file.
    pub id: u64,
}

impl SplitUnit {
    /// The path that the compiler meant.
    pub fn path(&self) -> String {
        match &self.folder {
            Some(folder) if !self.name.starts_with('/') => format!("{folder}/{}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// A file that is referred to and could not be used: what it holds is left out.
#[derive(Debug, thiserror::Error)]
pub enum MissingCompanion {
    /// A split unit's file was not found.
    #[error(
        "{path} is not there, which has the types of a unit; build again, or put it or a package ({package}) beside the program"
    )]
    Split {
        /// Where the compiler put it.
        path: String,
        /// What a package would be called.
        package: &'static str,
    },
    /// A split unit's file has other units.
    #[error("{path} is of another build: it has no unit {id:016x}; build again")]
    OtherBuild {
        /// The file.
        path: String,
        /// The unit that was looked for.
        id: u64,
    },
    /// A file was found but cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        source: Box<Error>,
    },
    /// The supplementary file was not found.
    #[error(
        "the supplementary file {name} (build id {build_id}) is not there; install the debug package that has it"
    )]
    Supplementary {
        /// Path as written in the link.
        name: String,
        /// The build id that is wanted.
        build_id: HexBytes,
    },
    /// The supplementary file has another build id.
    #[error(
        "the supplementary file {name} has build id {found}, {wanted} is needed; install the debug package of this build"
    )]
    OtherSupplementary {
        /// Path as written in the link.
        name: String,
        /// The build id that it has.
        found: HexBytes,
        /// The build id that is wanted.
        wanted: HexBytes,
    },
}

/// Bytes shown as lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexBytes(pub Vec<u8>);

impl fmt::Display for HexBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

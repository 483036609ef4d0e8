//! Files that a debug file refers to: split units (`.dwo`), packages of them (`.dwp`), and the file
//! to which `dwz` moved common types. This crate asks for them by name and compares their ids.

use std::fmt;

use crate::Error;

/// Source of the files that a debug file refers to: none of them, unless a method says otherwise. The bytes have to live
/// as long as the types.
pub trait CompanionFiles: Sync {
    /// File to which `dwz` moved the common types of several programs.
    fn supplementary(&self, _link: &SupplementaryLink) -> Option<&[u8]> {
        None
    }

    /// Package of split units, beside the program as `PROGRAM.dwp`.
    fn package(&self) -> Option<&[u8]> {
        None
    }

    /// Split units in the order of `wanted`. Called once.
    fn split_units(&self, wanted: &[SplitUnit]) -> Vec<Option<&[u8]>> {
        vec![None; wanted.len()]
    }

    /// Index of type names that [`keep_type_index`](Self::keep_type_index) got for the same bytes of the debug file.
    fn type_index(&self) -> Option<&[u8]> {
        None
    }

    /// Takes the index of type names of a file that refers to no others, to be kept for the next time. `write` makes it.
    fn keep_type_index(&self, _write: &dyn Fn() -> Vec<u8>) {}
}

/// Source without any files.
#[derive(Clone, Copy, Debug)]
pub struct NoCompanions;

impl CompanionFiles for NoCompanions {}

/// Reference to the file that `dwz` made (`.gnu_debugaltlink`, `.debug_sup`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupplementaryLink {
    /// Path, absolute or relative to the file that has the link.
    pub name: String,
    /// Build id of that file.
    pub build_id: Vec<u8>,
}

/// Reference of a unit to the file that its types were split off into.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitUnit {
    /// Path, absolute or relative to `folder`.
    pub name: String,
    /// Folder in which the compiler ran.
    pub folder: Option<String>,
    /// Id of the unit in that file.
    pub id: u64,
}

impl SplitUnit {
    /// Path that the compiler wrote.
    pub fn path(&self) -> String {
        match &self.folder {
            Some(folder) if !self.name.starts_with('/') => format!("{folder}/{}", self.name),
            _ => self.name.clone(),
        }
    }
}

/// File that is referred to and could not be used. Its contents are left out.
#[derive(Debug, thiserror::Error)]
pub enum MissingCompanion {
    /// The file of a split unit was not found.
    #[error(
        "{path} is not there, which has the types of a unit; {}",
        split_remedy(package)
    )]
    Split {
        /// Path that the compiler wrote.
        path: String,
        /// Name of a package.
        package: &'static str,
    },
    /// The file of a split unit has other units.
    #[error("{path} is of another build: it has no unit {id:016x}; {BUILD_AGAIN}")]
    OtherBuild {
        /// Path of the file.
        path: String,
        /// Id of the unit.
        id: u64,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Reason.
        cause: Box<Error>,
    },
    /// The supplementary file was not found.
    #[error("the supplementary file {name} (build id {build_id}) is not there; {INSTALL_PACKAGE}")]
    Supplementary {
        /// Path in the link.
        name: String,
        /// Build id in the link.
        build_id: HexBytes,
    },
    /// The supplementary file has another build id.
    #[error(
        "the supplementary file {name} has build id {found}, {wanted} is needed; {INSTALL_BUILD}"
    )]
    OtherSupplementary {
        /// Path in the link.
        name: String,
        /// Build id of the file.
        found: HexBytes,
        /// Build id in the link.
        wanted: HexBytes,
    },
}

/// Remedies, each at the end of a message.
const BUILD_AGAIN: &str = "build again";
const INSTALL_PACKAGE: &str = "install the debug package that has it";
const INSTALL_BUILD: &str = "install the debug package of this build";

fn split_remedy(package: &str) -> String {
    format!("build again, or put it or a package ({package}) beside the program")
}

impl MissingCompanion {
    /// Returns the remedy, which stands behind the last semicolon of the message.
    pub fn remedy(&self) -> Option<String> {
        let remedy = match self {
            Self::Split { package, .. } => return Some(split_remedy(package)),
            Self::OtherBuild { .. } => BUILD_AGAIN,
            Self::Unreadable { cause, .. } => return cause.remedy(),
            Self::Supplementary { .. } => INSTALL_PACKAGE,
            Self::OtherSupplementary { .. } => INSTALL_BUILD,
        };
        Some(remedy.to_owned())
    }
}

/// Bytes that are displayed as lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexBytes(pub Vec<u8>);

impl fmt::Display for HexBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

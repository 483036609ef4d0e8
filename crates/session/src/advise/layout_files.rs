//! Layouts from files: a list of members, the definition of a struct in C, or pahole's output.

use std::path::{Path, PathBuf};

use relayout_files::cannot;
use relayout_layout::TypeArena;
use relayout_layout::abi::{AbiEngine, StructShape};
use relayout_layout::type_words;
use relayout_patch::{DeclaredAlignment, DeclaredMember};
use relayout_search::UserLayout;
use relayout_search::order::{self, MemberOrder, OrderEntry, OrderError};

use crate::{Error, ResolvedProfile};

const EXPECTED: &str = "a struct as C or as pahole prints it, or one member per line, is needed";

/// Reason why a file does not describe a layout of the struct.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutFileProblem {
    /// The file is no text.
    #[error("not text; {EXPECTED}")]
    NotText,
    /// The file is empty.
    #[error("it is empty; {EXPECTED}")]
    Empty,
    /// The members are not those of the struct.
    #[error("{0}")]
    Order(#[from] OrderError),
    /// A new member has a length that is no number.
    #[error("line {line}: '{name}' is new, and its length '{bound}' is no number: write one")]
    UnknownLength {
        /// Line in the file.
        line: u32,
        /// Member.
        name: String,
        /// Length as written.
        bound: String,
    },
    /// A new member has a type of unknown size.
    #[error(
        "line {line}: '{name}' is new, and the size of its type '{type_text}' is not known: declare \
         it as an array of char"
    )]
    UnknownSize {
        /// Line in the file.
        line: u32,
        /// Member.
        name: String,
        /// Type as written.
        type_text: String,
    },
    /// A member has another size than the recorded one.
    #[error(
        "line {line}: '{name}' has {bytes} bytes here and {recorded_bytes} where it was recorded: \
         only order and alignment can be judged"
    )]
    OtherSize {
        /// Line in the file.
        line: u32,
        /// Member.
        name: String,
        /// Size in the file.
        bytes: u64,
        /// Size in the recording.
        recorded_bytes: u64,
    },
    /// An array has more elements than fit 64 bits.
    #[error("line {line}: '{bound}' elements are too many")]
    TooManyElements {
        /// Line in the file.
        line: u32,
        /// Length as written.
        bound: String,
    },
    /// A member is larger than 4 GB.
    #[error("line {line}: larger than 4 GB")]
    TooLarge {
        /// Line in the file.
        line: u32,
    },
}

/// Reads layouts of the struct `shape` from files. The name of a layout is that of its file,
/// without extension.
///
/// # Errors
/// A file cannot be read, or does not describe a layout of the struct.
pub fn read_layout_files(
    resolved: &ResolvedProfile<'_>,
    shape: &StructShape,
    files: &[PathBuf],
) -> Result<Vec<UserLayout>, Error> {
    let reader = LayoutFileReader {
        types: resolved.resolution.types(),
        shape,
        line_bytes: resolved.line_bytes,
    };
    files.iter().map(|path| reader.read_file(path)).collect()
}

/// Reader of layouts of a struct.
struct LayoutFileReader<'a> {
    types: &'a TypeArena,
    shape: &'a StructShape,
    /// Bytes of a cache line.
    line_bytes: u32,
}

impl LayoutFileReader<'_> {
    fn read_file(&self, path: &Path) -> Result<UserLayout, Error> {
        let bytes = relayout_files::read_regular(path).map_err(cannot("read", path))?;
        let in_file = |source| Error::LayoutFile {
            path: path.to_owned(),
            source,
        };
        let text = String::from_utf8(bytes).map_err(|_| in_file(LayoutFileProblem::NotText))?;
        if text.trim().is_empty() {
            return Err(in_file(LayoutFileProblem::Empty));
        }
        let order = match text.contains('{') {
            true => self.order_from_c(path, &text)?,
            false => order::parse(&text, self.shape).map_err(|error| in_file(error.into()))?,
        };
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        Ok(UserLayout {
            name: stem.to_string_lossy().into_owned(),
            order,
        })
    }

    fn order_from_c(&self, path: &Path, text: &str) -> Result<MemberOrder, Error> {
        let file = path.display().to_string();
        let declared = relayout_patch::read_declared_struct(&file, text, &self.shape.name)
            .map_err(Error::Definition)?;
        let align = self.align_bytes(declared.alignment);
        let entries: Result<Vec<OrderEntry>, LayoutFileProblem> = declared
            .members
            .iter()
            .map(|member| self.order_entry(member))
            .collect();
        let arrange =
            |entries: Vec<OrderEntry>| Ok(order::arrange_entries(&entries, align, self.shape)?);
        entries
            .and_then(arrange)
            .map_err(|source| Error::LayoutFile {
                path: path.to_owned(),
                source,
            })
    }

    fn align_bytes(&self, align: Option<DeclaredAlignment>) -> u64 {
        match align {
            None => 1,
            Some(DeclaredAlignment::Bytes(bytes)) => bytes,
            Some(DeclaredAlignment::CacheLine) => u64::from(self.line_bytes.max(1)),
        }
    }

    fn order_entry(&self, member: &DeclaredMember) -> Result<OrderEntry, LayoutFileProblem> {
        let line = member.line;
        let name = member.names.first().cloned().unwrap_or_default();
        let extent = self.member_extent(member)?;
        let has_name = |own: &String| member.names.contains(own);
        let known_atom = self
            .shape
            .atoms
            .iter()
            .find(|atom| atom.names.iter().any(has_name));
        let unread_bound = member
            .bounds
            .iter()
            .find(|bound| bound.parse::<u64>().is_err());
        match (known_atom, extent) {
            (None, None) => Err(match unread_bound {
                Some(bound) => LayoutFileProblem::UnknownLength {
                    line,
                    name,
                    bound: bound.clone(),
                },
                None => LayoutFileProblem::UnknownSize {
                    line,
                    name,
                    type_text: member.type_text.clone(),
                },
            }),
            // A member of another type would be accessed differently, which no recording tells.
            (Some(atom), Some((bytes, _)))
                if bytes != atom.size && member.names.len() == 1 && !atom.flexible =>
            {
                Err(LayoutFileProblem::OtherSize {
                    line,
                    name,
                    bytes,
                    recorded_bytes: atom.size,
                })
            }
            _ => Ok(OrderEntry {
                line: line as usize,
                names: member.names.clone(),
                align: self.align_bytes(member.alignment),
                extent,
            }),
        }
    }

    /// Returns size and alignment of a name of `member`; `None` if its text does not tell.
    fn member_extent(
        &self,
        member: &DeclaredMember,
    ) -> Result<Option<(u64, u64)>, LayoutFileProblem> {
        if member.is_special {
            return Ok(None);
        }
        let abi = AbiEngine::new(self.types);
        let extent = type_words::size_and_align(&abi, self.types, &member.type_text);
        let Some((bytes, align)) = extent else {
            return Ok(None);
        };
        let line = member.line;
        let mut element_count = 1u64;
        for bound in &member.bounds {
            // The value of a macro is known where the member is known.
            let Ok(number) = bound.parse::<u64>() else {
                return Ok(None);
            };
            let count = element_count.checked_mul(number);
            element_count = count.ok_or_else(|| LayoutFileProblem::TooManyElements {
                line,
                bound: bound.clone(),
            })?;
        }
        let total = bytes
            .checked_mul(element_count)
            .filter(|total| *total <= u64::from(u32::MAX))
            .ok_or(LayoutFileProblem::TooLarge { line })?;
        Ok(Some((total, align)))
    }
}

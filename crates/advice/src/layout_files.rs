//! Layouts from files: a list of members, the definition of a struct in C, or pahole's output.

use std::path::{Path, PathBuf};

use relayout_contend::strip_type_tag;
use relayout_layout::abi::{AbiEngine, StructShape};
use relayout_layout::dwarf::{DieOffset, DwarfTypeLoader};
use relayout_layout::{TypeArena, suggestions, type_words};
use relayout_messages::UserError;
use relayout_patch::{DeclaredAlignment, DeclaredMember, DeclaredStruct};
use relayout_resolve::DebugImages;
use relayout_search::UserLayout;
use relayout_search::order::{self, MemberOrder, OrderEntry, OrderError, OrderList};

use crate::ResolvedProfile;
use crate::resolved_profile::LINE_BYTES_DEFAULT;

const EXPECTED: &str = "a struct as C or as pahole prints it, or one member per line, is needed";

/// Layout file that does not fit a struct.
enum LayoutMisfit {
    /// The recorded objects may tell the size of a new member, which debug information alone does not.
    UnknownMember(UserError),
    /// No further knowledge helps.
    Certain(UserError),
}

impl LayoutMisfit {
    fn into_error(self) -> UserError {
        match self {
            Self::UnknownMember(error) | Self::Certain(error) => error,
        }
    }

    /// Names the file.
    fn in_file(self, path: &Path) -> Self {
        match self {
            Self::UnknownMember(error) => Self::UnknownMember(name_file(path, error)),
            Self::Certain(error) => Self::Certain(name_file(path, error)),
        }
    }
}

impl From<OrderError> for LayoutMisfit {
    fn from(error: OrderError) -> Self {
        Self::Certain(error.into())
    }
}

fn name_file(path: &Path, cause: UserError) -> UserError {
    UserError::input(path.display().to_string()).caused_by(cause)
}

/// A file with a layout, as written. The struct's members are not known yet.
#[derive(Clone, Debug)]
pub struct LayoutFile {
    path: PathBuf,
    text: LayoutText,
}

#[derive(Clone, Debug)]
enum LayoutText {
    /// One member on a line.
    Members(OrderList),
    /// The struct as C or as pahole prints it.
    Definition(DeclaredStruct),
}

/// Verifies that the files name the members of the struct `type_name`, by the debug information
/// alone, before the objects of a profile are resolved. A file passes if it fits a struct of this
/// name, or if only the resolved types can tell.
///
/// # Errors
/// A file does not describe a layout of the struct.
pub fn verify_layout_files(
    images: &DebugImages<'_, '_>,
    type_name: &str,
    files: &[LayoutFile],
) -> Result<(), UserError> {
    let tag = strip_type_tag(type_name);
    for file in files {
        let mut refusal = None;
        let mut fits = false;
        for debug in images.files() {
            let mut loader = DwarfTypeLoader::new(debug);
            for die in debug.distinct_types(tag) {
                match verify_against(&mut loader, die, file) {
                    Ok(()) => fits = true,
                    Err(error) => refusal = refusal.or(Some(error)),
                }
            }
        }
        if let Some(error) = refusal.filter(|_| !fits) {
            return Err(error);
        }
    }
    Ok(())
}

/// Verifies a file against a definition. Passes for what is no struct.
fn verify_against(
    loader: &mut DwarfTypeLoader<'_, '_>,
    die: DieOffset,
    file: &LayoutFile,
) -> Result<(), UserError> {
    let Ok(id) = loader.load(die) else {
        return Ok(());
    };
    let types = loader.types();
    let aggregate = types.aggregate(types.strip_typedefs(id));
    let Some(aggregate) = aggregate.filter(|aggregate| aggregate.complete) else {
        return Ok(());
    };
    let abi = AbiEngine::new(types);
    let flattened = abi.flatten_anonymous(aggregate);
    let Ok(shape) = abi.shape(flattened.as_ref().unwrap_or(aggregate)) else {
        return Ok(());
    };
    let fitter = LayoutFitter {
        types,
        shape: &shape,
        line_bytes: LINE_BYTES_DEFAULT,
    };
    match fitter.fit(file) {
        // The types of new members may be among the resolved ones. A missing member stays missing.
        Err(LayoutMisfit::UnknownMember(_)) if fitter.names_all_members(file) => Ok(()),
        result => result.map(|_| ()).map_err(LayoutMisfit::into_error),
    }
}

/// Fits layouts from files to the struct `shape`. The name of a layout is that of its file, without
/// extension.
///
/// # Errors
/// A file does not describe a layout of the struct.
pub(super) fn fit_layout_files(
    resolved: &ResolvedProfile<'_>,
    shape: &StructShape,
    files: &[LayoutFile],
) -> Result<Vec<UserLayout>, UserError> {
    let fitter = LayoutFitter {
        types: resolved.resolution.types(),
        shape,
        line_bytes: resolved.line_bytes,
    };
    let fitted = files.iter().map(|file| fitter.fit(file));
    fitted
        .collect::<Result<_, LayoutMisfit>>()
        .map_err(LayoutMisfit::into_error)
}

impl LayoutFile {
    /// Reads the content of the file at `path` as a layout of the struct with this tag. Which members the struct
    /// has is not known yet, so that mistakes of form are found before anything else is read.
    ///
    /// # Errors
    /// It is neither a list of members nor a definition of the struct.
    pub fn parse(path: &Path, bytes: Vec<u8>, tag: &str) -> Result<Self, UserError> {
        let unread =
            |problem: &str| name_file(path, UserError::input(problem).with_remedy(EXPECTED));
        let text = String::from_utf8(bytes).map_err(|_| unread("not text"))?;
        if text.trim().is_empty() {
            return Err(unread("it is empty"));
        }
        let name = path.display().to_string();
        let text = match text.contains('{') {
            true => {
                LayoutText::Definition(relayout_patch::read_declared_struct(&name, &text, tag)?)
            }
            false => {
                let list = OrderList::parse(&text);
                LayoutText::Members(list.map_err(|error| name_file(path, error.into()))?)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }
}

/// Returns true for `-`, which stands for standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Fits layouts of files to a struct.
struct LayoutFitter<'a> {
    types: &'a TypeArena,
    shape: &'a StructShape,
    /// Bytes of a cache line.
    line_bytes: u32,
}

impl LayoutFitter<'_> {
    fn fit(&self, file: &LayoutFile) -> Result<UserLayout, LayoutMisfit> {
        let order = match &file.text {
            LayoutText::Members(list) => list.arrange(self.shape).map_err(Into::into),
            LayoutText::Definition(declared) => self.order_from_c(declared),
        };
        let order = order.map_err(|misfit: LayoutMisfit| misfit.in_file(&file.path))?;
        let stem = file.path.file_stem().unwrap_or(file.path.as_os_str());
        let name = match is_standard_input(&file.path) {
            true => "given".to_owned(),
            false => stem.to_string_lossy().into_owned(),
        };
        Ok(UserLayout { name, order })
    }

    fn order_from_c(&self, declared: &DeclaredStruct) -> Result<MemberOrder, LayoutMisfit> {
        let align = self.align_bytes(declared.alignment);
        let members = declared.members.iter();
        let entries = members.map(|member| self.order_entry(member));
        let entries: Vec<OrderEntry> = entries.collect::<Result<_, LayoutMisfit>>()?;
        Ok(order::arrange_entries(&entries, align, self.shape)?)
    }

    /// Returns true if a definition names each member of the struct that has a name.
    fn names_all_members(&self, file: &LayoutFile) -> bool {
        let LayoutText::Definition(declared) = &file.text else {
            return true;
        };
        let is_named = |name: &String| {
            let mut members = declared.members.iter();
            members.any(|member| member.names.contains(name))
        };
        let mut atoms = self.shape.atoms.iter();
        atoms.all(|atom| {
            let mut names = atom.names.iter().chain(&atom.tag);
            atom.names.is_empty() || names.any(is_named)
        })
    }

    fn align_bytes(&self, align: Option<DeclaredAlignment>) -> u64 {
        match align {
            None => 1,
            Some(DeclaredAlignment::Bytes(bytes)) => bytes,
            Some(DeclaredAlignment::CacheLine) => u64::from(self.line_bytes.max(1)),
        }
    }

    fn order_entry(&self, member: &DeclaredMember) -> Result<OrderEntry, LayoutMisfit> {
        let line = member.line;
        let name = member.names.first().cloned().unwrap_or_default();
        let extent = self.member_extent(member)?;
        let known_atom = self
            .shape
            .atoms
            .iter()
            .find(|atom| member.names.iter().any(|name| atom.is_called(name)));
        let unread_bound = member
            .bounds
            .iter()
            .find(|bound| bound.parse::<u64>().is_err());
        match (known_atom, extent) {
            (None, None) => Err(self.unknown_member(member, unread_bound)),
            // A member of another type would be accessed differently, which no recording tells.
            (Some(atom), Some((bytes, _)))
                if bytes != atom.size && member.names.len() == 1 && !atom.flexible =>
            {
                Err(LayoutMisfit::Certain(UserError::input(format!(
                    "line {line}: '{name}' has {bytes} bytes here and {} where it was recorded: only order and alignment \
                     can be judged",
                    atom.size
                ))))
            }
            _ => Ok(OrderEntry {
                line: line as usize,
                names: member.names.clone(),
                align: self.align_bytes(member.alignment),
                extent,
            }),
        }
    }

    fn unknown_member(
        &self,
        member: &DeclaredMember,
        unread_bound: Option<&String>,
    ) -> LayoutMisfit {
        let line = member.line;
        let name = member.names.first().cloned().unwrap_or_default();
        let similar = suggestions::similar_members(self.shape, &name);
        let message = match unread_bound {
            Some(bound) => format!(
                "line {line}: '{name}' is new, and its length '{bound}' is no number: write one"
            ),
            None => format!(
                "line {line}: '{name}' is new, and the size of its type '{}' is not known: declare it as an array of char",
                member.type_text
            ),
        };
        LayoutMisfit::UnknownMember(UserError::unknown_name(message, &similar, None))
    }

    /// Returns size and alignment of a name of `member`; `None` if its text does not tell.
    fn member_extent(&self, member: &DeclaredMember) -> Result<Option<(u64, u64)>, LayoutMisfit> {
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
            element_count = count.ok_or_else(|| {
                let message = format!("line {line}: '{bound}' elements are too many");
                LayoutMisfit::Certain(UserError::input(message))
            })?;
        }
        let total = bytes
            .checked_mul(element_count)
            .filter(|total| *total <= u64::from(u32::MAX))
            .ok_or_else(|| {
                LayoutMisfit::Certain(UserError::input(format!("line {line}: larger than 4 GB")))
            })?;
        Ok(Some((total, align)))
    }
}

//! Layouts of two builds, compared, with the hot types of a profile.

mod hot;
mod select;

use std::collections::BTreeMap;
use std::path::PathBuf;

use relayout_diff::{DiffSide, DiffStatus, LayoutDiff, TypeDiff, compare_sides};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_messages::{ProblemReason, RecordingProgress, UserError};

use crate::type_files::unreadable_types;
use crate::with_both_types;

pub use hot::{ComparedFiles, HotDiff, HotMove, HotPair, HotTypeTraffic};

pub use select::{DiffSelection, TypeOrder};

/// Two builds and the types of them to compare.
#[derive(Clone, Debug)]
pub struct DiffRequest {
    /// The earlier build.
    pub old: PathBuf,
    /// The later build.
    pub new: PathBuf,
    /// Debug information to read.
    pub format: DebugInfoFormat,
    /// Names of types, with `*` and `?`; empty for all structs, unions and classes.
    pub types: Vec<String>,
    /// True if copies of C types in Rust code are compared.
    pub bindings: bool,
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// Profile whose hot types come first.
    pub profile: Option<PathBuf>,
    /// Debug file of the profile, instead of the one that it names.
    pub debug: Option<PathBuf>,
    /// Types to show, and their order.
    pub selection: DiffSelection,
}

/// Differences between the layouts of two builds.
#[derive(Debug)]
pub struct BuildComparison {
    /// Differences of all compared types.
    pub diff: LayoutDiff,
    /// Types to show, in order: indices in [`LayoutDiff::types`].
    pub shown: Vec<usize>,
    /// Changed types that are hot in the profile, by index in [`LayoutDiff::types`].
    pub hot: BTreeMap<usize, HotDiff>,
    /// Number of copies of C types in Rust code that were left out.
    pub bindings_left_out: usize,
}

impl BuildComparison {
    /// Tells whether the layout of any compared type differs.
    pub fn differs(&self) -> bool {
        self.diff
            .types
            .iter()
            .any(|type_diff| type_diff.status != DiffStatus::Same)
    }
}

/// Compares the layouts of two builds.
///
/// `notify` receives a sentence for each file whose types are missing.
///
/// # Errors
/// A file cannot be read or has no types, or neither file has a named type.
pub fn compare_builds(
    request: &DiffRequest,
    progress: &dyn RecordingProgress,
    notify: &dyn Fn(&str),
) -> Result<BuildComparison, UserError> {
    let (old, new) = (&request.old, &request.new);
    with_both_types(old, new, request.format, notify, |old, new| {
        compare_types(request, old, new, progress)
    })
}

fn compare_types(
    request: &DiffRequest,
    old: &TypeCatalog<'_>,
    new: &TypeCatalog<'_>,
    progress: &dyn RecordingProgress,
) -> Result<BuildComparison, UserError> {
    let mut before = DiffSide::new(old).with_bindings(request.bindings);
    let mut after = DiffSide::new(new).with_bindings(request.bindings);
    if request.types.is_empty() {
        let (old, new) = rayon::join(|| before.load_all(), || after.load_all());
        old.map_err(UserError::wrap(unreadable_types(&request.old)))?;
        new.map_err(UserError::wrap(unreadable_types(&request.new)))?;
    } else {
        select::load_named(request, &mut before, &mut after)?;
    }
    let bindings_left_out = before.left_out().union(after.left_out()).count();
    let (diff, named) = compare_sides(before, after)?;
    let is_different = |type_diff: &TypeDiff| type_diff.status != DiffStatus::Same;
    let mut missing = { old.missing_companions().iter() }.chain(new.missing_companions());
    if let Some(missing) = missing.next()
        && diff.types.iter().any(is_different)
    {
        let sentence = format!(
            "cannot tell if {} and {} differ: {missing}",
            request.old.display(),
            request.new.display()
        );
        return Err(ProblemReason::from_sentence(sentence, missing.remedy()).into());
    }
    let hot_types = match &request.profile {
        Some(profile) => hot::read_hot_types(profile, request.debug.as_slice(), progress)?,
        None => Vec::new(),
    };
    let files = ComparedFiles {
        old,
        new,
        line_bytes: request.line_bytes,
    };
    let hot = hot::compare_hot_types(&files, &diff, &hot_types)?;
    Ok(BuildComparison {
        shown: select::select_shown(request, &diff, &named, &hot),
        diff,
        hot,
        bindings_left_out,
    })
}

/// Returns the bytes that a type grew by; 0 for a type that only one build has.
pub fn size_growth(diff: &LayoutDiff, index: usize) -> i128 {
    diff.both_layouts(&diff.types[index])
        .map_or(0, |(old, new)| i128::from(new.size) - i128::from(old.size))
}

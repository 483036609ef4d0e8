//! Differences between the layouts of two builds: a JSON document and text.

use std::path::Path;

use relayout_diff::LayoutDiff;
use relayout_session::diff::BuildComparison;

/// A comparison of two builds and the choices for showing it.
#[derive(Clone, Copy, Debug)]
pub struct DiffContents<'a> {
    /// The comparison.
    pub comparison: &'a BuildComparison,
    /// The earlier build.
    pub old: &'a Path,
    /// The later build.
    pub new: &'a Path,
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// Only named types were compared, so that not all holders of a type are known.
    pub is_partial: bool,
    /// Text lists every pushed member rather than the first of a row.
    pub verbose: bool,
}

impl<'a> DiffContents<'a> {
    pub(crate) fn diff(&self) -> &'a LayoutDiff {
        &self.comparison.diff
    }
}

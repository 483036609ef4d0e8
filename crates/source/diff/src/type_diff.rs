//! Outcome of the comparison for one type.

/// Comparison of one type that is in one file or in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDiff {
    /// Index in [`LayoutDiff::old`](crate::LayoutDiff::old).
    pub old: Option<usize>,
    /// Index in [`LayoutDiff::new`](crate::LayoutDiff::new).
    pub new: Option<usize>,
    /// Outcome.
    pub status: DiffStatus,
    /// True if the type's own members changed, not only a type that it holds.
    pub by_itself: bool,
    /// Matched by order alone: the name has several definitions, and debug information does not
    /// tell their places of declaration.
    pub by_order: bool,
    /// Changed types that it holds by value: indices in
    /// [`LayoutDiff::types`](crate::LayoutDiff::types).
    pub held: Vec<usize>,
}

/// Outcome of the comparison for one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiffStatus {
    /// In the new file only.
    Added,
    /// In the old file only.
    Removed,
    /// The layout of the type, or of a type that it holds by value, differs.
    Changed,
    /// Same layout in both files.
    Same,
}

impl DiffStatus {
    /// Word in JSON output. Scripts rely on it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Same => "same",
        }
    }
}

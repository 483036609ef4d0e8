//! Files of a source tree beside the one with the definition. This crate opens none of them: the
//! caller implements [`SourceFiles`].

/// Text of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Path below the top of the tree; stands in refusals.
    pub file: String,
    /// Content.
    pub text: String,
}

/// Files to read out of a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedFiles {
    /// Folder, relative to the top of the tree; empty for all of it.
    pub folder: String,
    /// Extensions of their names.
    pub extensions: &'static [&'static str],
    /// Folder below `folder` that is left out, with what a build has written.
    pub built_folder: Option<&'static str>,
    /// Text that they have; `None`: all of them.
    pub containing: Option<String>,
}

/// Source tree of the file with the definition. Paths are relative to its top.
pub trait SourceFiles {
    /// Returns true if the tree has a file of that path.
    fn has_file(&self, path: &str) -> bool;

    /// Returns true for a tree without C++, as the kernel's: its headers have no classes.
    fn is_c_only(&self) -> bool;

    /// Reads files of the tree, sorted by path. Files that cannot be read are left out.
    fn read_files(&self, wanted: &WantedFiles) -> Vec<SourceText>;
}

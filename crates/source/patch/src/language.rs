//! What an edit has to know of a language.
//!
//! Another language is a folder with an implementation of [`SourceLanguage`], and a line in
//! [`crate::languages`]. What all languages have in common is in [`crate::operations`].

use crate::change::{MoveRequest, SourceChange};
use crate::covering_comment::CoveringComment;
use crate::refusal::{EditRefusal, FileLine};
use crate::source_files::{SourceFiles, SourceText};

/// A struct in the text of the file that defines it.
#[derive(Clone, Copy, Debug)]
pub struct StructSource<'a> {
    /// File; stands in refusals.
    pub file: &'a str,
    /// Text of the file.
    pub text: &'a str,
    /// Name of the struct.
    pub name: &'a str,
    /// Line, from 1, that debug information gives for the definition: it selects one of several
    /// definitions, as in branches of an `#if`.
    pub line: Option<u32>,
    /// Number among the definitions of that name in the file, from 0. It selects the definition
    /// where edits have moved its line.
    pub number: Option<usize>,
}

impl<'a> StructSource<'a> {
    /// Names a struct and the text of its file.
    pub fn new(file: &'a str, text: &'a str, name: &'a str, line: Option<u32>) -> Self {
        Self {
            file,
            text,
            name,
            line,
            number: None,
        }
    }
}

/// Definition of a struct as far as all languages have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructOutline {
    /// Number among the definitions of that name in the file, from 0.
    pub number: usize,
    /// Line of the definition.
    pub place: FileLine,
    /// Members in the order of the text.
    pub members: Vec<String>,
}

impl StructOutline {
    /// Returns true if both have the same members, in any order.
    pub(crate) fn has_same_members(&self, other: &Self) -> bool {
        let sorted = |outline: &Self| {
            let mut members = outline.members.clone();
            members.sort_unstable();
            members
        };
        sorted(self) == sorted(other)
    }
}

/// An array whose elements get cache lines of their own.
#[derive(Clone, Copy, Debug)]
pub struct SpreadElements<'a> {
    /// Name of the array.
    pub array: &'a str,
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Bytes from one element to the next.
    pub stride: u64,
    /// Alignment of the first element in bytes; 1 where it stays.
    pub align: u64,
}

impl SpreadElements<'_> {
    /// Returns the instruction for C and C++, where the elements become `wrapper`.
    pub(crate) fn wrapped_in(&self, wrapper: &str) -> String {
        let Self {
            array,
            element_bytes,
            ..
        } = self;
        format!(
            "make the elements of `{array}` ({element_bytes} bytes) `{wrapper}`, where T is their type of today, \
             and let each use name the member `value` of the element"
        )
    }

    /// Returns a type of C and C++ with the bytes of the element and those up to the next one.
    pub(crate) fn filled_struct(&self) -> String {
        let stride = self.stride;
        format!("struct {{ T value; char pad[{stride} - sizeof(T)]; }}")
    }
}

/// Edited texts of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedTree {
    /// Text of the file with the definition.
    pub definition: String,
    /// Other files that changed, with their new texts.
    pub others: Vec<SourceText>,
}

/// A language whose structs are edited.
pub trait SourceLanguage: Sync {
    /// Returns true for a file of the language.
    fn recognizes(&self, file_name: &str, text: &str) -> bool;

    /// Returns true for a file that is compiled by itself, false for one that others include.
    fn is_unit(&self, file_name: &str) -> bool;

    /// Returns true if the compiler orders members itself where the source does not forbid it, and
    /// allocations have the alignment of the type.
    fn compiler_orders_members(&self) -> bool {
        false
    }

    /// Finds the definition and reads its members, nested ones by path.
    ///
    /// # Errors
    /// The definition is not found or not understood.
    fn read_struct(&self, source: StructSource<'_>) -> Result<StructOutline, EditRefusal>;

    /// Returns the members that stand between `#if` and `#endif` in the body, and so are missing in
    /// some configurations. A Rust struct has none: each `#[cfg]` moves with its field.
    ///
    /// # Errors
    /// The definition is not found or not understood.
    fn conditional_members(&self, _source: StructSource<'_>) -> Result<Vec<String>, EditRefusal> {
        Ok(Vec::new())
    }

    /// Returns the comment that a member of C or C++ stands under; `None` if there is none, or where
    /// the member is not found.
    fn covering_comment(
        &self,
        _source: StructSource<'_>,
        _member: &str,
    ) -> Option<CoveringComment> {
        None
    }

    /// Returns the other files of the tree that [`edit`](Self::edit) has to know for the changes.
    fn files_beside(
        &self,
        tree: &dyn SourceFiles,
        source: StructSource<'_>,
        changes: &[SourceChange],
    ) -> Vec<SourceText>;

    /// Makes changes of the struct, in order. `others` are the other files of the tree that the
    /// changes may reach.
    ///
    /// # Errors
    /// The first change that cannot be made safely.
    fn edit(
        &self,
        source: StructSource<'_>,
        changes: &[SourceChange],
        others: &[SourceText],
    ) -> Result<EditedTree, EditRefusal>;

    /// Returns changes that may take a move of members back. The caller tries each.
    ///
    /// # Errors
    /// The definition is not found or not understood.
    fn moves_back(
        &self,
        source: StructSource<'_>,
        request: MoveRequest<'_>,
    ) -> Result<Vec<Vec<SourceChange>>, EditRefusal>;

    /// Returns code for an element of an array that has cache lines of its own.
    fn padded_element(&self, element: &str, line_bytes: u32) -> String;

    /// Returns the instruction for an array whose elements get lines of their own: no edit does this,
    /// because all uses of the elements change.
    fn spread_elements(&self, spread: &SpreadElements<'_>) -> String;
}

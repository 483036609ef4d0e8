//! Edits of a struct in any language, and questions about it.

use crate::change::SourceChange;
use crate::file_kind::is_uapi;
use crate::language::{EditedTree, StructSource};
use crate::refusal::EditRefusal;
use crate::source_files::SourceText;

/// Makes `changes` to `struct struct_name` in `source`, in order, and returns the new text.
///
/// A struct about which the file has a static assertion is refused. Bytes outside of the
/// definition stay as they are, except for the `#include` of an alignment macro, the type that a
/// Rust field is wrapped in, and the order of `@member:` entries in the comment above. `file_name`
/// names the file in refusals, and tells headers of the user-space ABI and the language.
/// `decl_line_hint` is [`StructSource::line`].
///
/// ```
/// use relayout_patch::{SourceChange, WrittenAlignment, edit_struct};
///
/// let alignment = WrittenAlignment::Bytes(64);
/// let change = SourceChange::AlignType { alignment, reason: None };
/// let new = edit_struct("s.h", "struct s {\n\tint a;\n};\n", "s", None, &[change]).unwrap();
/// assert_eq!(new, "struct s {\n\tint a;\n} __attribute__((aligned(64)));\n");
/// ```
///
/// # Errors
/// The [`EditRefusal`] of the first change that cannot be made safely.
pub fn edit_struct(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
    changes: &[SourceChange],
) -> Result<String, EditRefusal> {
    let source = StructSource::new(file_name, source, struct_name, decl_line_hint);
    Ok(edit_struct_in_tree(source, changes, &[])?.definition)
}

/// Same as [`edit_struct`], for a struct that other files know: those of
/// [`SourceLanguage::files_beside`](crate::SourceLanguage::files_beside). Constructors of a C++ class get the order of the members in
/// their lists of initialisers, and a Rust field is wrapped wherever the struct is built.
///
/// ```
/// use relayout_patch::{
///     MemberPosition, SourceChange, SourceText, StructSource, edit_struct_in_tree,
/// };
///
/// let header = "class P {\n public:\n  P();\n  long a;\n  long b;\n};\n";
/// let unit = SourceText { file: "p.cc".into(), text: "P::P() : a(1), b(2) {}\n".into() };
/// let (members, to) = (vec!["b".to_owned()], MemberPosition::First);
/// let change = SourceChange::MoveMembers { members, to, spacing: None, reason: None };
/// let source = StructSource::new("p.hpp", header, "P", None);
/// let edited = edit_struct_in_tree(source, &[change], &[unit]).unwrap();
/// assert_eq!(edited.others[0].text, "P::P() : b(2), a(1) {}\n");
/// ```
///
/// # Errors
/// Those of [`edit_struct`], and refusals of changes in the other files.
pub fn edit_struct_in_tree(
    source: StructSource<'_>,
    changes: &[SourceChange],
    others: &[SourceText],
) -> Result<EditedTree, EditRefusal> {
    if is_uapi(source.file, source.text) {
        return Err(EditRefusal::Uapi {
            file: source.file.to_owned(),
        });
    }
    source.language().edit(source, changes, others)
}

/// Returns the changes that take the move `change` back: a move, and the joins of declarations or
/// `#if` groups that the move took apart. Applied to the text that [`edit_struct`] makes of
/// `source` by `change`, they give `source`, byte for byte.
///
/// ```
/// use relayout_patch::{MemberPosition, SourceChange, edit_struct, inverse_changes};
///
/// let source = "struct s {\n\tint a;\n\n\tint b;\n};\n";
/// let (members, to) = (vec!["b".to_owned()], MemberPosition::First);
/// let change = SourceChange::MoveMembers { members, to, spacing: None, reason: None };
/// let back = inverse_changes("s.h", source, "s", None, &change).unwrap();
/// let moved = edit_struct("s.h", source, "s", None, &[change]).unwrap();
/// assert_eq!(edit_struct("s.h", &moved, "s", None, &back).unwrap(), source);
/// ```
///
/// # Errors
/// The refusal of the change itself; [`EditRefusal::NoInverse`] if no move gives the old bytes,
/// as after a move with a reason, or if `change` is no move.
pub fn inverse_changes(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
    change: &SourceChange,
) -> Result<Vec<SourceChange>, EditRefusal> {
    let request = change.as_move().ok_or(EditRefusal::NoInverse)?;
    let source = StructSource::new(file_name, source, struct_name, decl_line_hint);
    let edited = edit_struct_in_tree(source, std::slice::from_ref(change), &[])?;
    let language = source.language();
    let outline = language.read_struct(source);
    let moved = StructSource {
        text: &edited.definition,
        number: outline.ok().map(|outline| outline.number),
        ..source
    };
    let gives_source = |changes: &Vec<SourceChange>| {
        let back = edit_struct_in_tree(moved, changes, &[]);
        back.is_ok_and(|back| back.definition == source.text)
    };
    let mut backs = language.moves_back(source, request)?.into_iter();
    backs.find(gives_source).ok_or(EditRefusal::NoInverse)
}

/// Returns the members of `struct struct_name` in the order of the text, nested ones by path
/// (`stats.count`), members of anonymous structs by their own name, and an unnamed member of a
/// tagged struct by its tag (`struct counters`). A macro whose members are unknown appears as `?`.
///
/// ```
/// let source = "struct s {\n\tint a;\n\tstruct { int b; } stats;\n};\n";
/// let members = relayout_patch::member_order("s.h", source, "s").unwrap();
/// assert_eq!(members, ["a", "stats", "stats.b"]);
/// ```
///
/// # Errors
/// An [`EditRefusal`] if the definition is not found or not understood.
pub fn member_order(
    file_name: &str,
    source: &str,
    struct_name: &str,
) -> Result<Vec<String>, EditRefusal> {
    let source = StructSource::new(file_name, source, struct_name, None);
    let outline = source.language().read_struct(source)?;
    Ok(outline.members)
}

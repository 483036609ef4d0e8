//! Changes of a struct that reach other files of its source tree.

use super::edit_text;
use crate::change::SourceChange;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Text of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Name for refusals.
    pub file: String,
    /// Content.
    pub text: String,
}

/// Edited texts of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedTree {
    /// Text of the file with the definition.
    pub definition: String,
    /// Other files that changed, with their new texts.
    pub others: Vec<SourceText>,
}

/// Same as [`edit_struct`](super::edit_struct), with constructors of a C++ class in `others`: their
/// lists of initialisers get the order of the members.
///
/// ```
/// use relayout_patch::{MemberPosition, SourceChange, SourceText, edit_struct_in_tree};
///
/// let header = "class P {\n public:\n  P();\n  long a;\n  long b;\n};\n";
/// let unit = SourceText { file: "p.cc".into(), text: "P::P() : a(1), b(2) {}\n".into() };
/// let (members, to) = (vec!["b".to_owned()], MemberPosition::First);
/// let change = SourceChange::MoveMembers { members, to, spacing: None, reason: None };
/// let edited = edit_struct_in_tree("p.hpp", header, "P", None, &[change], &[unit]).unwrap();
/// assert_eq!(edited.others[0].text, "P::P() : b(2), a(1) {}\n");
/// ```
///
/// # Errors
/// Those of `edit_struct`, and [`EditRefusal::ConditionalList`].
pub fn edit_struct_in_tree(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
    changes: &[SourceChange],
    others: &[SourceText],
) -> Result<EditedTree, EditRefusal> {
    let tokenized = { others.iter() }.map(|other| TokenizedFile::new(&other.file, &other.text));
    let others: Vec<TokenizedFile<'_>> = tokenized.collect();
    let definition = edit_text(
        (file_name, source),
        (struct_name, decl_line_hint),
        changes,
        &others,
    )?;
    let mut changed = Vec::new();
    let old = TokenizedFile::new(file_name, source);
    let new = TokenizedFile::new(file_name, &definition);
    for other in &others {
        let text = crate::cxx::follow_order(&old, &new, struct_name, other)?;
        if text != other.source {
            let file = other.name.to_owned();
            changed.push(SourceText { file, text });
        }
    }
    Ok(EditedTree {
        definition,
        others: changed,
    })
}

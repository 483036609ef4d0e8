//! Application of changes to a text. The result is read back before it is returned.

mod align;
mod block;
mod border;
pub(crate) mod comment;
mod conditional;
mod gap;
mod groups;
mod guard;
mod in_tree;
pub(crate) mod include;
mod kernel_doc;
mod members;
mod move_members;
mod neighbours;
mod one_line;
pub(crate) mod padding;
pub(crate) mod shared_declaration;
pub(crate) mod situation;
pub(crate) mod spacing;
mod split;
mod unalign;
mod unit;

use crate::change::SourceChange;
use crate::file_kind::{is_rust, is_uapi};
use crate::find::{StatementPath, StructDefinition};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;
pub use guard::guard_store;
pub use in_tree::{EditedTree, SourceText, edit_struct_in_tree};
pub use members::{conditional_members, member_order};
use situation::MoveRequest;

/// Makes `changes` to `struct struct_name` in `source`, in order, and returns the new text.
///
/// A struct about which the file has a static assertion is refused. Bytes outside of the
/// definition stay as they are, except for the `#include` of an alignment macro and the order of
/// `@member:` entries in the comment above. `file_name` names the file in refusals, and tells
/// headers of the user-space ABI and the language. `decl_line_hint` is the line, from 1, that
/// debug information gives for the definition: it selects one of several definitions, as in
/// branches of an `#if`.
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
    edit_text(
        (file_name, source),
        (struct_name, decl_line_hint),
        changes,
        &[],
    )
}

fn edit_text(
    (file_name, source): (&str, &str),
    (struct_name, decl_line_hint): (&str, Option<u32>),
    changes: &[SourceChange],
    others: &[TokenizedFile<'_>],
) -> Result<String, EditRefusal> {
    if is_uapi(file_name, source) {
        return Err(EditRefusal::Uapi {
            file: file_name.to_owned(),
        });
    }
    if is_rust(file_name) {
        return crate::rust::edit_rust_struct(
            file_name,
            source,
            struct_name,
            decl_line_hint,
            changes,
        );
    }
    let uses = crate::uses::find_suspicious_uses(file_name, source, struct_name);
    let mut asserts =
        { uses.into_iter() }.filter(|found_use| found_use.kind == crate::UseKind::StaticAssert);
    if let Some(assertion) = asserts.next() {
        return Err(EditRefusal::Asserted {
            name: struct_name.to_owned(),
            place: assertion.place,
        });
    }
    let mut text = source.to_owned();
    let mut definition_index = None;
    for change in changes {
        let file = TokenizedFile::new(file_name, &text);
        let mut as_c = || {
            let definition = match definition_index {
                Some(nth) => file.nth_type_definition(struct_name, nth)?,
                None => file.find_type_definition(struct_name, decl_line_hint)?,
            };
            let definition = match change {
                SourceChange::AlignType { .. } | SourceChange::AddPadding { .. } => definition,
                _ => definition.refuse_union()?,
            };
            definition_index = Some(definition.nth);
            apply_change(&file, &definition, change)
        };
        text = match crate::cxx::is_cxx(file_name, &file) {
            true => crate::cxx::apply_change(&file, struct_name, change, others, as_c)?,
            false => as_c()?,
        };
    }
    Ok(text)
}

fn apply_change(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    change: &SourceChange,
) -> Result<String, EditRefusal> {
    match change {
        SourceChange::MoveMembers { .. } => {
            move_members::move_members(file, definition, as_move(change)?)
        }
        SourceChange::JoinDeclarations { text } => split::join_declarations(file, definition, text),
        SourceChange::JoinGroups { behind, line } => {
            groups::join_groups(file, definition, behind, line.as_deref())
        }
        SourceChange::AlignMember {
            member,
            alignment,
            reason,
        } => edit_on_own_lines(file, definition, |file, definition| {
            align::align_member(file, definition, member, alignment, reason.as_deref())
        }),
        SourceChange::AlignType { alignment, reason } => {
            align::align_type(file, definition, alignment, reason.as_deref())
        }
        SourceChange::RemoveAlignment { member } => {
            unalign::remove_alignment(file, definition, member.as_deref())
        }
        SourceChange::AddPadding {
            name,
            bytes,
            to,
            reason,
        } => {
            let padding = padding::BytePadding {
                name,
                bytes: *bytes,
            };
            edit_on_own_lines(file, definition, |file, definition| {
                padding::add_padding(file, definition, padding, to, reason.as_deref())
            })
        }
        SourceChange::RemovePadding { member } => padding::remove_padding(file, definition, member),
        SourceChange::FixOrder { .. } => Err(EditRefusal::NothingToDo {
            member: "the order of the text".to_owned(),
            place: definition.place.clone(),
        }),
    }
}

/// Makes an edit that needs members on lines of their own. A body on one line stays on one, unless
/// the edit adds a comment.
fn edit_on_own_lines(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    edit: impl Fn(&TokenizedFile<'_>, &StructDefinition) -> Result<String, EditRefusal>,
) -> Result<String, EditRefusal> {
    let whole = StatementPath {
        bodies: Vec::new(),
        statement: 0,
    };
    let Some(unfolded) = one_line::unfold_body(file, definition, whole) else {
        return edit(file, definition);
    };
    let unfolded_file = TokenizedFile::new(file.name, &unfolded.text);
    let same = unfolded_file.find_same_definition(definition)?;
    let new = edit(&unfolded_file, &same)?;
    let folded = one_line::fold_body(
        &TokenizedFile::new(file.name, &new),
        definition,
        &unfolded.one_line,
    );
    Ok(folded.unwrap_or(new))
}

fn as_move(change: &SourceChange) -> Result<MoveRequest<'_>, EditRefusal> {
    match change {
        SourceChange::MoveMembers {
            members,
            to,
            spacing,
            reason,
        } => Ok(MoveRequest {
            members,
            to,
            spacing: *spacing,
            reason: reason.as_deref(),
        }),
        _ => Err(EditRefusal::NoInverse),
    }
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
    let request = as_move(change)?;
    if is_rust(file_name) {
        let back =
            crate::rust::inverse_change(file_name, source, struct_name, decl_line_hint, change);
        return back.map(|back| vec![back]);
    }
    let file = TokenizedFile::new(file_name, source);
    let definition = file.find_definition(struct_name, decl_line_hint)?;
    let new = apply_change(&file, &definition, change)?;
    let move_members::PreparedMove {
        text,
        joins,
        comments_stay,
        ..
    } = move_members::prepare_move(&file, &definition, request)?;
    let backs = neighbours::moves_back(
        &TokenizedFile::new(file_name, &text),
        &definition,
        request,
        comments_stay,
    );
    let gives_source = |changes: &Vec<SourceChange>| {
        let mut text = new.clone();
        changes.iter().all(|change| {
            let file = TokenizedFile::new(file_name, &text);
            let definition = file.find_same_definition(&definition);
            match definition.and_then(|definition| apply_change(&file, &definition, change)) {
                Ok(done) => {
                    text = done;
                    true
                }
                Err(_) => false,
            }
        }) && text == source
    };
    backs
        .into_iter()
        .map(|back| [vec![back], joins.clone()].concat())
        .find(gives_source)
        .ok_or(EditRefusal::NoInverse)
}

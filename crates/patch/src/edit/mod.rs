//! Applies changes to a text, and reads the result back before handing it out.

mod align;
mod block;
mod border;
pub(crate) mod comment;
mod conditional;
mod gap;
mod groups;
mod guard;
pub(crate) mod include;
mod kernel_doc;
mod members;
mod move_members;
mod neighbours;
mod one_line;
mod padding;
mod situation;
pub(crate) mod spacing;
mod split;
mod unalign;
mod unit;

use crate::change::Change;
use crate::find::{Definition, File};
use crate::refusal::Refusal;
pub use guard::guard_store;
pub use members::{conditional_members, member_order};
use move_members::Move;
pub use spacing::Spacing;

/// Makes `changes` to `struct struct_name` in `source`, in order, and returns the new text.
///
/// What the file itself asserts of the struct at compile time is not known to hold for another
/// layout, and refused. Bytes outside of the struct's definition stay as they are, but for an `#include` that an
/// alignment macro needs, and for the order of `@member:` entries in the comment above it.
/// `file_name` is only used to name places and to know user-space ABI headers. `decl_line_hint` is
/// the 1-based line that debug information gives for the definition: of several, as in branches of
/// an `#if`, that one is edited.
///
/// # Errors
/// The [`Refusal`] of the first change that cannot be made safely; then nothing is changed.
pub fn edit_struct(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
    changes: &[Change],
) -> Result<String, Refusal> {
    if is_uapi(file_name, source) {
        return Err(Refusal::Uapi {
            file: file_name.to_owned(),
        });
    }
    if is_rust(file_name) {
        return crate::rust::edit(file_name, source, struct_name, decl_line_hint, changes);
    }
    let uses = crate::uses::suspicious_uses(file_name, source, struct_name);
    let mut asserts = uses.into_iter();
    if let Some(one) = asserts.find(|one| one.kind == crate::UseKind::StaticAssert) {
        return Err(Refusal::Asserted {
            name: struct_name.to_owned(),
            place: one.place,
        });
    }
    let mut text = source.to_owned();
    let mut which = None;
    for change in changes {
        let file = File::new(file_name, &text);
        if crate::cxx::is_cxx(file_name, &file)
            && let Some(done) = crate::cxx::edit(&file, struct_name, change)
        {
            text = done?;
            continue;
        }
        let definition = match which {
            Some(nth) => file.definition_nth(struct_name, nth)?,
            None => file.definition(struct_name, decl_line_hint)?,
        };
        which = Some(definition.nth);
        text = one(&file, &definition, change)?;
    }
    Ok(text)
}

fn one(file: &File<'_>, definition: &Definition, change: &Change) -> Result<String, Refusal> {
    match change {
        Change::MoveMembers { .. } => move_members::apply(file, definition, as_move(change)?),
        Change::Join { text } => split::join(file, definition, text),
        Change::JoinGroups { behind, line } => {
            groups::join(file, definition, behind, line.as_deref())
        }
        Change::AlignMember {
            member,
            alignment,
            reason,
        } => align::member(file, definition, member, alignment, reason.as_deref()),
        Change::AlignType { alignment, reason } => {
            align::whole_type(file, definition, alignment, reason.as_deref())
        }
        Change::RemoveAlignment { member } => unalign::remove(file, definition, member.as_deref()),
        Change::AddPadding {
            name,
            bytes,
            to,
            reason,
        } => {
            let padding = padding::Padding {
                name,
                bytes: *bytes,
            };
            padding::add(file, definition, padding, to, reason.as_deref())
        }
        Change::RemovePadding { member } => padding::remove(file, definition, member),
    }
}

fn as_move(change: &Change) -> Result<Move<'_>, Refusal> {
    match change {
        Change::MoveMembers {
            members,
            to,
            spacing,
            reason,
        } => Ok(Move {
            members,
            to,
            spacing: *spacing,
            reason: reason.as_deref(),
        }),
        _ => Err(Refusal::NoInverse),
    }
}

/// What takes the move `change` back: a move, and where declarations of several members or `#if` groups were taken
/// apart, what joins them. Applied to what [`edit_struct`] makes of `source` by `change`, it gives `source`, byte for
/// byte.
///
/// # Errors
/// That of the change itself; [`Refusal::NoInverse`] where no move gives the old bytes, as when a reason was
/// written, and for what is no move.
pub fn inverse(
    file_name: &str,
    source: &str,
    struct_name: &str,
    decl_line_hint: Option<u32>,
    change: &Change,
) -> Result<Vec<Change>, Refusal> {
    let asked = as_move(change)?;
    if is_rust(file_name) {
        let back = crate::rust::inverse(file_name, source, struct_name, decl_line_hint, change);
        return back.map(|back| vec![back]);
    }
    let file = File::new(file_name, source);
    let definition = file.definition(struct_name, decl_line_hint)?;
    let new = one(&file, &definition, change)?;
    let move_members::Prepared {
        text,
        joins,
        comments_stay,
        ..
    } = move_members::prepare(&file, &definition, asked)?;
    let backs = neighbours::moves_back(
        &File::new(file_name, &text),
        &definition,
        asked,
        comments_stay,
    );
    let gives_source = |changes: &Vec<Change>| {
        let mut text = new.clone();
        changes.iter().all(|change| {
            let file = File::new(file_name, &text);
            let definition = file.definition_at(&definition);
            match definition.and_then(|definition| one(&file, &definition, change)) {
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
        .ok_or(Refusal::NoInverse)
}

fn is_rust(file_name: &str) -> bool {
    file_name.ends_with(".rs")
}

/// Headers that user space compiles against: by their place in the kernel's source, or by the
/// exception in their licence.
fn is_uapi(file_name: &str, source: &str) -> bool {
    let parts: Vec<&str> = file_name.split('/').collect();
    let head = source.lines().take(3);
    parts.windows(2).any(|pair| pair == ["include", "uapi"])
        || head
            .into_iter()
            .any(|line| line.contains("WITH Linux-syscall-note"))
}

/// Whether the text shows signs of the Linux kernel's source.
fn is_kernel(source: &str) -> bool {
    [
        "__aligned(",
        "<linux/",
        "<asm/",
        "SPDX-License-Identifier: GPL-2.0",
    ]
    .iter()
    .any(|sign| source.contains(sign))
}

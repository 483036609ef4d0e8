//! Applies changes to a text, and reads the result back before handing it out.

mod align;
mod block;
mod comment;
mod include;
mod move_member;

use crate::body::Body;
use crate::change::Change;
use crate::find::File;
use crate::refusal::Refusal;

/// Makes `changes` to `struct struct_name` in `source`, in order, and returns the new text.
///
/// Bytes outside of the struct's definition stay as they are, but for an `#include` that an
/// alignment macro needs. `file_name` is only used to name places and to know user-space ABI
/// headers. `decl_line_hint` is the 1-based line that debug information gives for the
/// definition: when the file defines the struct twice, the refusal names that one first.
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
    if is_uapi(file_name) {
        return Err(Refusal::Uapi {
            file: file_name.to_owned(),
        });
    }
    let mut text = source.to_owned();
    for change in changes {
        let file = File::new(file_name, &text);
        let definition = file.definition(struct_name, decl_line_hint)?;
        text = match change {
            Change::MoveMember {
                member,
                after,
                reason,
            } => move_member::apply(
                &file,
                &definition,
                member,
                after.as_deref(),
                reason.as_deref(),
            )?,
            Change::AlignMember {
                member,
                alignment,
                reason,
            } => align::member(&file, &definition, member, alignment, reason.as_deref())?,
            Change::AlignType { alignment, reason } => {
                align::whole_type(&file, &definition, alignment, reason.as_deref())?
            }
        };
    }
    Ok(text)
}

/// The members of `struct struct_name` in the order of the text, nested ones by path
/// (`stats.count`), those of anonymous structs by their own name. Macros whose members cannot be
/// told appear as `?`.
///
/// # Errors
/// A [`Refusal`] when the definition cannot be found or read.
pub fn member_order(
    file_name: &str,
    source: &str,
    struct_name: &str,
) -> Result<Vec<String>, Refusal> {
    let definition = File::new(file_name, source).definition(struct_name, None)?;
    let mut order = Vec::new();
    list(&definition.body, "", &mut order);
    Ok(order)
}

fn list(body: &Body, prefix: &str, order: &mut Vec<String>) {
    for item in &body.items {
        if item.names.is_empty() && item.body.is_none() {
            order.push("?".to_owned());
        }
        order.extend(item.names.iter().map(|name| format!("{prefix}{name}")));
        if let Some(inner) = item.body.as_deref() {
            let prefix = match item.names.first() {
                Some(name) => format!("{prefix}{name}."),
                None => prefix.to_owned(),
            };
            list(inner, &prefix, order);
        }
    }
}

/// Headers that user space compiles against.
fn is_uapi(file_name: &str) -> bool {
    let parts: Vec<&str> = file_name.split('/').collect();
    parts.windows(2).any(|pair| pair == ["include", "uapi"])
}

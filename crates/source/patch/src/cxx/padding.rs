//! Padding members of classes.

use super::class::{CxxClass, data_members, is_conditional};
use super::construction::{ClassSources, refuse_fixed_order};
use super::member::CxxMember;
use super::move_members::lines_of_member;
use crate::c::comment::render_comment;
use crate::c::padding::{BytePadding, refuse_bad_padding};
use crate::change::MemberPosition;
use crate::lines::{line_ending, line_start};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Returns the text with the padding as a new member of a class, with the access of the member
/// beside it.
pub(super) fn add_class_padding(
    file: &TokenizedFile<'_>,
    class_name: &str,
    padding: BytePadding<'_>,
    to: &MemberPosition,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(file, class_name)?;
    let members = data_members(file, &class);
    let is_used = members.iter().any(|member| member.declares(padding.name));
    refuse_bad_padding(padding, is_used, &file.place(class.keyword))?;
    let beside = member_beside(file, &class, &members, to)?;
    let is_end = !to.is_before()
        && members
            .last()
            .is_some_and(|last| last.first == beside.first);
    if !is_end {
        let sources = ClassSources {
            file,
            class: &class,
            others: &[],
        };
        // Values by position would go to the padding.
        refuse_fixed_order(sources)?;
    }
    let lines = lines_of_member(file, beside)?;
    let source = file.source;
    let first = file.tokens[beside.first].start;
    let indent = &source[line_start(source, first)..first];
    let comment = match reason {
        Some(reason) => render_comment(source, indent, &[reason], padding.name)?,
        None => String::new(),
    };
    let at = match is_in_front(to) {
        true => lines.start,
        false => lines.end,
    };
    let (name, bytes, eol) = (padding.name, padding.bytes, line_ending(source));
    let member = format!("{comment}{indent}unsigned char {name}[{bytes}];{eol}");
    Ok([&source[..at], &member, &source[at..]].concat())
}

/// Returns true for the positions in front of the member beside them.
fn is_in_front(to: &MemberPosition) -> bool {
    to.is_before() || *to == MemberPosition::First
}

/// Returns the member at whose side the position is.
fn member_beside<'m>(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    members: &'m [CxxMember],
    to: &MemberPosition,
) -> Result<&'m CxxMember, EditRefusal> {
    let found = match to {
        MemberPosition::First => members.first(),
        MemberPosition::Last => members.last(),
        MemberPosition::After(name)
        | MemberPosition::Before(name)
        | MemberPosition::Below(name) => members.iter().find(|member| member.declares(name)),
    };
    let named = to.anchor().map_or("", String::as_str);
    let Some(beside) = found else {
        return Err(EditRefusal::MemberNotFound {
            name: class.name.clone(),
            member: named.to_owned(),
            place: file.place(class.keyword),
        });
    };
    let place = file.place(beside.first);
    let edge = match is_in_front(to) {
        true => beside.names.first(),
        false => beside.names.last(),
    };
    if to.anchor().is_some() && edge.is_none_or(|edge| edge != named) {
        return Err(EditRefusal::SharedDeclaration {
            member: named.to_owned(),
            place,
        });
    }
    match is_conditional(file, class, beside) {
        true => Err(EditRefusal::ConditionalGroup {
            member: named.to_owned(),
            place,
        }),
        false => Ok(beside),
    }
}

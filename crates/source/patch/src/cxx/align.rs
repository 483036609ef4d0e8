//! Alignments: `alignas(64)` on a member or on the class.

use super::class::{CxxClass, lone_member};
use crate::c::comment::render_comment;
use crate::c::include::defines_macro;
use crate::change::WrittenAlignment;
use crate::declarator::is_alignment;
use crate::lex::TokenIndex;
use crate::lines::{indent_at, line_start};
use crate::refusal::{EditRefusal, FileLine};
use crate::tokenized::TokenizedFile;

/// Writes `alignas` on a member.
pub(super) fn align_member(
    file: &TokenizedFile<'_>,
    class_name: &str,
    member: &str,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(file, class_name)?;
    let declared = lone_member(file, &class, member)?;
    let place = file.place(declared.first);
    if declared.is_bitfield {
        let member = member.to_owned();
        return Err(EditRefusal::Bitfield { member, place });
    }
    if declared.is_anonymous {
        let member = member.to_owned();
        return Err(EditRefusal::UnnamedMember { member, place });
    }
    insert_alignas(
        file,
        (declared.first, declared.last),
        declared.first,
        alignment,
        (member, place),
        reason,
    )
}

/// Writes `alignas` on a class.
pub(super) fn align_class(
    file: &TokenizedFile<'_>,
    name: &str,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(file, name)?;
    let place = file.place(class.keyword);
    let own = (class.keyword, class.open);
    insert_alignas(
        file,
        own,
        class.keyword + 1,
        alignment,
        (name, place),
        reason,
    )
}

/// Writes `alignas` in front of token `before`, and the reason above the declaration.
fn insert_alignas(
    file: &TokenizedFile<'_>,
    (first, last): (TokenIndex, TokenIndex),
    before: TokenIndex,
    alignment: &WrittenAlignment,
    (name, place): (&str, FileLine),
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let source = file.source;
    if first.until(last).any(|at| is_alignment(file.text(at))) {
        return Err(EditRefusal::AlreadyAligned {
            name: name.to_owned(),
            place,
        });
    }
    let value = match alignment {
        WrittenAlignment::Bytes(bytes) => bytes.to_string(),
        WrittenAlignment::Macro(name) if defines_macro(file, name) => name.clone(),
        _ => return Err(alignment.unknown_refusal(file.name)),
    };
    let at = file.tokens[before].start;
    let line = line_start(source, file.tokens[first].start);
    let comment = match reason {
        Some(reason) => render_comment(source, indent_at(source, line), &[reason], name)?,
        None => String::new(),
    };
    let attribute = format!("alignas({value}) ");
    Ok([
        &source[..line],
        &comment,
        &source[line..at],
        &attribute,
        &source[at..],
    ]
    .concat())
}

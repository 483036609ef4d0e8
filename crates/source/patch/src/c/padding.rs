//! Insertion and removal of padding members.

use super::block::{StatementSharesLine, lines_with_comments};
use super::comment::render_comment;
use super::conditional::entered_group;
use super::gap::{anchor_statement, find_gap};
use super::situation::anchor_path;
use crate::body::BodyStatement;
use crate::change::MemberPosition;
use crate::declarator::{StatementKind, is_keyword};
use crate::find::{StatementPath, StructDefinition};
use crate::lines::{indent_at, line_ending};
use crate::refusal::{EditRefusal, FileLine};
use crate::spacing::BlankLines;
use crate::tokenized::TokenizedFile;

/// A padding member: an array of bytes.
#[derive(Clone, Copy)]
pub(crate) struct BytePadding<'a> {
    pub name: &'a str,
    pub bytes: u64,
}

/// Returns the text with the padding as a new member, outside of unions and `#if` groups.
pub(crate) fn add_padding(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    padding: BytePadding<'_>,
    to: &MemberPosition,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let name = padding.name;
    let is_name_used = definition.find_members(file, name).is_ok();
    refuse_bad_padding(padding, is_name_used, &definition.place)?;
    let path = match to.anchor() {
        None => None,
        Some(member) => Some(anchor_path(file, definition, member, to)?),
    };
    let bodies = path
        .as_ref()
        .map_or(Vec::new(), |path| steps_outside_unions(definition, path));
    let at = anchor_statement(file, definition, &bodies, path.as_ref(), to, name)?;
    let body = definition.body_of(&StatementPath {
        bodies,
        statement: 0,
    });
    if let Some(group) = at.and_then(|at| entered_group(body, at, to, 0, |_| false)) {
        return Err(EditRefusal::ConditionalGroup {
            member: name.to_owned(),
            place: file.place(body.groups[group].start),
        });
    }
    let gap = find_gap(file, body, at, to, 0, name)?;
    let is_bitfield = |index: usize| {
        body.statements
            .get(index)
            .is_some_and(|i| i.kind == StatementKind::Bitfield)
    };
    if is_bitfield(gap.next_statement) && gap.next_statement.checked_sub(1).is_some_and(is_bitfield)
    {
        return Err(EditRefusal::BitfieldRun {
            member: name.to_owned(),
            place: file.place(body.statements[gap.next_statement].first),
        });
    }
    let source = file.source;
    let indent = body
        .statements
        .first()
        .map_or("\t", |statement: &BodyStatement| {
            let first = file.tokens[statement.first].start;
            indent_at(&source[..first], first)
        });
    let eol = line_ending(source);
    let mut text = match reason {
        Some(reason) => render_comment(source, indent, &[reason], name)?,
        None => String::new(),
    };
    text += &format!("{indent}unsigned char {name}[{}];{eol}", padding.bytes);
    Ok([&source[..gap.target], &text, &source[gap.target..]].concat())
}

/// Refuses padding without a usable name or without bytes. `place` is that of the definition.
pub(crate) fn refuse_bad_padding(
    padding: BytePadding<'_>,
    is_name_used: bool,
    place: &FileLine,
) -> Result<(), EditRefusal> {
    let name = padding.name;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_usable = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_word)
        && !is_keyword(name);
    match is_usable && !is_name_used && padding.bytes > 0 {
        true => Ok(()),
        false => Err(EditRefusal::BadPadding {
            name: name.to_owned(),
            bytes: padding.bytes,
            place: place.clone(),
        }),
    }
}

/// Steps of a path as far as they lead into structs only.
fn steps_outside_unions(definition: &StructDefinition, path: &StatementPath) -> Vec<usize> {
    let into_union = |depth: &usize| {
        let body = definition.body_of(&StatementPath {
            bodies: path.bodies[..=*depth].to_vec(),
            statement: 0,
        });
        body.is_union
    };
    let end = (0..path.bodies.len()).find(into_union);
    path.bodies[..end.unwrap_or(path.bodies.len())].to_vec()
}

/// Returns the text without the padding `member` and its comments.
pub(crate) fn remove_padding(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    member: &str,
) -> Result<String, EditRefusal> {
    let path = definition.find_member(file, member)?;
    let (statement, body) = (definition.statement(&path), definition.body_of(&path));
    let place = file.place(statement.first);
    if !is_padding(file, statement) {
        return Err(EditRefusal::NotPadding {
            member: member.to_owned(),
            place,
        });
    }
    let block =
        lines_with_comments(file, body, statement, None).map_err(|StatementSharesLine| {
            EditRefusal::SharedLine {
                member: member.to_owned(),
                place,
            }
        })?;
    let source = file.source;
    let around = BlankLines::around(source, (block.start, block.end));
    let left = line_ending(source).repeat(around.left_behind());
    Ok([&source[..around.start], &left, &source[around.end..]].concat())
}

/// Returns true if the declaration is `char name[N];`, or a macro for padding.
fn is_padding(file: &TokenizedFile<'_>, statement: &BodyStatement) -> bool {
    if statement.kind == StatementKind::KnownMacro {
        return file.text(statement.first).ends_with("_PADDING");
    }
    let bracket = statement
        .first
        .until(statement.last)
        .find(|&at| file.text(at) == "[");
    let Some(bracket) =
        bracket.filter(|_| statement.kind == StatementKind::Plain && statement.names.len() == 1)
    else {
        return false;
    };
    let is_byte_type = |word: &str| {
        matches!(
            word,
            "char" | "unsigned" | "signed" | "u8" | "__u8" | "uint8_t" | "s8" | "int8_t"
        )
    };
    let mut types = statement.first.until(bracket - 1).map(|at| file.text(at));
    let bytes = types.clone().all(is_byte_type);
    let last = types.next_back();
    bytes && !matches!(last, None | Some("unsigned" | "signed"))
}

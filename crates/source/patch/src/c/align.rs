//! Alignment of a member or of the whole type.

use super::block::{StatementSharesLine, lines_with_comments};
use super::comment::{COLUMNS_MAX, render_comment};
use super::include;
use super::split::split_declarations;
use crate::body::{DirectiveKind, directive_kind};
use crate::change::{MemberPosition, WrittenAlignment};
use crate::declarator::{StatementKind, is_alignment};
use crate::file_kind::is_kernel;
use crate::find::{StatementPath, StructDefinition};
use crate::lex::{SourceToken, TokenIndex, TokenKind};
use crate::lines::{is_blank_line, line_ending, line_start, width_columns};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Returns the text with `member` aligned. A member that shares its declaration with others gets one
/// of its own in the same place.
pub(crate) fn align_member(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    member: &str,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let path = definition.find_member(file, member)?;
    refuse_unalignable(file, definition, &path, member)?;
    let alone = [member.to_owned()];
    let split = split_declarations(file, definition, &alone, &MemberPosition::First)?;
    let Some(split) = split else {
        return align_lone_member(file, definition, member, alignment, reason);
    };
    let file = TokenizedFile::new(file.name, &split.text);
    let definition = file.find_same_definition(definition)?;
    align_lone_member(&file, &definition, member, alignment, reason)
}

/// Returns the text with `member` aligned, which has a declaration of its own.
fn align_lone_member(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    member: &str,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let path = definition.find_member(file, member)?;
    let statement = definition.statement(&path);
    let (name, place) = (member.to_owned(), file.place(statement.first));
    let attribute = alignment_attribute(file, alignment)?;
    let body = definition.body_of(&path);
    let block =
        lines_with_comments(file, body, statement, None).map_err(|StatementSharesLine| {
            EditRefusal::SharedLine {
                member: name.clone(),
                place,
            }
        })?;
    let (first, semicolon) = (
        file.tokens[statement.first].start,
        file.tokens[statement.last].start,
    );
    let indent = &file.source[line_start(file.source, first)..first];
    let own = &file.source[block.own_start..block.end];
    let mut line = format!(
        "{} {attribute}{}",
        &file.source[block.own_start..semicolon],
        &file.source[semicolon..block.end]
    );
    let mut paragraphs = Vec::new();
    let trailing = trailing_comment_words(file, statement.last, block.end);
    if let Some(text) = &trailing
        && line.lines().any(|line| width_columns(line) > COLUMNS_MAX)
        && own.matches("/*").count() + own.matches("//").count() == 1
    {
        line = format!(
            "{} {attribute};{}",
            &file.source[block.own_start..semicolon],
            line_ending(file.source)
        );
        paragraphs.push(text.as_str());
    }
    paragraphs.extend(reason);
    let mut new = file.source[..block.own_start].to_owned();
    if !paragraphs.is_empty() {
        let above = line_start(file.source, block.own_start.saturating_sub(1));
        let opens = file.source[..block.own_start].trim_end().ends_with('{');
        let under_directive = is_under_directive(file, block.own_start);
        if block.start == block.own_start
            && !is_blank_line(file.source, above)
            && !opens
            && !under_directive
        {
            new += line_ending(file.source);
        }
        new += &render_comment(file.source, indent, &paragraphs, member)?;
    }
    new += &line;
    new += &file.source[block.end..];
    finish_alignment(file, definition, alignment, new)
}

/// Refuses members that cannot take an attribute, or are aligned already.
fn refuse_unalignable(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    path: &StatementPath,
    member: &str,
) -> Result<(), EditRefusal> {
    let statement = definition.statement(path);
    let place = file.place(statement.first);
    let name = member.to_owned();
    match statement.kind {
        StatementKind::Bitfield => {
            return Err(EditRefusal::Bitfield {
                member: name,
                place,
            });
        }
        StatementKind::KnownMacro
        | StatementKind::Macro
        | StatementKind::Border
        | StatementKind::NotUnderstood => {
            return Err(EditRefusal::MacroMember {
                member: name,
                place,
            });
        }
        StatementKind::Plain | StatementKind::Flexible => {}
    }
    if definition.is_in_union(path) {
        return Err(EditRefusal::InUnion { name, place });
    }
    // A tag with a space in it is no name: `struct counters;`.
    if statement.names.iter().any(|name| name.contains(' ')) {
        return Err(EditRefusal::UnnamedMember {
            member: name,
            place,
        });
    }
    let own_from = statement
        .body
        .as_deref()
        .map_or(statement.first, |inner| inner.close);
    if has_alignment(file, own_from, statement.last) {
        return Err(EditRefusal::AlreadyAligned { name, place });
    }
    Ok(())
}

/// Returns the text with the type aligned: the attribute stands right behind the closing brace.
pub(crate) fn align_type(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let close = definition.body.close;
    let name = definition.name.clone();
    let end = file.declaration_end(close);
    if has_alignment(file, close, end)
        || has_alignment(
            file,
            struct_keyword_before(file, definition.body.open),
            definition.body.open,
        )
    {
        return Err(EditRefusal::AlreadyAligned {
            name,
            place: file.place(close),
        });
    }
    let attribute = alignment_attribute(file, alignment)?;
    let brace = file.tokens[close];
    let line = line_start(file.source, brace.start);
    let indent = &file.source[line..brace.start];
    let mut new = file.source[..line].to_owned();
    if let Some(reason) = reason {
        if !indent.trim().is_empty() {
            return Err(EditRefusal::SharedLine {
                member: name,
                place: file.place(close),
            });
        }
        new += &render_comment(file.source, &format!("{indent}\t"), &[reason], &name)?;
    }
    new += &file.source[line..brace.end];
    new += " ";
    new += &attribute;
    new += &file.source[brace.end..];
    finish_alignment(file, definition, alignment, new)
}

/// Token that starts the words before the opening brace.
fn struct_keyword_before(file: &TokenizedFile<'_>, open: TokenIndex) -> TokenIndex {
    open.all_before()
        .rev()
        .find(|&at| matches!(file.text(at), "struct" | "class" | "union"))
        .unwrap_or(open)
}

fn has_alignment(file: &TokenizedFile<'_>, from: TokenIndex, to: TokenIndex) -> bool {
    from.until(to).any(|at| is_alignment(file.text(at)))
}

fn is_under_directive(file: &TokenizedFile<'_>, line: usize) -> bool {
    let above = |token: &&SourceToken| token.end <= line;
    file.tokens.iter().rev().find(above).is_some_and(|token| {
        token.kind == TokenKind::Directive
            && matches!(
                directive_kind(token.text(file.source)),
                DirectiveKind::If | DirectiveKind::Else
            )
    })
}

/// Words of the only comment behind token `last` that ends before byte `end`.
fn trailing_comment_words(
    file: &TokenizedFile<'_>,
    last: TokenIndex,
    end: usize,
) -> Option<String> {
    let comment = file
        .tokens
        .get(last + 1)
        .filter(|token| token.kind == TokenKind::Comment && token.end <= end)?;
    let text = comment.text(file.source);
    let inner = match text.strip_prefix("//") {
        Some(inner) => inner,
        None => text
            .strip_prefix("/*")?
            .trim_start_matches('*')
            .trim_start_matches('<')
            .strip_suffix("*/")?,
    };
    let words = inner
        .lines()
        .map(|line| line.trim().trim_start_matches('*'))
        .collect::<Vec<_>>()
        .join(" ");
    Some(words.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty())
}

/// The alignment as this file writes it.
fn alignment_attribute(
    file: &TokenizedFile<'_>,
    alignment: &WrittenAlignment,
) -> Result<String, EditRefusal> {
    match alignment {
        WrittenAlignment::Bytes(bytes) if is_kernel(file.source) => {
            Ok(format!("__aligned({bytes})"))
        }
        WrittenAlignment::Bytes(bytes) => Ok(format!("__attribute__((aligned({bytes})))")),
        WrittenAlignment::Macro(name) => {
            include::require_known_macro(file, name)?;
            Ok(name.clone())
        }
        WrittenAlignment::CachePadded { .. } => Err(alignment.unknown_refusal(file.name)),
    }
}

/// Adds the `#include` of the macro and reads the result back.
fn finish_alignment(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    alignment: &WrittenAlignment,
    new: String,
) -> Result<String, EditRefusal> {
    let wrong = || EditRefusal::NotAsIntended {
        name: definition.name.clone(),
        place: definition.place.clone(),
    };
    let new_file = TokenizedFile::new(file.name, &new);
    let read_back = new_file
        .nth_type_definition(&definition.name, definition.nth)
        .map_err(|_| wrong())?;
    let names = |body: &crate::body::BracedBody| {
        body.statements
            .iter()
            .map(|statement| statement.names.clone())
            .collect::<Vec<_>>()
    };
    if names(&read_back.body) != names(&definition.body) {
        return Err(wrong());
    }
    match alignment {
        WrittenAlignment::Macro(name) => include::ensure_include(&new_file, name),
        WrittenAlignment::Bytes(_) | WrittenAlignment::CachePadded { .. } => Ok(new),
    }
}

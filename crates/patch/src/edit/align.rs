//! Aligns a member or the whole type.

use super::block::{Shared, lines_with_comments};
use super::comment::{COLUMNS_MAX, render};
use super::{include, is_kernel};
use crate::body::{Directive, directive};
use crate::change::Alignment;
use crate::declarator::{What, is_alignment};
use crate::find::{Definition, File, ItemPath};
use crate::lex::{Kind, Token};
use crate::lines::{columns, is_blank, line_start, newline};
use crate::refusal::Refusal;

/// The text with `member` aligned.
pub(crate) fn member(
    file: &File<'_>,
    definition: &Definition,
    member: &str,
    alignment: &Alignment,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let path = definition.member(file, member)?;
    alignable(file, definition, &path, member)?;
    let item = definition.item(&path);
    let (name, place) = (member.to_owned(), file.place(item.first));
    let attribute = attribute(file, alignment)?;
    let body = definition.body_of(&path);
    let block =
        lines_with_comments(file, body, item, None).map_err(|Shared| Refusal::SharedLine {
            member: name.clone(),
            place,
        })?;
    let (first, semicolon) = (file.tokens[item.first].start, file.tokens[item.last].start);
    let indent = &file.source[line_start(file.source, first)..first];
    let own = &file.source[block.own..block.end];
    let mut line = format!(
        "{} {attribute}{}",
        &file.source[block.own..semicolon],
        &file.source[semicolon..block.end]
    );
    let mut paragraphs = Vec::new();
    let trailing = trailing_comment(file, item.last, block.end);
    if let Some(text) = &trailing
        && line.lines().any(|line| columns(line) > COLUMNS_MAX)
        && own.matches("/*").count() + own.matches("//").count() == 1
    {
        line = format!(
            "{} {attribute};{}",
            &file.source[block.own..semicolon],
            newline(file.source)
        );
        paragraphs.push(text.as_str());
    }
    paragraphs.extend(reason);
    let mut new = file.source[..block.own].to_owned();
    if !paragraphs.is_empty() {
        let above = line_start(file.source, block.own.saturating_sub(1));
        let opens = file.source[..block.own].trim_end().ends_with('{');
        let under_directive = directive_above(file, block.own);
        if block.start == block.own && !is_blank(file.source, above) && !opens && !under_directive {
            new += newline(file.source);
        }
        new += &render(file.source, indent, &paragraphs, member)?;
    }
    new += &line;
    new += &file.source[block.end..];
    finish(file, definition, alignment, new)
}

/// Refuses members that cannot take an attribute, or have one of the kind.
fn alignable(
    file: &File<'_>,
    definition: &Definition,
    path: &ItemPath,
    member: &str,
) -> Result<(), Refusal> {
    let item = definition.item(path);
    let place = file.place(item.first);
    let name = member.to_owned();
    match item.what {
        What::Bitfield => {
            return Err(Refusal::Bitfield {
                member: name,
                place,
            });
        }
        What::KnownMacro | What::Macro | What::Border | What::Unsure => {
            return Err(Refusal::MacroMember {
                member: name,
                place,
            });
        }
        What::Plain | What::Flexible => {}
    }
    if definition.in_union(path) {
        return Err(Refusal::Union { name, place });
    }
    if item.names.len() > 1 {
        return Err(Refusal::SharedDeclaration {
            member: name,
            place,
        });
    }
    let own_from = item.body.as_deref().map_or(item.first, |inner| inner.close);
    if aligned(file, own_from, item.last) {
        return Err(Refusal::AlreadyAligned { name, place });
    }
    Ok(())
}

/// The text with the type aligned: the attribute stands right behind the closing brace.
pub(crate) fn whole_type(
    file: &File<'_>,
    definition: &Definition,
    alignment: &Alignment,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let close = definition.body.close;
    let name = definition.name.clone();
    let end = (close..file.tokens.len())
        .find(|&at| file.reader().text(at) == ";")
        .unwrap_or(close);
    if aligned(file, close, end)
        || aligned(
            file,
            before_brace(file, definition.body.open),
            definition.body.open,
        )
    {
        return Err(Refusal::AlreadyAligned {
            name,
            place: file.place(close),
        });
    }
    let attribute = attribute(file, alignment)?;
    let brace = file.tokens[close];
    let line = line_start(file.source, brace.start);
    let indent = &file.source[line..brace.start];
    let mut new = file.source[..line].to_owned();
    if let Some(reason) = reason {
        if !indent.trim().is_empty() {
            return Err(Refusal::SharedLine {
                member: name,
                place: file.place(close),
            });
        }
        new += &render(file.source, &format!("{indent}\t"), &[reason], &name)?;
    }
    new += &file.source[line..brace.end];
    new += " ";
    new += &attribute;
    new += &file.source[brace.end..];
    finish(file, definition, alignment, new)
}

/// Index of the token that starts the words before the opening brace.
fn before_brace(file: &File<'_>, open: usize) -> usize {
    let reader = file.reader();
    (0..open)
        .rev()
        .find(|&at| matches!(reader.text(at), "struct" | "class"))
        .unwrap_or(open)
}

fn aligned(file: &File<'_>, from: usize, to: usize) -> bool {
    (from..to).any(|at| is_alignment(file.reader().text(at)))
}

fn directive_above(file: &File<'_>, line: usize) -> bool {
    let above = |token: &&Token| token.end <= line;
    file.tokens.iter().rev().find(above).is_some_and(|token| {
        token.kind == Kind::Directive
            && matches!(
                directive(token.text(file.source)),
                Directive::If | Directive::Else
            )
    })
}

/// The words of the one comment behind token `last` that ends before byte `end`.
fn trailing_comment(file: &File<'_>, last: usize, end: usize) -> Option<String> {
    let comment = file
        .tokens
        .get(last + 1)
        .filter(|token| token.kind == Kind::Comment && token.end <= end)?;
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

/// The alignment as this file would write it.
fn attribute(file: &File<'_>, alignment: &Alignment) -> Result<String, Refusal> {
    match alignment {
        Alignment::Bytes(bytes) if !bytes.is_power_of_two() => {
            Err(Refusal::BadAlignment { bytes: *bytes })
        }
        Alignment::Bytes(bytes) if is_kernel(file.source) => Ok(format!("__aligned({bytes})")),
        Alignment::Bytes(bytes) => Ok(format!("__attribute__((aligned({bytes})))")),
        Alignment::Macro(name) => {
            include::check_macro(file, name)?;
            Ok(name.clone())
        }
    }
}

/// Adds the include that the macro needs and reads the result back.
fn finish(
    file: &File<'_>,
    definition: &Definition,
    alignment: &Alignment,
    new: String,
) -> Result<String, Refusal> {
    let wrong = || Refusal::NotAsIntended {
        name: definition.name.clone(),
        place: definition.place.clone(),
    };
    let new_file = File::new(file.name, &new);
    let read_back = new_file
        .definition(&definition.name, None)
        .map_err(|_| wrong())?;
    let names = |body: &crate::body::Body| {
        body.items
            .iter()
            .map(|item| item.names.clone())
            .collect::<Vec<_>>()
    };
    if names(&read_back.body) != names(&definition.body) {
        return Err(wrong());
    }
    match alignment {
        Alignment::Macro(name) => include::ensure(&new_file, name),
        Alignment::Bytes(_) => Ok(new),
    }
}

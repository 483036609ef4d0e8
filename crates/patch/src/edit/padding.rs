//! Padding members: put in, and taken away.

use super::block::{Shared, lines_with_comments};
use super::comment::render;
use super::conditional::inside_of;
use super::gap::{anchor, gap};
use super::situation::anchor_path;
use super::spacing::{Spacing, blank_lines_above, blank_lines_below, closes_body, opens_body};
use crate::body::Item;
use crate::change::Position;
use crate::declarator::{What, is_keyword};
use crate::find::{Definition, File, ItemPath};
use crate::lines::{line_start, newline, next_line};
use crate::refusal::Refusal;

/// An array of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Padding<'a> {
    pub name: &'a str,
    pub bytes: u64,
}

/// The text with the padding as a new member, outside of unions and `#if` groups.
pub(crate) fn add(
    file: &File<'_>,
    definition: &Definition,
    padding: Padding<'_>,
    to: &Position,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let name = padding.name;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let usable = !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(word);
    let known = definition.members(file, name).is_ok();
    if name.is_empty() || !usable || known || is_keyword(name) || padding.bytes == 0 {
        return Err(Refusal::BadPadding {
            name: name.to_owned(),
            bytes: padding.bytes,
            place: definition.place.clone(),
        });
    }
    let path = match to.anchor() {
        None => None,
        Some(member) => Some(anchor_path(file, definition, member, to)?),
    };
    let bodies = path
        .as_ref()
        .map_or(Vec::new(), |path| outside_unions(definition, path));
    let at = anchor(file, definition, &bodies, path.as_ref(), to, name)?;
    let body = definition.body_of(&ItemPath { bodies, item: 0 });
    if let Some(group) = at.and_then(|at| inside_of(body, at, to, 0, |_| false)) {
        return Err(Refusal::ConditionalGroup {
            member: name.to_owned(),
            place: file.place(body.groups[group].start),
        });
    }
    let gap = gap(file, body, at, to, 0, name)?;
    let bits = |index: usize| {
        body.items
            .get(index)
            .is_some_and(|i| i.what == What::Bitfield)
    };
    if bits(gap.before) && gap.before.checked_sub(1).is_some_and(bits) {
        return Err(Refusal::BitfieldRun {
            member: name.to_owned(),
            place: file.place(body.items[gap.before].first),
        });
    }
    let source = file.source;
    let indent = body.items.first().map_or("\t", |item: &Item| {
        let first = file.tokens[item.first].start;
        let line = line_start(source, first);
        let white = |c: char| c == ' ' || c == '\t';
        &source[line..line
            + source[line..first]
                .chars()
                .take_while(|&c| white(c))
                .count()]
    });
    let eol = newline(source);
    let mut text = match reason {
        Some(reason) => render(source, indent, &[reason], name)?,
        None => String::new(),
    };
    text += &format!("{indent}unsigned char {name}[{}];{eol}", padding.bytes);
    Ok([&source[..gap.target], &text, &source[gap.target..]].concat())
}

/// The steps of a path as far as they lead into structs only.
fn outside_unions(definition: &Definition, path: &ItemPath) -> Vec<usize> {
    let into_union = |depth: &usize| {
        let body = definition.body_of(&ItemPath {
            bodies: path.bodies[..=*depth].to_vec(),
            item: 0,
        });
        body.is_union
    };
    let end = (0..path.bodies.len()).find(into_union);
    path.bodies[..end.unwrap_or(path.bodies.len())].to_vec()
}

/// The text without the padding `member` and its comments.
pub(crate) fn remove(
    file: &File<'_>,
    definition: &Definition,
    member: &str,
) -> Result<String, Refusal> {
    let path = definition.member(file, member)?;
    let (item, body) = (definition.item(&path), definition.body_of(&path));
    let place = file.place(item.first);
    if !is_padding(file, item) {
        return Err(Refusal::NotPadding {
            member: member.to_owned(),
            place,
        });
    }
    let block =
        lines_with_comments(file, body, item, None).map_err(|Shared| Refusal::SharedLine {
            member: member.to_owned(),
            place,
        })?;
    let source = file.source;
    let (above, below) = (
        blank_lines_above(source, block.start),
        blank_lines_below(source, block.end),
    );
    let start = (0..above).fold(block.start, |at, _| line_start(source, at - 1));
    let end = (0..below).fold(block.end, |at, _| next_line(source, at));
    let at_edge = opens_body(source, start) || closes_body(source, end);
    let spacing = Spacing::by_style(
        (above, below),
        at_edge,
        (0, 0),
        (false, false),
        (false, false),
    );
    let left = newline(source).repeat(spacing.left);
    Ok([&source[..start], &left, &source[end..]].concat())
}

/// Whether the declaration is `char name[N];`, or a macro made for padding.
fn is_padding(file: &File<'_>, item: &Item) -> bool {
    let reader = file.reader();
    if item.what == What::KnownMacro {
        return reader.text(item.first).ends_with("_PADDING");
    }
    let bracket = (item.first..item.last).find(|&at| reader.text(at) == "[");
    let Some(bracket) = bracket.filter(|_| item.what == What::Plain && item.names.len() == 1)
    else {
        return false;
    };
    let byte = |word: &str| {
        matches!(
            word,
            "char" | "unsigned" | "signed" | "u8" | "__u8" | "uint8_t" | "s8" | "int8_t"
        )
    };
    let types = item.first..bracket.saturating_sub(1);
    let bytes = types.clone().all(|at| byte(reader.text(at)));
    !types.is_empty() && bytes && !matches!(reader.text(types.end - 1), "unsigned" | "signed")
}

//! The whole lines that belong to a statement: its comments above, itself, its trailing comment.

use crate::body::{Body, Item};
use crate::find::File;
use crate::lex::{Kind, Token};
use crate::lines::{column, line_start, next_line, starts_line};

/// Byte ranges of whole lines, newlines included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// First byte of the first comment line that belongs to it.
    pub start: usize,
    /// First byte of the statement's own first line.
    pub own: usize,
    /// First byte after its last line.
    pub end: usize,
    /// Whether a comment trails it.
    pub trailing: bool,
}

/// Another piece of code on a line of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared;

/// The lines of tokens `first..=last`, without comments above.
pub(crate) fn lines_of(file: &File<'_>, first: usize, last: usize) -> Result<Block, Shared> {
    lines_at(
        file,
        first,
        last,
        column(file.source, file.tokens[first].start),
    )
}

/// The same of what is a statement at column `indent`, with conditionals around it.
fn lines_at(file: &File<'_>, first: usize, last: usize, indent: usize) -> Result<Block, Shared> {
    let from = file.tokens[first].start;
    if !starts_line(file.source, from) {
        return Err(Shared);
    }
    let own = line_start(file.source, from);
    let (end, trailing) = end_of(file, last, indent)?;
    Ok(Block {
        start: own,
        own,
        end,
        trailing,
    })
}

/// The lines of an item (or of the `#if` group `group` around it), with the comments above that
/// belong to it.
pub(crate) fn lines_with_comments(
    file: &File<'_>,
    body: &Body,
    item: &Item,
    group: Option<usize>,
) -> Result<Block, Shared> {
    let (first, last) = match group {
        Some(group) => (body.groups[group].start, body.groups[group].end),
        None => (item.first, item.last),
    };
    lines_between(file, std::slice::from_ref(item), first, last)
}

/// The lines of tokens `first..=last`, which are `items` and conditionals around them, with the
/// comments above that belong to them.
pub(crate) fn lines_between(
    file: &File<'_>,
    items: &[Item],
    first: usize,
    last: usize,
) -> Result<Block, Shared> {
    let Some(item) = items.first() else {
        return lines_of(file, first, last);
    };
    let indent = column(file.source, file.tokens[item.first].start);
    let mut block = lines_at(file, first, last, indent)?;
    let start = comments_above(file, first, indent);
    if start < block.own && belongs(file, items, &file.source[start..block.own], &block) {
        block.start = start;
    }
    Ok(block)
}

/// First byte after the line of token `last`, over its trailing comment and the lines on which
/// that goes on. One that found no room on the line stands below, further in than the statement,
/// which begins at column `indent`.
fn end_of(file: &File<'_>, last: usize, indent: usize) -> Result<(usize, bool), Shared> {
    let mut end = file.tokens[last].end;
    let mut comment_column = None;
    for token in &file.tokens[last + 1..] {
        let same_line = !file.source[end..token.start].contains('\n');
        if token.kind != Kind::Comment {
            if same_line {
                return Err(Shared);
            }
            break;
        }
        let at = column(file.source, token.start);
        let belongs = comment_column.map_or(at > indent, |column| column == at);
        let goes_on = belongs && adjacent(file, end, token) && alone(file, token);
        if !same_line && !goes_on {
            break;
        }
        comment_column.get_or_insert(at);
        end = token.end;
    }
    Ok((next_line(file.source, end), comment_column.is_some()))
}

/// Whether `token` starts on the line right below byte `end`.
fn adjacent(file: &File<'_>, end: usize, token: &Token) -> bool {
    next_line(file.source, end) == line_start(file.source, token.start)
}

fn alone(file: &File<'_>, token: &Token) -> bool {
    let rest = &file.source[token.end..next_line(file.source, token.end)];
    starts_line(file.source, token.start) && rest.trim().is_empty()
}

/// First byte of the unbroken run of comment lines right above token `first`.
fn comments_above(file: &File<'_>, first: usize, indent: usize) -> usize {
    let mut start = line_start(file.source, file.tokens[first].start);
    for token in file.tokens[..first].iter().rev() {
        let directly = token.kind == Kind::Comment && next_line(file.source, token.end) == start;
        if !directly || !alone(file, token) || column(file.source, token.start) != indent {
            break;
        }
        start = line_start(file.source, token.start);
    }
    start
}

/// Whether the comment above is about this member, and not the heading of several.
fn belongs(file: &File<'_>, items: &[Item], comment: &str, block: &Block) -> bool {
    let text = words(comment);
    if text.starts_with("private:") || text.starts_with("public:") {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if comment.split(|c| !is_word(c)).any(|word| {
        let mut names = items.iter().flat_map(|item| &item.names);
        names.any(|name| name == word)
    }) {
        return true;
    }
    let next = file.tokens.partition_point(|token| token.start < block.end);
    let next_follows = file.tokens.get(next).is_some_and(|token| {
        token.kind == Kind::Ident && line_start(file.source, token.start) == block.end
    });
    !(next_follows && (block.trailing || is_heading(comment)))
}

/// Whether a comment reads as the heading of the statements below.
pub(crate) fn is_heading(comment: &str) -> bool {
    words(comment).ends_with(':')
}

/// A comment without its marks at both ends.
fn words(comment: &str) -> &str {
    comment.trim_matches(|c: char| c.is_whitespace() || c == '*' || c == '/')
}

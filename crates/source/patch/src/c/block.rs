//! Whole lines of a statement: comments above, the statement, its trailing comment.

use crate::body::{BodyStatement, BracedBody};
use crate::lex::{SourceToken, TokenIndex, TokenKind};
use crate::lines::{column_of, is_first_on_line, line_start, next_line_start};
use crate::tokenized::TokenizedFile;

/// Byte ranges of whole lines, newlines included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineBlock {
    /// First byte of the first comment line that belongs to the statement.
    pub start: usize,
    /// First byte of the statement's own first line.
    pub own_start: usize,
    /// First byte after the last line.
    pub end: usize,
    /// True if a comment trails the statement.
    pub has_trailing_comment: bool,
}

/// Error: other code shares a line with the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatementSharesLine;

/// Lines of tokens `first..=last`, without comments above.
pub(crate) fn lines_of_tokens(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    last: TokenIndex,
) -> Result<LineBlock, StatementSharesLine> {
    lines_at_indent(
        file,
        first,
        last,
        column_of(file.source, file.tokens[first].start),
    )
}

/// Lines of tokens `first..=last`: a statement at column `indent`, with conditionals around it.
fn lines_at_indent(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    last: TokenIndex,
    indent: usize,
) -> Result<LineBlock, StatementSharesLine> {
    let from = file.tokens[first].start;
    if !is_first_on_line(file.source, from) {
        return Err(StatementSharesLine);
    }
    let own = line_start(file.source, from);
    let (end, trailing) = block_end(file, last, indent)?;
    Ok(LineBlock {
        start: own,
        own_start: own,
        end,
        has_trailing_comment: trailing,
    })
}

/// Lines of a statement (or of the `#if` group `group` around it), with the comments above that
/// belong to it.
pub(crate) fn lines_with_comments(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    statement: &BodyStatement,
    group: Option<usize>,
) -> Result<LineBlock, StatementSharesLine> {
    let (first, last) = match group {
        Some(group) => (body.groups[group].start, body.groups[group].end),
        None => (statement.first, statement.last),
    };
    lines_of_statements(file, std::slice::from_ref(statement), first, last)
}

/// Lines of tokens `first..=last`, which are `statements` and conditionals around them, with the
/// comments above that belong to them.
pub(crate) fn lines_of_statements(
    file: &TokenizedFile<'_>,
    statements: &[BodyStatement],
    first: TokenIndex,
    last: TokenIndex,
) -> Result<LineBlock, StatementSharesLine> {
    let Some(statement) = statements.first() else {
        return lines_of_tokens(file, first, last);
    };
    let indent = column_of(file.source, file.tokens[statement.first].start);
    let mut block = lines_at_indent(file, first, last, indent)?;
    let start = start_of_comments_above(file, first, indent);
    if start < block.own_start
        && comment_belongs(
            file,
            statements,
            &file.source[start..block.own_start],
            &block,
        )
    {
        block.start = start;
    }
    Ok(block)
}

/// First byte after the line of token `last`, over its trailing comment and the continuation of
/// that comment. A continuation stands below, indented further than column `indent` of the
/// statement.
fn block_end(
    file: &TokenizedFile<'_>,
    last: TokenIndex,
    indent: usize,
) -> Result<(usize, bool), StatementSharesLine> {
    let mut end = file.tokens[last].end;
    let mut comment_column = None;
    for token in file.tokens.from(last + 1) {
        let same_line = !file.source[end..token.start].contains('\n');
        if token.kind != TokenKind::Comment {
            if same_line {
                return Err(StatementSharesLine);
            }
            break;
        }
        let at = column_of(file.source, token.start);
        let belongs = comment_column.map_or(at > indent, |column| column == at);
        let goes_on = belongs && is_on_next_line(file, end, token) && is_alone_on_line(file, token);
        if !same_line && !goes_on {
            break;
        }
        comment_column.get_or_insert(at);
        end = token.end;
    }
    Ok((next_line_start(file.source, end), comment_column.is_some()))
}

/// Returns true if `token` starts on the line below byte `end`.
fn is_on_next_line(file: &TokenizedFile<'_>, end: usize, token: &SourceToken) -> bool {
    next_line_start(file.source, end) == line_start(file.source, token.start)
}

fn is_alone_on_line(file: &TokenizedFile<'_>, token: &SourceToken) -> bool {
    let rest = &file.source[token.end..next_line_start(file.source, token.end)];
    is_first_on_line(file.source, token.start) && rest.trim().is_empty()
}

/// First byte of the unbroken run of comment lines above token `first`.
fn start_of_comments_above(file: &TokenizedFile<'_>, first: TokenIndex, indent: usize) -> usize {
    let mut start = line_start(file.source, file.tokens[first].start);
    for token in file.tokens.before(first).iter().rev() {
        let directly =
            token.kind == TokenKind::Comment && next_line_start(file.source, token.end) == start;
        if !directly
            || !is_alone_on_line(file, token)
            || column_of(file.source, token.start) != indent
        {
            break;
        }
        start = line_start(file.source, token.start);
    }
    start
}

/// Returns true if the comment above is about these statements, and not the heading of several.
fn comment_belongs(
    file: &TokenizedFile<'_>,
    statements: &[BodyStatement],
    comment: &str,
    block: &LineBlock,
) -> bool {
    let text = comment_words(comment);
    if text.starts_with("private:") || text.starts_with("public:") {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if comment.split(|c| !is_word(c)).any(|word| {
        let mut names = statements.iter().flat_map(|statement| &statement.names);
        names.any(|name| name == word)
    }) {
        return true;
    }
    let next = file.tokens.at_byte(block.end);
    let next_follows = next.is_some_and(|token| {
        token.kind == TokenKind::Ident && line_start(file.source, token.start) == block.end
    });
    !(next_follows && (block.has_trailing_comment || is_heading_comment(comment)))
}

/// Returns true if a comment reads as the heading of the statements below.
pub(crate) fn is_heading_comment(comment: &str) -> bool {
    comment_words(comment).ends_with(':')
}

/// Text of a comment without the marks at both ends.
fn comment_words(comment: &str) -> &str {
    comment.trim_matches(|c: char| c.is_whitespace() || c == '*' || c == '/')
}

//! Structs on one line: `struct a { int x; char y; };`. For a move, their statements get lines of
//! their own, and return to one line afterwards.

use crate::body::BracedBody;
use crate::find::{StatementPath, StructDefinition};
use crate::lex::TokenIndex;
use crate::lines::line_ending;
use crate::tokenized::TokenizedFile;

/// A text whose body was on one line.
pub(crate) struct UnfoldedBody {
    pub text: String,
    pub one_line: OneLineBody,
}

/// White space of a body on one line.
pub(crate) struct OneLineBody {
    /// Path to the body.
    path: StatementPath,
    first: String,
    between: Vec<String>,
    last: String,
}

/// Returns the text with a line for each statement of the body that `path` leads to; `None` if
/// the body has several lines or comments.
pub(crate) fn unfold_body(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    path: StatementPath,
) -> Option<UnfoldedBody> {
    let body = definition.body_of(&path);
    let (open, close) = (file.tokens[body.open], file.tokens[body.close]);
    let inside = &file.source[open.end..close.start];
    let statements = statement_spans(file, body)?;
    if inside.contains('\n') || statements.is_empty() {
        return None;
    }
    let bounds: Vec<usize> = { [open.end].into_iter() }
        .chain(statements.iter().flat_map(|&(start, end)| [start, end]))
        .chain([close.start])
        .collect();
    let mut gaps: Vec<String> = { bounds.chunks(2) }
        .map(|gap| file.source[gap[0]..gap[1]].to_owned())
        .collect();
    if gaps.iter().any(|gap| !gap.trim().is_empty()) {
        return None;
    }
    let last = gaps.pop()?;
    let first = gaps.remove(0);
    let eol = line_ending(file.source);
    let lines = statements
        .iter()
        .map(|&(start, end)| format!("\t{}{eol}", &file.source[start..end]));
    let text = [
        &file.source[..open.end],
        eol,
        &lines.collect::<String>(),
        &file.source[close.start..],
    ];
    Some(UnfoldedBody {
        text: text.concat(),
        one_line: OneLineBody {
            path,
            first,
            between: gaps,
            last,
        },
    })
}

/// Returns the text with the body on one line again; `None` if it has comments now.
pub(crate) fn fold_body(
    file: &TokenizedFile<'_>,
    old: &StructDefinition,
    one_line: &OneLineBody,
) -> Option<String> {
    let definition = file.find_same_definition(old).ok()?;
    let body = definition.body_of(&one_line.path);
    let statements = statement_spans(file, body)?;
    let mut text = file.source[..file.tokens[body.open].end].to_owned() + &one_line.first;
    for (nth, &(start, end)) in statements.iter().enumerate() {
        if nth > 0 {
            let same_count = statements.len() == one_line.between.len() + 1;
            let gap = one_line.between.get(if same_count { nth - 1 } else { 0 });
            text += gap.map_or(" ", String::as_str);
        }
        text += &file.source[start..end];
    }
    Some(text + &one_line.last + &file.source[file.tokens[body.close].start..])
}

/// Bytes of each statement; `None` if there is a comment or a directive.
fn statement_spans(file: &TokenizedFile<'_>, body: &BracedBody) -> Option<Vec<(usize, usize)>> {
    let is_comment_or_directive = |at: TokenIndex| !file.is_code(at);
    if body.open.until(body.close).any(is_comment_or_directive) {
        return None;
    }
    let statements = body.statements.iter();
    let span =
        |first: TokenIndex, last: TokenIndex| (file.tokens[first].start, file.tokens[last].end);
    Some(
        statements
            .map(|statement| span(statement.first, statement.last))
            .collect(),
    )
}

//! Structs on one line: `struct a { int x; char y; };`. For a move their statements get lines of their own,
//! and one line again afterwards.

use crate::body::Body;
use crate::find::{Definition, File, ItemPath};
use crate::lex::Kind;
use crate::lines::newline;

/// A body that was on one line.
pub(crate) struct Unfolded {
    pub text: String,
    pub line: Line,
}

/// What stood between the brackets and the statements.
pub(crate) struct Line {
    /// The way to the body.
    path: ItemPath,
    first: String,
    between: Vec<String>,
    last: String,
}

/// The text with a line for each statement of the body that `path` leads to; `None` if it has several lines
/// already, or comments.
pub(crate) fn unfold(file: &File<'_>, definition: &Definition, path: ItemPath) -> Option<Unfolded> {
    let body = definition.body_of(&path);
    let (open, close) = (file.tokens[body.open], file.tokens[body.close]);
    let inside = &file.source[open.end..close.start];
    let items = spans(file, body)?;
    if inside.contains('\n') || items.is_empty() {
        return None;
    }
    let bounds: Vec<usize> = { [open.end].into_iter() }
        .chain(items.iter().flat_map(|&(start, end)| [start, end]))
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
    let eol = newline(file.source);
    let lines = items
        .iter()
        .map(|&(start, end)| format!("\t{}{eol}", &file.source[start..end]));
    let text = [
        &file.source[..open.end],
        eol,
        &lines.collect::<String>(),
        &file.source[close.start..],
    ];
    Some(Unfolded {
        text: text.concat(),
        line: Line {
            path,
            first,
            between: gaps,
            last,
        },
    })
}

/// The text with the body on one line again; `None` if there are comments in it now.
pub(crate) fn fold(file: &File<'_>, old: &Definition, line: &Line) -> Option<String> {
    let definition = file.definition_at(old).ok()?;
    let body = definition.body_of(&line.path);
    let items = spans(file, body)?;
    let mut text = file.source[..file.tokens[body.open].end].to_owned() + &line.first;
    for (nth, &(start, end)) in items.iter().enumerate() {
        if nth > 0 {
            let same_count = items.len() == line.between.len() + 1;
            let gap = line.between.get(if same_count { nth - 1 } else { 0 });
            text += gap.map_or(" ", String::as_str);
        }
        text += &file.source[start..end];
    }
    Some(text + &line.last + &file.source[file.tokens[body.close].start..])
}

/// The bytes of each statement; `None` where there is a comment or a directive.
fn spans(file: &File<'_>, body: &Body) -> Option<Vec<(usize, usize)>> {
    let other = |at: usize| matches!(file.tokens[at].kind, Kind::Comment | Kind::Directive);
    if (body.open..body.close).any(other) {
        return None;
    }
    let items = body.items.iter();
    let span = |first: usize, last: usize| (file.tokens[first].start, file.tokens[last].end);
    Some(items.map(|item| span(item.first, item.last)).collect())
}

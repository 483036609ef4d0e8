//! Takes `int a, *b;` apart into a line each, where one of them moves or something comes between.

use crate::body::Item;
use crate::change::Position;
use crate::declarator::{What, is_attribute};
use crate::find::{Definition, File, ItemPath};
use crate::lex::Kind;
use crate::lines::{line_start, newline, starts_line};
use crate::refusal::Refusal;

use super::unit::last_name;

/// A text in which declarations were taken apart.
pub(crate) struct Split {
    pub text: String,
    /// Whether a comment above the first of them is about all: it stays when that one moves.
    pub first_moves: bool,
}

/// The text with every declaration taken apart of which `members` are a part, or into whose middle
/// they go; `None` if there is none.
pub(crate) fn apart(
    file: &File<'_>,
    definition: &Definition,
    members: &[String],
    to: &Position,
) -> Result<Option<Split>, Refusal> {
    let (anchor, behind, before) = match to {
        Position::First => (None, None, None),
        Position::After(name) => (Some(name), Some(last_name(name)), None),
        Position::Before(name) => (Some(name), None, Some(last_name(name))),
    };
    let mut cuts: Vec<(ItemPath, Cuts, String)> = Vec::new();
    let mut first_moves = false;
    for member in members.iter().chain(anchor) {
        // What is not found is the move's to refuse.
        for path in definition.members(file, member).unwrap_or_default() {
            let item = definition.item(&path);
            if item.names.len() < 2 || cuts.iter().any(|(known, ..)| *known == path) {
                continue;
            }
            let moves: Vec<bool> = item
                .names
                .iter()
                .map(|name| members.iter().any(|member| last_name(member) == name))
                .collect();
            let cut = |&index: &usize| {
                moves[index] != moves[index - 1]
                    || Some(item.names[index - 1].as_str()) == behind
                    || Some(item.names[index].as_str()) == before
            };
            let at: Vec<usize> = (1..item.names.len()).filter(cut).collect();
            if !at.is_empty() {
                first_moves |= moves[0];
                cuts.push((path, Cuts { at, moves }, member.clone()));
            }
        }
    }
    if cuts.is_empty() {
        return Ok(None);
    }
    // From the back, so that places before stay what they are.
    cuts.sort_by_key(|(path, ..)| std::cmp::Reverse(definition.item(path).first));
    let mut text = file.source.to_owned();
    for (path, cuts, member) in cuts {
        let item = definition.item(&path);
        let pieces = pieces(file, item, &cuts).ok_or_else(|| Refusal::SharedDeclaration {
            member,
            place: file.place(item.first),
        })?;
        let end = file.tokens[item.last].end + trailing(file, item.last).len();
        text.replace_range(file.tokens[item.first].start..end, &pieces);
    }
    Ok(Some(Split { text, first_moves }))
}

/// Where one declaration is cut.
struct Cuts {
    /// Numbers of the declarators before which there is a cut.
    at: Vec<usize>,
    /// Which of them move.
    moves: Vec<bool>,
}

/// A comment behind the declaration, with the white space before it.
fn trailing<'a>(file: &File<'a>, last: usize) -> &'a str {
    let end = file.tokens[last].end;
    let comment = file.tokens.get(last + 1);
    let comment = comment.filter(|token| token.kind == Kind::Comment);
    let text = comment.map_or("", |token| &file.source[end..token.end]);
    if text.contains('\n') { "" } else { text }
}

/// The declaration written several times, each with the declarators from one cut to the next. A
/// comment behind it stays with what stays.
fn pieces(file: &File<'_>, item: &Item, cuts: &Cuts) -> Option<String> {
    let source = file.source;
    let reader = file.reader();
    let tokens = item.first..item.last;
    let plain = matches!(item.what, What::Plain | What::Bitfield) && item.body.is_none();
    let code = tokens
        .clone()
        .all(|at| !matches!(file.tokens[at].kind, Kind::Comment | Kind::Directive));
    let start = file.tokens[item.first].start;
    if !plain || !code || !starts_line(source, start) {
        return None;
    }
    let mut commas = Vec::new();
    let mut at = item.first;
    while at < item.last {
        match reader.pairs[at].filter(|&pair| pair > at) {
            Some(pair) => at = pair,
            None if reader.text(at) == "," => commas.push(at),
            None => {}
        }
        at += 1;
    }
    if commas.len() + 1 != item.names.len() {
        return None;
    }
    let first = first_declarator(file, item, commas[0])?;
    let specifiers = &source[start..file.tokens[first].start];
    let indent = &source[line_start(source, start)..start];
    let bounds: Vec<usize> = std::iter::once(0)
        .chain(cuts.at.iter().copied())
        .chain([item.names.len()])
        .collect();
    let begin = |index: usize| match index {
        0 => first,
        _ => commas[index - 1] + 1,
    };
    let stays = (0..bounds.len() - 1).rfind(|&piece| !cuts.moves[bounds[piece]]);
    let lines = bounds.windows(2).enumerate().map(|(piece, range)| {
        let last = commas.get(range[1] - 1).copied().unwrap_or(item.last) - 1;
        let text = &source[file.tokens[begin(range[0])].start..file.tokens[last].end];
        let comment = match Some(piece) == stays {
            true => trailing(file, item.last),
            false => "",
        };
        format!("{specifiers}{text};{comment}")
    });
    Some(
        lines
            .collect::<Vec<_>>()
            .join(&format!("{}{indent}", newline(source))),
    )
}

/// The token at which the first declarator begins: its name, or the first star before that.
fn first_declarator(file: &File<'_>, item: &Item, comma: usize) -> Option<usize> {
    let reader = file.reader();
    let name = (item.first..comma).find(|&at| {
        reader.text(at) == item.names[0] && matches!(reader.text(at + 1), "," | "[" | ":" | ";")
    })?;
    let stars = (item.first..name).rev().take_while(|&at| {
        let text = reader.text(at);
        matches!(text, "*" | "const" | "volatile" | "restrict") || is_attribute(text)
    });
    let first = stars.filter(|&at| reader.text(at) == "*").last();
    let from = first.unwrap_or(name);
    // `int (*f)(void), x;` has its type on both sides of the name.
    let brackets = (from..comma).any(|at| reader.text(at) == "(");
    (from > item.first && !brackets).then_some(from)
}

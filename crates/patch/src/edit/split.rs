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
    /// The declarations as they were.
    pub whole: Vec<String>,
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
        Position::Before(name) | Position::Below(name) => (Some(name), None, Some(last_name(name))),
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
    let mut whole = Vec::new();
    for (path, cuts, member) in cuts {
        let item = definition.item(&path);
        let pieces = pieces(file, item, &cuts).ok_or_else(|| Refusal::SharedDeclaration {
            member,
            place: file.place(item.first),
        })?;
        let (start, end) = (file.tokens[item.first].start, file.tokens[item.last].end);
        whole.push(file.source[start..end].to_owned());
        let end = end + trailing(file, item.last).len();
        let indent = &file.source[line_start(file.source, start)..start];
        let line = format!("{}{indent}", newline(file.source));
        text.replace_range(start..end, &pieces.join(&line));
    }
    Ok(Some(Split {
        text,
        whole,
        first_moves,
    }))
}

/// The text with the statements that declare what `text` does written as `text`.
pub(crate) fn join(
    file: &File<'_>,
    definition: &Definition,
    text: &str,
) -> Result<String, Refusal> {
    let refused = |token| Refusal::NotJoined {
        text: text.to_owned(),
        place: file.place(token),
    };
    let at = definition.body.open;
    let wanted = alone(text).ok_or_else(|| refused(at))?;
    let mut paths: Vec<ItemPath> = Vec::new();
    for (name, _) in &wanted {
        let path = definition.member(file, name)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths.sort_by_key(|path| path.item);
    let items: Vec<&Item> = paths.iter().map(|path| definition.item(path)).collect();
    let (first, last) = (items[0], items[items.len() - 1]);
    let together = paths
        .windows(2)
        .all(|pair| pair[0].bodies == pair[1].bodies && pair[0].item + 1 == pair[1].item)
        && items.iter().all(|item| item.branches == first.branches);
    if items.len() < 2 || !together {
        return Err(refused(first.first));
    }
    let mut declared: Vec<(String, String)> = Vec::new();
    for item in &items {
        let (start, end) = (file.tokens[item.first].start, file.tokens[item.last].end);
        declared.extend(alone(&file.source[start..end]).ok_or_else(|| refused(first.first))?);
    }
    let mut sorted = wanted;
    sorted.sort();
    declared.sort();
    // What stands behind them and between them: one comment, at most.
    let rests = items.iter().enumerate().map(|(nth, item)| {
        let end = file.tokens[item.last].end;
        match items.get(nth + 1) {
            Some(next) => &file.source[end..file.tokens[next.first].start],
            None => trailing(file, item.last),
        }
    });
    let mut comments = rests.map(str::trim_end).filter(|rest| !rest.is_empty());
    let comment = comments.next().unwrap_or("");
    let one_comment = comments.next().is_none() && !comment.contains('\n');
    if !one_comment || sorted != declared {
        return Err(refused(first.first));
    }
    let start = file.tokens[first.first].start;
    let end = file.tokens[last.last].end + trailing(file, last.last).len();
    Ok([&file.source[..start], text, comment, &file.source[end..]].concat())
}

/// What a declaration declares: each name, and the words that declare it alone. `None` for what is no plain
/// declaration.
fn alone(text: &str) -> Option<Vec<(String, String)>> {
    let source = format!("struct s {{\n{text}\n}};\n");
    let file = File::new("", &source);
    let definition = file.definition("s", None).ok()?;
    let [item] = &definition.body.items[..] else {
        return None;
    };
    let body = &definition.body;
    let whole = (item.first, item.last + 1) == (body.open + 1, body.close);
    // The bracket and the semicolon from here end it, and none of `text`.
    if !whole || body.close + 2 != file.tokens.len() {
        return None;
    }
    let pieces = match item.names.len() {
        0 => return None,
        1 => vec![text.to_owned()],
        count => {
            let cuts = Cuts {
                at: (1..count).collect(),
                moves: vec![false; count],
            };
            pieces(&file, item, &cuts)?
        }
    };
    let words = |piece: &String| {
        let tokens = crate::lex::lex(piece);
        let words: Vec<&str> = tokens.iter().map(|token| token.text(piece)).collect();
        words.join(" ")
    };
    let names = item.names.iter().cloned();
    Some(names.zip(pieces.iter().map(words)).collect())
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
fn pieces(file: &File<'_>, item: &Item, cuts: &Cuts) -> Option<Vec<String>> {
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
    Some(lines.collect())
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

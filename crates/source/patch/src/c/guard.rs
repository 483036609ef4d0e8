//! Store guards: `x = v;` becomes `if (x != v) x = v;`.

use super::comment::render_comment;
use crate::declarator::is_keyword;
use crate::file_kind::is_kernel;
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_first_on_line, line_ending, line_number, line_start};
use crate::refusal::{EditRefusal, FileLine};
use crate::tokenized::TokenizedFile;

/// A store to a member: token ranges of the target and of the value, ends excluded.
struct StoreStatement {
    first: TokenIndex,
    last: TokenIndex,
    target: (TokenIndex, TokenIndex),
    value: (TokenIndex, TokenIndex),
    /// Written as `WRITE_ONCE(to, value)`.
    is_write_once: bool,
}

/// Returns the text of `source` with a guard around the assignment to `member` on `line` (from
/// 1): the member is stored to only if its value changes.
///
/// In kernel source the guard is `if (READ_ONCE(x) != v)` with `WRITE_ONCE(x, v)`, elsewhere
/// plain C. Load and store are no longer one operation: of two threads that store at the same
/// time, the last may skip its store, because it loaded its own value before the other's arrived.
/// That must not matter, as for a member that only one thread stores to. `READ_ONCE` does not
/// take bitfields.
///
/// ```
/// use relayout_patch::guard_store;
///
/// let source = "void f(struct s *p)\n{\n\tp->state = IDLE;\n}\n";
/// let new = guard_store("f.c", source, 3, "state", None).unwrap();
/// assert!(new.contains("\tif (p->state != IDLE)\n\t\tp->state = IDLE;\n"));
/// ```
///
/// # Errors
/// [`EditRefusal`] if no plain assignment to the member begins on that line, if an operand has
/// side effects, which must not happen twice, or if an `else` would belong to the new `if`.
pub fn guard_store(
    file_name: &str,
    source: &str,
    line: u32,
    member: &str,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let file = TokenizedFile::new(file_name, source);
    let name = super::unit::last_name(member);
    let store = find_store(&file, line, name).ok_or_else(|| EditRefusal::NoStore {
        member: member.to_owned(),
        place: FileLine {
            file: file_name.to_owned(),
            line,
        },
    })?;
    let refused = |why: &'static str| EditRefusal::StoreNotGuarded {
        member: member.to_owned(),
        why,
        place: file.place(store.first),
    };
    for part in [store.target, store.value] {
        if let Some(why) = side_effect(&file, part) {
            return Err(refused(why));
        }
    }
    let start = file.tokens[store.first].start;
    if !is_first_on_line(source, start) {
        return Err(refused("it does not begin its line"));
    }

    let before = store
        .first
        .all_before()
        .rev()
        .find(|&at| file.is_code(at))
        .map_or("{", |at| file.text(at));
    let behind = (store.last + 1)
        .until(file.tokens.end())
        .find(|&at| file.is_code(at));
    // `)`, `else` and `do` have it as their only statement.
    let is_only_statement = !matches!(before, ";" | "{" | "}" | ":");
    if is_only_statement && behind.is_some_and(|at| file.text(at) == "else") {
        return Err(refused("the else behind it would belong to the new if"));
    }
    if is_only_statement && reason.is_some() {
        return Err(refused(
            "a comment between it and its condition would hide that they belong together",
        ));
    }
    guarded_text(&file, &store, name, reason)
}

/// Text of the file with the guard and the reason around the store.
fn guarded_text(
    file: &TokenizedFile<'_>,
    store: &StoreStatement,
    name: &str,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let source = file.source;
    let start = file.tokens[store.first].start;
    let text = |(from, to): (TokenIndex, TokenIndex)| {
        &source[file.tokens[from].start..file.tokens[to - 1].end]
    };
    let indent = &source[line_start(source, start)..start];
    let step = if indent.contains('\t') || indent.is_empty() {
        "\t"
    } else {
        "    "
    };
    let eol = line_ending(source);
    let (to, value) = (text(store.target), text(store.value));
    let compared = match is_operand(file, store.value) {
        true => value.to_owned(),
        false => format!("({value})"),
    };
    let (load, put) = match store.is_write_once || is_kernel(source) {
        true => (
            format!("READ_ONCE({to})"),
            format!("WRITE_ONCE({to}, {value})"),
        ),
        false => (to.to_owned(), format!("{to} = {value}")),
    };
    let comment = match reason {
        Some(reason) => render_comment(source, indent, &[reason], name)?,
        None => String::new(),
    };
    let end = file.tokens[store.last].end;
    let guarded = format!("if ({load} != {compared}){eol}{indent}{step}{put};");
    let above = line_start(source, start);
    Ok([&source[..above], &comment, indent, &guarded, &source[end..]].concat())
}

/// Finds the assignment to the member that begins on the line.
fn find_store(file: &TokenizedFile<'_>, line: u32, name: &str) -> Option<StoreStatement> {
    let on_line = |at: &TokenIndex| line_number(file.source, file.tokens[*at].start) == line;
    let starts = file
        .tokens
        .indexes()
        .filter(|&at| file.tokens[at].kind != TokenKind::Directive);
    let first = starts
        .filter(on_line)
        .find(|&at| file.tokens[at].kind != TokenKind::Comment)?;
    let last = (first)
        .until(file.tokens.end())
        .find(|&at| file.text(at) == ";")?;
    let is_write_once = file.text(first) == "WRITE_ONCE" && file.text(first + 1) == "(";
    let (target, value) = if is_write_once {
        let close = file.pairs[first + 1].filter(|&close| close + 1 == last)?;
        let comma = file
            .outside_brackets(first + 2, close)
            .find(|&at| file.text(at) == ",")?;
        ((first + 2, comma), (comma + 1, close))
    } else {
        let equals = file
            .outside_brackets(first, last)
            .find(|&at| file.text(at) == "=")?;
        ((first, equals), (equals + 1, last))
    };
    let (from, to) = target;
    let empty = from >= to || value.0 >= value.1;
    // A declaration has two words side by side, a compound assignment an operator before the `=`.
    let word = |at: TokenIndex| file.tokens[at].kind == TokenKind::Ident;
    let declares = (from + 1)
        .until(to)
        .any(|at| word(at) && (word(at - 1) || is_keyword(file.text(at))));
    let control = matches!(
        file.text(from),
        "if" | "else" | "for" | "while" | "do" | "switch" | "return" | "case" | "default"
    );
    let stored = (!empty && !control).then(|| target_name(file, target))??;
    (stored == name && !declares && file.text(value.0) != "=").then_some(StoreStatement {
        first,
        last,
        target,
        value,
        is_write_once,
    })
}

/// The member's name in `a->b.name`, `name[i]`, `*name`.
fn target_name<'a>(
    file: &TokenizedFile<'a>,
    (from, to): (TokenIndex, TokenIndex),
) -> Option<&'a str> {
    let mut at = to.previous()?;
    while file.text(at) == "]" {
        at = file.pairs[at]?.previous()?;
    }
    let token = file
        .tokens
        .get(at)
        .filter(|token| at >= from && token.kind == TokenKind::Ident)?;
    Some(token.text(file.source))
}

/// Reason for which a part must not be evaluated twice.
fn side_effect(
    file: &TokenizedFile<'_>,
    (from, to): (TokenIndex, TokenIndex),
) -> Option<&'static str> {
    for at in from.until(to) {
        let (text, next) = (file.text(at), file.text(at + 1));
        let adjacent = file.tokens[at].end == file.tokens.get(at + 1).map_or(0, |t| t.start);
        match text {
            "+" | "-" if next == text && adjacent => return Some("it has ++ or -- in it"),
            "=" if next != "=" && !matches!(file.text(at - 1), "=" | "!" | "<" | ">") => {
                return Some("it has another assignment in it");
            }
            "{" | "," | ";" => return Some("it has more than one value in it"),
            _ if !file.is_code(at) => {
                return Some("it has a comment or a directive in it");
            }
            _ if file.tokens[at].kind == TokenKind::Ident
                && next == "("
                && !matches!(text, "sizeof" | "READ_ONCE") =>
            {
                return Some(
                    "it calls something, which would be called twice: put the value into a variable first",
                );
            }
            _ => {}
        }
    }
    None
}

/// Returns true if the value binds closer than `!=`: words, members, elements, brackets and
/// casts.
fn is_operand(file: &TokenizedFile<'_>, (from, to): (TokenIndex, TokenIndex)) -> bool {
    file.outside_brackets(from, to).all(|at| {
        let text = file.text(at);
        let arrow = text == "-" && file.text(at + 1) == ">";
        let closes = text == ">" && at > from && file.text(at - 1) == "-";
        let sign = text == "-" && at == from;
        let plain = file.tokens[at].kind != TokenKind::Punct || matches!(text, "." | "~" | "!");
        let opens = file.pairs[at].is_some_and(|pair| pair > at);
        let prefix = at == from && matches!(text, "&" | "*");
        opens || plain || arrow || closes || sign || prefix
    })
}

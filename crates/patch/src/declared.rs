//! What a struct's definition declares: members in order with the alignments written on them.
//!
//! For reading a layout that somebody proposes, as in a header or as pahole prints it. Nothing is
//! preprocessed: conditionals are refused, since which branch is meant is not known.

use crate::body::{Body, Item};
use crate::declarator::{What, is_alignment, is_attribute, is_keyword};
use crate::find::File;
use crate::lex::Kind;
use crate::refusal::Refusal;

/// Alignment written on a member or a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredAlign {
    /// In bytes.
    Bytes(u64),
    /// The kernel's macros: to a cache line.
    Line,
}

/// One statement of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Line in the text, from 1.
    pub line: u32,
    /// Names that it declares; of an anonymous struct or union, the names inside.
    pub names: Vec<String>,
    /// Type as written, without attributes: `unsigned long`, `struct page *`.
    pub type_text: String,
    /// Element counts of an array, as written.
    pub bounds: Vec<String>,
    /// Has a body or is a function pointer or bitfield: `type_text` and `bounds` do not tell its size.
    pub special: bool,
    /// The largest alignment written on it.
    pub align: Option<DeclaredAlign>,
}

/// A struct's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredStruct {
    /// In order.
    pub members: Vec<Declared>,
    /// The largest alignment written on the type.
    pub align: Option<DeclaredAlign>,
}

/// Reads the definition of `struct struct_name` in `source`; `file_name` is only used to name places.
///
/// # Errors
/// A [`Refusal`] when the definition cannot be found, or a statement of it cannot be read.
pub fn declared(
    file_name: &str,
    source: &str,
    struct_name: &str,
) -> Result<DeclaredStruct, Refusal> {
    let file = File::new(file_name, source);
    let definition = file.definition(struct_name, None)?;
    let body = &definition.body;
    if let Some(group) = body.groups.first() {
        return Err(Refusal::CutByPreprocessor {
            place: file.place(group.start),
        });
    }
    let mut members = Vec::new();
    for item in &body.items {
        match item.names.len() > 1 && item.body.is_none() && item.what == What::Plain {
            true => members.extend(declarators(&file, item)?),
            false => members.push(member(&file, item)?),
        }
    }
    let end = (body.close..file.tokens.len()).find(|at| file.reader().text(*at) == ";");
    let before = (0..body.open)
        .rev()
        .take_while(|at| !matches!(file.reader().text(*at), ";" | "}"));
    let first = before.last().unwrap_or(body.open);
    let behind = alignment(&file, body.close + 1, end.unwrap_or(body.close))?;
    let ahead = alignment(&file, first, body.open)?;
    Ok(DeclaredStruct {
        members,
        align: larger(behind, ahead),
    })
}

fn larger(a: Option<DeclaredAlign>, b: Option<DeclaredAlign>) -> Option<DeclaredAlign> {
    match (a, b) {
        (Some(DeclaredAlign::Bytes(a)), Some(DeclaredAlign::Bytes(b))) => {
            Some(DeclaredAlign::Bytes(a.max(b)))
        }
        // Nothing in use is larger than a line but a page, which is written in bytes.
        (Some(DeclaredAlign::Bytes(bytes)), Some(DeclaredAlign::Line))
        | (Some(DeclaredAlign::Line), Some(DeclaredAlign::Bytes(bytes)))
            if bytes > 256 =>
        {
            Some(DeclaredAlign::Bytes(bytes))
        }
        (Some(DeclaredAlign::Line), _) | (_, Some(DeclaredAlign::Line)) => {
            Some(DeclaredAlign::Line)
        }
        (a, b) => a.or(b),
    }
}

fn member(file: &File<'_>, item: &Item) -> Result<Declared, Refusal> {
    let place = file.place(item.first);
    let names = match item.body.as_deref() {
        Some(inner) if item.names.is_empty() => names_inside(inner),
        _ => item.names.clone(),
    };
    if names.is_empty() || matches!(item.what, What::Unsure | What::Macro | What::Border) {
        let text = file.reader().text(item.first).to_owned();
        return Err(Refusal::MacroMember {
            member: text,
            place,
        });
    }
    let own_from = item
        .body
        .as_deref()
        .map_or(item.first, |inner| inner.close + 1);
    let (type_text, bounds, function) = type_of(file, own_from, item.last, &names);
    Ok(Declared {
        line: place.line,
        names,
        type_text,
        bounds,
        special: item.body.is_some() || function || item.what != What::Plain,
        align: alignment(file, own_from, item.last)?,
    })
}

/// The members of `unsigned long *first, second[2];`, each as if it had a statement of its own.
fn declarators(file: &File<'_>, item: &Item) -> Result<Vec<Declared>, Refusal> {
    let reader = file.reader();
    let name_at = |name: &String| (item.first..item.last).find(|at| reader.text(*at) == name);
    let first_name = item.names.first().and_then(name_at).unwrap_or(item.last);
    let for_all = alignment(file, item.first, first_name)?;
    let (mut members, mut from, mut base) = (Vec::new(), item.first, Vec::new());
    for (nth, name) in item.names.iter().enumerate() {
        let to = comma_or(item.last, file, from);
        let (own, bounds, function) = type_of(file, from, to, std::slice::from_ref(name));
        if nth == 0 {
            base = own
                .split(' ')
                .filter(|word| *word != "*")
                .map(str::to_owned)
                .collect();
        }
        let type_text = match nth {
            0 => own,
            _ if own.is_empty() => base.join(" "),
            _ => format!("{} {own}", base.join(" ")),
        };
        members.push(Declared {
            line: file.place(item.first).line,
            names: vec![name.clone()],
            type_text,
            bounds,
            special: function,
            align: larger(for_all, alignment(file, from, to)?),
        });
        from = to + 1;
    }
    Ok(members)
}

/// The next comma outside of brackets, or `end`.
fn comma_or(end: usize, file: &File<'_>, from: usize) -> usize {
    let mut at = from;
    while at < end && file.reader().text(at) != "," {
        at = file.pairs[at].filter(|close| *close > at).unwrap_or(at) + 1;
    }
    at.min(end)
}

fn names_inside(body: &Body) -> Vec<String> {
    let mut names = Vec::new();
    for item in &body.items {
        match item.body.as_deref() {
            Some(inner) if item.names.is_empty() => names.extend(names_inside(inner)),
            _ => names.extend(item.names.iter().cloned()),
        }
    }
    names
}

/// Words and stars before the first name, what is in the brackets after it, and whether there is a
/// parenthesis that is no attribute's.
fn type_of(
    file: &File<'_>,
    from: usize,
    to: usize,
    names: &[String],
) -> (String, Vec<String>, bool) {
    let reader = file.reader();
    let (mut words, mut bounds, mut function) = (Vec::new(), Vec::new(), false);
    let mut at = from;
    let mut named = false;
    while at < to {
        let text = reader.text(at);
        if is_attribute(text) {
            if reader.text(at + 1) == "(" {
                at = file.pairs[at + 1].unwrap_or(to);
            }
        } else if text == "(" {
            function = true;
            at = file.pairs[at].unwrap_or(to);
        } else if text == "[" {
            let end = file.pairs[at].unwrap_or(to);
            bounds.push((at + 1..end).map(|at| reader.text(at)).collect::<String>());
            at = end;
        } else if text == "," {
            break;
        } else if !named && names.first().is_some_and(|name| name == text) && !is_keyword(text) {
            named = true;
        } else if !named && file.tokens[at].kind != Kind::Comment {
            words.push(text);
        }
        at += 1;
    }
    (words.join(" "), bounds, function)
}

/// The largest alignment written between two tokens.
fn alignment(file: &File<'_>, from: usize, to: usize) -> Result<Option<DeclaredAlign>, Refusal> {
    let reader = file.reader();
    let mut found = None;
    for at in from..to {
        let word = reader.text(at);
        if file.tokens[at].kind != Kind::Ident || !is_alignment(word) {
            continue;
        }
        let line = word.starts_with("____cacheline") || word.starts_with("__cacheline_aligned");
        let one = match (line, reader.text(at + 1)) {
            (true, _) => DeclaredAlign::Line,
            (false, "(") => {
                let end = file.pairs[at + 1].unwrap_or(at + 1);
                let text: String = (at + 2..end).map(|at| reader.text(at)).collect();
                let bytes = bytes_of(&text).ok_or_else(|| Refusal::Alignment {
                    text: text.clone(),
                    place: file.place(at),
                })?;
                DeclaredAlign::Bytes(bytes)
            }
            (false, _) => {
                return Err(Refusal::Alignment {
                    text: word.to_owned(),
                    place: file.place(at),
                });
            }
        };
        found = larger(found, Some(one));
    }
    Ok(found)
}

/// A power of two up to a page, written as a number.
fn bytes_of(text: &str) -> Option<u64> {
    let plain = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let bytes = match plain.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => plain.parse().ok()?,
    };
    let page: u64 = 4096;
    (bytes.is_power_of_two() && bytes <= page).then_some(bytes)
}

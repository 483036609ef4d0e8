//! Declarations of a struct: members in order with the alignments written on them.
//!
//! This reads a layout that somebody proposes, in a header of C or as pahole prints it. Nothing is
//! preprocessed: conditionals are refused, since the branch that is meant is unknown.

use crate::body::{BodyStatement, BracedBody};
use crate::declarator::{StatementKind, is_alignment, is_attribute, is_keyword};
use crate::lex::{TokenIndex, TokenKind};
use crate::printed_cxx::{as_definition_in_c, bare_type_name};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Alignment written on a member or a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredAlignment {
    /// In bytes.
    Bytes(u64),
    /// To a cache line, by one of the kernel's macros.
    CacheLine,
}

/// A declaration of a struct's member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredMember {
    /// Line in the text, from 1.
    pub line: u32,
    /// Declared names; for an anonymous struct or union, the names inside.
    pub names: Vec<String>,
    /// Type as written, without attributes: `unsigned long`, `struct page *`.
    pub type_text: String,
    /// Element counts of an array, as written.
    pub bounds: Vec<String>,
    /// True for a nested struct, a function pointer or a bitfield: `type_text` and `bounds` do
    /// not give its size.
    pub is_special: bool,
    /// Largest alignment written on the member.
    pub alignment: Option<DeclaredAlignment>,
}

/// The declarations of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredStruct {
    /// Members in the order of the text.
    pub members: Vec<DeclaredMember>,
    /// Largest alignment written on the type.
    pub alignment: Option<DeclaredAlignment>,
}

/// Reads the definition of `struct struct_name` in `source`; `file_name` only names the file in
/// refusals.
///
/// ```
/// let source = "struct s {\n\tstruct page *page;\n\tchar name[16];\n};\n";
/// let declared = relayout_patch::read_declared_struct("s.h", source, "s").unwrap();
/// assert_eq!(declared.members[0].type_text, "struct page *");
/// assert_eq!(declared.members[1].bounds, ["16"]);
/// ```
///
/// # Errors
/// An [`EditRefusal`] if the definition is not found, or a statement of it is not understood.
pub fn read_declared_struct(
    file_name: &str,
    source: &str,
    struct_name: &str,
) -> Result<DeclaredStruct, EditRefusal> {
    let source = as_definition_in_c(source);
    let file = TokenizedFile::new(file_name, &source);
    let definition = file.find_definition(bare_type_name(struct_name), None)?;
    let body = &definition.body;
    if let Some(group) = body.groups.first() {
        return Err(EditRefusal::CutByPreprocessor {
            place: file.place(group.start),
        });
    }
    let mut members = Vec::new();
    for statement in &body.statements {
        match statement.names.len() > 1
            && statement.body.is_none()
            && statement.kind == StatementKind::Plain
        {
            true => members.extend(declared_members(&file, statement)?),
            false => members.push(declared_member(&file, statement)?),
        }
    }

    let before = body
        .open
        .all_before()
        .rev()
        .take_while(|at| !matches!(file.text(*at), ";" | "}"));
    let first = before.last().unwrap_or(body.open);
    let behind = largest_alignment(&file, body.close + 1, file.declaration_end(body.close))?;
    let ahead = largest_alignment(&file, first, body.open)?;
    Ok(DeclaredStruct {
        members,
        alignment: larger_alignment(behind, ahead),
    })
}

fn larger_alignment(
    a: Option<DeclaredAlignment>,
    b: Option<DeclaredAlignment>,
) -> Option<DeclaredAlignment> {
    match (a, b) {
        (Some(DeclaredAlignment::Bytes(a)), Some(DeclaredAlignment::Bytes(b))) => {
            Some(DeclaredAlignment::Bytes(a.max(b)))
        }
        // Nothing in use is larger than a line but a page, which is written in bytes.
        (Some(DeclaredAlignment::Bytes(bytes)), Some(DeclaredAlignment::CacheLine))
        | (Some(DeclaredAlignment::CacheLine), Some(DeclaredAlignment::Bytes(bytes)))
            if bytes > 256 =>
        {
            Some(DeclaredAlignment::Bytes(bytes))
        }
        (Some(DeclaredAlignment::CacheLine), _) | (_, Some(DeclaredAlignment::CacheLine)) => {
            Some(DeclaredAlignment::CacheLine)
        }
        (a, b) => a.or(b),
    }
}

fn declared_member(
    file: &TokenizedFile<'_>,
    statement: &BodyStatement,
) -> Result<DeclaredMember, EditRefusal> {
    let place = file.place(statement.first);
    let names = match statement.body.as_deref() {
        Some(inner) if statement.names.is_empty() => names_inside(inner),
        _ => statement.names.clone(),
    };
    if names.is_empty()
        || matches!(
            statement.kind,
            StatementKind::NotUnderstood | StatementKind::Macro | StatementKind::Border
        )
    {
        let text = file.text(statement.first).to_owned();
        return Err(EditRefusal::MacroMember {
            member: text,
            place,
        });
    }
    let own_first = statement
        .body
        .as_deref()
        .map_or(statement.first, |inner| inner.close + 1);
    let (type_text, bounds, function) = read_type(file, own_first, statement.last, &names);
    Ok(DeclaredMember {
        line: place.line,
        names,
        type_text,
        bounds,
        is_special: statement.body.is_some() || function || statement.kind != StatementKind::Plain,
        alignment: largest_alignment(file, own_first, statement.last)?,
    })
}

/// Members of `unsigned long *first, second[2];`, each as if declared alone.
fn declared_members(
    file: &TokenizedFile<'_>,
    statement: &BodyStatement,
) -> Result<Vec<DeclaredMember>, EditRefusal> {
    let name_at = |name: &String| {
        statement
            .first
            .until(statement.last)
            .find(|at| file.text(*at) == name)
    };
    let first_name = statement
        .names
        .first()
        .and_then(name_at)
        .unwrap_or(statement.last);
    let shared_alignment = largest_alignment(file, statement.first, first_name)?;
    let (mut members, mut from, mut base) = (Vec::new(), statement.first, Vec::new());
    for (nth, name) in statement.names.iter().enumerate() {
        let mut outside = file.outside_brackets(from, statement.last);
        let comma = outside.find(|&at| file.text(at) == ",");
        let to = comma.unwrap_or(statement.last);
        let (own, bounds, function) = read_type(file, from, to, std::slice::from_ref(name));
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
        members.push(DeclaredMember {
            line: file.place(statement.first).line,
            names: vec![name.clone()],
            type_text,
            bounds,
            is_special: function,
            alignment: larger_alignment(shared_alignment, largest_alignment(file, from, to)?),
        });
        from = to + 1;
    }
    Ok(members)
}

fn names_inside(body: &BracedBody) -> Vec<String> {
    let mut names = Vec::new();
    for statement in &body.statements {
        match statement.body.as_deref() {
            Some(inner) if statement.names.is_empty() => names.extend(names_inside(inner)),
            _ => names.extend(statement.names.iter().cloned()),
        }
    }
    names
}

/// Reads the words and stars before the first name, the text of the brackets behind it, and the
/// presence of a parenthesis that belongs to no attribute.
fn read_type(
    file: &TokenizedFile<'_>,
    from: TokenIndex,
    to: TokenIndex,
    names: &[String],
) -> (String, Vec<String>, bool) {
    let (mut words, mut bounds, mut function) = (Vec::new(), Vec::new(), false);
    let mut at = from;
    let mut named = false;
    while at < to {
        let text = file.text(at);
        // The tag of `struct page *page`.
        let tagged = matches!(words.last(), Some(&("struct" | "union" | "enum")));
        if is_attribute(text) {
            if file.text(at + 1) == "(" {
                at = file.pairs[at + 1].unwrap_or(to);
            }
        } else if text == "(" {
            function = true;
            at = file.pairs[at].unwrap_or(to);
        } else if text == "[" {
            let end = file.pairs[at].unwrap_or(to);
            bounds.push(
                (at + 1)
                    .until(end)
                    .map(|at| file.text(at))
                    .collect::<String>(),
            );
            at = end;
        } else if text == "," {
            break;
        } else if !named
            && !tagged
            && names.first().is_some_and(|name| name == text)
            && !is_keyword(text)
        {
            named = true;
        } else if !named && file.tokens[at].kind != TokenKind::Comment {
            words.push(text);
        }
        at += 1;
    }
    (words.join(" "), bounds, function)
}

/// Largest alignment written between two tokens.
fn largest_alignment(
    file: &TokenizedFile<'_>,
    from: TokenIndex,
    to: TokenIndex,
) -> Result<Option<DeclaredAlignment>, EditRefusal> {
    let mut found = None;
    for at in from.until(to) {
        let word = file.text(at);
        if file.tokens[at].kind != TokenKind::Ident || !is_alignment(word) {
            continue;
        }
        let is_line_macro =
            word.starts_with("____cacheline") || word.starts_with("__cacheline_aligned");
        let alignment = match (is_line_macro, file.text(at + 1)) {
            (true, _) => DeclaredAlignment::CacheLine,
            (false, "(") => {
                let end = file.pairs[at + 1].unwrap_or(at + 1);
                let text: String = (at + 2).until(end).map(|at| file.text(at)).collect();
                let bytes =
                    parse_alignment_bytes(&text).ok_or_else(|| EditRefusal::AlignmentNotRead {
                        text: text.clone(),
                        place: file.place(at),
                    })?;
                DeclaredAlignment::Bytes(bytes)
            }
            (false, _) => {
                return Err(EditRefusal::AlignmentNotRead {
                    text: word.to_owned(),
                    place: file.place(at),
                });
            }
        };
        found = larger_alignment(found, Some(alignment));
    }
    Ok(found)
}

/// Reads a power of two up to a page, written as a number.
fn parse_alignment_bytes(text: &str) -> Option<u64> {
    let plain = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let bytes = match plain.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => plain.parse().ok()?,
    };
    let page: u64 = 4096;
    (bytes.is_power_of_two() && bytes <= page).then_some(bytes)
}

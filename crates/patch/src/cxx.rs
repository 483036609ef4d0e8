//! Alignments in C++ classes: `alignas(64)` on a member or on the class.
//!
//! The order of C++ members is also the order in which they are initialised and destroyed, and
//! access specifiers and functions stand between them: only what reads as C is moved.

use crate::change::{Alignment, Change};
use crate::declarator::is_alignment;
use crate::edit::comment::render;
use crate::edit::include::defines;
use crate::find::File;
use crate::lex::Kind;
use crate::lines::{line_start, starts_line};
use crate::refusal::{Place, Refusal};

/// Whether the text is C++: by its name, or by what C does not have.
pub(crate) fn is_cxx(file_name: &str, file: &File<'_>) -> bool {
    let extension = file_name.rsplit('.').next().unwrap_or("");
    if matches!(
        extension,
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "ipp"
    ) {
        return true;
    }
    let reader = file.reader();
    extension == "h"
        && (0..file.tokens.len()).any(|at| {
            // C may have members and tags of these names: `unsigned private:1;`.
            let begins = at == 0 || matches!(reader.text(at - 1), ";" | "{" | "}");
            let next = reader.text(at + 1);
            match reader.text(at) {
                "namespace" => begins && (next == "{" || reader.text(at + 2) == "{"),
                "template" => begins && next == "<",
                "public" | "private" | "protected" => begins && next == ":",
                _ => false,
            }
        })
}

/// The text with a member or the class aligned; `None` for other changes, which are made as in C.
pub(crate) fn edit(
    file: &File<'_>,
    name: &str,
    change: &Change,
) -> Option<Result<String, Refusal>> {
    match change {
        Change::AlignMember {
            member,
            alignment,
            reason,
        } => Some(align_member(
            file,
            name,
            member,
            alignment,
            reason.as_deref(),
        )),
        Change::AlignType { alignment, reason } => {
            Some(align_class(file, name, alignment, reason.as_deref()))
        }
        _ => None,
    }
}

/// A class: tokens of its keyword and of its braces.
struct Class {
    keyword: usize,
    open: usize,
    close: usize,
}

impl Class {
    /// The one definition of `struct name` or `class name`.
    fn find(file: &File<'_>, name: &str) -> Result<Self, Refusal> {
        let reader = file.reader();
        let mut found = Vec::new();
        for at in 0..file.tokens.len() {
            if matches!(reader.text(at), "struct" | "class")
                && let Some((is, open)) = head(file, at + 1)
                && is == name
                && let Some(close) = file.pairs[open]
            {
                found.push(Class {
                    keyword: at,
                    open,
                    close,
                });
            }
        }
        let place = |class: &Class| file.place(class.keyword);
        match found.as_slice() {
            [] => Err(Refusal::StructNotFound {
                file: file.name.to_owned(),
                name: name.to_owned(),
            }),
            [first, second, ..] => Err(Refusal::DefinedTwice {
                name: name.to_owned(),
                first: place(first),
                second: place(second),
            }),
            [_] => Ok(found.swap_remove(0)),
        }
    }
}

/// The name of a class and its opening brace, behind its keyword.
fn head<'a>(file: &File<'a>, mut at: usize) -> Option<(&'a str, usize)> {
    let source = file.source;
    let text = |at: usize| file.tokens.get(at).map_or("", |token| token.text(source));
    let mut name = None;
    while at < file.tokens.len() {
        match text(at) {
            "{" => return name.map(|name| (name, at)),
            // Base classes, with their template arguments, follow.
            ":" => {
                let mut rest = at..file.tokens.len();
                let open = rest.find(|&at| matches!(text(at), "{" | ";" | "}"))?;
                return name.filter(|_| text(open) == "{").map(|name| (name, open));
            }
            "final" => {}
            "(" | "[" => at = file.pairs[at]?,
            _ if file.tokens[at].kind == Kind::Comment => {}
            word if file.tokens[at].kind == Kind::Ident => name = Some(word),
            _ => return None,
        }
        at += 1;
    }
    None
}

/// A statement that declares a member.
struct Declared {
    name: String,
    first: usize,
    last: usize,
    shared: bool,
    bitfield: bool,
}

/// The data members of a class, those of nested classes left out.
fn members(file: &File<'_>, class: &Class) -> Vec<Declared> {
    let reader = file.reader();
    let mut found = Vec::new();
    let mut at = class.open + 1;
    while at < class.close {
        let access = matches!(reader.text(at), "public" | "private" | "protected");
        if access && reader.text(at + 1) == ":" {
            at += 2;
            continue;
        }
        if matches!(file.tokens[at].kind, Kind::Comment | Kind::Directive) || reader.text(at) == ";"
        {
            at += 1;
            continue;
        }
        let (last, declared) = statement(file, at, class.close);
        found.extend(declared);
        at = last + 1;
    }
    found
}

/// The statement from token `first`: its last token, and what it declares if it is a data member.
fn statement(file: &File<'_>, first: usize, close: usize) -> (usize, Option<Declared>) {
    let reader = file.reader();
    let mut name = None;
    // Once the name is over: a value, bounds, a bitfield's width, a list of what is constructed.
    let (mut named, mut function, mut shared, mut bitfield) = (false, false, false, false);
    let (mut angles, mut directive) = (0_usize, false);
    let mut at = first;
    while at < close {
        let text = reader.text(at);
        let before = reader.text(at.wrapping_sub(1));
        match text {
            ";" => break,
            "{" => {
                let end = file.pairs[at].unwrap_or(close);
                let type_body = matches!(reader.text(first), "struct" | "class" | "union" | "enum")
                    && !named
                    && !function;
                let constructed = function && bitfield && before != ")" && before != "}";
                if function && !constructed {
                    return (end, None);
                }
                named |= !type_body;
                at = end;
            }
            "(" => {
                let attribute = is_alignment(before)
                    || matches!(
                        before,
                        "decltype" | "__attribute__" | "noexcept" | "explicit"
                    );
                function |= !attribute && angles == 0 && !named;
                at = file.pairs[at].unwrap_or(at);
            }
            "[" if reader.text(at + 1) == "[" && !named => at = file.pairs[at].unwrap_or(at),
            "[" => {
                named = true;
                at = file.pairs[at].unwrap_or(at);
            }
            "<" if !named => angles += 1,
            ">" if !named => angles = angles.saturating_sub(1),
            "=" => named = true,
            "," if angles == 0 => shared = true,
            ":" if reader.text(at + 1) == ":" => at += 1,
            ":" if angles == 0 => (bitfield, named) = (true, true),
            _ if file.tokens[at].kind == Kind::Directive => directive = true,
            _ if !named && angles == 0 && file.tokens[at].kind == Kind::Ident => {
                name = Some(text.to_owned());
            }
            _ => {}
        }
        at += 1;
    }
    let other = matches!(
        reader.text(first),
        "using"
            | "typedef"
            | "friend"
            | "static"
            | "template"
            | "enum"
            | "static_assert"
            | "extern"
    );
    let alone = name.as_deref() == Some(reader.text(first));
    let member = name.filter(|_| !function && !other && !alone && !directive);
    let declared = member.map(|name| Declared {
        name,
        first,
        last: at.min(close),
        shared,
        bitfield,
    });
    (at.min(close), declared)
}

fn align_member(
    file: &File<'_>,
    class_name: &str,
    member: &str,
    alignment: &Alignment,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let class = Class::find(file, class_name)?;
    let mut found = members(file, &class)
        .into_iter()
        .filter(|one| one.name == member);
    let one = found.next().ok_or_else(|| Refusal::MemberNotFound {
        name: class_name.to_owned(),
        member: member.to_owned(),
        place: file.place(class.keyword),
    })?;
    let (name, place) = (member.to_owned(), file.place(one.first));
    if let Some(second) = found.next() {
        return Err(Refusal::MemberTwice {
            member: name,
            first: place,
            second: file.place(second.first),
        });
    }
    if one.bitfield {
        return Err(Refusal::Bitfield {
            member: name,
            place,
        });
    }
    if one.shared {
        return Err(Refusal::SharedDeclaration {
            member: name,
            place,
        });
    }
    let start = file.tokens[one.first].start;
    if !starts_line(file.source, start) {
        return Err(Refusal::SharedLine {
            member: name,
            place,
        });
    }
    insert(
        file,
        (one.first, one.last),
        one.first,
        alignment,
        (member, place),
        reason,
    )
}

fn align_class(
    file: &File<'_>,
    name: &str,
    alignment: &Alignment,
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let class = Class::find(file, name)?;
    let place = file.place(class.keyword);
    let own = (class.keyword, class.open);
    insert(
        file,
        own,
        class.keyword + 1,
        alignment,
        (name, place),
        reason,
    )
}

/// Writes `alignas` in front of token `before`, and the reason above the declaration.
fn insert(
    file: &File<'_>,
    (first, last): (usize, usize),
    before: usize,
    alignment: &Alignment,
    (name, place): (&str, Place),
    reason: Option<&str>,
) -> Result<String, Refusal> {
    let source = file.source;
    if (first..last).any(|at| is_alignment(file.reader().text(at))) {
        return Err(Refusal::AlreadyAligned {
            name: name.to_owned(),
            place,
        });
    }
    let value = match alignment {
        Alignment::Bytes(bytes) if bytes.is_power_of_two() => bytes.to_string(),
        Alignment::Bytes(bytes) => return Err(Refusal::BadAlignment { bytes: *bytes }),
        Alignment::Macro(name) if defines(file, name) => name.clone(),
        Alignment::Macro(name) => {
            return Err(Refusal::UnknownMacro {
                file: file.name.to_owned(),
                name: name.clone(),
            });
        }
    };
    let at = file.tokens[before].start;
    let line = line_start(source, file.tokens[first].start);
    let white = source[line..].len() - source[line..].trim_start_matches([' ', '\t']).len();
    let comment = match reason {
        Some(reason) => render(source, &source[line..line + white], &[reason], name)?,
        None => String::new(),
    };
    let attribute = format!("alignas({value}) ");
    Ok([
        &source[..line],
        &comment,
        &source[line..at],
        &attribute,
        &source[at..],
    ]
    .concat())
}

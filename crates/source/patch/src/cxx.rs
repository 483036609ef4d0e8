//! Alignments in C++ classes: `alignas(64)` on a member or on the class.
//!
//! The order of C++ members is also the order of their initialisation and destruction, and access
//! specifiers and functions stand between them. Only structs that read as C have their members
//! moved.

use crate::change::{SourceChange, WrittenAlignment};
use crate::declarator::is_alignment;
use crate::edit::comment::render_comment;
use crate::edit::include::defines_macro;
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::{is_first_on_line, line_start};
use crate::refusal::{EditRefusal, FileLine};
use crate::tokenized::TokenizedFile;

/// Returns true if the text is C++, by the file's name or by syntax that C does not have.
pub(crate) fn is_cxx(file_name: &str, file: &TokenizedFile<'_>) -> bool {
    let extension = file_name.rsplit('.').next().unwrap_or("");
    if matches!(
        extension,
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "ipp"
    ) {
        return true;
    }
    extension == "h"
        && file.tokens.indexes().any(|at| {
            // C may have members and tags of these names: `unsigned private:1;`.
            let begins = at == TokenIndex::FIRST || matches!(file.text(at - 1), ";" | "{" | "}");
            let next = file.text(at + 1);
            match file.text(at) {
                "namespace" => begins && (next == "{" || file.text(at + 2) == "{"),
                "template" => begins && next == "<",
                "public" | "private" | "protected" => begins && next == ":",
                _ => false,
            }
        })
}

/// Returns the text with a member or the class aligned; `None` for other changes, which are made
/// as in C.
pub(crate) fn apply_alignment(
    file: &TokenizedFile<'_>,
    name: &str,
    change: &SourceChange,
) -> Option<Result<String, EditRefusal>> {
    match change {
        SourceChange::AlignMember {
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
        SourceChange::AlignType { alignment, reason } => {
            Some(align_class(file, name, alignment, reason.as_deref()))
        }
        _ => None,
    }
}

/// First words of statements that declare no data member.
const NO_MEMBER_WORDS: [&str; 8] = [
    "using",
    "typedef",
    "friend",
    "static",
    "template",
    "enum",
    "static_assert",
    "extern",
];

/// A class: token indexes of its keyword and of its braces.
struct CxxClass {
    keyword: TokenIndex,
    open: TokenIndex,
    close: TokenIndex,
}

impl CxxClass {
    /// Finds the only definition of `struct name` or `class name`.
    fn find(file: &TokenizedFile<'_>, name: &str) -> Result<Self, EditRefusal> {
        let mut found = Vec::new();
        for at in file.tokens.indexes() {
            if matches!(file.text(at), "struct" | "class")
                && let Some((found_name, open)) = class_head(file, at + 1)
                && found_name == name
                && let Some(close) = file.pairs[open]
            {
                found.push(CxxClass {
                    keyword: at,
                    open,
                    close,
                });
            }
        }
        let place = |class: &CxxClass| file.place(class.keyword);
        match found.as_slice() {
            [] => Err(EditRefusal::StructNotFound {
                file: file.name.to_owned(),
                name: name.to_owned(),
            }),
            [first, second, ..] => Err(EditRefusal::DefinedTwice {
                name: name.to_owned(),
                first: place(first),
                second: place(second),
            }),
            [_] => Ok(found.swap_remove(0)),
        }
    }
}

/// Name of a class and its opening brace, from the tokens behind its keyword.
fn class_head<'a>(file: &TokenizedFile<'a>, mut at: TokenIndex) -> Option<(&'a str, TokenIndex)> {
    let mut name = None;
    while at < file.tokens.end() {
        match file.text(at) {
            "{" => return name.map(|name| (name, at)),
            // Base classes, with their template arguments, follow.
            ":" => {
                let mut rest = at.until(file.tokens.end());
                let open = rest.find(|&at| matches!(file.text(at), "{" | ";" | "}"))?;
                return name
                    .filter(|_| file.text(open) == "{")
                    .map(|name| (name, open));
            }
            "final" => {}
            "(" | "[" => at = file.pairs[at]?,
            _ if file.tokens[at].kind == TokenKind::Comment => {}
            word if file.tokens[at].kind == TokenKind::Ident => name = Some(word),
            _ => return None,
        }
        at += 1;
    }
    None
}

/// A data member: its name, and the token indexes of its statement.
struct CxxMember {
    name: String,
    first: TokenIndex,
    last: TokenIndex,
    shares_statement: bool,
    is_bitfield: bool,
}

/// Data members of a class, without those of nested classes.
fn data_members(file: &TokenizedFile<'_>, class: &CxxClass) -> Vec<CxxMember> {
    let mut found = Vec::new();
    let mut at = class.open + 1;
    while at < class.close {
        let access = matches!(file.text(at), "public" | "private" | "protected");
        if access && file.text(at + 1) == ":" {
            at += 2;
            continue;
        }
        if !file.is_code(at) || file.text(at) == ";" {
            at += 1;
            continue;
        }
        let (last, declared) = read_statement(file, at, class.close);
        found.extend(declared);
        at = last + 1;
    }
    found
}

/// Reads the statement that starts at token `first`: its last token, and the data member that it
/// declares.
fn read_statement(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
) -> (TokenIndex, Option<CxxMember>) {
    let mut name = None;
    // Once the name is over: a value, bounds, a bitfield's width, a list of what is constructed.
    let (mut named, mut function, mut shared, mut bitfield) = (false, false, false, false);
    let (mut angles, mut directive) = (0_usize, false);
    let mut at = first;
    while at < close {
        let text = file.text(at);
        let before = file.text_before(at);
        match text {
            ";" => break,
            "{" => {
                let end = file.pairs[at].unwrap_or(close);
                let type_body = matches!(file.text(first), "struct" | "class" | "union" | "enum")
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
            "[" if file.text(at + 1) == "[" && !named => at = file.pairs[at].unwrap_or(at),
            "[" => {
                named = true;
                at = file.pairs[at].unwrap_or(at);
            }
            "<" if !named => angles += 1,
            ">" if !named => angles = angles.saturating_sub(1),
            "=" => named = true,
            "," if angles == 0 => shared = true,
            ":" if file.text(at + 1) == ":" => at += 1,
            ":" if angles == 0 => (bitfield, named) = (true, true),
            _ if file.tokens[at].kind == TokenKind::Directive => directive = true,
            _ if !named && angles == 0 && file.tokens[at].kind == TokenKind::Ident => {
                name = Some(text.to_owned());
            }
            _ => {}
        }
        at += 1;
    }
    let other = NO_MEMBER_WORDS.contains(&file.text(first));
    let alone = name.as_deref() == Some(file.text(first));
    let member = name.filter(|_| !function && !other && !alone && !directive);
    let declared = member.map(|name| CxxMember {
        name,
        first,
        last: at.min(close),
        shares_statement: shared,
        is_bitfield: bitfield,
    });
    (at.min(close), declared)
}

fn align_member(
    file: &TokenizedFile<'_>,
    class_name: &str,
    member: &str,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(file, class_name)?;
    let mut found = data_members(file, &class)
        .into_iter()
        .filter(|candidate| candidate.name == member);
    let declared = found.next().ok_or_else(|| EditRefusal::MemberNotFound {
        name: class_name.to_owned(),
        member: member.to_owned(),
        place: file.place(class.keyword),
    })?;
    let (name, place) = (member.to_owned(), file.place(declared.first));
    if let Some(second) = found.next() {
        return Err(EditRefusal::MemberTwice {
            member: name,
            first: place,
            second: file.place(second.first),
        });
    }
    if declared.is_bitfield {
        return Err(EditRefusal::Bitfield {
            member: name,
            place,
        });
    }
    if declared.shares_statement {
        return Err(EditRefusal::SharedDeclaration {
            member: name,
            place,
        });
    }
    let start = file.tokens[declared.first].start;
    if !is_first_on_line(file.source, start) {
        return Err(EditRefusal::SharedLine {
            member: name,
            place,
        });
    }
    insert_alignas(
        file,
        (declared.first, declared.last),
        declared.first,
        alignment,
        (member, place),
        reason,
    )
}

fn align_class(
    file: &TokenizedFile<'_>,
    name: &str,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(file, name)?;
    let place = file.place(class.keyword);
    let own = (class.keyword, class.open);
    insert_alignas(
        file,
        own,
        class.keyword + 1,
        alignment,
        (name, place),
        reason,
    )
}

/// Writes `alignas` in front of token `before`, and the reason above the declaration.
fn insert_alignas(
    file: &TokenizedFile<'_>,
    (first, last): (TokenIndex, TokenIndex),
    before: TokenIndex,
    alignment: &WrittenAlignment,
    (name, place): (&str, FileLine),
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let source = file.source;
    if first.until(last).any(|at| is_alignment(file.text(at))) {
        return Err(EditRefusal::AlreadyAligned {
            name: name.to_owned(),
            place,
        });
    }
    let value = match alignment {
        WrittenAlignment::Bytes(bytes) if bytes.is_power_of_two() => bytes.to_string(),
        WrittenAlignment::Bytes(bytes) => return Err(EditRefusal::BadAlignment { bytes: *bytes }),
        WrittenAlignment::Macro(name) if defines_macro(file, name) => name.clone(),
        WrittenAlignment::Macro(name) => {
            return Err(EditRefusal::UnknownMacro {
                file: file.name.to_owned(),
                name: name.clone(),
            });
        }
    };
    let at = file.tokens[before].start;
    let line = line_start(source, file.tokens[first].start);
    let white = source[line..].len() - source[line..].trim_start_matches([' ', '\t']).len();
    let comment = match reason {
        Some(reason) => render_comment(source, &source[line..line + white], &[reason], name)?,
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

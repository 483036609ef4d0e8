//! Classes and their data members, found by their tokens.

use crate::declarator::is_alignment;
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::is_first_on_line;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

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
pub(super) struct CxxClass {
    /// Its name, without scope and template arguments.
    pub name: String,
    pub keyword: TokenIndex,
    pub open: TokenIndex,
    pub close: TokenIndex,
}

/// Access that an access specifier gives to what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessLevel {
    Public,
    Protected,
    Private,
}

impl AccessLevel {
    /// Reads the access specifier at a token, with its colon.
    pub fn at(file: &TokenizedFile<'_>, at: TokenIndex) -> Option<Self> {
        let level = match file.text(at) {
            "public" => Self::Public,
            "protected" => Self::Protected,
            "private" => Self::Private,
            _ => return None,
        };
        (file.text(at + 1) == ":").then_some(level)
    }

    /// Returns the word of the access specifier.
    pub fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Protected => "protected",
            Self::Private => "private",
        }
    }
}

impl CxxClass {
    /// Finds the only definition of `struct name` or `class name`. Of a template, `name` may have the
    /// arguments.
    pub fn find(file: &TokenizedFile<'_>, name: &str) -> Result<Self, EditRefusal> {
        let name = name.split('<').next().unwrap_or(name).trim_end();
        let mut found = Vec::new();
        for at in file.tokens.indexes() {
            if matches!(file.text(at), "struct" | "class")
                && let Some((found_name, open)) = class_head(file, at + 1)
                && found_name == name
                && let Some(close) = file.pairs[open]
            {
                found.push(CxxClass {
                    name: name.to_owned(),
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
pub(super) struct CxxMember {
    pub name: String,
    pub first: TokenIndex,
    pub last: TokenIndex,
    pub access: AccessLevel,
    pub shares_statement: bool,
    pub is_bitfield: bool,
}

/// Data members of a class, without those of nested classes.
pub(super) fn data_members(file: &TokenizedFile<'_>, class: &CxxClass) -> Vec<CxxMember> {
    let mut found = Vec::new();
    let mut access = match file.text(class.keyword) {
        "class" => AccessLevel::Private,
        _ => AccessLevel::Public,
    };
    let mut at = class.open + 1;
    while at < class.close {
        if let Some(level) = AccessLevel::at(file, at) {
            access = level;
            at += 2;
            continue;
        }
        if !file.is_code(at) || file.text(at) == ";" {
            at += 1;
            continue;
        }
        let (last, declared) = read_statement(file, at, class.close, access);
        found.extend(declared);
        at = last + 1;
    }
    found
}

/// Names of the data members in the order of the text.
pub(super) fn member_names(file: &TokenizedFile<'_>, class: &CxxClass) -> Vec<String> {
    let members = data_members(file, class).into_iter();
    members.map(|member| member.name).collect()
}

/// Returns true if the member is inside of an `#if` group of the class.
pub(super) fn is_conditional(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    member: &CxxMember,
) -> bool {
    let directives = { class.open.until(member.first) }
        .filter(|&at| file.tokens[at].kind == TokenKind::Directive)
        .map(|at| file.text(at).trim_start_matches('#').trim_start());
    let depth = directives.fold(0_i32, |depth, directive| match directive {
        _ if directive.starts_with("if") => depth + 1,
        _ if directive.starts_with("endif") => depth - 1,
        _ => depth,
    });
    depth != 0
}

/// Finds a member that has a statement and lines of its own.
pub(super) fn lone_member(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    name: &str,
) -> Result<CxxMember, EditRefusal> {
    let mut found = { data_members(file, class).into_iter() }.filter(|member| member.name == name);
    let declared = found.next().ok_or_else(|| EditRefusal::MemberNotFound {
        name: class.name.clone(),
        member: name.to_owned(),
        place: file.place(class.keyword),
    })?;
    let (member, place) = (name.to_owned(), file.place(declared.first));
    if let Some(second) = found.next() {
        return Err(EditRefusal::MemberTwice {
            member,
            first: place,
            second: file.place(second.first),
        });
    }
    if declared.is_bitfield {
        return Err(EditRefusal::Bitfield { member, place });
    }
    if declared.shares_statement {
        return Err(EditRefusal::SharedDeclaration { member, place });
    }
    match is_first_on_line(file.source, file.tokens[declared.first].start) {
        true => Ok(declared),
        false => Err(EditRefusal::SharedLine { member, place }),
    }
}

/// Reads the statement that starts at token `first`: its last token, and the data member that it
/// declares.
fn read_statement(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
    access: AccessLevel,
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
        access,
        shares_statement: shared,
        is_bitfield: bitfield,
    });
    (at.min(close), declared)
}

//! Classes and their data members, found by their tokens.

use super::member::{CxxMember, read_statement};
use crate::lex::{TokenIndex, TokenKind};
use crate::lines::is_first_on_line;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

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
                && file.text_before(at) != "enum"
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
pub(super) fn class_head<'a>(
    file: &TokenizedFile<'a>,
    mut at: TokenIndex,
) -> Option<(&'a str, TokenIndex)> {
    let mut name = None;
    while at < file.tokens.end() {
        match file.text(at) {
            "{" => return name.map(|name| (name, at)),
            // A scope: the name follows.
            ":" if file.text(at + 1) == ":" => at += 1,
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

/// Data members of a class, without those of nested classes.
pub(super) fn data_members(file: &TokenizedFile<'_>, class: &CxxClass) -> Vec<CxxMember> {
    let access = match file.text(class.keyword) {
        "class" => AccessLevel::Private,
        _ => AccessLevel::Public,
    };
    data_members_between(file, (class.open, class.close), access, 0)
}

/// Data members between two braces; `access` is that of the first, `depth` the number of anonymous
/// structs around them.
pub(super) fn data_members_between(
    file: &TokenizedFile<'_>,
    (open, close): (TokenIndex, TokenIndex),
    mut access: AccessLevel,
    depth: u32,
) -> Vec<CxxMember> {
    let mut found = Vec::new();
    let mut at = open + 1;
    while at < close {
        if let Some(level) = AccessLevel::at(file, at) {
            access = level;
            at += 2;
            continue;
        }
        if !file.is_code(at) || file.text(at) == ";" {
            at += 1;
            continue;
        }
        let (last, declared) = read_statement(file, at, close, access, depth);
        found.extend(declared);
        at = last + 1;
    }
    found
}

/// Names of the data members in the order of the text; of an anonymous struct, its first member.
pub(super) fn member_names(file: &TokenizedFile<'_>, class: &CxxClass) -> Vec<String> {
    let members = data_members(file, class).into_iter();
    members.map(|member| member.name().to_owned()).collect()
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
    let mut found =
        { data_members(file, class).into_iter() }.filter(|member| member.declares(name));
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
    if declared.is_shared() {
        return Err(EditRefusal::SharedDeclaration { member, place });
    }
    match is_first_on_line(file.source, file.tokens[declared.first].start) {
        true => Ok(declared),
        false => Err(EditRefusal::SharedLine { member, place }),
    }
}

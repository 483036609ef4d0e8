//! Statements of a class: which data members one declares, if any.

use super::class::{AccessLevel, data_members_between};
use crate::declarator::is_alignment;
use crate::lex::{TokenIndex, TokenKind};
use crate::tokenized::TokenizedFile;

/// Words in front of a declaration's name that make the statement declare no data member.
const NO_MEMBER_WORDS: [&str; 9] = [
    "using",
    "typedef",
    "friend",
    "static",
    "template",
    "static_assert",
    "extern",
    "concept",
    "requires",
];

/// Depth of anonymous structs in each other that is read.
const DEPTH_MAX: u32 = 32;

/// Words with arguments in parentheses that are no part of a declarator.
const WORDS_WITH_ARGUMENTS: [&str; 8] = [
    "decltype",
    "typeof",
    "__typeof__",
    "_Atomic",
    "__attribute__",
    "noexcept",
    "explicit",
    "__declspec",
];

/// A data member, or several that one statement declares.
pub(super) struct CxxMember {
    /// Declared names in order; of an anonymous struct or union those of its members. Never empty.
    pub names: Vec<String>,
    /// First token of the statement.
    pub first: TokenIndex,
    /// Last token of the statement.
    pub last: TokenIndex,
    pub access: AccessLevel,
    pub is_bitfield: bool,
    /// True for an anonymous struct or union.
    pub is_anonymous: bool,
}

impl CxxMember {
    /// Name that stands for the statement.
    pub fn name(&self) -> &str {
        &self.names[0]
    }

    /// Returns true if the statement declares `name`.
    pub fn declares(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }

    /// Returns true if the statement declares several members: `int a, b;`.
    pub fn is_shared(&self) -> bool {
        self.names.len() > 1 && !self.is_anonymous
    }
}

/// Reads the statement that starts at token `first`: its last token, and the data members that it
/// declares.
pub(super) fn read_statement(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
    access: AccessLevel,
    depth: u32,
) -> (TokenIndex, Option<CxxMember>) {
    if let Some(last) = macro_statement_end(file, first, close) {
        return (last, None);
    }
    let mut reader = StatementReader {
        file,
        first,
        close,
        at: first,
        name: None,
        names: Vec::new(),
        words: 0,
        angles: 0,
        is_named: false,
        is_function: false,
        is_bitfield: false,
        is_other: false,
        body: None,
    };
    while reader.at < close && file.text(reader.at) != ";" {
        if reader.read_token() {
            return (reader.at, None);
        }
        reader.at += 1;
    }
    let last = reader.at.min(close);
    (last, reader.into_member(last, access, depth))
}

/// Last token of a macro that stands alone without a semicolon, as `Q_OBJECT` or
/// `DISALLOW_COPY(Pool)` on a line of its own.
fn macro_statement_end(
    file: &TokenizedFile<'_>,
    first: TokenIndex,
    close: TokenIndex,
) -> Option<TokenIndex> {
    let name = file.text(first);
    let is_upper_case = { name.bytes() }
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_upper_case || name.len() < 2 || file.tokens[first].kind != TokenKind::Ident {
        return None;
    }
    let last = file.arguments_end(first).unwrap_or(first);
    let next = (last + 1)
        .until(close)
        .find(|&at| file.tokens[at].kind != TokenKind::Comment);
    let Some(next) = next else {
        return Some(last);
    };
    let between = &file.source[file.tokens[last].end..file.tokens[next].start];
    (between.contains('\n') && file.tokens[next].kind != TokenKind::Punct).then_some(last)
}

/// Reader of one statement, token by token.
struct StatementReader<'f, 't> {
    file: &'f TokenizedFile<'t>,
    first: TokenIndex,
    close: TokenIndex,
    at: TokenIndex,
    /// Last word that may be the name of the member.
    name: Option<String>,
    /// Names that a comma ended.
    names: Vec<String>,
    /// Words of the declaration so far.
    words: usize,
    angles: usize,
    /// True behind the name: a value, bounds, a bit-field's width, a constructor's list.
    is_named: bool,
    is_function: bool,
    is_bitfield: bool,
    /// True if the statement declares no data member.
    is_other: bool,
    /// Braces of a type that the statement defines.
    body: Option<(TokenIndex, TokenIndex)>,
}

impl StatementReader<'_, '_> {
    /// Reads the token at the cursor, and the brackets that it opens. Returns true if it ends the
    /// statement, as the end of a function's body does.
    fn read_token(&mut self) -> bool {
        let (file, at) = (self.file, self.at);
        let text = file.text(at);
        match text {
            "{" => return self.read_brace(),
            "(" => self.read_parenthesis(),
            "[" => {
                // `[[` begins attributes.
                self.is_named |= file.text(at + 1) != "[";
                self.skip_bracket();
            }
            "<" if !self.is_named => self.angles += 1,
            ">" if !self.is_named => self.angles = self.angles.saturating_sub(1),
            "=" => self.is_named = true,
            "," if self.angles == 0 && self.is_next_declarator() => {
                self.names.extend(self.name.take());
                self.is_named = false;
            }
            ":" if file.text(at + 1) == ":" => self.at += 1,
            ":" if self.angles == 0 && !(self.is_type_head() && self.body.is_none()) => {
                // Behind a name follows a value with `? :`.
                self.is_bitfield |= !self.is_named || self.is_function;
                self.is_named = true;
            }
            "operator" => self.read_operator(),
            _ => match file.tokens[at].kind {
                TokenKind::Directive => self.is_other = true,
                TokenKind::Ident if !self.is_named && self.angles == 0 => self.read_word(text),
                _ => {}
            },
        }
        false
    }

    fn skip_bracket(&mut self) {
        self.at = self.file.pairs[self.at].map_or(self.close, |close| close.max(self.at));
    }

    /// Reads braces: the body of a type or of a function, or a value.
    fn read_brace(&mut self) -> bool {
        let before = self.file.text_before(self.at);
        if self.is_type_head() && self.body.is_none() && !self.is_function {
            let open = self.at;
            self.skip_bracket();
            self.body = Some((open, self.at));
            // A tag is not the name of a member.
            self.is_other |= self.words > 1 && self.file.text(self.at + 1) == ";";
            self.name = None;
            self.is_named = false;
            return false;
        }
        let is_list_value = self.is_bitfield && before != ")" && before != "}";
        let is_body = self.is_function && !is_list_value;
        self.skip_bracket();
        self.is_named = true;
        is_body
    }

    fn read_parenthesis(&mut self) {
        let before = self.file.text_before(self.at);
        let is_attribute = is_alignment(before) || WORDS_WITH_ARGUMENTS.contains(&before);
        if is_attribute || self.angles > 0 || self.is_named {
            self.skip_bracket();
            return;
        }
        match self.pointer_name() {
            Some(name) => {
                self.name = Some(name);
                self.words += 1;
                self.is_named = true;
            }
            None => self.is_function = true,
        }
        self.skip_bracket();
    }

    /// Name in the parentheses of a pointer or reference to a function or an array:
    /// `long (*handler)(long)`, `void (Pool::*step)()`.
    fn pointer_name(&self) -> Option<String> {
        let close = self.file.pairs[self.at]?;
        let code = (self.at + 1)
            .until(close)
            .filter(|&at| self.file.is_code(at));
        let words: Vec<TokenIndex> = code.collect();
        let star = words
            .iter()
            .position(|&at| matches!(self.file.text(at), "*" | "&"))?;
        let is_scope = |&at: &TokenIndex| {
            self.file.tokens[at].kind == TokenKind::Ident || self.file.text(at) == ":"
        };
        // Another word in front of the star is the type of a parameter.
        let is_scoped = star == 0 || self.file.text(words[star - 1]) == ":";
        if !is_scoped || !words[..star].iter().all(is_scope) || self.words == 0 {
            return None;
        }
        let mut names = words[star..].iter();
        let name = names.find(|&&at| {
            let is_word = self.file.tokens[at].kind == TokenKind::Ident;
            is_word && !matches!(self.file.text(at), "const" | "volatile")
        })?;
        let behind = self.file.text(*name + 1);
        matches!(behind, ")" | "[").then(|| self.file.text(*name).to_owned())
    }

    /// Goes to the parameters of an operator: `operator()(int)`, `operator<(const T&)`.
    fn read_operator(&mut self) {
        self.is_function = true;
        let mut open = self.at + 1;
        if self.file.text(open) == "(" && self.file.text(open + 1) == ")" {
            open += 2;
        }
        while open < self.close && !matches!(self.file.text(open), "(" | ";" | "{") {
            open += 1;
        }
        self.at = match self.file.text(open) {
            "(" => self.file.pairs[open].unwrap_or(open),
            _ => open - 1,
        };
    }

    fn read_word(&mut self, word: &str) {
        let takes_arguments = self.file.text(self.at + 1) == "(";
        if NO_MEMBER_WORDS.contains(&word) {
            self.is_other = true;
        }
        if is_alignment(word) || WORDS_WITH_ARGUMENTS.contains(&word) {
            return;
        }
        // A note for a checker of threads stands behind the name.
        if takes_arguments && is_annotation(word) && self.words > 1 {
            self.at += 1;
            self.skip_bracket();
            return;
        }
        self.words += 1;
        self.name = Some(word.to_owned());
    }

    /// Returns true if the statement begins with the keyword of a type.
    fn is_type_head(&self) -> bool {
        matches!(
            self.file.text(self.first),
            "struct" | "class" | "union" | "enum"
        )
    }

    /// Returns true if another declarator follows the comma at the cursor.
    fn is_next_declarator(&self) -> bool {
        let mut next = self.at + 1;
        while matches!(self.file.text(next), "*" | "&") {
            next += 1;
        }
        let is_word =
            { self.file.tokens.get(next) }.is_some_and(|token| token.kind == TokenKind::Ident);
        let behind = self.file.text(next + 1);
        is_word && !self.is_function && matches!(behind, "," | ";" | "=" | "{" | "[" | ":")
    }

    fn into_member(
        mut self,
        last: TokenIndex,
        access: AccessLevel,
        depth: u32,
    ) -> Option<CxxMember> {
        // A lone word is a macro or a declaration of nothing.
        let words_needed = match self.body {
            Some(_) => 1,
            // `struct Config;` declares a type.
            None if self.is_type_head() => 3,
            None => 2,
        };
        if self.is_other || self.is_function || self.words < words_needed {
            return None;
        }
        let is_anonymous = self.body.is_some() && self.name.is_none();
        let has_members = is_anonymous && depth < DEPTH_MAX && self.file.text(self.first) != "enum";
        if let (true, Some((open, close))) = (has_members, self.body) {
            let inner = data_members_between(self.file, (open, close), access, depth + 1);
            self.names = inner.into_iter().flat_map(|member| member.names).collect();
        }
        self.names.extend(self.name.take());
        (!self.names.is_empty()).then_some(CxxMember {
            names: self.names,
            first: self.first,
            last,
            access,
            is_bitfield: self.is_bitfield,
            is_anonymous,
        })
    }
}

/// Returns true for macros that say by which lock a member is guarded.
pub(super) fn is_annotation(word: &str) -> bool {
    ["GUARDED_BY", "ACQUIRED_AFTER", "ACQUIRED_BEFORE"]
        .iter()
        .any(|part| word.contains(part))
}

//! Names that a statement of a struct's body declares.

use crate::lex::{TokenIndex, TokenKind};
use crate::tokenized::TokenizedFile;

/// Kind of a statement, as far as a move is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// Ordinary members, function pointers and nested structs included.
    Plain,
    Bitfield,
    /// A flexible or zero-length array.
    Flexible,
    /// A known macro that declares one member, named by its argument.
    KnownMacro,
    /// Any other macro.
    Macro,
    /// A border that no member may cross: `randomized_struct_fields_start` or `_end`,
    /// `__cacheline_group_begin()` or `_end()`, C++'s `public:` and the like.
    Border,
    /// A statement that is not understood.
    NotUnderstood,
}

impl TokenizedFile<'_> {
    /// Names and kind of the statement whose code tokens (no comments, no directives, no final
    /// semicolon) are `code`. For a nested struct `code` starts behind its closing brace and
    /// `nested` is set.
    pub fn read_declaration(
        &self,
        code: &[TokenIndex],
        nested: bool,
    ) -> (Vec<String>, StatementKind) {
        let code = self.without_attributes(code);
        let code = self.without_type_macro(code);
        if !nested && let Some(found) = self.read_macro_call(&code) {
            return found;
        }
        if !nested && let Some(tag) = self.unnamed_member_tag(&code) {
            return (vec![tag], StatementKind::Plain);
        }
        let mut names = Vec::new();
        let mut statement_kind = StatementKind::Plain;
        if nested && code.is_empty() {
            return (names, statement_kind);
        }
        for (position, declarator) in self.split_at_commas(&code).into_iter().enumerate() {
            match self.read_declarator(&declarator, nested || position > 0) {
                Some((name, kind)) => {
                    names.extend(name);
                    if kind != StatementKind::Plain {
                        statement_kind = kind;
                    }
                }
                None => return (names, StatementKind::NotUnderstood),
            }
        }
        (names, statement_kind)
    }

    /// Name of the unnamed member of a tagged struct or union, which C has with `-fms-extensions`:
    /// `struct freelist_counters;`. It is its keyword and tag.
    fn unnamed_member_tag(&self, code: &[TokenIndex]) -> Option<String> {
        let is_qualifier = |&&at: &&TokenIndex| matches!(self.text(at), "const" | "volatile");
        let qualifiers = code.iter().take_while(is_qualifier).count();
        match code[qualifiers..] {
            [keyword, tag]
                if matches!(self.text(keyword), "struct" | "union")
                    && self.tokens[tag].kind == TokenKind::Ident
                    && !is_keyword(self.text(tag)) =>
            {
                Some(format!("{} {}", self.text(keyword), self.text(tag)))
            }
            _ => None,
        }
    }

    /// Drops attributes and the argument of `typeof`.
    fn without_attributes(&self, code: &[TokenIndex]) -> Vec<TokenIndex> {
        let mut kept = Vec::new();
        let mut skip_to = TokenIndex::FIRST;
        for (position, &index) in code.iter().enumerate() {
            if index < skip_to {
                continue;
            }
            let text = self.text(index);
            let attribute = is_attribute(text);
            if !attribute {
                kept.push(index);
            }
            if (attribute || is_typeof(text))
                && let Some(&next) = code.get(position + 1)
                && self.text(next) == "("
                && let Some(close) = self.pairs[next]
            {
                skip_to = close + 1;
            }
        }
        kept
    }

    /// Reduces a macro that stands for a type to its name: removes the parentheses of
    /// `STACK_OF(X509) *certs`.
    fn without_type_macro(&self, code: Vec<TokenIndex>) -> Vec<TokenIndex> {
        let start = code
            .iter()
            .take_while(|&&index| matches!(self.text(index), "const" | "volatile" | "struct"))
            .count();
        let &[name, open, ref rest @ ..] = &code[start..] else {
            return code;
        };
        let Some(close) = self.pairs[open].filter(|_| self.text(open) == "(") else {
            return code;
        };
        let behind: Vec<TokenIndex> = rest.iter().copied().filter(|&i| i > close).collect();
        let mut words = behind.iter().map(|&index| self.text(index));
        let is_word = self.tokens[name].kind == TokenKind::Ident && !is_keyword(self.text(name));
        let stars = words.by_ref().take_while(|word| *word == "*").count();
        // `MEMBERS(x) int y;` has two words behind it, and is not understood.
        let names = behind.get(stars..).unwrap_or_default();
        let is_one_name = names.first().is_some_and(|&first| {
            self.tokens[first].kind == TokenKind::Ident
                && !is_keyword(self.text(first))
                && names
                    .get(1)
                    .is_none_or(|&next| matches!(self.text(next), "[" | ","))
        });
        if !is_word || !is_one_name {
            return code;
        }
        code[..=start].iter().copied().chain(behind).collect()
    }

    /// Reads a statement that is nothing but `NAME(...)`.
    fn read_macro_call(&self, code: &[TokenIndex]) -> Option<(Vec<String>, StatementKind)> {
        let [name, open, .., last] = code else {
            return None;
        };
        if self.tokens[*name].kind != TokenKind::Ident
            || self.text(*open) != "("
            || self.pairs[*open] != Some(*last)
        {
            return None;
        }
        let arguments = self.split_at_commas(&code[2..code.len() - 1]);
        let single = |position: usize| match arguments.get(position)?.as_slice() {
            [index] if self.tokens[*index].kind == TokenKind::Ident => {
                Some(self.text(*index).to_owned())
            }
            _ => None,
        };
        let (argument, kind) = match self.text(*name) {
            "DECLARE_FLEX_ARRAY" | "__DECLARE_FLEX_ARRAY" => (single(1), StatementKind::Flexible),
            name if declares_its_argument(name) => (single(0), StatementKind::KnownMacro),
            _ => (None, StatementKind::Macro),
        };
        match argument {
            Some(argument) => Some((vec![argument], kind)),
            None => Some((Vec::new(), StatementKind::Macro)),
        }
    }

    /// Splits the tokens at commas outside of brackets.
    fn split_at_commas(&self, code: &[TokenIndex]) -> Vec<Vec<TokenIndex>> {
        let mut parts = vec![Vec::new()];
        let mut inside_to = TokenIndex::FIRST;
        for &index in code {
            if index >= inside_to {
                if self.text(index) == "," {
                    parts.push(Vec::new());
                    continue;
                }
                if let Some(close) = self.pairs[index].filter(|&close| close > index) {
                    inside_to = close;
                }
            }
            if let Some(part) = parts.last_mut() {
                part.push(index);
            }
        }
        parts
    }

    /// Name and kind of one declarator; `typed` when its type stands elsewhere. The name is
    /// `None` for an unnamed bitfield; the result is `None` when not understood.
    fn read_declarator(
        &self,
        code: &[TokenIndex],
        typed: bool,
    ) -> Option<(Option<String>, StatementKind)> {
        let (code, bitfield) = match self.position_outside_brackets(code, ":") {
            Some(colon) => (&code[..colon], true),
            None => (code, false),
        };
        let (code, flexible) = self.without_bounds(code);
        let kind = match (bitfield, flexible) {
            (true, _) => StatementKind::Bitfield,
            (_, true) => StatementKind::Flexible,
            _ => StatementKind::Plain,
        };
        let (&last, before) = match code.split_last() {
            Some(split) => split,
            None if bitfield && typed => return Some((None, kind)),
            None => return None,
        };
        if self.text(last) == ")" {
            let name = self.function_pointer_name(code)?;
            return Some((
                Some(name),
                if flexible {
                    StatementKind::Flexible
                } else {
                    StatementKind::Plain
                },
            ));
        }
        let text = self.text(last);
        if bitfield && (is_keyword(text) || (before.is_empty() && !typed)) {
            return Some((None, kind));
        }
        let named = self.tokens[last].kind == TokenKind::Ident && !is_keyword(text);
        let type_ok = typed
            || before
                .iter()
                .any(|&index| self.tokens[index].kind == TokenKind::Ident);
        if !named || !type_ok || !self.are_plain_specifiers(before) {
            return None;
        }
        Some((Some(text.to_owned()), kind))
    }

    /// Returns true if the tokens are words and stars that can be a type, apart from enum and
    /// struct bodies, which the caller handles.
    fn are_plain_specifiers(&self, code: &[TokenIndex]) -> bool {
        let words = code
            .iter()
            .all(|&index| self.tokens[index].kind == TokenKind::Ident || self.text(index) == "*");
        // `spinlock_t lock unknown_attribute`: two plain words before the last one cannot be told
        // apart.
        let plain = code
            .iter()
            .filter(|&&index| !is_keyword(self.text(index)) && self.text(index) != "*")
            .count();
        let tagged = code
            .iter()
            .any(|&index| matches!(self.text(index), "struct" | "union" | "enum"));
        let keyword_type = code.iter().any(|&index| is_type_keyword(self.text(index)));
        let star_last = code.last().is_none_or(|&index| self.text(index) == "*");
        words && (star_last || (plain <= 1 && !(plain == 1 && keyword_type && !tagged)))
    }

    /// Drops trailing `[...]`; the flag is true if the first bound is empty or 0.
    fn without_bounds<'c>(&self, mut code: &'c [TokenIndex]) -> (&'c [TokenIndex], bool) {
        let mut flexible = false;
        while let Some(&last) = code.last()
            && self.text(last) == "]"
            && let Some(open) = self.pairs[last]
            && let Some(position) = code.iter().position(|&index| index == open)
        {
            let bound = &code[position + 1..code.len() - 1];
            flexible = bound.is_empty() || matches!(bound, [zero] if self.text(*zero) == "0");
            code = &code[..position];
        }
        (code, flexible)
    }

    fn function_pointer_name(&self, code: &[TokenIndex]) -> Option<String> {
        let open = code
            .windows(2)
            .position(|pair| self.text(pair[0]) == "(" && self.text(pair[1]) == "*")?;
        let name = code[open + 1..].iter().find(|&&index| {
            !matches!(self.text(index), "*" | "(") && !is_keyword(self.text(index))
        })?;
        (self.tokens[*name].kind == TokenKind::Ident && open > 0)
            .then(|| self.text(*name).to_owned())
    }

    fn position_outside_brackets(&self, code: &[TokenIndex], wanted: &str) -> Option<usize> {
        let mut inside_to = TokenIndex::FIRST;
        code.iter().position(|&index| {
            if index < inside_to {
                return false;
            }
            if let Some(close) = self.pairs[index].filter(|&close| close > index) {
                inside_to = close;
            }
            self.text(index) == wanted
        })
    }
}

/// Returns true if the macro declares a single member, named by its first argument:
/// `DECLARE_BITMAP(seen, 64)`, `CACHELINE_PADDING(_pad1_)`, `DEFINE_DMA_UNMAP_ADDR(mapping)`.
fn declares_its_argument(name: &str) -> bool {
    ["DECLARE_", "DEFINE_DMA_UNMAP_"]
        .iter()
        .any(|start| name.trim_start_matches('_').starts_with(start))
        || name.ends_with("_PADDING")
        || name == "__ETHTOOL_DECLARE_LINK_MODE_MASK"
}

/// Returns true if `word` is an attribute, alone or with an argument in parentheses.
pub(crate) fn is_attribute(word: &str) -> bool {
    word.starts_with("____cacheline")
        || word.starts_with("__cacheline_aligned")
        || matches!(
            word,
            "__attribute__"
                | "__attribute"
                | "__aligned"
                | "__packed"
                | "_Alignas"
                | "alignas"
                | "__rcu"
                | "__percpu"
                | "__user"
                | "__kernel"
                | "__iomem"
                | "__bitwise"
                | "__force"
                | "__nocast"
                | "__private"
                | "__safe"
                | "__counted_by"
                | "__randomize_layout"
                | "__no_randomize_layout"
                | "__designated_init"
                | "__guarded_by"
                | "__pt_guarded_by"
                | "__deprecated"
                | "__maybe_unused"
                | "__nonstring"
                | "__read_mostly"
                | "__ro_after_init"
                | "__subcode"
                | "__printf"
                | "__scanf"
                | "__refdata"
                | "__nodeprecated"
                | "__extension__"
                | "__must_check"
                | "CRYPTO_MINALIGN_ATTR"
                | "__latent_entropy"
                | "noinline"
                | "__init"
        )
}

/// Returns true if `word` aligns the member or type beside it.
pub(crate) fn is_alignment(word: &str) -> bool {
    word.starts_with("____cacheline")
        || word.starts_with("__cacheline_aligned")
        || matches!(
            word,
            "__aligned"
                | "aligned"
                | "__aligned__"
                | "_Alignas"
                | "alignas"
                | "CRYPTO_MINALIGN_ATTR"
        )
}

/// Returns true if `word` is a C keyword that cannot name a member.
pub(crate) fn is_keyword(word: &str) -> bool {
    is_type_keyword(word)
        || matches!(
            word,
            "const"
                | "volatile"
                | "restrict"
                | "__restrict"
                | "__restrict__"
                | "struct"
                | "union"
                | "enum"
                | "static"
                | "extern"
                | "inline"
                | "__volatile__"
                | "__const"
                | "_Atomic"
                | "typedef"
                | "register"
        )
        || is_typeof(word)
}

fn is_type_keyword(word: &str) -> bool {
    matches!(
        word,
        "void"
            | "char"
            | "short"
            | "int"
            | "long"
            | "float"
            | "double"
            | "signed"
            | "unsigned"
            | "_Bool"
            | "bool"
            | "__signed__"
            | "__int128"
    )
}

/// Returns true if `word` is `typeof` in one of its spellings.
pub(crate) fn is_typeof(word: &str) -> bool {
    matches!(word, "typeof" | "__typeof__" | "__typeof" | "typeof_unqual")
}

//! Uses of a struct that depend on the order of its members.

use crate::body::{DirectiveKind, directive_kind};
use crate::lex::{BracketPairs, SourceToken, TokenIndex, TokenKind, TokenList, lex};
use crate::refusal::FileLine;
use crate::tokenized::TokenizedFile;

/// Kind of dependence on the order of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseKind {
    /// Members are initialised by position: another order gives them other values.
    PositionalInitializer,
    /// The offset of this member is used as a number.
    Offsetof {
        /// The member, with the path into it as written.
        member: String,
    },
    /// The compiler checks the size of the struct or the offset of a member: `static_assert`,
    /// `BUILD_BUG_ON`, `CACHELINE_ASSERT_GROUP_MEMBER`.
    StaticAssert,
    /// The compiler may shuffle the members, which voids any order in the text:
    /// `__randomize_layout`.
    Randomized,
}

/// A use of a struct that another order of its members may break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspiciousUse {
    /// Kind of the use.
    pub kind: UseKind,
    /// File and line of the use.
    pub place: FileLine,
    /// The source line, trimmed.
    pub text: String,
}

/// Finds positional initialisers, `offsetof` users, static assertions and randomisation of
/// `struct struct_name` in the text of one file, in bodies of `#define` too. Uses behind other
/// macros or typedefs are not found. `container_of` is no such use: it follows the members.
///
/// ```
/// use relayout_patch::{UseKind, find_suspicious_uses};
///
/// let uses = find_suspicious_uses("f.c", "struct s x = { 1, 2 };\n", "s");
/// assert_eq!(uses[0].kind, UseKind::PositionalInitializer);
/// ```
pub fn find_suspicious_uses(file: &str, text: &str, struct_name: &str) -> Vec<SuspiciousUse> {
    let mut uses = Vec::new();
    if !text.contains(struct_name) {
        return uses;
    }
    let whole = TokenizedFile::new(file, text);
    collect_uses(&whole, text, struct_name, &mut uses);
    for token in whole
        .tokens
        .iter()
        .filter(|token| token.kind == TokenKind::Directive)
    {
        if directive_kind(token.text(text)) == DirectiveKind::Other("define") {
            collect_uses(
                &tokenize_define(file, text, token),
                text,
                struct_name,
                &mut uses,
            );
        }
    }
    uses.sort_by_key(|found| found.place.line);
    uses
}

/// Tokens of a `#define` as code, at their positions in the whole text.
pub(crate) fn tokenize_define<'a>(
    file: &'a str,
    text: &'a str,
    define: &SourceToken,
) -> TokenizedFile<'a> {
    let inner = define.start + 1;
    let code = text.get(inner..define.end).unwrap_or("");
    let tokens: Vec<SourceToken> = lex(code)
        .into_iter()
        .map(|t| SourceToken {
            kind: t.kind,
            start: t.start + inner,
            end: t.end + inner,
        })
        .collect();
    let tokens = TokenList::new(text, tokens);
    let pairs = BracketPairs::new(text, &tokens);
    TokenizedFile {
        name: file,
        source: text,
        tokens,
        pairs,
    }
}

fn collect_uses(
    file: &TokenizedFile<'_>,
    text: &str,
    struct_name: &str,
    uses: &mut Vec<SuspiciousUse>,
) {
    let code: Vec<TokenIndex> = file
        .tokens
        .indexes()
        .filter(|&at| file.is_code(at))
        .collect();
    let asserts = assertion_parentheses(file);
    let word = |position: usize| code.get(position).map_or("", |&index| file.text(index));
    for position in 0..code.len() {
        if word(position) != "struct" || word(position + 1) != struct_name {
            continue;
        }
        // No order changes the size of a member.
        let is_member_size = position >= 2 && word(position - 2) == "sizeof_field";
        let asserted = !is_member_size
            && asserts
                .iter()
                .any(|&(open, close)| (open..close).contains(&code[position]));
        let kind = if asserted {
            Some(UseKind::StaticAssert)
        } else if is_randomized_definition(file, &code, position + 2) {
            Some(UseKind::Randomized)
        } else if position >= 2 && is_offsetof(word(position - 2)) && word(position - 1) == "(" {
            offsetof_use(file, &code, position)
        } else {
            initializer_brace(file, &code, position + 2)
                .filter(|&open| is_positional_initializer(file, open, 0))
                .map(|_| UseKind::PositionalInitializer)
        };
        if let Some(kind) = kind {
            let place = file.place(code[position]);
            let line = text
                .lines()
                .nth(place.line as usize - 1)
                .unwrap_or("")
                .trim()
                .to_owned();
            uses.push(SuspiciousUse {
                kind,
                place,
                text: line,
            });
        }
    }
}

/// Parentheses of assertions that the compiler checks.
fn assertion_parentheses(file: &TokenizedFile<'_>) -> Vec<(TokenIndex, TokenIndex)> {
    let is_assertion = |word: &str| {
        word.starts_with("BUILD_BUG_ON")
            || word.starts_with("CACHELINE_ASSERT_GROUP")
            || matches!(word, "static_assert" | "_Static_assert")
    };
    file.tokens
        .indexes()
        .filter(|&at| is_assertion(file.text(at)) && file.text(at + 1) == "(")
        .filter_map(|at| Some((at + 1, file.pairs[at + 1]?)))
        .collect()
}

/// Returns true if a definition with `__randomize_layout` begins at `position`, behind the tag.
pub(crate) fn is_randomized_definition(
    file: &TokenizedFile<'_>,
    code: &[TokenIndex],
    position: usize,
) -> bool {
    let Some(&open) = code.get(position).filter(|&&at| file.text(at) == "{") else {
        return false;
    };
    let Some(close) = file.pairs[open] else {
        return false;
    };
    let behind = code.iter().skip_while(|&&at| at <= close);
    behind
        .map(|&at| file.text(at))
        .take_while(|text| *text != ";")
        .any(|text| text == "__randomize_layout")
}

fn is_offsetof(word: &str) -> bool {
    matches!(word, "offsetof" | "offsetofend" | "__builtin_offsetof")
}

/// Use of `offsetof(struct name, member)`; `position` is at `struct`.
fn offsetof_use(file: &TokenizedFile<'_>, code: &[TokenIndex], position: usize) -> Option<UseKind> {
    let close = file.pairs[code[position - 1]]?;
    let inside = code
        .get(position + 3..)?
        .iter()
        .take_while(|&&index| index < close);
    let member: String = inside.map(|&index| file.text(index)).collect();
    (!member.is_empty()).then_some(UseKind::Offsetof { member })
}

/// Opening brace of an initialiser: `name[..] attributes = {` or, in a cast, `) {`.
pub(crate) fn initializer_brace(
    file: &TokenizedFile<'_>,
    code: &[TokenIndex],
    mut position: usize,
) -> Option<TokenIndex> {
    let mut named = false;
    loop {
        let &index = code.get(position)?;
        let next = code.get(position + 1).copied();
        match file.text(index) {
            "=" if named => return next.filter(|&next| file.text(next) == "{"),
            "[" | ")" if file.text(index) == ")" && !named => {
                return next.filter(|&next| file.text(next) == "{");
            }
            "[" | "(" => {
                let close = file.pairs[index]?;
                while code.get(position).is_some_and(|&index| index < close) {
                    position += 1;
                }
            }
            _ if file.tokens[index].kind == TokenKind::Ident => named = true,
            _ => return None,
        }
        position += 1;
    }
}

/// Returns true if the braces hold a value without designator. A single zero and empty braces do
/// not count; elements of an array do.
pub(crate) fn is_positional_initializer(
    file: &TokenizedFile<'_>,
    open: TokenIndex,
    depth: u32,
) -> bool {
    let Some(close) = file.pairs[open] else {
        return false;
    };
    let code: Vec<TokenIndex> = (open + 1)
        .until(close)
        .filter(|&at| file.is_code(at))
        .collect();
    let texts: Vec<&str> = code.iter().take(3).map(|&index| file.text(index)).collect();
    match texts.as_slice() {
        [] | ["0" | "NULL"] | ["0" | "NULL", ","] | [".", ..] => false,
        ["{", ..] if depth < 4 => is_positional_initializer(file, code[0], depth + 1),
        ["[", ..] => array_element_brace(file, &code)
            .is_some_and(|inner| depth < 4 && is_positional_initializer(file, inner, depth + 1)),
        [name, ":", ..] if file.tokens[code[0]].kind == TokenKind::Ident && *name != "default" => {
            false
        }
        _ => true,
    }
}

/// Opening brace behind `[index] =`.
fn array_element_brace(file: &TokenizedFile<'_>, code: &[TokenIndex]) -> Option<TokenIndex> {
    let close = file.pairs[code[0]]?;
    let mut rest = code.iter().copied().skip_while(|&index| index <= close);
    let sign = rest.next()?;
    let brace = rest.next()?;
    (file.text(sign) == "=" && file.text(brace) == "{").then_some(brace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(u32, UseKind)]) {
        let got: Vec<_> = find_suspicious_uses("f.c", text, "s")
            .into_iter()
            .map(|u| (u.place.line, u.kind))
            .collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn positions_are_found() {
        let positional = || UseKind::PositionalInitializer;
        check("struct s x = { 1, 2 };\n", &[(1, positional())]);
        check("struct s x __init = { 1 };\n", &[(1, positional())]);
        check(
            "\nstatic const struct s x[] = {\n\t{ 1, 2 },\n};\n",
            &[(2, positional())],
        );
        check(
            "struct s x[2] = { [0] = { 1, 2 } };\n",
            &[(1, positional())],
        );
        check("f((struct s){ 1 });\n", &[(1, positional())]);
        check(
            "#define INIT \\\n\t(struct s) { 1 }\n",
            &[(2, positional())],
        );
    }

    #[test]
    fn names_and_zeroes_are_not_positions() {
        check(
            "struct s x = { .a = 1 };\nstruct s y = { 0 }, z = {};\n",
            &[],
        );
        check(
            "struct s { int a; };\nstruct s *f(void) { return g; }\nstruct s x[] = { { .a = 1 } };\n",
            &[],
        );
        check("struct s x = { a: 1 };\nstruct other x = { 1 };\n", &[]);
        check(
            "int n = sizeof(struct s);\nif (sizeof(struct s)) { return; }\n",
            &[],
        );
    }

    #[test]
    fn assertions_and_shuffled_structs_are_found() {
        check(
            "static_assert(sizeof(struct s) == 8);\nint n = sizeof(struct s);\n\
             void f(void)\n{\n\tBUILD_BUG_ON(offsetof(struct s, a) % 64);\n}\n\
             static_assert(sizeof_field(struct s, a) == 4);\n",
            &[(1, UseKind::StaticAssert), (5, UseKind::StaticAssert)],
        );
        check(
            "struct s { int a; } __randomize_layout;\nstruct s {\n\tint a;\n} x;\n",
            &[(1, UseKind::Randomized)],
        );
    }

    #[test]
    fn offsets_are_found() {
        let member = |member: &str| UseKind::Offsetof {
            member: member.to_owned(),
        };
        check(
            "int a = offsetof(struct s, x.y[0]);\n#define O offsetof(struct s, z)\n",
            &[(1, member("x.y[0]")), (2, member("z"))],
        );
    }
}

//! Conditions of the branches of an `#if`, in a form in which two spellings of a condition are
//! equal.
//!
//! ```text
//! #ifdef A            defined(A)
//! #elif B > 1 && C    !defined(A), B > 1, C
//! #else               !defined(A), !((B > 1) && C)
//! ```

use crate::body::{BodyStatement, BracedBody, IfBranch, IfGroup};
use crate::lex::{SourceToken, TokenIndex, TokenKind, lex, pair_brackets};
use crate::tokenized::TokenizedFile;

/// Greatest number of signs and brackets that are removed around a term.
const WRAPPINGS_MAX: usize = 16;

/// A term of a conjunction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConditionTerm {
    negated: bool,
    /// An expression; white space is normalised.
    text: String,
}

/// Sorted terms of all branches around a statement. `None` where a directive is not understood.
pub(crate) fn terms_of_branches(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
    branches: &[IfBranch],
) -> Option<Vec<ConditionTerm>> {
    let mut terms = Vec::new();
    for &(group, branch) in branches {
        terms.extend(terms_of_branch(file, &body.groups[group], branch)?);
    }
    terms.sort();
    terms.dedup();
    Some(terms)
}

/// Terms of one branch: its own, and the negation of each branch before it.
fn terms_of_branch(
    file: &TokenizedFile<'_>,
    group: &IfGroup,
    branch: u32,
) -> Option<Vec<ConditionTerm>> {
    let branch = branch as usize;
    let mut terms = Vec::new();
    for &at in branch_directives(group).take(branch) {
        terms.push(negate_terms(directive_terms(
            file.tokens[at].text(file.source),
        )?));
    }
    let &at = branch_directives(group).nth(branch)?;
    terms.extend(directive_terms(file.tokens[at].text(file.source))?);
    Some(terms)
}

fn branch_directives(group: &IfGroup) -> impl Iterator<Item = &TokenIndex> {
    std::iter::once(&group.start).chain(&group.else_directives)
}

/// Directive that opens a group with the condition of the branch: as written, where that is
/// possible.
pub(crate) fn opening_directive(
    file: &TokenizedFile<'_>,
    group: &IfGroup,
    branch: u32,
) -> Option<String> {
    if branch == 0 {
        let text = file.tokens[group.start].text(file.source);
        return (!text.contains('\n')).then(|| text.to_owned());
    }
    let terms = terms_of_branch(file, group, branch)?;
    if let [ConditionTerm { negated, text }] = &terms[..]
        && let Some(name) = defined_name(text)
    {
        let word = if *negated { "ifndef" } else { "ifdef" };
        return Some(format!("#{word} {name}"));
    }
    let words: Vec<String> = terms.iter().map(ConditionTerm::operand_text).collect();
    Some(format!("#if {}", words.join(" && ")))
}

impl ConditionTerm {
    fn operand_text(&self) -> String {
        let sign = if self.negated { "!" } else { "" };
        match is_primary(&self.text) {
            true => format!("{sign}{}", self.text),
            false => format!("{sign}({})", self.text),
        }
    }
}

/// The name in `defined(NAME)`.
fn defined_name(text: &str) -> Option<&str> {
    text.strip_prefix("defined(")?.strip_suffix(')')
}

/// Term that holds unless all of the terms hold.
fn negate_terms(terms: Vec<ConditionTerm>) -> ConditionTerm {
    match <[ConditionTerm; 1]>::try_from(terms) {
        Ok([ConditionTerm { negated, text }]) => ConditionTerm {
            negated: !negated,
            text,
        },
        Err(terms) => {
            let words: Vec<String> = terms.iter().map(ConditionTerm::operand_text).collect();
            ConditionTerm {
                negated: true,
                text: words.join(" && "),
            }
        }
    }
}

/// Terms of a directive alone; no term for `#else`.
fn directive_terms(directive: &str) -> Option<Vec<ConditionTerm>> {
    let rest = directive.trim_start_matches('#').trim_start();
    let split = rest.find(|c: char| !c.is_ascii_alphanumeric());
    let (word, rest) = rest.split_at(split.unwrap_or(rest.len()));
    let mut tokens = lex(rest);
    tokens.retain(|token| token.kind != TokenKind::Comment);
    let single_name = |negated| match tokens.as_slice() {
        [name] if name.kind == TokenKind::Ident => Some(vec![ConditionTerm {
            negated,
            text: format!("defined({})", name.text(rest)),
        }]),
        _ => None,
    };
    match word {
        "ifdef" | "elifdef" => single_name(false),
        "ifndef" | "elifndef" => single_name(true),
        "if" | "elif" if !tokens.is_empty() => Some(split_conjunction(rest, &tokens)),
        "else" if tokens.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

/// Splits `A && !B` at the operators outside of brackets, unless an operator of lower precedence
/// is among them.
fn split_conjunction(source: &str, tokens: &[SourceToken]) -> Vec<ConditionTerm> {
    let pairs = pair_brackets(source, tokens);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text(source));
    let (mut from, mut at) = (0, 0);
    let mut terms = Vec::new();
    while at < tokens.len() {
        let twice = text(at) == text(at + 1) && tokens[at].end == tokens[at + 1].start;
        match text(at) {
            "?" | "," => return vec![parse_term(source, tokens)],
            "|" if twice => return vec![parse_term(source, tokens)],
            "&" if twice => {
                terms.push(parse_term(source, &tokens[from..at]));
                (at, from) = (at + 1, at + 2);
            }
            _ => at = pairs[at].filter(|&pair| pair > at).unwrap_or(at),
        }
        at += 1;
    }
    terms.push(parse_term(source, tokens.get(from..).unwrap_or_default()));
    terms
}

/// Parses a term, without the `!` and the brackets around all of it.
fn parse_term(source: &str, mut tokens: &[SourceToken]) -> ConditionTerm {
    let mut negated = false;
    for _ in 0..WRAPPINGS_MAX {
        let pairs = pair_brackets(source, tokens);
        match tokens {
            [sign, rest @ ..]
                if sign.text(source) == "!" && is_primary(&spell_tokens(source, rest)) =>
            {
                negated = !negated;
                tokens = rest;
            }
            [open, inner @ .., _]
                if open.text(source) == "(" && pairs[0] == Some(tokens.len() - 1) =>
            {
                tokens = inner;
            }
            _ => break,
        }
    }
    let text = match tokens {
        [word, name] if word.text(source) == "defined" => format!("defined({})", name.text(source)),
        _ => spell_tokens(source, tokens),
    };
    ConditionTerm { negated, text }
}

/// Text of the tokens with a single space for white space, and none inside of the brackets of a
/// call.
fn spell_tokens(source: &str, tokens: &[SourceToken]) -> String {
    let mut text = String::new();
    let mut before: Option<&SourceToken> = None;
    for token in tokens {
        let apart = before.is_some_and(|before| before.end < token.start);
        let called = before.is_some_and(|before| before.kind == TokenKind::Ident);
        let bracket =
            text.ends_with('(') || matches!((token.text(source), called), (")", _) | ("(", true));
        if apart && !bracket {
            text.push(' ');
        }
        text += token.text(source);
        before = Some(token);
    }
    text
}

/// Returns true if the text binds closer than any operator: a word, a call, or one pair of
/// brackets.
fn is_primary(text: &str) -> bool {
    let tokens = lex(text);
    let pairs = pair_brackets(text, &tokens);
    let is_word = |token: &SourceToken| matches!(token.kind, TokenKind::Ident | TokenKind::Number);
    match tokens.as_slice() {
        [word_token] => is_word(word_token),
        [first, open, ..] if is_word(first) && open.text(text) == "(" => {
            pairs[1] == Some(tokens.len() - 1)
        }
        [defined, name] => defined.text(text) == "defined" && is_word(name),
        [open, ..] => open.text(text) == "(" && pairs[0] == Some(tokens.len() - 1),
        [] => false,
    }
}

/// Text of each statement with the conditions around it.
pub(crate) fn statement_texts(
    file: &TokenizedFile<'_>,
    body: &BracedBody,
) -> Vec<(Option<Vec<ConditionTerm>>, String)> {
    let words = |statement: &BodyStatement| {
        let code = file
            .tokens
            .range(statement.first, statement.last)
            .iter()
            .filter(|token| token.kind != TokenKind::Comment);
        let words: Vec<&str> = code.map(|token| token.text(file.source)).collect();
        let conditions = terms_of_branches(file, body, &statement.branches);
        (conditions, words.join(" "))
    };
    body.statements.iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "struct s {\n#ifdef A\nint a;\n#elif B > 1 && !defined C\nint b;\n#else /* none */\nint c;\n#endif\n};\n";

    /// Compares the directives that would open each branch alone.
    fn check(source: &str, expect: [Option<&str>; 3]) {
        let file = TokenizedFile::new("f.h", source);
        let body = file.find_definition("s", None).unwrap().body;
        let openings = [0, 1, 2].map(|branch| opening_directive(&file, &body.groups[0], branch));
        assert_eq!(
            openings.each_ref().map(Option::as_deref),
            expect,
            "{source}"
        );
    }

    #[test]
    fn later_branches_stand_under_what_the_earlier_do_not() {
        check(
            GROUP,
            [
                Some("#ifdef A"),
                Some("#if !defined(A) && (B > 1) && !defined(C)"),
                Some("#if !defined(A) && !((B > 1) && !defined(C))"),
            ],
        );
        let group = |opening: &str| GROUP.replace("#ifdef A", opening);
        check(
            &group("#if  A || IS_ENABLED( X )"),
            [
                Some("#if  A || IS_ENABLED( X )"),
                Some("#if !(A || IS_ENABLED(X)) && (B > 1) && !defined(C)"),
                Some("#if !(A || IS_ENABLED(X)) && !((B > 1) && !defined(C))"),
            ],
        );
        check(
            &GROUP.replace("#elif B > 1 && !defined C\nint b;\n", ""),
            [Some("#ifdef A"), Some("#ifndef A"), None],
        );
        check(
            &group("#if A ? B : \\\n C"),
            [
                None,
                Some("#if !(A ? B : C) && (B > 1) && !defined(C)"),
                Some("#if !(A ? B : C) && !((B > 1) && !defined(C))"),
            ],
        );
        check(&group("#ifdef A B"), [Some("#ifdef A B"), None, None]);
    }

    #[test]
    fn spellings_of_one_condition_are_equal() {
        let terms = |directive: &str| directive_terms(directive);
        for (left, right) in [
            ("#ifdef X", "#if defined X"),
            ("#ifndef X", "# if ! defined ( X )"),
            ("#if !( A && B )", "#if !(A && B)"),
            ("#if (A)", "#if A /* a */"),
        ] {
            assert_eq!(terms(left), terms(right), "{left}");
        }
        for (left, right) in [
            ("#ifdef X", "#ifndef X"),
            ("#if !A && B", "#if !(A && B)"),
            ("#if A || B", "#if A && B"),
            ("#if !A == 1", "#if !(A == 1)"),
            ("#if A & & B", "#if A && B"),
        ] {
            assert_ne!(terms(left), terms(right), "{left}");
        }
    }

    #[test]
    fn brackets_without_end_are_read() {
        assert!(directive_terms(&format!("#if {}", "(!".repeat(10_000))).is_some());
        assert!(
            directive_terms(&format!(
                "#if {}A{}",
                "(".repeat(10_000),
                ")".repeat(10_000)
            ))
            .is_some()
        );
    }
}

//! What a branch of an `#if` stands under, in a form in which two spellings of it can be compared.
//!
//! ```text
//! #ifdef A            defined(A)
//! #elif B > 1 && C    !defined(A), B > 1, C
//! #else               !defined(A), !((B > 1) && C)
//! ```

use crate::body::{Body, Branch, Group};
use crate::find::File;
use crate::lex::{Kind, Token, lex, pair_brackets};

/// Signs and brackets around a term that are taken off.
const AROUND_MAX: usize = 16;

/// One of the terms that all have to hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    negated: bool,
    /// An expression, as written but for white space.
    text: String,
}

/// All terms of the branches that a statement stands in, sorted. `None` where a directive is not understood.
pub(crate) fn of_branches(file: &File<'_>, body: &Body, branches: &[Branch]) -> Option<Vec<Term>> {
    let mut terms = Vec::new();
    for &(group, branch) in branches {
        terms.extend(of_branch(file, &body.groups[group], branch)?);
    }
    terms.sort();
    terms.dedup();
    Some(terms)
}

/// The terms of one branch: its own, and that none of the branches before it is taken.
fn of_branch(file: &File<'_>, group: &Group, branch: u32) -> Option<Vec<Term>> {
    let branch = branch as usize;
    let mut terms = Vec::new();
    for &at in directives(group).take(branch) {
        terms.push(none_of(own_terms(file.tokens[at].text(file.source))?));
    }
    let &at = directives(group).nth(branch)?;
    terms.extend(own_terms(file.tokens[at].text(file.source))?);
    Some(terms)
}

fn directives(group: &Group) -> impl Iterator<Item = &usize> {
    std::iter::once(&group.start).chain(&group.elses)
}

/// The directive with which a group begins that stands under what the branch does: as written, if it can be.
pub(crate) fn opening(file: &File<'_>, group: &Group, branch: u32) -> Option<String> {
    if branch == 0 {
        let text = file.tokens[group.start].text(file.source);
        return (!text.contains('\n')).then(|| text.to_owned());
    }
    let terms = of_branch(file, group, branch)?;
    if let [Term { negated, text }] = &terms[..]
        && let Some(name) = defined(text)
    {
        let word = if *negated { "ifndef" } else { "ifdef" };
        return Some(format!("#{word} {name}"));
    }
    let words: Vec<String> = terms.iter().map(Term::written).collect();
    Some(format!("#if {}", words.join(" && ")))
}

impl Term {
    fn written(&self) -> String {
        let sign = if self.negated { "!" } else { "" };
        match is_primary(&self.text) {
            true => format!("{sign}{}", self.text),
            false => format!("{sign}({})", self.text),
        }
    }
}

/// The name in `defined(NAME)`.
fn defined(text: &str) -> Option<&str> {
    text.strip_prefix("defined(")?.strip_suffix(')')
}

/// That not all of the terms hold.
fn none_of(terms: Vec<Term>) -> Term {
    match <[Term; 1]>::try_from(terms) {
        Ok([Term { negated, text }]) => Term {
            negated: !negated,
            text,
        },
        Err(terms) => {
            let words: Vec<String> = terms.iter().map(Term::written).collect();
            Term {
                negated: true,
                text: words.join(" && "),
            }
        }
    }
}

/// The terms of a directive alone; none of an `#else`.
fn own_terms(directive: &str) -> Option<Vec<Term>> {
    let rest = directive.trim_start_matches('#').trim_start();
    let split = rest.find(|c: char| !c.is_ascii_alphanumeric());
    let (word, rest) = rest.split_at(split.unwrap_or(rest.len()));
    let mut tokens = lex(rest);
    tokens.retain(|token| token.kind != Kind::Comment);
    let name = |negated| match tokens.as_slice() {
        [one] if one.kind == Kind::Ident => Some(vec![Term {
            negated,
            text: format!("defined({})", one.text(rest)),
        }]),
        _ => None,
    };
    match word {
        "ifdef" | "elifdef" => name(false),
        "ifndef" | "elifndef" => name(true),
        "if" | "elif" if !tokens.is_empty() => Some(conjunction(rest, &tokens)),
        "else" if tokens.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

/// Splits `A && !B` at the operators outside of brackets, unless one that binds less is among them.
fn conjunction(source: &str, tokens: &[Token]) -> Vec<Term> {
    let pairs = pair_brackets(source, tokens);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text(source));
    let (mut from, mut at) = (0, 0);
    let mut terms = Vec::new();
    while at < tokens.len() {
        let twice = text(at) == text(at + 1) && tokens[at].end == tokens[at + 1].start;
        match text(at) {
            "?" | "," => return vec![term(source, tokens)],
            "|" if twice => return vec![term(source, tokens)],
            "&" if twice => {
                terms.push(term(source, &tokens[from..at]));
                (at, from) = (at + 1, at + 2);
            }
            _ => at = pairs[at].filter(|&pair| pair > at).unwrap_or(at),
        }
        at += 1;
    }
    terms.push(term(source, tokens.get(from..).unwrap_or_default()));
    terms
}

/// One term, without the `!` and the brackets around all of it.
fn term(source: &str, mut tokens: &[Token]) -> Term {
    let mut negated = false;
    for _ in 0..AROUND_MAX {
        let pairs = pair_brackets(source, tokens);
        match tokens {
            [sign, rest @ ..] if sign.text(source) == "!" && is_primary(&spelled(source, rest)) => {
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
        _ => spelled(source, tokens),
    };
    Term { negated, text }
}

/// The tokens with one space where there is white space, but none around what is in brackets behind a word.
fn spelled(source: &str, tokens: &[Token]) -> String {
    let mut text = String::new();
    let mut before: Option<&Token> = None;
    for token in tokens {
        let apart = before.is_some_and(|before| before.end < token.start);
        let called = before.is_some_and(|before| before.kind == Kind::Ident);
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

/// Whether it binds closer than any operator: a word, a call, or all in one pair of brackets.
fn is_primary(text: &str) -> bool {
    let tokens = lex(text);
    let pairs = pair_brackets(text, &tokens);
    let word = |token: &Token| matches!(token.kind, Kind::Ident | Kind::Number);
    match tokens.as_slice() {
        [one] => word(one),
        [first, open, ..] if word(first) && open.text(text) == "(" => {
            pairs[1] == Some(tokens.len() - 1)
        }
        [defined, name] => defined.text(text) == "defined" && word(name),
        [open, ..] => open.text(text) == "(" && pairs[0] == Some(tokens.len() - 1),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "struct s {\n#ifdef A\nint a;\n#elif B > 1 && !defined C\nint b;\n#else /* none */\nint c;\n#endif\n};\n";

    /// The directive that a branch would begin with alone.
    fn check(source: &str, expect: [Option<&str>; 3]) {
        let file = File::new("f.h", source);
        let body = file.definition("s", None).unwrap().body;
        let openings = [0, 1, 2].map(|branch| opening(&file, &body.groups[0], branch));
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
        let terms = |directive: &str| own_terms(directive);
        for (one, other) in [
            ("#ifdef X", "#if defined X"),
            ("#ifndef X", "# if ! defined ( X )"),
            ("#if !( A && B )", "#if !(A && B)"),
            ("#if (A)", "#if A /* a */"),
        ] {
            assert_eq!(terms(one), terms(other), "{one}");
        }
        for (one, other) in [
            ("#ifdef X", "#ifndef X"),
            ("#if !A && B", "#if !(A && B)"),
            ("#if A || B", "#if A && B"),
            ("#if !A == 1", "#if !(A == 1)"),
            ("#if A & & B", "#if A && B"),
        ] {
            assert_ne!(terms(one), terms(other), "{one}");
        }
    }

    #[test]
    fn brackets_without_end_are_read() {
        assert!(own_terms(&format!("#if {}", "(!".repeat(10_000))).is_some());
        assert!(
            own_terms(&format!(
                "#if {}A{}",
                "(".repeat(10_000),
                ")".repeat(10_000)
            ))
            .is_some()
        );
    }
}

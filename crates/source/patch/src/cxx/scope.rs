//! Scopes of classes and constructors: namespaces and classes around a token.

use super::class::{CxxClass, class_head};
use crate::lex::{TokenIndex, TokenKind};
use crate::tokenized::TokenizedFile;

/// Returns the names of the namespaces and classes around token `at`, outermost first. Namespaces
/// without a name have none.
pub(super) fn enclosing_scopes(file: &TokenizedFile<'_>, at: TokenIndex) -> Vec<String> {
    let around = at.all_before().filter(|&open| {
        let is_around = || file.pairs[open].is_some_and(|close| close > at);
        file.text(open) == "{" && is_around()
    });
    around.flat_map(|open| scope_names(file, open)).collect()
}

/// Names of the scope that opens at a brace: two of `namespace a::b {`, none of a function.
fn scope_names(file: &TokenizedFile<'_>, open: TokenIndex) -> Vec<String> {
    let head = { open.all_before().rev() }
        .take_while(|&at| file.is_code(at) && !matches!(file.text(at), ";" | "{" | "}"));
    let mut words: Vec<TokenIndex> = head.collect();
    words.reverse();
    if let Some(keyword) = words.iter().position(|&at| file.text(at) == "namespace") {
        let names = words[keyword + 1..].iter();
        let names = names.filter(|&&at| file.tokens[at].kind == TokenKind::Ident);
        return names.map(|&at| file.text(at).to_owned()).collect();
    }
    let classes = words
        .iter()
        .filter(|&&at| matches!(file.text(at), "struct" | "class"));
    let mut heads = classes.filter_map(|&at| class_head(file, at + 1));
    let own = heads.find(|(_, brace)| *brace == open);
    own.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// Returns true if the qualified name that ends at token `at`, as in `net::Pool::Pool(`, is one of
/// `class`, whose scopes in its own file are `class_scopes`.
pub(super) fn names_class(
    file: &TokenizedFile<'_>,
    at: TokenIndex,
    class: &CxxClass,
    class_scopes: &[String],
) -> bool {
    let Some(mut qualifiers) = qualifiers_before(file, at) else {
        return false;
    };
    if qualifiers.pop().as_deref() != Some(class.name.as_str()) {
        return false;
    }
    let mut scopes = enclosing_scopes(file, at);
    scopes.append(&mut qualifiers);
    scopes == class_scopes || (has_using_directive(file) && is_part_of(&scopes, class_scopes))
}

/// Names in front of the `::` before token `at`, outermost first, without template arguments.
fn qualifiers_before(file: &TokenizedFile<'_>, at: TokenIndex) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut name_at = at;
    while file.text_before(name_at) == ":" {
        let mut before = name_at.previous()?.previous()?;
        if file.text(before) != ":" {
            break;
        }
        before = match before.previous() {
            Some(before) => before,
            None => break,
        };
        if file.text(before) == ">" {
            before = before_angles(file, before)?;
        }
        if file.tokens[before].kind != TokenKind::Ident {
            break;
        }
        names.push(file.text(before).to_owned());
        name_at = before;
    }
    names.reverse();
    Some(names)
}

/// Token in front of the template arguments that end at `close`.
fn before_angles(file: &TokenizedFile<'_>, close: TokenIndex) -> Option<TokenIndex> {
    let (mut at, mut angles) = (close, 0_usize);
    loop {
        match file.text(at) {
            ">" => angles += 1,
            "<" => angles = angles.checked_sub(1)?,
            ";" | "{" | "}" => return None,
            _ => {}
        }
        at = at.previous()?;
        if angles == 0 {
            return Some(at);
        }
    }
}

fn has_using_directive(file: &TokenizedFile<'_>) -> bool {
    let mut tokens = file.tokens.indexes();
    tokens.any(|at| file.text(at) == "using" && file.text(at + 1) == "namespace")
}

/// Returns true if `scopes` are some of `all`, in the same order.
fn is_part_of(scopes: &[String], all: &[String]) -> bool {
    let mut rest = all.iter();
    scopes.iter().all(|scope| rest.any(|name| name == scope))
}

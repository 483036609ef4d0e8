//! Other names of a struct and of its members.

use crate::body::{DirectiveKind, directive_kind};
use crate::lex::TokenKind;
use crate::tokenized::TokenizedFile;

/// Finds the names that `typedef struct tag ... name;` gives to a struct in the text of one file.
///
/// ```
/// use relayout_patch::find_typedef_names;
///
/// assert_eq!(find_typedef_names("typedef struct s { int a; } s_t, *s_ptr;", "s"), ["s_t"]);
/// ```
pub fn find_typedef_names(text: &str, tag: &str) -> Vec<String> {
    if tag.is_empty()
        || !text
            .match_indices(tag)
            .any(|(at, _)| is_behind_typedef(text, at))
    {
        return Vec::new();
    }
    let file = TokenizedFile::new("", text);
    let code: Vec<_> = { file.tokens.indexes() }
        .filter(|&at| file.is_code(at))
        .collect();
    let mut names = Vec::new();
    for (position, window) in code.windows(3).enumerate() {
        let words = [0, 1, 2].map(|nth| file.text(window[nth]));
        if words[..2] != ["typedef", "struct"] || words[2] != tag {
            continue;
        }
        let behind = code.get(position + 3..).unwrap_or_default();
        let body_end = match behind.first().filter(|&&at| file.text(at) == "{") {
            Some(&open) => file.pairs[open],
            None => Some(window[2]),
        };
        let Some(body_end) = body_end else { continue };
        let declarators: Vec<&str> = { behind.iter() }
            .filter(|&&at| at > body_end)
            .map(|&at| file.text(at))
            .take_while(|word| *word != ";")
            .collect();
        // A pointer has a name too, which is none of the struct.
        for declarator in declarators.split(|word| *word == ",") {
            match declarator {
                [name] => names.push((*name).to_owned()),
                [name, "__attribute__", ..] => names.push((*name).to_owned()),
                _ => {}
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Returns true if `typedef struct` stands in front of byte `at`.
fn is_behind_typedef(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default().trim_end();
    let before = before.strip_suffix("struct").unwrap_or_default();
    before.trim_end().ends_with("typedef")
}

/// Finds macros that stand for a path into a member, as `#define sk_node __sk_common.skc_node`, in
/// the text of one file. `members` are the names at which paths begin. Returns name and path.
///
/// ```
/// use relayout_patch::find_member_macros;
///
/// let found = find_member_macros("#define sk_node\t__sk_common.skc_node\n", &["__sk_common".into()]);
/// assert_eq!(found, [("sk_node".to_owned(), "__sk_common.skc_node".to_owned())]);
/// ```
pub fn find_member_macros(text: &str, members: &[String]) -> Vec<(String, String)> {
    let file = TokenizedFile::new("", text);
    let directives = { file.tokens.iter() }
        .filter(|token| token.kind == TokenKind::Directive)
        .map(|token| token.text(text));
    let mut macros = Vec::new();
    for directive in directives {
        if directive_kind(directive) != DirectiveKind::Other("define") {
            continue;
        }
        let words: Vec<&str> = directive.split_whitespace().collect();
        let [_, name, path, ..] = words[..] else {
            continue;
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let first = super::first_component(path);
        let is_path = path.chars().all(|c| is_word(c) || c == '.');
        if is_path && name.chars().all(is_word) && members.iter().any(|member| member == first) {
            macros.push((name.to_owned(), path.to_owned()));
        }
    }
    macros
}

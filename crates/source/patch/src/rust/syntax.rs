//! Rust files as syntax trees, for edits of expressions.
//!
//! `syn` recurses, so a text that nests deeply would overflow the stack. Such a text is told by its
//! tokens first, and the trees are read and visited on a thread with a large stack.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Bytes of stack for reading and visiting trees.
const STACK_BYTES: usize = 256 << 20;
/// Brackets inside of each other that are read.
const NESTING_MAX: usize = 256;
/// Tokens without a separator between them that are read, brackets around them included. Each can
/// be a level of the tree: `a + b + c`.
const RUN_MAX: usize = 20_000;

/// Runs `work` with a stack that is large enough for the trees of [`read_tree`]; `None` if the system
/// has no memory for it.
pub(super) fn with_deep_stack<R: Send>(work: impl FnOnce() -> R + Send) -> Option<R> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// Reads the tree of a text; the error is the byte at which it is not Rust, or nests too deeply.
pub(super) fn read_tree(text: &str) -> Result<syn::File, usize> {
    let stream: TokenStream =
        { text.parse() }.map_err(|error: proc_macro2::LexError| error.span().byte_range().start)?;
    if let Some(at) = find_deep_nesting(&stream) {
        return Err(at);
    }
    syn::parse2(stream).map_err(|error| error.span().byte_range().start)
}

/// A level of brackets, and its tokens without a separator so far.
struct NestingLevel {
    tokens: std::iter::Peekable<proc_macro2::token_stream::IntoIter>,
    run: usize,
    /// Tokens of the runs around it.
    outer_runs: usize,
}

/// Returns the byte at which the tokens nest too deeply.
fn find_deep_nesting(stream: &TokenStream) -> Option<usize> {
    let new_level = |stream: TokenStream, outer_runs| NestingLevel {
        tokens: stream.into_iter().peekable(),
        run: 0,
        outer_runs,
    };
    let mut levels = vec![new_level(stream.clone(), 0)];
    while let Some(level) = levels.last_mut() {
        let Some(token) = level.tokens.next() else {
            levels.pop();
            continue;
        };
        level.run += 1;
        let runs = level.outer_runs + level.run;
        if runs > RUN_MAX {
            return Some(token.span().byte_range().start);
        }
        let is_end = match &token {
            TokenTree::Punct(punct) => matches!(punct.as_char(), ';' | ','),
            TokenTree::Group(group) => {
                group.delimiter() == Delimiter::Brace && begins_item(level.tokens.peek())
            }
            _ => false,
        };
        if is_end {
            level.run = 0;
        }
        if let TokenTree::Group(group) = token {
            if levels.len() >= NESTING_MAX {
                return Some(group.span_open().byte_range().start);
            }
            levels.push(new_level(group.stream(), runs));
        }
    }
    None
}

/// Returns true if the token behind braces begins another item or statement.
fn begins_item(next: Option<&TokenTree>) -> bool {
    match next {
        None => true,
        Some(TokenTree::Ident(word)) => word != "else" && word != "as",
        Some(TokenTree::Punct(punct)) => punct.as_char() == '#',
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(text: String) -> bool {
        with_deep_stack(move || read_tree(&text).is_ok()).expect("a stack")
    }

    #[test]
    fn deep_texts_are_told() {
        assert!(reads("fn f() { g(); }\n".repeat(30_000)));
        assert!(reads(format!("fn f() {{ {} 1 }}", "1 + ".repeat(9_000))));
        assert!(reads(format!("fn f() {{ {} 1 }}", "!".repeat(19_000))));
        assert!(reads(format!("fn f() {{ a{} }}", ".b()".repeat(4_000))));
        assert!(!reads(format!("fn f() {{ {} 1 }}", "1 + ".repeat(50_000))));
        assert!(!reads(format!("fn f() {{ {} 1 }}", "!".repeat(50_000))));
        assert!(!reads(format!("type T = {}();", "&".repeat(50_000))));
        let (open, close) = ("(".repeat(9_000), ")".repeat(9_000));
        assert!(!reads(format!("fn f() {{ {open}{close} }}")));
        let branch = "if a {} else ".repeat(30_000);
        assert!(!reads(format!("fn f() {{ {branch} {{}} }}")));
        assert!(!reads("fn f() {".to_owned()));
    }
}

//! Token trees of Rust source, and the bytes that they cover.
//!
//! `proc_macro2` reads the tokens. The trees are walked with a stack of our own, and types stay
//! tokens: a parser that recurses, as `syn` does, would overflow the stack on input that nests
//! deeply.

use std::ops::Range;

use proc_macro2::{Group, TokenStream, TokenTree};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A `struct` keyword that a name follows, among the tokens beside it.
pub(super) struct StructKeyword {
    pub siblings: Vec<TokenTree>,
    /// Index of the keyword in `siblings`.
    pub index: usize,
}

/// Tokens of a text, with what turns their spans into bytes of the text.
pub(super) struct RustTokens<'a> {
    source: &'a str,
    stream: TokenStream,
    /// Bytes in front of what was read.
    skipped_bytes: usize,
}

impl<'a> RustTokens<'a> {
    /// Reads the tokens of a text; an error is the byte at which they end being Rust's.
    pub fn read(source: &'a str) -> Result<Self, usize> {
        let text = source.strip_prefix(BYTE_ORDER_MARK).unwrap_or(source);
        let skipped_bytes = source.len() - text.len();
        match text.parse::<TokenStream>() {
            Ok(stream) => Ok(Self {
                source,
                stream,
                skipped_bytes,
            }),
            Err(error) => {
                let at = error.span().byte_range().start + skipped_bytes;
                Err(at.min(source.len()))
            }
        }
    }

    /// Bytes that a token covers, delimiters included.
    pub fn bytes(&self, token: &TokenTree) -> Range<usize> {
        self.shifted(token.span().byte_range())
    }

    /// Text of a token.
    pub fn text(&self, token: &TokenTree) -> &'a str {
        self.source.get(self.bytes(token)).unwrap_or("")
    }

    /// Byte of the opening delimiter of a group.
    pub fn open(&self, group: &Group) -> usize {
        self.shifted(group.span_open().byte_range()).start
    }

    fn shifted(&self, bytes: Range<usize>) -> Range<usize> {
        bytes.start + self.skipped_bytes..bytes.end + self.skipped_bytes
    }

    /// The `struct` keywords in front of `name`, in the order of the text.
    pub fn struct_keywords(&self, name: &str) -> Vec<StructKeyword> {
        let mut keywords = Vec::new();
        let mut levels = vec![GroupTokens::new(self.stream.clone())];
        while let Some(level) = levels.last_mut() {
            let index = level.next;
            level.next += 1;
            match level.tokens.get(index) {
                None => {
                    levels.pop();
                }
                Some(TokenTree::Group(group)) => {
                    let inner = GroupTokens::new(group.stream());
                    levels.push(inner);
                }
                Some(TokenTree::Ident(keyword)) if keyword == "struct" => {
                    let named = matches!(level.tokens.get(index + 1),
                        Some(TokenTree::Ident(found)) if found == name);
                    // Without spans, as under `cfg(fuzzing)`, there is nothing to edit by.
                    if named && self.text(&level.tokens[index]) == "struct" {
                        let siblings = level.tokens.clone();
                        keywords.push(StructKeyword { siblings, index });
                    }
                }
                Some(_) => {}
            }
        }
        keywords
    }

    /// Bytes of all tokens of a group, with the delimiters of the groups in it as tokens.
    pub fn flattened(&self, group: &Group) -> Vec<Range<usize>> {
        let open = self.shifted(group.span_open().byte_range());
        let close = self.shifted(group.span_close().byte_range());
        let mut found = vec![open];
        let mut levels = vec![(GroupTokens::new(group.stream()), close)];
        while let Some((level, close)) = levels.last_mut() {
            let index = level.next;
            level.next += 1;
            match level.tokens.get(index) {
                None => {
                    found.push(close.clone());
                    levels.pop();
                }
                Some(TokenTree::Group(inner)) => {
                    found.push(self.shifted(inner.span_open().byte_range()));
                    let close = self.shifted(inner.span_close().byte_range());
                    let level = GroupTokens::new(inner.stream());
                    levels.push((level, close));
                }
                Some(token) => found.push(self.bytes(token)),
            }
        }
        found
    }
}

/// Tokens of one group, and the index of the next to visit.
struct GroupTokens {
    tokens: Vec<TokenTree>,
    next: usize,
}

impl GroupTokens {
    fn new(stream: TokenStream) -> Self {
        Self {
            tokens: stream.into_iter().collect(),
            next: 0,
        }
    }
}

/// Depth of `<...>` after a token, from the depth before it; the `>` of `->` closes none.
pub(super) fn angle_depth(depth: usize, previous: Option<&TokenTree>, token: &TokenTree) -> usize {
    let arrow = previous.is_some_and(|token| is_punct(token, '-'));
    match token {
        TokenTree::Punct(punct) if punct.as_char() == '<' => depth + 1,
        TokenTree::Punct(punct) if punct.as_char() == '>' && !arrow => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Returns true if the token is this character of punctuation.
pub(super) fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Byte behind the comment that begins at byte `at`; `None` where none begins.
pub(super) fn comment_end(source: &str, at: usize) -> Option<usize> {
    let rest = source.get(at..)?;
    if rest.starts_with("//") {
        return Some(at + rest.find('\n').unwrap_or(rest.len()));
    }
    if !rest.starts_with("/*") {
        return None;
    }
    let bytes = rest.as_bytes();
    let (mut end, mut depth) = (0, 0_usize);
    while end < bytes.len() {
        match bytes.get(end..end + 2) {
            Some(b"/*") => (depth, end) = (depth + 1, end + 2),
            Some(b"*/") => (depth, end) = (depth - 1, end + 2),
            _ => end += 1,
        }
        if depth == 0 {
            return Some(at + end);
        }
    }
    Some(source.len())
}

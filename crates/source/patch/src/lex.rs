//! C tokens with their bytes: just enough to find statements, brackets, directives and comments.
//! Never fails: what is not C becomes punctuation.

use std::ops::{Add, AddAssign, Index, Sub};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Ident,
    Number,
    /// String or character literal.
    Literal,
    /// One byte of punctuation.
    Punct,
    /// `/* */` or `//`, delimiters included, newline not.
    Comment,
    /// A whole preprocessor line with its continuations and comments, newline not.
    Directive,
}

/// A token: bytes `start..end` of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceToken {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

impl SourceToken {
    /// Text of the token.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.start..self.end).unwrap_or("")
    }
}

/// Index of a token in the tokens of its text. Byte positions are plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenIndex(usize);

impl TokenIndex {
    pub const FIRST: Self = Self(0);

    /// Indexes from this one up to `end`, which is excluded.
    pub fn until(self, end: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0..end.0).map(Self)
    }

    /// Indexes from this one up to `last`, which is included.
    pub fn through(self, last: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0..=last.0).map(Self)
    }

    /// Indexes of all tokens before this one.
    pub fn all_before(self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..self.0).map(Self)
    }

    /// Index of the token before; `None` for the first.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// Number of tokens from `earlier` to this one.
    pub fn distance_from(self, earlier: Self) -> usize {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<usize> for TokenIndex {
    type Output = Self;
    fn add(self, count: usize) -> Self {
        Self(self.0.saturating_add(count))
    }
}

impl Sub<usize> for TokenIndex {
    type Output = Self;
    /// The first token has none before it: it is its own predecessor.
    fn sub(self, count: usize) -> Self {
        Self(self.0.saturating_sub(count))
    }
}

impl AddAssign<usize> for TokenIndex {
    fn add_assign(&mut self, count: usize) {
        *self = *self + count;
    }
}

/// Tokens of a text. Access by a [`TokenIndex`] behind the last token gives an empty token at the
/// end of the text.
pub(crate) struct TokenList {
    tokens: Vec<SourceToken>,
    end: SourceToken,
}

impl TokenList {
    pub fn new(source: &str, tokens: Vec<SourceToken>) -> Self {
        let end = SourceToken {
            kind: TokenKind::Punct,
            start: source.len(),
            end: source.len(),
        };
        Self { tokens, end }
    }

    /// Index behind the last token.
    pub fn end(&self) -> TokenIndex {
        TokenIndex(self.tokens.len())
    }

    /// Indexes of all tokens.
    pub fn indexes(&self) -> impl DoubleEndedIterator<Item = TokenIndex> + Clone {
        self.end().all_before()
    }

    /// The token at `index`; `None` behind the last.
    pub fn get(&self, index: TokenIndex) -> Option<&SourceToken> {
        self.tokens.get(index.0)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, SourceToken> {
        self.tokens.iter()
    }

    /// Tokens in front of `index`.
    pub fn before(&self, index: TokenIndex) -> &[SourceToken] {
        self.tokens.get(..index.0).unwrap_or(&self.tokens)
    }

    /// Tokens from `index` on.
    pub fn from(&self, index: TokenIndex) -> &[SourceToken] {
        self.tokens.get(index.0..).unwrap_or_default()
    }

    /// Tokens from `first` to `last`, both included.
    pub fn range(&self, first: TokenIndex, last: TokenIndex) -> &[SourceToken] {
        self.tokens.get(first.0..=last.0).unwrap_or_default()
    }

    /// The first token that starts at byte `start` or behind it.
    pub fn at_byte(&self, start: usize) -> Option<&SourceToken> {
        let index = self.tokens.partition_point(|token| token.start < start);
        self.tokens.get(index)
    }
}

impl Index<TokenIndex> for TokenList {
    type Output = SourceToken;
    fn index(&self, index: TokenIndex) -> &SourceToken {
        self.get(index).unwrap_or(&self.end)
    }
}

/// Partners of bracket tokens; `None` for other tokens and strays.
pub(crate) struct BracketPairs(Vec<Option<TokenIndex>>);

impl BracketPairs {
    pub fn new(source: &str, tokens: &TokenList) -> Self {
        let pairs = pair_brackets(source, &tokens.tokens);
        Self(pairs.into_iter().map(|pair| pair.map(TokenIndex)).collect())
    }
}

impl Index<TokenIndex> for BracketPairs {
    type Output = Option<TokenIndex>;
    fn index(&self, index: TokenIndex) -> &Option<TokenIndex> {
        self.0.get(index.0).unwrap_or(&None)
    }
}

/// Splits `source` into tokens, white space dropped.
pub(crate) fn lex(source: &str) -> Vec<SourceToken> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line_start = true;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'\n' {
            line_start = true;
            at += 1;
            continue;
        }
        if byte.is_ascii_whitespace() || byte == b'\\' || byte == 0x0b {
            at += 1;
            continue;
        }
        let (kind, end) = if byte == b'#' && line_start {
            (TokenKind::Directive, directive_end(bytes, at))
        } else {
            read_token(bytes, at)
        };
        line_start &= kind == TokenKind::Comment;
        tokens.push(SourceToken {
            kind,
            start: at,
            end,
        });
        at = end;
    }
    tokens
}

/// For each bracket token the index of its partner, `None` for anything else and for strays.
pub(crate) fn pair_brackets(source: &str, tokens: &[SourceToken]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; tokens.len()];
    let mut open: Vec<(usize, u8)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Punct {
            continue;
        }
        match source.as_bytes()[token.start] {
            b'(' => open.push((index, b')')),
            b'[' => open.push((index, b']')),
            b'{' => open.push((index, b'}')),
            close @ (b')' | b']' | b'}') => {
                if close == b'}' {
                    while open.last().is_some_and(|&(_, closing)| closing != b'}') {
                        open.pop();
                    }
                }
                if let Some(&(from, closing)) = open.last()
                    && closing == close
                {
                    open.pop();
                    pairs[from] = Some(index);
                    pairs[index] = Some(from);
                }
            }
            _ => {}
        }
    }
    pairs
}

fn read_token(bytes: &[u8], at: usize) -> (TokenKind, usize) {
    match bytes[at] {
        b'/' if bytes.get(at + 1) == Some(&b'*') => {
            (TokenKind::Comment, block_comment_end(bytes, at))
        }
        b'/' if bytes.get(at + 1) == Some(&b'/') => (TokenKind::Comment, line_end(bytes, at)),
        quote @ (b'"' | b'\'') => match literal_end(bytes, at, quote) {
            Some(end) => (TokenKind::Literal, end),
            None => (TokenKind::Punct, at + 1),
        },
        b'0'..=b'9' => (TokenKind::Number, word_end(bytes, at)),
        byte if is_word_byte(byte) => (TokenKind::Ident, word_end(bytes, at)),
        _ => (TokenKind::Punct, at + 1),
    }
}

/// Bytes above ASCII count as letters, so that a token never ends inside a character.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&b| is_word_byte(b)).count()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&b| b != b'\n').count()
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 2;
    while end < bytes.len() {
        if bytes[end..].starts_with(b"*/") {
            return end + 2;
        }
        end += 1;
    }
    bytes.len()
}

fn literal_end(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'\n' {
        match bytes[end] {
            b'\\' if bytes.get(end + 1).is_some_and(|&b| b < 0x80) => end += 2,
            byte if byte == quote => return Some(end + 1),
            _ => end += 1,
        }
    }
    None
}

fn directive_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while end < bytes.len() {
        match bytes[end] {
            b'\n' => return end,
            b'\\' if bytes[end + 1..].starts_with(b"\n") => end += 2,
            b'\\' if bytes[end + 1..].starts_with(b"\r\n") => end += 3,
            b'/' if bytes[end + 1..].starts_with(b"*") => end = block_comment_end(bytes, end),
            b'/' if bytes[end + 1..].starts_with(b"/") => return line_end(bytes, end),
            b'"' => end = literal_end(bytes, end, b'"').unwrap_or(end + 1),
            _ => end += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expect: &[(TokenKind, &str)]) {
        let got: Vec<_> = lex(source)
            .iter()
            .map(|t| (t.kind, t.text(source)))
            .collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn comments_and_directives_are_single_tokens() {
        check(
            "# define A \\\n 1 /* x\n y */ 2\nint a; /* ; */ // b\n",
            &[
                (TokenKind::Directive, "# define A \\\n 1 /* x\n y */ 2"),
                (TokenKind::Ident, "int"),
                (TokenKind::Ident, "a"),
                (TokenKind::Punct, ";"),
                (TokenKind::Comment, "/* ; */"),
                (TokenKind::Comment, "// b"),
            ],
        );
    }

    #[test]
    fn strays_are_punctuation() {
        check("' a", &[(TokenKind::Punct, "'"), (TokenKind::Ident, "a")]);
        check("/* open", &[(TokenKind::Comment, "/* open")]);
        check(
            "é'{'",
            &[(TokenKind::Ident, "é"), (TokenKind::Literal, "'{'")],
        );
    }

    #[test]
    fn a_closing_brace_forgets_open_parentheses() {
        let source = "{ ( }";
        assert_eq!(
            pair_brackets(source, &lex(source)),
            [Some(2), None, Some(0)]
        );
    }
}

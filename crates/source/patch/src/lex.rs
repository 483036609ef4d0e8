//! C tokens with their bytes: just enough to find statements, brackets, directives and comments.
//! Never fails: what is not C becomes punctuation.

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

//! Rust tokens with their bytes: enough to find items, brackets, attributes and comments.

use crate::lex::{SourceToken, TokenKind};

/// Splits `source` into tokens, white space dropped. Lifetimes are words; nothing is a directive.
pub(crate) fn lex(source: &str) -> Vec<SourceToken> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let (kind, end) = read_token(bytes, at);
        tokens.push(SourceToken {
            kind,
            start: at,
            end,
        });
        at = end;
    }
    tokens
}

fn read_token(bytes: &[u8], at: usize) -> (TokenKind, usize) {
    let rest = &bytes[at..];
    match bytes[at] {
        b'/' if rest.starts_with(b"//") => {
            let line = rest.iter().take_while(|&&b| b != b'\n').count();
            (TokenKind::Comment, at + line)
        }
        b'/' if rest.starts_with(b"/*") => (TokenKind::Comment, block_comment_end(bytes, at)),
        b'"' => (TokenKind::Literal, string_end(bytes, at + 1)),
        b'\'' => read_quote(bytes, at),
        b'r' | b'b' | b'c' if let Some(end) = prefixed_literal_end(bytes, at) => {
            (TokenKind::Literal, end)
        }
        b'0'..=b'9' => (TokenKind::Number, word_end(bytes, at)),
        byte if is_word_byte(byte) => (TokenKind::Ident, word_end(bytes, at)),
        _ => (TokenKind::Punct, at + 1),
    }
}

/// Bytes above ASCII count as letters, so that a token never ends inside a character.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|&&b| is_word_byte(b)).count()
}

/// Comments nest.
fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut depth) = (at, 0_usize);
    while end < bytes.len() {
        if bytes[end..].starts_with(b"/*") {
            (depth, end) = (depth + 1, end + 2);
        } else if bytes[end..].starts_with(b"*/") {
            (depth, end) = (depth - 1, end + 2);
            if depth == 0 {
                return end;
            }
        } else {
            end += 1;
        }
    }
    bytes.len()
}

/// The end of a string whose text begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if bytes.get(end + 1).is_some_and(|&b| b < 0x80) => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// A character, or a lifetime.
fn read_quote(bytes: &[u8], at: usize) -> (TokenKind, usize) {
    if bytes.get(at + 1) == Some(&b'\\') {
        let close = bytes[at + 2..]
            .iter()
            .skip(1)
            .position(|&b| b == b'\'' || b == b'\n');
        return match close {
            Some(close) if bytes[at + 3 + close] == b'\'' => (TokenKind::Literal, at + 4 + close),
            _ => (TokenKind::Punct, at + 1),
        };
    }
    // One character may have four bytes.
    let close = bytes[at + 1..]
        .iter()
        .take(5)
        .skip(1)
        .position(|&b| b == b'\'');
    let end = word_end(bytes, at + 1);
    match close {
        Some(close) if bytes.get(end) == Some(&b'\'') || end == at + 1 => {
            (TokenKind::Literal, at + 3 + close)
        }
        _ if end > at + 1 => (TokenKind::Ident, end),
        _ => (TokenKind::Punct, at + 1),
    }
}

/// The end of `r"..."`, `r#"..."#`, `b"..."`, `br"..."`, `c"..."`.
fn prefixed_literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let letters = bytes[at..]
        .iter()
        .take(2)
        .take_while(|b| matches!(b, b'r' | b'b' | b'c'))
        .count();
    let raw = bytes[at..at + letters].contains(&b'r');
    let hashes = bytes[at + letters..]
        .iter()
        .take_while(|&&b| b == b'#')
        .count();
    let open = at + letters + hashes;
    if bytes.get(open) != Some(&b'"') || (hashes > 0 && !raw) {
        return None;
    }
    if !raw {
        return Some(string_end(bytes, open + 1));
    }
    let mut end = open + 1;
    while end < bytes.len() {
        let closes = bytes[end] == b'"'
            && bytes[end + 1..]
                .iter()
                .take(hashes)
                .filter(|&&b| b == b'#')
                .count()
                == hashes;
        if closes {
            return Some(end + 1 + hashes);
        }
        end += 1;
    }
    Some(bytes.len())
}

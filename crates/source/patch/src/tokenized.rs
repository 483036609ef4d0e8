//! A C file's text with its tokens, and what follows from these alone.

use crate::lex::{BracketPairs, TokenIndex, TokenKind, TokenList, lex};
use crate::lines::line_number;
use crate::refusal::FileLine;

/// A file's text with its tokens.
pub(crate) struct TokenizedFile<'a> {
    pub name: &'a str,
    pub source: &'a str,
    pub tokens: TokenList,
    pub pairs: BracketPairs,
}

impl<'a> TokenizedFile<'a> {
    pub fn new(name: &'a str, source: &'a str) -> Self {
        let tokens = TokenList::new(source, lex(source));
        let pairs = BracketPairs::new(source, &tokens);
        TokenizedFile {
            name,
            source,
            tokens,
            pairs,
        }
    }

    /// Text of a token; empty behind the last.
    pub fn text(&self, index: TokenIndex) -> &'a str {
        self.tokens
            .get(index)
            .map_or("", |token| token.text(self.source))
    }

    /// Text of the token before `index`; empty for the first.
    pub fn text_before(&self, index: TokenIndex) -> &'a str {
        index.previous().map_or("", |before| self.text(before))
    }

    /// Returns true for all but comments and directives.
    pub fn is_code(&self, at: TokenIndex) -> bool {
        !matches!(
            self.tokens[at].kind,
            TokenKind::Comment | TokenKind::Directive
        )
    }

    pub fn place(&self, token: TokenIndex) -> FileLine {
        let at = self.tokens.get(token).map_or(0, |token| token.start);
        FileLine {
            file: self.name.to_owned(),
            line: line_number(self.source, at),
        }
    }

    /// First token of the words in front of an opening brace: `struct name`, `typedef struct`.
    pub fn head_token(&self, open: TokenIndex) -> TokenIndex {
        let words = open.all_before().rev().take_while(|&at| {
            self.tokens[at].kind == TokenKind::Ident || matches!(self.text(at), "(" | ")")
        });
        words.last().unwrap_or(open)
    }

    /// Tokens from `from` up to `to`, without those inside of brackets and the closing brackets.
    pub fn outside_brackets(
        &self,
        from: TokenIndex,
        to: TokenIndex,
    ) -> impl Iterator<Item = TokenIndex> {
        let behind = |&at: &TokenIndex| {
            let close = self.pairs[at].filter(|&pair| pair > at);
            Some(close.unwrap_or(at) + 1)
        };
        std::iter::successors(Some(from), behind).take_while(move |&at| at < to)
    }

    /// Semicolon that ends the declaration whose body closes at `close`, or `close` if there is
    /// none.
    pub fn declaration_end(&self, close: TokenIndex) -> TokenIndex {
        let mut behind = close.until(self.tokens.end());
        behind.find(|&at| self.text(at) == ";").unwrap_or(close)
    }

    /// Closing bracket of the arguments in parentheses right behind `name`.
    pub fn arguments_end(&self, name: TokenIndex) -> Option<TokenIndex> {
        self.pairs[name + 1].filter(|_| self.text(name + 1) == "(")
    }
}

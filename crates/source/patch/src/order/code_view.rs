//! Code of a file without comments and directives, by position.

use super::variables::{DeclaredVariables, VariableType};
use super::{OrderFact, OrderQuery, OrderReliance};
use crate::lex::{TokenIndex, TokenKind};
use crate::refusal::FileLine;
use crate::tokenized::TokenizedFile;

/// Tokens of a call's arguments, at most: nested calls are read once for each level.
const ARGUMENT_TOKENS_MAX: usize = 2000;

/// Code tokens of a file, with the struct whose uses are sought.
pub(super) struct CodeView<'a> {
    pub query: &'a OrderQuery,
    file: &'a TokenizedFile<'a>,
    /// First byte of each line.
    line_starts: &'a [usize],
    tokens: Vec<TokenIndex>,
    is_cxx: bool,
    variables: DeclaredVariables<'a>,
}

/// Argument of a call: the positions of its tokens.
pub(super) type ArgumentRange = std::ops::Range<usize>;

impl<'a> CodeView<'a> {
    /// `is_cxx` is true for C++, `line_starts` are the first bytes of the file's lines.
    pub fn new(
        file: &'a TokenizedFile<'a>,
        line_starts: &'a [usize],
        is_cxx: bool,
        query: &'a OrderQuery,
    ) -> Self {
        let tokens = { file.tokens.indexes() }
            .filter(|&at| file.is_code(at))
            .collect();
        let mut view = Self {
            query,
            file,
            line_starts,
            tokens,
            is_cxx,
            variables: DeclaredVariables::default(),
        };
        view.variables = DeclaredVariables::read(&view);
        view
    }

    pub fn file_name(&self) -> &'a str {
        self.file.name
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Text of the token at `position`; empty behind the last.
    pub fn word(&self, position: usize) -> &'a str {
        let token = self.tokens.get(position);
        token.map_or("", |&index| self.file.text(index))
    }

    pub fn is_ident(&self, position: usize) -> bool {
        let token = self.tokens.get(position);
        token.is_some_and(|&index| self.file.tokens[index].kind == TokenKind::Ident)
    }

    /// Position of the bracket that closes the one at `open`.
    pub fn close_of(&self, open: usize) -> Option<usize> {
        let close = self.file.pairs[*self.tokens.get(open)?]?;
        let position = self.tokens.partition_point(|&index| index < close);
        (position > open).then_some(position)
    }

    /// Arguments of a call whose name is at `position`; empty if it is none.
    pub fn arguments(&self, position: usize) -> Vec<ArgumentRange> {
        if self.word(position + 1) != "(" {
            return Vec::new();
        }
        self.close_of(position + 1)
            .filter(|close| close - position <= ARGUMENT_TOKENS_MAX)
            .map_or(Vec::new(), |close| self.split(position + 2..close))
    }

    /// Parts of `range` between commas outside of brackets.
    pub fn split(&self, range: ArgumentRange) -> Vec<ArgumentRange> {
        let (mut parts, mut start, mut at) = (Vec::new(), range.start, range.start);
        while at < range.end {
            match self.word(at) {
                "," => {
                    parts.push(start..at);
                    start = at + 1;
                }
                "(" | "[" | "{" => at = self.close_of(at).unwrap_or(at).min(range.end),
                _ => {}
            }
            at += 1;
        }
        if start < range.end {
            parts.push(start..range.end);
        }
        parts
    }

    /// Text of `range` without spaces.
    pub fn joined(&self, range: ArgumentRange) -> String {
        range.map(|position| self.word(position)).collect()
    }

    /// Number of tokens at `position` that name the struct; 0 if they do not.
    pub fn subject_tokens(&self, position: usize) -> usize {
        let names_subject = |name: &str| name == self.query.tag;
        match self.word(position) {
            "struct" | "class" if names_subject(self.word(position + 1)) => 2,
            "struct" | "union" | "class" | "enum" => 0,
            name if self.is_bare_name(position) => {
                let by_typedef = self.query.typedef_names.iter().any(|known| known == name);
                usize::from(by_typedef || self.is_cxx && names_subject(name))
            }
            _ => 0,
        }
    }

    /// Tag of a struct at offset 0 that is named at `position`, and the number of tokens.
    pub fn first_type(&self, position: usize) -> Option<(&'a str, usize)> {
        let known = |name: &str| self.query.first_types.iter().any(|first| first == name);
        match self.word(position) {
            "struct" | "class" if known(self.word(position + 1)) => {
                Some((self.word(position + 1), 2))
            }
            "struct" | "union" | "class" | "enum" => None,
            name if self.is_bare_name(position) && known(name) => Some((name, 1)),
            _ => None,
        }
    }

    /// Returns true for a name that is neither a tag nor a member of an expression.
    fn is_bare_name(&self, position: usize) -> bool {
        let before = position.checked_sub(1).map_or("", |at| self.word(at));
        self.is_ident(position) && !matches!(before, "struct" | "union" | "class" | "enum" | ".")
    }

    /// Type that the pointer or value in `range` belongs to.
    pub fn type_of(&self, range: ArgumentRange) -> VariableType {
        let range = self.without_parentheses(range);
        if self.word(range.start) == "("
            && let Some(close) = self.close_of(range.start)
        {
            return self.cast_type(range.start + 1, close);
        }
        let start = range.start + usize::from(self.word(range.start) == "&");
        match start + 1 == range.end && self.is_ident(start) {
            true => self.variables.type_at(self.word(start), start),
            false => VariableType::Unknown,
        }
    }

    /// Type that the cast between the parentheses at `start - 1` and `close` gives.
    fn cast_type(&self, start: usize, close: usize) -> VariableType {
        let start = start + usize::from(self.word(start) == "const");
        match (self.subject_tokens(start), self.first_type(start)) {
            (1.., _) => VariableType::Subject,
            (_, Some(_)) => VariableType::First,
            _ if self.word(start) == "struct" && self.word(close - 1) == "*" => VariableType::Other,
            _ => VariableType::Unknown,
        }
    }

    fn without_parentheses(&self, range: ArgumentRange) -> ArgumentRange {
        let mut range = range;
        while self.word(range.start) == "(" && self.close_of(range.start) == Some(range.end - 1) {
            range = range.start + 1..range.end - 1;
        }
        range
    }

    /// Returns the opening brace of the initialiser of a variable whose type ends before
    /// `position`.
    pub fn initializer_brace(&self, position: usize) -> Option<usize> {
        let brace = crate::uses::initializer_brace(self.file, &self.tokens, position)?;
        Some(self.tokens.partition_point(|&index| index < brace))
    }

    /// Returns true if the braces at `open` hold a value without designator.
    pub fn is_positional(&self, open: usize) -> bool {
        let open = self.tokens.get(open);
        open.is_some_and(|&open| crate::uses::is_positional_initializer(self.file, open, 0))
    }

    /// Returns true if a definition with `__randomize_layout` begins behind the tag.
    pub fn is_randomized(&self, position: usize) -> bool {
        crate::uses::is_randomized_definition(self.file, &self.tokens, position)
    }

    /// Fact at `position`.
    pub fn fact(&self, position: usize, reliance: OrderReliance) -> OrderFact {
        let byte = { self.tokens.get(position) }.map_or(0, |&at| self.file.tokens[at].start);
        let line = self.line_starts.partition_point(|start| *start <= byte);
        let start = line
            .checked_sub(1)
            .and_then(|nth| self.line_starts.get(nth));
        let rest = start.and_then(|start| self.file.source.get(*start..));
        let text = rest.and_then(|rest| rest.lines().next()).unwrap_or("");
        OrderFact {
            place: FileLine {
                file: self.file.name.to_owned(),
                line: u32::try_from(line).unwrap_or(u32::MAX),
            },
            text: text.trim().to_owned(),
            reliance,
        }
    }
}

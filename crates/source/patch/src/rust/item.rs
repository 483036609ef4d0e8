//! A Rust struct's definition: its attributes, and its fields with the lines they have.

use super::lex::lex;
use crate::lex::{SourceToken, TokenKind, pair_brackets};
use crate::lines::{is_first_on_line, line_number, line_start, next_line_start};
use crate::refusal::{EditRefusal, FileLine};

/// A struct with named fields. Places are bytes of the text.
pub(super) struct RustStruct<'a> {
    pub file: &'a str,
    pub source: &'a str,
    pub name: String,
    /// Where `pub struct` begins, attributes and comments left out.
    pub head: usize,
    /// The opening brace.
    pub open: usize,
    pub fields: Vec<RustField>,
    tokens: Vec<SourceToken>,
    pairs: Vec<Option<usize>>,
    /// Attributes: tokens of their brackets.
    attributes: Vec<(usize, usize)>,
}

/// A field with its lines.
pub(super) struct RustField {
    pub name: String,
    /// The first of its comments and attributes.
    pub start: usize,
    /// Its own line.
    pub own_line: usize,
    /// Behind its last line.
    pub end: usize,
    /// Whether it ends in a comma.
    pub has_comma: bool,
    /// Behind its type.
    type_end: usize,
}

impl<'a> RustStruct<'a> {
    /// The definition: the only one of that name, or the one at the line.
    pub fn find(
        file: &'a str,
        source: &'a str,
        name: &str,
        line_hint: Option<u32>,
    ) -> Result<Self, EditRefusal> {
        let tokens = lex(source);
        let pairs = pair_brackets(source, &tokens);
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text(source));
        let place = |at: usize| FileLine {
            file: file.to_owned(),
            line: line_number(source, tokens.get(at).map_or(0, |token| token.start)),
        };
        let found: Vec<usize> = (0..tokens.len())
            .filter(|&at| text(at) == "struct" && text(at + 1) == name)
            .collect();
        let hinted = found.iter().find(|&&at| Some(place(at).line) == line_hint);
        let keyword = match (found.as_slice(), hinted) {
            ([], _) => {
                return Err(EditRefusal::StructNotFound {
                    file: file.to_owned(),
                    name: name.to_owned(),
                });
            }
            ([only], _) | (_, Some(only)) => *only,
            ([first, second, ..], None) => {
                return Err(EditRefusal::DefinedTwice {
                    name: name.to_owned(),
                    first: place(*first),
                    second: place(*second),
                });
            }
        };
        let refused = |why| EditRefusal::RustNotEdited {
            name: name.to_owned(),
            why,
            place: place(keyword),
        };
        let open = body_brace(source, &tokens, &pairs, keyword + 2)
            .ok_or_else(|| refused("it has no named fields"))?;
        let close = pairs[open].ok_or_else(|| refused("its braces are not closed"))?;
        let mut head = keyword;
        while head > 0 && matches!(text(head - 1), "pub" | ")") {
            head = if text(head - 1) == ")" {
                pairs[head - 1].unwrap_or(head - 1)
            } else {
                head - 1
            };
        }
        let mut item = RustStruct {
            file,
            source,
            name: name.to_owned(),
            head: tokens[head].start,
            open: tokens[open].start,
            fields: Vec::new(),
            attributes: attributes_above(source, &tokens, &pairs, head),
            tokens,
            pairs,
        };
        item.fields = item.read_fields(open, close)?;
        Ok(item)
    }

    fn text(&self, at: usize) -> &'a str {
        self.tokens
            .get(at)
            .map_or("", |token| token.text(self.source))
    }

    fn read_fields(&self, open: usize, close: usize) -> Result<Vec<RustField>, EditRefusal> {
        let mut fields = Vec::new();
        let mut at = open + 1;
        while at < close {
            let first = at;
            let mut name = None;
            let mut angles = 0_usize;
            let mut end = None;
            while at < close {
                let text = self.text(at);
                match text {
                    "#" if name.is_none() => at = self.pairs[at + 1].unwrap_or(at),
                    ":" if name.is_none()
                        && at > first
                        && self.tokens[at - 1].kind == TokenKind::Ident =>
                    {
                        name = Some(at - 1);
                    }
                    "<" => angles += 1,
                    ">" if self.text(at - 1) != "-" => angles = angles.saturating_sub(1),
                    "," if angles == 0 => {
                        end = Some(at);
                        break;
                    }
                    _ => {
                        if let Some(pair) = self.pairs[at].filter(|&pair| pair > at) {
                            at = pair;
                        }
                    }
                }
                at += 1;
            }
            let Some(name) = name else { break };
            fields.push(self.field_at(first, name, end.unwrap_or(close - 1), end.is_some())?);
            at += 1;
        }
        Ok(fields)
    }

    /// The field with tokens `first..=last`, comments of the field before included.
    fn field_at(
        &self,
        mut first: usize,
        name: usize,
        mut last: usize,
        has_comma: bool,
    ) -> Result<RustField, EditRefusal> {
        let source = self.source;
        // Comments behind the one before are on its line.
        while self.tokens[first].kind == TokenKind::Comment
            && !is_first_on_line(source, self.tokens[first].start)
        {
            first += 1;
        }
        while !has_comma && self.tokens[last].kind == TokenKind::Comment {
            last -= 1;
        }
        let field_name = self.text(name).to_owned();
        let mut own = name;
        while own > first
            && self.tokens[own - 1].kind != TokenKind::Comment
            && self.text(own - 1) != "]"
        {
            own -= 1;
        }
        let type_end = self.tokens[if has_comma { last - 1 } else { last }].end;
        let line_end = next_line_start(source, self.tokens[last].end);
        let behind = self.tokens[last + 1..].iter();
        let mut behind = behind.take_while(|token| token.start < line_end);
        let alone = is_first_on_line(source, self.tokens[own].start)
            && is_first_on_line(source, self.tokens[first].start)
            && behind.all(|token| token.kind == TokenKind::Comment && token.end <= line_end);
        // A comment that a blank line parts from the field is not about it.
        let own_line = line_start(source, self.tokens[own].start);
        let mut start = own_line;
        for token in self.tokens[first..own].iter().rev() {
            let line = line_start(source, token.start);
            if source[next_line_start(source, token.end).min(start)..start].is_empty() {
                start = line.min(start);
            } else {
                break;
            }
        }
        match alone {
            true => Ok(RustField {
                name: field_name,
                start,
                own_line,
                end: line_end,
                has_comma,
                type_end,
            }),
            false => Err(EditRefusal::SharedLine {
                member: field_name,
                place: FileLine {
                    file: self.file.to_owned(),
                    line: line_number(source, self.tokens[own].start),
                },
            }),
        }
    }

    /// The text with a comma behind the last field.
    pub fn with_last_comma(&self) -> String {
        let mut text = self.source.to_owned();
        if let Some(field) = self.fields.last() {
            text.insert(field.type_end, ',');
        }
        text
    }

    /// White space in front of `pub struct`.
    pub fn indent(&self) -> &'a str {
        let indent = &self.source[line_start(self.source, self.head)..self.head];
        if indent.trim().is_empty() { indent } else { "" }
    }

    /// Whether a `#[repr(...)]` names it.
    pub fn has_repr(&self, word: &str) -> bool {
        self.attribute_word("repr", word).is_some()
    }

    /// The first of the traits that is derived.
    pub fn derives(&self, traits: &[&'static str]) -> Option<&'static str> {
        let mut traits = traits.iter();
        traits
            .find(|name| self.attribute_word("derive", name).is_some())
            .copied()
    }

    /// The token `word` inside of an attribute `#[attribute(...)]`.
    fn attribute_word(&self, attribute: &str, word: &str) -> Option<usize> {
        let mut attributes = self.attributes.iter();
        attributes.find_map(|&(open, close)| {
            let own = self.text(open + 1) == attribute;
            (open + 1..close).find(|&at| own && self.text(at) == word)
        })
    }

    fn repr_attribute(&self) -> Option<(usize, usize)> {
        let mut attributes = self.attributes.iter().copied();
        attributes.find(|&(open, _)| self.text(open + 1) == "repr" && self.text(open + 2) == "(")
    }

    /// The closing parenthesis of `#[repr(...)]`.
    pub fn repr_end(&self) -> Option<usize> {
        let close = self.pairs[self.repr_attribute()?.0 + 2]?;
        Some(self.tokens[close].start)
    }

    /// Where `#[repr` begins.
    pub fn repr_start(&self) -> Option<usize> {
        let (open, _) = self.repr_attribute()?;
        Some(self.tokens[open - 1].start)
    }

    /// What to cut for `align(N)` to be gone: with its comma, or the attribute with its line.
    pub fn align_range(&self) -> Option<(usize, usize)> {
        let align = self.attribute_word("repr", "align")?;
        let last = self.pairs[align + 1].filter(|_| self.text(align + 1) == "(")?;
        let (start, end) = (self.tokens[align].start, self.tokens[last].end);
        if self.text(align - 1) == "," {
            return Some((self.tokens[align - 2].end, end));
        }
        if self.text(last + 1) == "," {
            return Some((start, self.tokens[last + 2].start));
        }
        let (open, close) = self.repr_attribute()?;
        let line = line_start(self.source, self.tokens[open - 1].start);
        let next = next_line_start(self.source, self.tokens[close].end);
        let rest = &self.source[self.tokens[close].end..next];
        let alone =
            is_first_on_line(self.source, self.tokens[open - 1].start) && rest.trim().is_empty();
        alone.then_some((line, next))
    }
}

/// The opening brace behind a struct's name, its generics and where clause; `None` where there are
/// no named fields.
fn body_brace(
    source: &str,
    tokens: &[SourceToken],
    pairs: &[Option<usize>],
    from: usize,
) -> Option<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text(source));
    let (mut at, mut angles, mut bounds) = (from, 0_usize, false);
    while at < tokens.len() {
        match text(at) {
            "<" => angles += 1,
            ">" if text(at - 1) != "-" => angles = angles.saturating_sub(1),
            "where" => bounds = true,
            "{" if angles == 0 => return Some(at),
            ";" if angles == 0 => return None,
            "(" if angles == 0 && !bounds => return None,
            _ => at = pairs[at].filter(|&pair| pair > at).unwrap_or(at),
        }
        at += 1;
    }
    None
}

/// Brackets of the attributes right above token `head`, comments between left out.
fn attributes_above(
    source: &str,
    tokens: &[SourceToken],
    pairs: &[Option<usize>],
    head: usize,
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = head;
    while let Some(before) = at.checked_sub(1) {
        let open = pairs[before].filter(|&open| {
            tokens[before].text(source) == "]" && open > 0 && tokens[open - 1].text(source) == "#"
        });
        at = match open {
            Some(open) => {
                found.push((open, before));
                open - 1
            }
            None if tokens[before].kind == TokenKind::Comment => before,
            None => break,
        };
    }
    found
}

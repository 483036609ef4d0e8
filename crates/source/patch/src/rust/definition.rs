//! Definition of a Rust struct: its attributes, and its fields with the lines they have.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, TokenTree};

use super::tokens::{RustTokens, StructKeyword, angle_depth, comment_end, is_punct};
use crate::language::StructSource;
use crate::lines::{is_first_on_line, line_number, line_start, next_line_start};
use crate::refusal::{EditRefusal, FileLine};

/// A struct with named fields. Positions are bytes of the text.
pub(super) struct RustStruct<'a> {
    pub file: &'a str,
    pub source: &'a str,
    pub name: &'a str,
    /// Number among the definitions of that name in the file, from 0.
    pub number: usize,
    /// First byte of `pub struct`, behind attributes and comments.
    pub head: usize,
    /// The opening brace.
    pub open: usize,
    pub fields: Vec<RustField>,
    attributes: Vec<RustAttribute>,
}

/// A field with its lines.
pub(super) struct RustField {
    pub name: String,
    /// First byte of its comments and attributes.
    pub start: usize,
    /// First byte of the line with its name.
    pub own_line: usize,
    /// First byte behind its last line.
    pub end: usize,
    pub has_comma: bool,
    /// First byte behind its type.
    type_end: usize,
}

/// An attribute of the struct: bytes of `#` and of all tokens from `[` to `]`.
struct RustAttribute {
    start: usize,
    tokens: Vec<Range<usize>>,
}

/// A field's tokens among those of the braces: indexes.
struct FieldTokens {
    first: usize,
    name: usize,
    /// The last token of its type.
    last: usize,
    comma: Option<usize>,
}

impl<'a> RustStruct<'a> {
    /// Finds the definition: the only one of that name, or the one that `wanted` selects.
    pub fn find(wanted: StructSource<'a>) -> Result<Self, EditRefusal> {
        let StructSource {
            file,
            text: source,
            name,
            ..
        } = wanted;
        let place = |at: usize| FileLine {
            file: file.to_owned(),
            line: line_number(source, at),
        };
        let refused = |at: usize, why| EditRefusal::RustNotEdited {
            name: name.to_owned(),
            why,
            place: place(at),
        };
        let tokens = RustTokens::read(source)
            .map_err(|at| refused(at, "from here on, the file cannot be read as Rust"))?;
        let mut keywords = tokens.struct_keywords(name);
        let at = |keyword: &StructKeyword| tokens.bytes(&keyword.siblings[keyword.index]).start;
        let hinted = wanted.number.or_else(|| {
            let mut lines = keywords.iter().map(|keyword| place(at(keyword)).line);
            lines.position(|line| Some(line) == wanted.line)
        });
        let number = match (keywords.as_slice(), hinted) {
            ([], _) => {
                return Err(EditRefusal::StructNotFound {
                    file: file.to_owned(),
                    name: name.to_owned(),
                });
            }
            ([_], _) => 0,
            (all, Some(hinted)) if hinted < all.len() => hinted,
            ([first, second, ..], _) => {
                return Err(EditRefusal::DefinedTwice {
                    name: name.to_owned(),
                    first: place(at(first)),
                    second: place(at(second)),
                });
            }
        };
        let keyword = keywords.swap_remove(number);
        let braces = braces(&keyword.siblings[keyword.index + 2..])
            .ok_or_else(|| refused(at(&keyword), "it has no named fields"))?;
        let head = head(&keyword);
        let mut definition = RustStruct {
            file,
            source,
            name,
            number,
            head: tokens.bytes(&keyword.siblings[head]).start,
            open: tokens.open(braces),
            fields: Vec::new(),
            attributes: attributes_above(&tokens, &keyword.siblings[..head]),
        };
        definition.fields = definition.read_fields(&tokens, braces)?;
        Ok(definition)
    }

    /// Finds the definition again in a text with edits.
    pub fn find_again(&self, text: &'a str) -> Result<Self, EditRefusal> {
        Self::find(StructSource {
            file: self.file,
            text,
            name: self.name,
            line: None,
            number: Some(self.number),
        })
    }

    /// Reads the fields between the braces, up to the first that has no name.
    fn read_fields(
        &self,
        tokens: &RustTokens<'_>,
        braces: &Group,
    ) -> Result<Vec<RustField>, EditRefusal> {
        let inner: Vec<TokenTree> = braces.stream().into_iter().collect();
        let mut fields = Vec::new();
        let (mut next, mut from) = (0, self.open + 1);
        while let Some(field) = FieldTokens::read(&inner, next) {
            fields.push(self.read_field(tokens, &inner, &field, from)?);
            let Some(comma) = field.comma else { break };
            (next, from) = (comma + 1, tokens.bytes(&inner[comma]).end);
        }
        Ok(fields)
    }

    /// The field with its comments and attributes, of which the first may begin at byte `from`.
    fn read_field(
        &self,
        tokens: &RustTokens<'_>,
        inner: &[TokenTree],
        field: &FieldTokens,
        from: usize,
    ) -> Result<RustField, EditRefusal> {
        let source = self.source;
        let name = tokens.text(&inner[field.name]).to_owned();
        let is_own = |token: &&TokenTree| !matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
        let before_name = inner[field.first..field.name].iter().rev();
        let own = field.name - before_name.take_while(is_own).count();
        let own_start = tokens.bytes(&inner[own]).start;
        let type_end = tokens.bytes(&inner[field.last]).end;
        let end = field
            .comma
            .map_or(type_end, |comma| tokens.bytes(&inner[comma]).end);
        let line_end = next_line_start(source, end);
        let attributes: Vec<Range<usize>> = inner[field.first..own]
            .chunks(2)
            .map(|pair| tokens.bytes(&pair[0]).start..tokens.bytes(&pair[pair.len() - 1]).end)
            .collect();
        let above = self.pieces_above(from..own_start, &attributes);
        let first = above.first().map_or(own_start, |piece| piece.start);
        if !is_first_on_line(source, own_start)
            || !is_first_on_line(source, first)
            || !holds_comments_only(source, end..line_end)
        {
            return Err(EditRefusal::SharedLine {
                member: name,
                place: self.place_of(own_start),
            });
        }
        let own_line = line_start(source, own_start);
        let mut start = own_line;
        for piece in above.iter().rev() {
            // A comment that a blank line parts from the field is not about it.
            if next_line_start(source, piece.end) < start {
                break;
            }
            start = line_start(source, piece.start).min(start);
        }
        Ok(RustField {
            name,
            start,
            own_line,
            end: line_end,
            has_comma: field.comma.is_some(),
            type_end,
        })
    }

    /// Comments and attributes among these bytes, without comments on the line of the field before.
    fn pieces_above(&self, bytes: Range<usize>, attributes: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut at = bytes.start;
        while at < bytes.end {
            let attribute = attributes.iter().find(|attribute| attribute.start == at);
            let comment = comment_end(self.source, at);
            let on_line_before =
                comment.is_some() && pieces.is_empty() && !is_first_on_line(self.source, at);
            match (attribute.map(|attribute| attribute.end), comment) {
                (_, Some(end)) if on_line_before => at = end,
                (Some(end), _) | (None, Some(end)) => {
                    pieces.push(at..end);
                    at = end.max(at + 1);
                }
                (None, None) => at += 1,
            }
        }
        pieces
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

    /// Returns true if a `#[repr(...)]` has the word.
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

    /// The attribute `#[name(...)]` that has the word, and the token that is the word.
    fn attribute_word(&self, name: &str, word: &str) -> Option<(&RustAttribute, usize)> {
        let mut named = self
            .attributes
            .iter()
            .filter(|attribute| self.text(attribute, 1) == name);
        named.find_map(|attribute| {
            let found = (1..attribute.tokens.len()).find(|&at| self.text(attribute, at) == word);
            Some((attribute, found?))
        })
    }

    fn repr_attribute(&self) -> Option<&RustAttribute> {
        self.attributes
            .iter()
            .find(|attribute| self.text(attribute, 1) == "repr" && self.text(attribute, 2) == "(")
    }

    fn text(&self, attribute: &RustAttribute, token: usize) -> &'a str {
        let bytes = attribute.tokens.get(token).cloned();
        bytes.and_then(|bytes| self.source.get(bytes)).unwrap_or("")
    }

    /// Byte of the closing parenthesis of `#[repr(...)]`.
    pub fn repr_end(&self) -> Option<usize> {
        let [.., close, _] = &self.repr_attribute()?.tokens[..] else {
            return None;
        };
        Some(close.start)
    }

    /// First byte of `#[repr`.
    pub fn repr_start(&self) -> Option<usize> {
        Some(self.repr_attribute()?.start)
    }

    /// Bytes to cut for `align(N)` to be gone: with its comma, or the attribute with its line.
    pub fn align_range(&self) -> Option<Range<usize>> {
        let (attribute, align) = self.attribute_word("repr", "align")?;
        let tokens = &attribute.tokens;
        let last = self.closing(attribute, align + 1)?;
        if self.text(attribute, align - 1) == "," {
            return Some(tokens.get(align - 2)?.end..tokens[last].end);
        }
        if self.text(attribute, last + 1) == "," {
            return Some(tokens[align].start..tokens.get(last + 2)?.start);
        }
        let attribute = self.repr_attribute()?;
        let end = attribute.tokens.last()?.end;
        let next = next_line_start(self.source, end);
        let alone = is_first_on_line(self.source, attribute.start)
            && self.source[end..next].trim().is_empty();
        alone.then(|| line_start(self.source, attribute.start)..next)
    }

    /// The token that closes the parenthesis at token `open`.
    fn closing(&self, attribute: &RustAttribute, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..attribute.tokens.len() {
            match self.text(attribute, at) {
                "(" => depth += 1,
                ")" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return (at > open).then_some(at);
            }
        }
        None
    }
}

impl FieldTokens {
    /// Reads the field that begins at token `first`; `None` if no name is there.
    fn read(tokens: &[TokenTree], first: usize) -> Option<Self> {
        let (mut name, mut comma) = (None, None);
        let (mut at, mut angles) = (first, 0);
        while let Some(token) = tokens.get(at) {
            let previous = at.checked_sub(1).and_then(|before| tokens.get(before));
            if is_punct(token, ':') && at > first && name.is_none() {
                name = previous
                    .filter(|token| matches!(token, TokenTree::Ident(_)))
                    .map(|_| at - 1);
            } else if is_punct(token, ',') && angles == 0 {
                comma = Some(at);
                break;
            }
            angles = angle_depth(angles, previous, token);
            at += 1;
        }
        Some(Self {
            first,
            name: name?,
            last: at - 1,
            comma,
        })
    }
}

/// The braces behind a struct's name, its generics and where clause; `None` where there are no
/// named fields.
fn braces(tokens: &[TokenTree]) -> Option<&Group> {
    let (mut angles, mut bounds) = (0, false);
    let mut previous = None;
    for token in tokens {
        angles = angle_depth(angles, previous, token);
        match token {
            TokenTree::Ident(word) if word == "where" => bounds = true,
            TokenTree::Group(group) if angles == 0 => match group.delimiter() {
                Delimiter::Brace => return Some(group),
                Delimiter::Parenthesis if !bounds => return None,
                _ => {}
            },
            TokenTree::Punct(end) if end.as_char() == ';' && angles == 0 => return None,
            _ => {}
        }
        previous = Some(token);
    }
    None
}

/// Index of the first token of `pub(crate) struct`.
fn head(keyword: &StructKeyword) -> usize {
    let before = &keyword.siblings[..keyword.index];
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "pub");
    match before {
        [.., word] if is_pub(word) => keyword.index - 1,
        [.., word, TokenTree::Group(_)] if is_pub(word) => keyword.index - 2,
        _ => keyword.index,
    }
}

/// Attributes at the end of these tokens, from the last; comments of documentation are left out.
fn attributes_above(tokens: &RustTokens<'_>, mut before: &[TokenTree]) -> Vec<RustAttribute> {
    let mut attributes = Vec::new();
    while let [rest @ .., sign, TokenTree::Group(group)] = before
        && is_punct(sign, '#')
        && group.delimiter() == Delimiter::Bracket
    {
        let is_comment = tokens.text(sign) != "#";
        if !is_comment {
            attributes.push(RustAttribute {
                start: tokens.bytes(sign).start,
                tokens: tokens.flattened(group),
            });
        }
        before = rest;
    }
    attributes
}

/// Returns true if the bytes hold white space and whole comments only.
fn holds_comments_only(source: &str, bytes: Range<usize>) -> bool {
    let mut at = bytes.start;
    while at < bytes.end {
        at = match comment_end(source, at) {
            Some(end) if end <= bytes.end => end,
            None if source.as_bytes()[at].is_ascii_whitespace() => at + 1,
            _ => return false,
        };
    }
    true
}

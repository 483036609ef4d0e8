//! Where in a file a struct is defined, and where in a struct a member is declared.

use crate::body::{Body, Item, parse};
use crate::declarator::{Reader, What, is_attribute, is_keyword};
use crate::lex::{Kind, Token, lex, pair_brackets};
use crate::lines::line_number;
use crate::refusal::{Place, Refusal};

/// A text with its tokens.
pub(crate) struct File<'a> {
    pub name: &'a str,
    pub source: &'a str,
    pub tokens: Vec<Token>,
    pub pairs: Vec<Option<usize>>,
}

/// A definition found: its body, and where it is.
pub(crate) struct Definition {
    pub name: String,
    pub body: Body,
    pub place: Place,
}

/// Steps into nested bodies, then the index of the item in the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemPath {
    pub bodies: Vec<usize>,
    pub item: usize,
}

impl<'a> File<'a> {
    pub fn new(name: &'a str, source: &'a str) -> Self {
        let tokens = lex(source);
        let pairs = pair_brackets(source, &tokens);
        File {
            name,
            source,
            tokens,
            pairs,
        }
    }

    pub fn reader(&self) -> Reader<'_> {
        Reader {
            source: self.source,
            tokens: &self.tokens,
            pairs: &self.pairs,
        }
    }

    pub fn place(&self, token: usize) -> Place {
        let at = self.tokens.get(token).map_or(0, |token| token.start);
        Place {
            file: self.name.to_owned(),
            line: line_number(self.source, at),
        }
    }

    /// The one definition of `struct name`, or of an unnamed struct with the typedef `name`.
    pub fn definition(&self, name: &str, line_hint: Option<u32>) -> Result<Definition, Refusal> {
        let mut found = self.openings(name);
        if found.is_empty() {
            found = self.typedef_openings(name);
        }
        let Some(&(open, is_union)) = found.first() else {
            return Err(Refusal::StructNotFound {
                file: self.name.to_owned(),
                name: name.to_owned(),
            });
        };
        if let Some(&(again, _)) = found.get(1) {
            let (mut first, mut second) = (self.place(open), self.place(again));
            if line_hint == Some(second.line) {
                std::mem::swap(&mut first, &mut second);
            }
            return Err(Refusal::DefinedTwice {
                name: name.to_owned(),
                first,
                second,
            });
        }
        let place = self.place(open);
        if is_union {
            return Err(Refusal::Union {
                name: name.to_owned(),
                place,
            });
        }
        let close = self.pairs[open].ok_or(Refusal::CutByPreprocessor {
            place: place.clone(),
        })?;
        let body = parse(&self.reader(), open, close, false).map_err(|cut| {
            Refusal::CutByPreprocessor {
                place: self.place(cut.0),
            }
        })?;
        Ok(Definition {
            name: name.to_owned(),
            body,
            place,
        })
    }

    /// Opening braces behind `struct name` or `union name`, and whether it is a union.
    fn openings(&self, name: &str) -> Vec<(usize, bool)> {
        let reader = self.reader();
        (0..self.tokens.len())
            .filter(|&at| self.tokens[at].kind == Kind::Ident && reader.text(at) == name)
            .filter_map(|at| Some((self.brace_behind(at + 1)?, self.keyword_before(at)?)))
            .collect()
    }

    /// Opening braces of `typedef struct { ... } name;`.
    fn typedef_openings(&self, name: &str) -> Vec<(usize, bool)> {
        let reader = self.reader();
        let code: Vec<usize> = (0..self.tokens.len())
            .filter(|&at| self.is_code(at))
            .collect();
        let mut found = Vec::new();
        for window in code.windows(3) {
            let &[close, at, semicolon] = window else {
                continue;
            };
            let named = reader.text(at) == name && reader.text(semicolon) == ";";
            if named
                && reader.text(close) == "}"
                && let Some(open) = self.pairs[close]
                && let Some(is_union) = self.keyword_before(open)
                && self.typedef_before(open)
            {
                found.push((open, is_union));
            }
        }
        found
    }

    fn typedef_before(&self, open: usize) -> bool {
        let reader = self.reader();
        (0..open)
            .rev()
            .filter(|&at| self.is_code(at))
            .map(|at| reader.text(at))
            .take_while(|text| !matches!(*text, ";" | "}" | "{"))
            .any(|text| text == "typedef")
    }

    fn is_code(&self, at: usize) -> bool {
        !matches!(self.tokens[at].kind, Kind::Comment | Kind::Directive)
    }

    /// The opening brace behind token `at`, with nothing but attributes between.
    fn brace_behind(&self, mut at: usize) -> Option<usize> {
        let reader = self.reader();
        while at < self.tokens.len() {
            let text = reader.text(at);
            match text {
                "{" => return Some(at),
                "(" if is_attribute(reader.text(at.wrapping_sub(1))) => at = self.pairs[at]?,
                _ if !self.is_code(at) || is_attribute(text) => {}
                _ => return None,
            }
            at += 1;
        }
        None
    }

    /// Whether the keyword before token `at`, over attributes, is `union` (or `struct`).
    fn keyword_before(&self, at: usize) -> Option<bool> {
        let reader = self.reader();
        let mut at = at.checked_sub(1)?;
        loop {
            let text = reader.text(at);
            match text {
                "struct" => return Some(false),
                "union" => return Some(true),
                ")" => at = self.pairs[at]?,
                _ if !self.is_code(at) || is_attribute(text) => {}
                _ => return None,
            }
            at = at.checked_sub(1)?;
        }
    }
}

impl Definition {
    /// Finds a member by its path; members of anonymous structs by their own name.
    pub fn member(&self, file: &File<'_>, member: &str) -> Result<ItemPath, Refusal> {
        let segments: Vec<&str> = member.split('.').collect();
        let mut found = Vec::new();
        collect(&self.body, &segments, &mut Vec::new(), &mut found);
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [first, second, ..] => Err(Refusal::MemberTwice {
                member: member.to_owned(),
                first: file.place(self.item(first).first),
                second: file.place(self.item(second).first),
            }),
            [] => Err(self.why_missing(file, member, &segments)),
        }
    }

    fn why_missing(&self, file: &File<'_>, member: &str, segments: &[&str]) -> Refusal {
        let name = segments.last().copied().unwrap_or(member);
        match hidden_in(&self.body, file, name) {
            Some(at) => Refusal::MacroMember {
                member: member.to_owned(),
                place: file.place(at),
            },
            None => Refusal::MemberNotFound {
                name: self.name.clone(),
                member: member.to_owned(),
                place: self.place.clone(),
            },
        }
    }

    /// The body that holds the item.
    pub fn body_of(&self, path: &ItemPath) -> &Body {
        let mut body = &self.body;
        for &step in &path.bodies {
            if let Some(inner) = body.items.get(step).and_then(|item| item.body.as_deref()) {
                body = inner;
            }
        }
        body
    }

    /// The item itself.
    pub fn item(&self, path: &ItemPath) -> &Item {
        &self.body_of(path).items[path.item]
    }

    /// Whether the item or one that it lies in is a member of a union.
    pub fn in_union(&self, path: &ItemPath) -> bool {
        let mut body = &self.body;
        path.bodies.iter().any(|&step| {
            let was = body.is_union;
            if let Some(inner) = body.items.get(step).and_then(|item| item.body.as_deref()) {
                body = inner;
            }
            was
        }) || body.is_union
    }
}

fn collect(body: &Body, segments: &[&str], steps: &mut Vec<usize>, found: &mut Vec<ItemPath>) {
    let Some((head, rest)) = segments.split_first() else {
        return;
    };
    for (index, item) in body.items.iter().enumerate() {
        let named = item.names.iter().any(|name| name == head);
        if named && rest.is_empty() {
            found.push(ItemPath {
                bodies: steps.clone(),
                item: index,
            });
        }
        if let Some(inner) = item.body.as_deref() {
            let inwards = if named { rest } else { segments };
            if (named && !rest.is_empty()) || item.names.is_empty() {
                steps.push(index);
                collect(inner, inwards, steps, found);
                steps.pop();
            }
        }
    }
}

/// The token of `name` inside a macro or a statement that is not understood.
fn hidden_in(body: &Body, file: &File<'_>, name: &str) -> Option<usize> {
    body.items.iter().find_map(|item| {
        if matches!(item.what, What::Macro | What::Unsure) && !is_keyword(name) {
            let reader = file.reader();
            if let Some(at) = (item.first..=item.last).find(|&at| reader.text(at) == name) {
                return Some(at);
            }
        }
        hidden_in(item.body.as_deref()?, file, name)
    })
}

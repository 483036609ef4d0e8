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
    /// Which of the file's definitions of that name, counted from 0.
    pub nth: usize,
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

    /// The definition of `struct name`, or of an unnamed struct with the typedef `name`: the only
    /// one, or the one at `line_hint`.
    pub fn definition(&self, name: &str, line_hint: Option<u32>) -> Result<Definition, Refusal> {
        let found = self.all_openings(name);
        let hinted = |&(open, _): &(usize, bool)| {
            let head = self.head(open);
            let lines = self.place(head).line..=self.place(open).line;
            line_hint.is_some_and(|line| lines.contains(&line))
        };
        match found.as_slice() {
            [] | [_] => self.definition_nth(name, 0),
            [(first, _), (second, _), ..] => match found.iter().position(hinted) {
                Some(nth) => self.definition_nth(name, nth),
                None => Err(Refusal::DefinedTwice {
                    name: name.to_owned(),
                    first: self.place(*first),
                    second: self.place(*second),
                }),
            },
        }
    }

    /// The definition that `old` was before an edit.
    pub fn definition_at(&self, old: &Definition) -> Result<Definition, Refusal> {
        self.definition_nth(&old.name, old.nth)
    }

    /// One of the definitions in the file, counted from 0.
    pub fn definition_nth(&self, name: &str, nth: usize) -> Result<Definition, Refusal> {
        let Some(&(open, is_union)) = self.all_openings(name).get(nth) else {
            return Err(Refusal::StructNotFound {
                file: self.name.to_owned(),
                name: name.to_owned(),
            });
        };
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
            nth,
            body,
            place,
        })
    }

    fn all_openings(&self, name: &str) -> Vec<(usize, bool)> {
        let found = self.openings(name);
        match found.is_empty() {
            true => self.typedef_openings(name),
            false => found,
        }
    }

    /// The first token of the words in front of an opening brace: `struct name`, `typedef struct`.
    pub fn head(&self, open: usize) -> usize {
        let reader = self.reader();
        let words = (0..open).rev().take_while(|&at| {
            self.tokens[at].kind == Kind::Ident || matches!(reader.text(at), "(" | ")")
        });
        words.last().unwrap_or(open)
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
        match self.members(file, member)?.as_slice() {
            [first, second, ..] => Err(Refusal::MemberTwice {
                member: member.to_owned(),
                first: file.place(self.item(first).first),
                second: file.place(self.item(second).first),
            }),
            found => Ok(found[0].clone()),
        }
    }

    /// All declarations of a member, of which there is one but for branches of an `#if`; never
    /// none.
    pub fn members(&self, file: &File<'_>, member: &str) -> Result<Vec<ItemPath>, Refusal> {
        let segments: Vec<&str> = member.split('.').collect();
        let mut found = Vec::new();
        collect(&self.body, &segments, &mut Vec::new(), &mut found);
        match found.is_empty() {
            true => Err(self.why_missing(file, member, &segments)),
            false => Ok(found),
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

    /// The token that packs the whole struct, before its opening or behind its closing brace, or the
    /// `#pragma pack` that holds there.
    pub fn packed(&self, file: &File<'_>) -> Option<usize> {
        let reader = file.reader();
        let end = (self.body.close..file.tokens.len()).find(|&at| reader.text(at) == ";");
        let behind = self.body.close..end.unwrap_or(self.body.close);
        (file.head(self.body.open)..self.body.open)
            .chain(behind)
            .find(|&at| matches!(reader.text(at), "__packed" | "packed" | "__packed__"))
            .or_else(|| pragma_pack(file, self.body.open))
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
        let mut own = item.names.iter().chain(&item.group_name);
        let named = own.any(|name| name == head);
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

/// The `#pragma pack` that holds at token `at`.
fn pragma_pack(file: &File<'_>, at: usize) -> Option<usize> {
    let (mut holds, mut pushed) = (None, Vec::new());
    let directives = (0..at).filter(|&at| file.tokens[at].kind == Kind::Directive);
    for directive in directives {
        let text = file.tokens[directive].text(file.source);
        let text = text.trim_start_matches('#').trim_start();
        let Some(rest) = text.strip_prefix("pragma") else {
            continue;
        };
        let words: Vec<&str> = lex(rest).iter().map(|token| token.text(rest)).collect();
        match words.as_slice() {
            ["pack", "(", "push", rest @ ..] => {
                pushed.push(holds);
                if rest.len() > 1 {
                    holds = Some(directive);
                }
            }
            ["pack", "(", "pop", ..] => holds = pushed.pop().flatten(),
            ["pack", "(", ")"] => holds = None,
            ["pack", "(", ..] => holds = Some(directive),
            _ => {}
        }
    }
    holds
}

/// The token of `name` inside a statement that is not understood, or the macro that the file defines with it.
fn hidden_in(body: &Body, file: &File<'_>, name: &str) -> Option<usize> {
    body.items.iter().find_map(|item| {
        if matches!(item.what, What::Macro | What::Unsure) && !is_keyword(name) {
            let reader = file.reader();
            if let Some(at) = (item.first..=item.last).find(|&at| reader.text(at) == name) {
                return Some(at);
            }
            if defined_with(file, reader.text(item.first), name) {
                return Some(item.first);
            }
        }
        hidden_in(item.body.as_deref()?, file, name)
    })
}

/// Whether the file has a `#define` of the macro with the word in it.
fn defined_with(file: &File<'_>, name: &str, word: &str) -> bool {
    let directives = { file.tokens.iter() }.filter(|token| token.kind == Kind::Directive);
    directives.map(|token| token.text(file.source)).any(|text| {
        let mut words = lex(text.trim_start_matches('#')).into_iter();
        let text = text.trim_start_matches('#');
        let mut next = || words.next().map(|token| token.text(text));
        next() == Some("define")
            && next() == Some(name)
            && words.any(|token| token.text(text) == word)
    })
}

//! Search for a struct's definition in a file, and for a member's declaration in a struct.

use crate::body::{BodyStatement, BracedBody, parse_body};
use crate::declarator::{StatementKind, is_attribute, is_keyword};
use crate::language::StructSource;
use crate::lex::{TokenIndex, TokenKind, lex};
use crate::refusal::{EditRefusal, FileLine};
use crate::tokenized::TokenizedFile;

/// A struct's definition: its body, and its place in the file.
pub(crate) struct StructDefinition {
    pub name: String,
    /// Number among the file's definitions of that name, from 0.
    pub nth: usize,
    pub body: BracedBody,
    pub place: FileLine,
}

/// Path of a statement: indexes of the statements whose bodies hold it, outermost first, and its
/// own index in the last body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatementPath {
    pub bodies: Vec<usize>,
    pub statement: usize,
}

impl TokenizedFile<'_> {
    /// Finds the definition of `struct name`, or of an unnamed struct with the typedef or variable
    /// `name`: the only one, or the one at `line_hint`.
    pub fn find_definition(
        &self,
        name: &str,
        line_hint: Option<u32>,
    ) -> Result<StructDefinition, EditRefusal> {
        self.find_type_definition(name, line_hint)?.refuse_union()
    }

    /// As [`find_definition`](Self::find_definition), also of a union.
    fn find_type_definition(
        &self,
        name: &str,
        line_hint: Option<u32>,
    ) -> Result<StructDefinition, EditRefusal> {
        let found = self.definition_openings(name);
        let hinted = |&(open, _): &(TokenIndex, bool)| {
            let head = self.head_token(open);
            let lines = self.place(head).line..=self.place(open).line;
            line_hint.is_some_and(|line| lines.contains(&line))
        };
        match found.as_slice() {
            [] | [_] => self.nth_type_definition(name, 0),
            [(first, _), (second, _), ..] => match found.iter().position(hinted) {
                Some(nth) => self.nth_type_definition(name, nth),
                None => Err(EditRefusal::DefinedTwice {
                    name: name.to_owned(),
                    first: self.place(*first),
                    second: self.place(*second),
                }),
            },
        }
    }

    /// Finds the struct or union of `source`, by its number where it is known.
    pub fn find_struct(&self, source: StructSource<'_>) -> Result<StructDefinition, EditRefusal> {
        match source.number {
            Some(number) => self.nth_type_definition(source.name, number),
            None => self.find_type_definition(source.name, source.line),
        }
    }

    /// Finds the definition `old` again after an edit.
    pub fn find_same_definition(
        &self,
        old: &StructDefinition,
    ) -> Result<StructDefinition, EditRefusal> {
        self.nth_type_definition(&old.name, old.nth)
    }

    /// Finds a struct's or union's definition by its number in the file, from 0.
    pub fn nth_type_definition(
        &self,
        name: &str,
        nth: usize,
    ) -> Result<StructDefinition, EditRefusal> {
        let Some(&(open, is_union)) = self.definition_openings(name).get(nth) else {
            return Err(EditRefusal::StructNotFound {
                file: self.name.to_owned(),
                name: name.to_owned(),
            });
        };
        let place = self.place(open);
        let close = self.pairs[open].ok_or(EditRefusal::CutByPreprocessor {
            place: place.clone(),
        })?;
        let body = parse_body(self, open, close, is_union).map_err(|cut| {
            EditRefusal::CutByPreprocessor {
                place: self.place(cut.0),
            }
        })?;
        Ok(StructDefinition {
            name: name.to_owned(),
            nth,
            body,
            place,
        })
    }

    fn definition_openings(&self, name: &str) -> Vec<(TokenIndex, bool)> {
        let found = self.tag_openings(name);
        match found.is_empty() {
            true => self.typedef_openings(name),
            false => found,
        }
    }

    /// Opening braces behind `struct name` or `union name`; the flag is true for a union.
    fn tag_openings(&self, name: &str) -> Vec<(TokenIndex, bool)> {
        self.tokens
            .indexes()
            .filter(|&at| self.tokens[at].kind == TokenKind::Ident && self.text(at) == name)
            .filter_map(|at| Some((self.brace_behind(at + 1)?, self.is_union_before(at)?)))
            .collect()
    }

    /// Opening braces of `typedef struct { ... } name;`, and of `struct { ... } name[4];`, which
    /// declares a variable with a type of its own.
    fn typedef_openings(&self, name: &str) -> Vec<(TokenIndex, bool)> {
        let closes = self.tokens.indexes().filter(|&at| self.text(at) == "}");
        closes
            .filter_map(|close| {
                let declared = self.code_behind_attributes(close + 1)?;
                let open = self.pairs[close]?;
                let is_union = self.is_union_before(open)?;
                let next = self.code_behind_attributes(declared + 1)?;
                let ends = match self.is_typedef_before(open) {
                    true => matches!(self.text(next), ";"),
                    false => matches!(self.text(next), ";" | "[" | "=" | ","),
                };
                (self.text(declared) == name && ends).then_some((open, is_union))
            })
            .collect()
    }

    /// First token of code from `at` on that belongs to no attribute.
    fn code_behind_attributes(&self, mut at: TokenIndex) -> Option<TokenIndex> {
        while at < self.tokens.end() {
            let text = self.text(at);
            match text {
                "(" if is_attribute(self.text_before(at)) => at = self.pairs[at]?,
                _ if !self.is_code(at) || is_attribute(text) => {}
                _ => return Some(at),
            }
            at += 1;
        }
        None
    }

    fn is_typedef_before(&self, open: TokenIndex) -> bool {
        open.all_before()
            .rev()
            .filter(|&at| self.is_code(at))
            .map(|at| self.text(at))
            .take_while(|text| !matches!(*text, ";" | "}" | "{"))
            .any(|text| text == "typedef")
    }

    /// Opening brace behind token `at`, with nothing but attributes between.
    fn brace_behind(&self, mut at: TokenIndex) -> Option<TokenIndex> {
        while at < self.tokens.end() {
            let text = self.text(at);
            match text {
                "{" => return Some(at),
                "(" if is_attribute(self.text_before(at)) => at = self.pairs[at]?,
                _ if !self.is_code(at) || is_attribute(text) => {}
                _ => return None,
            }
            at += 1;
        }
        None
    }

    /// Returns true if the keyword before token `at`, over attributes, is `union`; false for
    /// `struct`; `None` for others.
    fn is_union_before(&self, at: TokenIndex) -> Option<bool> {
        let mut at = at.previous()?;
        loop {
            let text = self.text(at);
            match text {
                "struct" => return Some(false),
                "union" => return Some(true),
                ")" => at = self.pairs[at]?,
                _ if !self.is_code(at) || is_attribute(text) => {}
                _ => return None,
            }
            at = at.previous()?;
        }
    }
}

impl StructDefinition {
    /// Returns the definition, or the refusal of a union, whose members have no order.
    pub fn refuse_union(self) -> Result<Self, EditRefusal> {
        match self.body.is_union {
            true => Err(EditRefusal::InUnion {
                name: self.name,
                place: self.place,
            }),
            false => Ok(self),
        }
    }

    /// Finds a member by its path; members of anonymous structs by their own name, and an unnamed
    /// member of a tagged struct by its tag (`struct counters`).
    pub fn find_member(
        &self,
        file: &TokenizedFile<'_>,
        member: &str,
    ) -> Result<StatementPath, EditRefusal> {
        match self.find_members(file, member)?.as_slice() {
            [first, second, ..] => Err(EditRefusal::MemberTwice {
                member: member.to_owned(),
                first: file.place(self.statement(first).first),
                second: file.place(self.statement(second).first),
            }),
            found => Ok(found[0].clone()),
        }
    }

    /// All declarations of a member, at least one. Several are in different branches of an `#if`.
    pub fn find_members(
        &self,
        file: &TokenizedFile<'_>,
        member: &str,
    ) -> Result<Vec<StatementPath>, EditRefusal> {
        let segments: Vec<&str> = member.split('.').collect();
        let mut found = Vec::new();
        collect_paths(&self.body, &segments, &mut Vec::new(), &mut found);
        match found.is_empty() {
            true => Err(self.missing_member_refusal(file, member, &segments)),
            false => Ok(found),
        }
    }

    fn missing_member_refusal(
        &self,
        file: &TokenizedFile<'_>,
        member: &str,
        segments: &[&str],
    ) -> EditRefusal {
        let name = segments.last().copied().unwrap_or(member);
        match hidden_name_token(&self.body, file, name) {
            Some(at) => EditRefusal::MacroMember {
                member: member.to_owned(),
                place: file.place(at),
            },
            None => EditRefusal::MemberNotFound {
                name: self.name.clone(),
                member: member.to_owned(),
                place: self.place.clone(),
            },
        }
    }

    /// Token that packs the whole struct: an attribute of the struct, or the `#pragma pack` in
    /// force.
    pub fn packed_token(&self, file: &TokenizedFile<'_>) -> Option<TokenIndex> {
        let behind = (self.body.close).until(file.declaration_end(self.body.close));
        file.head_token(self.body.open)
            .until(self.body.open)
            .chain(behind)
            .find(|&at| matches!(file.text(at), "__packed" | "packed" | "__packed__"))
            .or_else(|| pragma_pack_at(file, self.body.open))
    }

    /// The body that holds the statement.
    pub fn body_of(&self, path: &StatementPath) -> &BracedBody {
        let mut body = &self.body;
        for &step in &path.bodies {
            if let Some(inner) = body
                .statements
                .get(step)
                .and_then(|statement| statement.body.as_deref())
            {
                body = inner;
            }
        }
        body
    }

    /// The statement itself.
    pub fn statement(&self, path: &StatementPath) -> &BodyStatement {
        &self.body_of(path).statements[path.statement]
    }

    /// Returns true if the statement, or a statement around it, is a member of a union.
    pub fn is_in_union(&self, path: &StatementPath) -> bool {
        let mut body = &self.body;
        path.bodies.iter().any(|&step| {
            let was_union = body.is_union;
            if let Some(inner) = body
                .statements
                .get(step)
                .and_then(|statement| statement.body.as_deref())
            {
                body = inner;
            }
            was_union
        }) || body.is_union
    }
}

fn collect_paths(
    body: &BracedBody,
    segments: &[&str],
    steps: &mut Vec<usize>,
    found: &mut Vec<StatementPath>,
) {
    let Some((head, rest)) = segments.split_first() else {
        return;
    };
    for (index, statement) in body.statements.iter().enumerate() {
        let mut own = statement.names.iter().chain(&statement.group_name);
        let named = own.any(|name| name == head);
        if named && rest.is_empty() {
            found.push(StatementPath {
                bodies: steps.clone(),
                statement: index,
            });
        }
        if let Some(inner) = statement.body.as_deref() {
            let inwards = if named { rest } else { segments };
            if (named && !rest.is_empty()) || statement.names.is_empty() {
                steps.push(index);
                collect_paths(inner, inwards, steps, found);
                steps.pop();
            }
        }
    }
}

/// The `#pragma pack` in force at token `at`.
fn pragma_pack_at(file: &TokenizedFile<'_>, at: TokenIndex) -> Option<TokenIndex> {
    let (mut holds, mut pushed) = (None, Vec::new());
    let directives = at
        .all_before()
        .filter(|&at| file.tokens[at].kind == TokenKind::Directive);
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

/// Token of `name` in a statement that is not understood, or of the macro that the file defines
/// with it.
fn hidden_name_token(
    body: &BracedBody,
    file: &TokenizedFile<'_>,
    name: &str,
) -> Option<TokenIndex> {
    body.statements.iter().find_map(|statement| {
        if matches!(
            statement.kind,
            StatementKind::Macro | StatementKind::NotUnderstood
        ) && !is_keyword(name)
        {
            if let Some(at) = statement
                .first
                .through(statement.last)
                .find(|&at| file.text(at) == name)
            {
                return Some(at);
            }
            if is_defined_with(file, file.text(statement.first), name) {
                return Some(statement.first);
            }
        }
        hidden_name_token(statement.body.as_deref()?, file, name)
    })
}

/// Returns true if the file has a `#define` of macro `name` with `word` in it.
fn is_defined_with(file: &TokenizedFile<'_>, name: &str, word: &str) -> bool {
    let directives = { file.tokens.iter() }.filter(|token| token.kind == TokenKind::Directive);
    directives.map(|token| token.text(file.source)).any(|text| {
        let mut words = lex(text.trim_start_matches('#')).into_iter();
        let text = text.trim_start_matches('#');
        let mut next = || words.next().map(|token| token.text(text));
        next() == Some("define")
            && next() == Some(name)
            && words.any(|token| token.text(text) == word)
    })
}

//! Types of variables, by their declarations in a file.

use std::collections::BTreeMap;

use super::code_view::CodeView;

/// Type of a variable, or of what it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VariableType {
    /// The struct whose uses are sought.
    Subject,
    /// A struct at offset 0 of it.
    First,
    /// Another type.
    Other,
    /// The file does not show it.
    Unknown,
}

/// Declarations of variables and parameters, by name, in the order of the file.
#[derive(Default)]
pub(super) struct DeclaredVariables<'a> {
    by_name: BTreeMap<&'a str, Vec<(usize, VariableType)>>,
}

impl<'a> DeclaredVariables<'a> {
    /// Reads all declarations that the file shows.
    pub fn read(code: &CodeView<'a>) -> Self {
        let mut variables = Self::default();
        let mut position = 0;
        while position < code.len() {
            position += match named_type(code, position) {
                Some((kind, tokens)) => {
                    variables.add_declarators(code, position + tokens, kind);
                    tokens
                }
                None => 1,
            };
        }
        variables
    }

    /// Type of `name` by its nearest declaration in front of `position`.
    pub fn type_at(&self, name: &str, position: usize) -> VariableType {
        let declared = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let count = declared.partition_point(|(at, _)| *at < position);
        let nearest = count.checked_sub(1).and_then(|last| declared.get(last));
        nearest.map_or(VariableType::Unknown, |(_, kind)| *kind)
    }

    /// Adds `*name, *name = value` behind a type.
    fn add_declarators(&mut self, code: &CodeView<'a>, start: usize, kind: VariableType) {
        let mut at = start;
        loop {
            while is_decoration(code.word(at)) {
                at += 1;
            }
            if !code.is_ident(at) || !ends_declarator(code.word(at + 1)) {
                return;
            }
            self.by_name
                .entry(code.word(at))
                .or_default()
                .push((at, kind));
            let Some(comma) = next_declarator(code, at + 1) else {
                return;
            };
            at = comma + 1;
            // A parameter, with a type of its own.
            let is_name =
                code.word(at) == "*" || code.is_ident(at) && ends_declarator(code.word(at + 1));
            if !is_name {
                return;
            }
        }
    }
}

/// Comma behind the declarator whose name ends before `position`.
fn next_declarator(code: &CodeView<'_>, position: usize) -> Option<usize> {
    let mut at = position;
    loop {
        match code.word(at) {
            "," => return Some(at),
            "(" | "[" | "{" => at = code.close_of(at)?,
            "" | ";" | ")" | "}" => return None,
            _ => {}
        }
        at += 1;
    }
}

/// Type that is named at `position` in front of a declarator, and the number of its tokens.
fn named_type(code: &CodeView<'_>, position: usize) -> Option<(VariableType, usize)> {
    if !code.is_ident(position) {
        return None;
    }
    if let tokens @ 1.. = code.subject_tokens(position) {
        return Some((VariableType::Subject, tokens));
    }
    if let Some((_, tokens)) = code.first_type(position) {
        return Some((VariableType::First, tokens));
    }
    match code.word(position) {
        "struct" | "union" | "class" | "enum" => Some((VariableType::Other, 2)),
        "char" | "int" | "long" | "short" | "unsigned" | "signed" | "float" | "double" | "bool"
        | "u8" | "u16" | "u32" | "u64" | "size_t" => Some((VariableType::Other, 1)),
        word if is_statement_word(word) => None,
        // Any other name in front of a name is a type.
        _ => is_type_position(code, position).then_some((VariableType::Unknown, 1)),
    }
}

/// Returns true where a statement or parameter may begin.
fn is_type_position(code: &CodeView<'_>, position: usize) -> bool {
    let before = position.checked_sub(1).map_or(";", |at| code.word(at));
    let begins = matches!(before, ";" | "{" | "}" | "(" | "," | "const" | "static");
    begins && (is_decoration(code.word(position + 1)) || code.is_ident(position + 1))
}

fn is_statement_word(word: &str) -> bool {
    matches!(
        word,
        "return" | "goto" | "else" | "sizeof" | "case" | "const" | "static" | "extern" | "typedef"
    )
}

/// Returns true for what stands between a type and a name.
fn is_decoration(word: &str) -> bool {
    matches!(word, "*" | "&" | "const" | "volatile" | "restrict")
        || matches!(
            word,
            "__rcu" | "__user" | "__percpu" | "__iomem" | "__restrict"
        )
}

fn ends_declarator(word: &str) -> bool {
    matches!(word, "," | ";" | "=" | ")" | "[" | ":")
}

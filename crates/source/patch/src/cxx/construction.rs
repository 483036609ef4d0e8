//! The order in which members are initialised: that of their declarations, whatever the order in a
//! constructor's list. Compilers warn (`-Wreorder`) if the two differ.

use std::collections::BTreeSet;
use std::ops::Range;

use super::class::{CxxClass, CxxMember, data_members, member_names};
use crate::lex::{TokenIndex, TokenKind};
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Initialisation of one member, by its declaration or by a constructor.
struct MemberInitializer {
    member: String,
    /// Names in its value that are none of the constructor's parameters.
    mentions: BTreeSet<String>,
    /// True if the value may lead to any member: it has `this`, or calls a function of the class.
    is_indirect: bool,
    first: TokenIndex,
}

/// First and last token of a value.
type ValueTokens = (TokenIndex, TokenIndex);

/// An entry of a constructor's list: the name, and its bytes in the source.
struct ListEntry {
    name: String,
    bytes: Range<usize>,
    /// Tokens of the value, brackets included.
    value: ValueTokens,
}

/// List of a constructor.
struct ConstructorList {
    /// Names in its parameters.
    parameters: BTreeSet<String>,
    entries: Vec<ListEntry>,
}

/// Refuses a class whose members are initialised in another file, or by position.
pub(super) fn refuse_fixed_order(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
) -> Result<(), EditRefusal> {
    if let Some(at) = constructor_elsewhere(file, class) {
        return Err(EditRefusal::ConstructedElsewhere {
            name: class.name.clone(),
            place: file.place(at),
        });
    }
    if !has_constructor(file, class)
        && let Some(at) = positional_value(file, class)
    {
        return Err(EditRefusal::ValuesByPosition {
            name: class.name.clone(),
            place: file.place(at),
        });
    }
    Ok(())
}

/// Refuses to move `moved` over the members `crossed` where the initialisation of one uses the other,
/// or may do so.
pub(super) fn refuse_dependent_order(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    moved: &str,
    crossed: &[String],
) -> Result<(), EditRefusal> {
    let members = data_members(file, class);
    let is_crossed = |name: &String| crossed.contains(name);
    for initializer in initializers(file, class, &members) {
        let uses = |name: &str| initializer.is_indirect || initializer.mentions.contains(name);
        let other = match initializer.member == moved {
            true => crossed.iter().find(|name| uses(name)),
            false => Some(&initializer.member).filter(|name| is_crossed(name) && uses(moved)),
        };
        if let Some(other) = other {
            return Err(EditRefusal::InitializedInOrder {
                member: moved.to_owned(),
                other: other.clone(),
                place: file.place(initializer.first),
            });
        }
    }
    Ok(())
}

/// Returns the text with the entries of constructors' lists in the order of the declarations, where
/// they were in the order `before`.
pub(super) fn reorder_lists(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    before: &[String],
) -> String {
    let after = member_names(file, class);
    let rank = |order: &[String], entry: &ListEntry| order.iter().position(|n| *n == entry.name);
    let mut text = file.source.to_owned();
    for list in constructor_lists(file, class).into_iter().rev() {
        let slots: Vec<&ListEntry> = { list.entries.iter() }
            .filter(|entry| rank(&after, entry).is_some())
            .collect();
        if !slots.is_sorted_by_key(|entry| rank(before, entry)) {
            continue;
        }
        let mut sorted = slots.clone();
        sorted.sort_by_key(|entry| rank(&after, entry));
        for (slot, entry) in slots.iter().zip(&sorted).rev() {
            text.replace_range(slot.bytes.clone(), &file.source[entry.bytes.clone()]);
        }
    }
    text
}

fn initializers(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    members: &[CxxMember],
) -> Vec<MemberInitializer> {
    let functions = function_names(file, class, members);
    let initializer = |member: &str, value: ValueTokens, parameters: &BTreeSet<String>| {
        let mut mentions = names_between(file, value);
        mentions.retain(|name| !parameters.contains(name));
        MemberInitializer {
            member: member.to_owned(),
            is_indirect: mentions.contains("this") || calls_one_of(file, value, &functions),
            mentions,
            first: value.0,
        }
    };
    let mut found = Vec::new();
    for member in members {
        let mut tokens = member.first.through(member.last);
        if let Some(name) = tokens.rfind(|&at| file.text(at) == member.name) {
            let value = (name + 1, member.last);
            found.push(initializer(&member.name, value, &BTreeSet::new()));
        }
    }
    for list in constructor_lists(file, class) {
        for entry in &list.entries {
            found.push(initializer(&entry.name, entry.value, &list.parameters));
        }
    }
    found
}

fn names_between(file: &TokenizedFile<'_>, (first, last): ValueTokens) -> BTreeSet<String> {
    { first.through(last) }
        .filter(|&at| file.tokens[at].kind == TokenKind::Ident)
        .map(|at| file.text(at).to_owned())
        .collect()
}

/// True if a function among `functions` is called, of this object.
fn calls_one_of(
    file: &TokenizedFile<'_>,
    (first, last): ValueTokens,
    functions: &BTreeSet<String>,
) -> bool {
    first.through(last).any(|at| {
        let is_of_another = matches!(file.text_before(at), "." | ">" | ":");
        file.text(at + 1) == "(" && functions.contains(file.text(at)) && !is_of_another
    })
}

/// Names of the class's functions.
fn function_names(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    members: &[CxxMember],
) -> BTreeSet<String> {
    let tokens = file.outside_brackets(class.open + 1, class.close);
    let names = tokens.filter(|&at| {
        let is_name = file.tokens[at].kind == TokenKind::Ident && file.text(at) != class.name;
        is_name && file.text(at + 1) == "("
    });
    let mut names: BTreeSet<String> = names.map(|at| file.text(at).to_owned()).collect();
    // In the lists of constructors, members look like calls.
    names.retain(|name| members.iter().all(|member| member.name != *name));
    names
}

/// Names of constructors in the file: in the class, or behind its scope.
fn constructor_names<'f>(
    file: &'f TokenizedFile<'_>,
    class: &'f CxxClass,
) -> impl Iterator<Item = TokenIndex> + 'f {
    let in_class = file.outside_brackets(class.open + 1, class.close);
    let in_class: BTreeSet<TokenIndex> = in_class.collect();
    file.tokens.indexes().filter(move |&at| {
        let is_named = file.text(at) == class.name && file.text(at + 1) == "(";
        let before = file.text_before(at);
        let in_scope = before == ":" && scope_before(file, at) == Some(class.name.as_str());
        is_named && (in_scope || (in_class.contains(&at) && before != "~"))
    })
}

/// Name in front of the `::` before token `at`, over template arguments.
fn scope_before<'f>(file: &TokenizedFile<'f>, at: TokenIndex) -> Option<&'f str> {
    let mut before = at.previous()?.previous()?.previous()?;
    let mut angles = 0_usize;
    loop {
        match file.text(before) {
            ">" => angles += 1,
            "<" => angles = angles.checked_sub(1)?,
            name if angles == 0 => return Some(name),
            _ => {}
        }
        before = before.previous()?;
    }
}

/// First token behind a constructor's arguments and `noexcept`.
fn behind_arguments(file: &TokenizedFile<'_>, name: TokenIndex) -> Option<TokenIndex> {
    let mut at = file.arguments_end(name)? + 1;
    loop {
        match file.text(at) {
            "noexcept" => at += 1,
            "(" if file.text_before(at) == "noexcept" => at = file.pairs[at]? + 1,
            _ if at < file.tokens.end() && !file.is_code(at) => at += 1,
            _ => return Some(at),
        }
    }
}

fn constructor_lists(file: &TokenizedFile<'_>, class: &CxxClass) -> Vec<ConstructorList> {
    let lists = constructor_names(file, class).filter_map(|name| {
        let at = behind_arguments(file, name)?;
        let parameters = (name + 1, file.arguments_end(name)?);
        (file.text(at) == ":").then(|| ConstructorList {
            parameters: names_between(file, parameters),
            entries: read_list(file, at + 1),
        })
    });
    lists.collect()
}

/// Reads `a(1), b{2} {` up to the brace of the constructor's body.
fn read_list(file: &TokenizedFile<'_>, mut at: TokenIndex) -> Vec<ListEntry> {
    let mut entries = Vec::new();
    let mut name: Option<TokenIndex> = None;
    let mut angles = 0_usize;
    while at < file.tokens.end() {
        match (file.text(at), name) {
            ("<", _) => angles += 1,
            (">", _) => angles = angles.saturating_sub(1),
            ("(" | "{", Some(first)) if angles == 0 => {
                let Some(close) = file.pairs[at] else { break };
                entries.push(ListEntry {
                    name: file.text(first).to_owned(),
                    bytes: file.tokens[first].start..file.tokens[close].end,
                    value: (at, close),
                });
                (at, name) = (close, None);
            }
            ("{" | ";", None) => break,
            _ if file.tokens[at].kind == TokenKind::Ident && angles == 0 => name = Some(at),
            _ => {}
        }
        at += 1;
    }
    entries
}

/// Returns true if the class declares a constructor.
pub(super) fn has_constructor(file: &TokenizedFile<'_>, class: &CxxClass) -> bool {
    constructor_names(file, class).next().is_some()
}

/// Name of a constructor whose list another file has.
fn constructor_elsewhere(file: &TokenizedFile<'_>, class: &CxxClass) -> Option<TokenIndex> {
    let names: Vec<TokenIndex> = constructor_names(file, class).collect();
    let inside = |at: TokenIndex| at > class.open && at < class.close;
    let commas = |name: TokenIndex| {
        let close = file.arguments_end(name)?;
        let parameters = (name + 1).through(close);
        Some(parameters.filter(|&at| file.text(at) == ",").count())
    };
    let is_defined = |name: TokenIndex| {
        let mut outside = names.iter().copied().filter(|&at| !inside(at));
        outside.any(|at| commas(at) == commas(name))
    };
    let mut declared = names.iter().copied().filter(|&at| inside(at));
    declared.find(|&name| {
        let behind = behind_arguments(file, name);
        behind.is_some_and(|at| file.text(at) == ";") && !is_defined(name)
    })
}

/// First of the braces with values by position: `Worker{1, 2}`, `Worker w = {1, 2}`.
fn positional_value(file: &TokenizedFile<'_>, class: &CxxClass) -> Option<TokenIndex> {
    let named = file.tokens.indexes().filter(|&at| {
        let is_head = matches!(file.text_before(at), "struct" | "class" | ")");
        file.text(at) == class.name && !is_head
    });
    let mut braces = named.filter_map(|at| {
        let mut open = at + 1;
        if file.tokens.get(open)?.kind == TokenKind::Ident {
            open += 1;
        }
        if file.text(open) == "=" {
            open += 1;
        }
        (file.text(open) == "{").then_some(open)
    });
    // The body of a class that has it as a base holds statements.
    let is_body = |open: TokenIndex| {
        let close = file.pairs[open].unwrap_or(open);
        open.until(close).any(|at| file.text(at) == ";")
    };
    braces.find(|&open| !matches!(file.text(open + 1), "." | "}") && !is_body(open))
}

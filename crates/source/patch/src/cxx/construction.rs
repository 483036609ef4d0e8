//! The order in which members are initialised: that of their declarations, whatever the order in a
//! constructor's list. Compilers warn (`-Wreorder`) if the two differ.

use std::collections::BTreeSet;
use std::ops::Range;

use super::class::{CxxClass, data_members};
use super::member::{CxxMember, is_annotation};
use super::scope::{enclosing_scopes, names_class};
use crate::lex::{TokenIndex, TokenKind};
use crate::refusal::{EditRefusal, FileLine};
use crate::text_edit::{TextEdit, apply_edits};
use crate::tokenized::TokenizedFile;

/// Initialisation of one member, by its declaration or by a constructor.
struct MemberInitializer {
    member: String,
    /// Names in its value that are none of the constructor's parameters.
    mentions: BTreeSet<String>,
    /// True if the value may lead to any member: it has `this`, or calls a function of the class.
    is_indirect: bool,
    place: FileLine,
}

/// First and last token of a value.
type ValueTokens = (TokenIndex, TokenIndex);

/// An entry of a constructor's list: the name, and its bytes in the source.
struct ListEntry {
    name: String,
    bytes: Range<usize>,
    /// Tokens of the value, brackets included.
    value: ValueTokens,
    /// Bytes up to the end of the line behind the comma, if they are white space and a comment.
    comment: Option<Range<usize>>,
}

/// List of a constructor.
struct ConstructorList {
    /// Names in its parameters.
    parameters: BTreeSet<String>,
    entries: Vec<ListEntry>,
}

/// File in which constructors are sought.
#[derive(Clone, Copy)]
pub(super) enum ConstructorHome<'a> {
    /// The file of the class.
    OwnFile,
    /// Another one; the namespaces and classes around the class.
    OtherFile(&'a [String]),
}

impl ConstructorList {
    /// Line of a directive between the entries.
    fn conditional_line(&self, file: &TokenizedFile<'_>) -> Option<FileLine> {
        let (first, last) = (self.entries.first()?, self.entries.last()?);
        let mut between = first.value.0.until(last.value.1);
        between
            .find(|&at| file.tokens[at].kind == TokenKind::Directive)
            .map(|at| file.place(at))
    }
}

/// A class in its file, and other files of the source tree that may have constructors of it.
#[derive(Clone, Copy)]
pub(super) struct ClassSources<'a> {
    pub file: &'a TokenizedFile<'a>,
    pub class: &'a CxxClass,
    pub others: &'a [TokenizedFile<'a>],
}

/// Refuses a class with a constructor that no known file defines, or whose members get values by
/// position.
pub(super) fn refuse_fixed_order(sources: ClassSources<'_>) -> Result<(), EditRefusal> {
    let ClassSources { file, class, .. } = sources;
    if let Some(at) = undefined_constructor(sources) {
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

/// Refuses to move the members `moved` over the members `crossed` where the initialisation of one
/// uses the other, or may do so.
pub(super) fn refuse_dependent_order(
    sources: ClassSources<'_>,
    moved: &[String],
    crossed: &[String],
) -> Result<(), EditRefusal> {
    for initializer in initializers(sources) {
        let uses = |name: &&String| initializer.is_indirect || initializer.mentions.contains(*name);
        let own = |name: &&String| **name == initializer.member;
        let pair = match (moved.iter().find(own), crossed.iter().find(own)) {
            (Some(member), _) => crossed.iter().find(uses).map(|other| (member, other)),
            (None, Some(other)) => moved.iter().find(uses).map(|member| (member, other)),
            (None, None) => None,
        };
        if let Some((member, other)) = pair {
            return Err(EditRefusal::InitializedInOrder {
                member: member.clone(),
                other: other.clone(),
                place: initializer.place,
            });
        }
    }
    Ok(())
}

/// Orders of a class's members before and after a change.
#[derive(Clone, Copy)]
pub(super) struct MemberOrders<'a> {
    pub before: &'a [String],
    pub after: &'a [String],
}

/// Returns the text of `file` with the entries of constructors' lists in the new order of the
/// members, where they were in the old one.
///
/// # Errors
/// A directive stands in a list that would change.
pub(super) fn reorder_lists(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    home: ConstructorHome<'_>,
    orders: MemberOrders<'_>,
) -> Result<String, EditRefusal> {
    let rank = |order: &[String], entry: &ListEntry| order.iter().position(|n| *n == entry.name);
    let mut edits = Vec::new();
    let mut replace = |old: &Range<usize>, new: &Range<usize>| {
        edits.push(TextEdit {
            bytes: old.clone(),
            text: file.source[new.clone()].to_owned(),
        });
    };
    let lists = constructor_lists(file, class, home);
    for list in &lists {
        let slots: Vec<&ListEntry> = { list.entries.iter() }
            .filter(|entry| rank(orders.after, entry).is_some())
            .collect();
        let mut sorted = slots.clone();
        sorted.sort_by_key(|entry| rank(orders.after, entry));
        if !slots.is_sorted_by_key(|entry| rank(orders.before, entry))
            || slots.is_sorted_by_key(|entry| rank(orders.after, entry))
        {
            continue;
        }
        if let Some(place) = list.conditional_line(file) {
            return Err(EditRefusal::ConditionalList {
                name: class.name.clone(),
                place,
            });
        }
        for (slot, entry) in slots.iter().zip(&sorted) {
            replace(&slot.bytes, &entry.bytes);
            if let (Some(old), Some(new)) = (&slot.comment, &entry.comment) {
                replace(old, new);
            }
        }
    }
    Ok(apply_edits(file.source, edits))
}

fn initializers(sources: ClassSources<'_>) -> Vec<MemberInitializer> {
    let ClassSources {
        file,
        class,
        others,
    } = sources;
    let members = data_members(file, class);
    let functions = function_names(file, class, &members);
    let initializer =
        |file: &TokenizedFile<'_>, name: &str, value: ValueTokens, list: &BTreeSet<String>| {
            let mut mentions = names_between(file, value);
            mentions.retain(|name| !list.contains(name));
            MemberInitializer {
                member: name.to_owned(),
                is_indirect: mentions.contains("this") || calls_one_of(file, value, &functions),
                mentions,
                place: file.place(value.0),
            }
        };
    let mut found = Vec::new();
    for member in &members {
        for own_name in &member.names {
            let mut tokens = member.first.through(member.last);
            // The value follows the name, which may be mentioned in it.
            if let Some(name) = tokens.find(|&at| file.text(at) == own_name) {
                let value = (name + 1, member.last);
                found.push(initializer(file, own_name, value, &BTreeSet::new()));
            }
        }
    }
    let scopes = enclosing_scopes(file, class.keyword);
    let own_lists = constructor_lists(file, class, ConstructorHome::OwnFile);
    let own_lists = own_lists.into_iter().map(|list| (file, list));
    let other_lists = others.iter().flat_map(|other| {
        let lists = constructor_lists(other, class, ConstructorHome::OtherFile(&scopes));
        lists.into_iter().map(move |list| (other, list))
    });
    for (file, list) in own_lists.chain(other_lists) {
        for entry in &list.entries {
            found.push(initializer(
                file,
                &entry.name,
                entry.value,
                &list.parameters,
            ));
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
        is_name && file.text(at + 1) == "(" && !is_annotation(file.text(at))
    });
    let mut names: BTreeSet<String> = names.map(|at| file.text(at).to_owned()).collect();
    // In the lists of constructors, members look like calls.
    names.retain(|name| !members.iter().any(|member| member.declares(name)));
    names
}

/// Names of constructors in the file: in the class, or behind its scope.
fn constructor_names<'f>(
    file: &'f TokenizedFile<'_>,
    class: &'f CxxClass,
    home: ConstructorHome<'f>,
) -> impl Iterator<Item = TokenIndex> + 'f {
    let in_class: BTreeSet<TokenIndex> = match home {
        ConstructorHome::OwnFile => {
            let tokens = file.outside_brackets(class.open + 1, class.close);
            tokens.collect()
        }
        ConstructorHome::OtherFile(_) => BTreeSet::new(),
    };
    file.tokens.indexes().filter(move |&at| {
        let is_named = file.text(at) == class.name && file.text(at + 1) == "(";
        let before = file.text_before(at);
        let in_scope = || match home {
            ConstructorHome::OwnFile => {
                let scopes = enclosing_scopes(file, class.keyword);
                names_class(file, at, class, &scopes)
            }
            ConstructorHome::OtherFile(scopes) => names_class(file, at, class, scopes),
        };
        is_named && (in_class.contains(&at) && before != "~" || before == ":" && in_scope())
    })
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

fn constructor_lists(
    file: &TokenizedFile<'_>,
    class: &CxxClass,
    home: ConstructorHome<'_>,
) -> Vec<ConstructorList> {
    let lists = constructor_names(file, class, home).filter_map(|name| {
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
                    comment: comment_behind(file, close),
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

/// Bytes behind the entry that ends at `close`, and its comma, to the end of the line; `None` if
/// they have more than white space and a comment, or if a comment goes on behind that line.
fn comment_behind(file: &TokenizedFile<'_>, close: TokenIndex) -> Option<Range<usize>> {
    let behind = match file.text(close + 1) {
        "," => close + 1,
        _ => close,
    };
    let start = file.tokens[behind].end;
    let rest = file.source[start..]
        .split(['\r', '\n'])
        .next()
        .unwrap_or("");
    let end = start + rest.len();
    let next = file.tokens.get(behind + 1);
    let comment = next.filter(|token| token.kind == TokenKind::Comment && token.start < end);
    let is_clear = match comment {
        Some(comment) => file.source.get(comment.end..end)?.trim().is_empty(),
        None => rest.trim().is_empty(),
    };
    is_clear.then_some(start..end)
}

/// Returns true if the class declares a constructor.
pub(super) fn has_constructor(file: &TokenizedFile<'_>, class: &CxxClass) -> bool {
    let mut names = constructor_names(file, class, ConstructorHome::OwnFile);
    names.next().is_some()
}

/// Name of a constructor in the class whose definition no known file has.
fn undefined_constructor(sources: ClassSources<'_>) -> Option<TokenIndex> {
    let ClassSources {
        file,
        class,
        others,
    } = sources;
    let names: Vec<TokenIndex> = constructor_names(file, class, ConstructorHome::OwnFile).collect();
    let inside = |at: TokenIndex| at > class.open && at < class.close;
    let scopes = enclosing_scopes(file, class.keyword);
    let own = names.iter().filter(|&&at| !inside(at));
    let mut defined: Vec<usize> = own.filter_map(|&at| comma_count(file, at)).collect();
    for other in others {
        let names = constructor_names(other, class, ConstructorHome::OtherFile(&scopes));
        defined.extend(names.filter_map(|at| comma_count(other, at)));
    }
    let mut declared = names.iter().copied().filter(|&at| inside(at));
    declared.find(|&name| {
        let behind = behind_arguments(file, name);
        let is_declared = behind.is_some_and(|at| file.text(at) == ";");
        is_declared && comma_count(file, name).is_none_or(|count| !defined.contains(&count))
    })
}

/// Number of commas in the parameters of the constructor whose name is at a token.
fn comma_count(file: &TokenizedFile<'_>, name: TokenIndex) -> Option<usize> {
    let close = file.arguments_end(name)?;
    let parameters = (name + 1).through(close);
    Some(parameters.filter(|&at| file.text(at) == ",").count())
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

//! Declarations and lines of their own for members of a class: `struct A { long a, b; };` and
//! `long a, b;` are taken apart before an edit is about one of the members.

use super::class::{AccessLevel, CxxClass, data_members};
use super::member::{CxxMember, read_statement};
use crate::c::shared_declaration::{DeclaratorCuts, SharedDeclaration};
use crate::change::MemberPosition;
use crate::lex::TokenIndex;
use crate::lines::line_ending;
use crate::text_edit::apply_edits;
use crate::tokenized::TokenizedFile;

/// Returns the text in which `members`, and the member at `to`, share no line and no declaration
/// with members that stay as they are; `None` if there is nothing to take apart, or if that cannot
/// be done safely.
pub(super) fn give_own_lines(
    file: &TokenizedFile<'_>,
    class_name: &str,
    members: &[String],
    to: &MemberPosition,
) -> Option<String> {
    let class = CxxClass::find(file, class_name).ok()?;
    let unfolded = unfold_class(file, &class);
    let source = unfolded.as_deref().unwrap_or(file.source);
    let lines = TokenizedFile::new(file.name, source);
    let split = split_declarations(&lines, class_name, members, to);
    split.or(unfolded.filter(|text| has_same_members(file, &class, text)))
}

/// Returns the text with a line for each statement of a class whose body is on one line, without
/// comments and directives; `None` for others.
fn unfold_class(file: &TokenizedFile<'_>, class: &CxxClass) -> Option<String> {
    let (open, close) = (file.tokens[class.open], file.tokens[class.close]);
    let is_plain = class.open.until(class.close).all(|at| file.is_code(at));
    if file.source[open.end..close.start].contains('\n') || !is_plain {
        return None;
    }
    let eol = line_ending(file.source);
    let mut text = format!("{}{eol}", &file.source[..open.end]);
    let mut at = class.open + 1;
    let access = AccessLevel::Public;
    while at < class.close {
        let (last, indent) = match AccessLevel::at(file, at) {
            Some(_) => (at + 1, ""),
            None => (read_statement(file, at, class.close, access, 0).0, "    "),
        };
        let last = if last < class.close { last } else { last - 1 };
        let statement = &file.source[file.tokens[at].start..file.tokens[last].end];
        text += &format!("{indent}{statement}{eol}");
        at = last + 1;
    }
    Some(text + &file.source[close.start..])
}

/// Returns the text with the declarations taken apart of which `members` are a part, or into whose
/// middle they go; `None` if there is none.
fn split_declarations(
    file: &TokenizedFile<'_>,
    class_name: &str,
    members: &[String],
    to: &MemberPosition,
) -> Option<String> {
    let class = CxxClass::find(file, class_name).ok()?;
    let mut edits = Vec::new();
    for declared in &data_members(file, &class) {
        if !declared.is_shared() {
            continue;
        }
        let Some(cuts) = DeclaratorCuts::new(&declared.names, members, to) else {
            continue;
        };
        edits.push(shared_declaration(file, declared)?.split_lines(file, &cuts)?);
    }
    let text = apply_edits(file.source, edits);
    (text != file.source && has_same_members(file, &class, &text)).then_some(text)
}

/// Returns true if the class has the same members in the same order in `text`.
fn has_same_members(file: &TokenizedFile<'_>, class: &CxxClass, text: &str) -> bool {
    let new_file = TokenizedFile::new(file.name, text);
    let all_names = |file: &TokenizedFile<'_>, class: &CxxClass| {
        let members = data_members(file, class).into_iter();
        let names = members.flat_map(|member| {
            let access = member.access;
            member.names.into_iter().map(move |name| (name, access))
        });
        names.collect::<Vec<_>>()
    };
    CxxClass::find(&new_file, &class.name)
        .is_ok_and(|new_class| all_names(&new_file, &new_class) == all_names(file, class))
}

/// Reads a declaration of several members; `None` where declarators are no plain names.
fn shared_declaration<'m>(
    file: &TokenizedFile<'_>,
    member: &'m CxxMember,
) -> Option<SharedDeclaration<'m>> {
    let commas = declarator_commas(file, member);
    let declarator = first_declarator(file, member, *commas.first()?)?;
    Some(SharedDeclaration {
        names: &member.names,
        first: member.first,
        last: member.last,
        commas,
        declarator,
    })
}

/// Commas between declarators: those outside of brackets and of template arguments.
fn declarator_commas(file: &TokenizedFile<'_>, member: &CxxMember) -> Vec<TokenIndex> {
    let mut commas = Vec::new();
    let (mut angles, mut has_value) = (0_usize, false);
    for at in file.outside_brackets(member.first, member.last) {
        match file.text(at) {
            "<" if !has_value => angles += 1,
            ">" if !has_value => angles = angles.saturating_sub(1),
            "=" => has_value = true,
            "," if angles == 0 => {
                commas.push(at);
                has_value = false;
            }
            _ => {}
        }
    }
    commas
}

/// First token of the first declarator: its name, or the first star or reference before that.
fn first_declarator(
    file: &TokenizedFile<'_>,
    member: &CxxMember,
    comma: TokenIndex,
) -> Option<TokenIndex> {
    let is_declared = |at: &TokenIndex| {
        file.text(*at) == member.names[0]
            && matches!(file.text(*at + 1), "," | "[" | "=" | "{" | ":")
    };
    let name = { file.outside_brackets(member.first, comma) }
        .filter(is_declared)
        .last()?;
    let marks = member.first.until(name).rev().take_while(|&at| {
        matches!(
            file.text(at),
            "*" | "&" | "const" | "volatile" | "__restrict"
        )
    });
    let first = marks
        .filter(|&at| matches!(file.text(at), "*" | "&"))
        .last();
    let from = first.unwrap_or(name);
    (from > member.first).then_some(from)
}

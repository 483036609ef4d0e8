//! Changes of C++ classes.
//!
//! The order of C++ members is also the order of their initialisation and destruction, and access
//! specifiers and functions stand between them. Structs that read as C are edited as C; here are
//! alignments, and moves in the other classes.

mod align;
mod class;
mod construction;
mod member;
mod move_members;
mod own_lines;
mod padding;
mod scope;
mod units;

use construction::{ClassSources, ConstructorHome, MemberOrders};

use crate::change::{MemberPosition, SourceChange};
use crate::edit::padding::BytePadding;
use crate::edit::situation::MoveRequest;
use crate::lex::TokenIndex;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// Returns true if the text is C++, by the file's name or by syntax that C does not have.
pub(crate) fn is_cxx(file_name: &str, file: &TokenizedFile<'_>) -> bool {
    let extension = file_name.rsplit('.').next().unwrap_or("");
    if matches!(
        extension,
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "ipp"
    ) {
        return true;
    }
    extension == "h"
        && file.tokens.indexes().any(|at| {
            // C may have members and tags of these names: `unsigned private:1;`.
            let begins = at == TokenIndex::FIRST || matches!(file.text(at - 1), ";" | "{" | "}");
            let next = file.text(at + 1);
            match file.text(at) {
                "namespace" => begins && (next == "{" || file.text(at + 2) == "{"),
                "template" => begins && next == "<",
                "public" | "private" | "protected" => begins && next == ":",
                _ => false,
            }
        })
}

/// Returns the text with one change of a class. Changes that classes have in common with structs of C
/// are made by `as_c`. `others` are the other files of the tree that may have constructors of the
/// class.
pub(crate) fn apply_change(
    file: &TokenizedFile<'_>,
    name: &str,
    change: &SourceChange,
    others: &[TokenizedFile<'_>],
    as_c: impl FnOnce() -> Result<String, EditRefusal>,
) -> Result<String, EditRefusal> {
    match change {
        SourceChange::AlignMember {
            member,
            alignment,
            reason,
        } => {
            let alone = [member.clone()];
            let taken_apart = own_lines::give_own_lines(file, name, &alone, &MemberPosition::First);
            let source = taken_apart.as_deref().unwrap_or(file.source);
            let file = TokenizedFile::new(file.name, source);
            align::align_member(&file, name, member, alignment, reason.as_deref())
        }
        SourceChange::AlignType { alignment, reason } => {
            align::align_class(file, name, alignment, reason.as_deref())
        }
        SourceChange::AddPadding {
            name: padding_name,
            bytes,
            to,
            reason,
        } => as_c().or_else(|refusal| {
            if class::CxxClass::find(file, name).is_err() {
                return Err(refusal);
            }
            let taken_apart = own_lines::give_own_lines(file, name, &[], to);
            let source = taken_apart.as_deref().unwrap_or(file.source);
            let file = TokenizedFile::new(file.name, source);
            let padding = BytePadding {
                name: padding_name,
                bytes: *bytes,
            };
            padding::add_class_padding(&file, name, padding, to, reason.as_deref())
        }),
        SourceChange::MoveMembers {
            members,
            to,
            spacing,
            reason,
        } => {
            let request = MoveRequest {
                members,
                to,
                spacing: *spacing,
                reason: reason.as_deref(),
            };
            move_members(file, name, request, others, as_c)
        }
        _ => as_c(),
    }
}

/// Returns the first token of the declaration of a class's member.
pub(crate) fn member_token(
    file: &TokenizedFile<'_>,
    class_name: &str,
    member: &str,
) -> Option<TokenIndex> {
    let class = class::CxxClass::find(file, class_name).ok()?;
    let mut members = class::data_members(file, &class).into_iter();
    members
        .find(|declared| declared.declares(member))
        .map(|declared| declared.first)
}

/// Returns the data members of a class in the order of the text, and whether each is inside of an
/// `#if` group.
pub(crate) fn class_members(
    file: &TokenizedFile<'_>,
    class_name: &str,
) -> Result<Vec<(String, bool)>, EditRefusal> {
    let class = class::CxxClass::find(file, class_name)?;
    let members = class::data_members(file, &class).into_iter();
    let named = members.flat_map(|member| {
        let is_conditional = class::is_conditional(file, &class, &member);
        let names = member.names.into_iter();
        names.map(move |name| (name, is_conditional))
    });
    Ok(named.collect())
}

/// Returns the text with members of a class moved, if they are initialised without each other. A class
/// without constructors may read as C, and is edited as C then.
fn move_members(
    file: &TokenizedFile<'_>,
    class_name: &str,
    request: MoveRequest<'_>,
    others: &[TokenizedFile<'_>],
    as_c: impl FnOnce() -> Result<String, EditRefusal>,
) -> Result<String, EditRefusal> {
    if class::CxxClass::find(file, class_name).is_err() {
        return as_c();
    }
    let taken_apart = own_lines::give_own_lines(file, class_name, request.members, request.to);
    let source = taken_apart.as_deref().unwrap_or(file.source);
    let file = &TokenizedFile::new(file.name, source);
    let class = class::CxxClass::find(file, class_name)?;
    let sources = ClassSources {
        file,
        class: &class,
        others,
    };
    construction::refuse_fixed_order(sources)?;
    let moved = units::StatementMove::new(file, &class, request)?;
    let declared = class::data_members(file, &class);
    let order = class::member_names(file, &class);
    for member in &moved.members {
        let crossed = move_members::crossed_members(&order, member, &moved.to);
        let crossed = units::StatementMove::all_names(&declared, &crossed);
        let own = units::StatementMove::all_names(&declared, std::slice::from_ref(member));
        construction::refuse_dependent_order(sources, &own, &crossed)?;
    }
    let request = MoveRequest {
        members: &moved.members,
        to: &moved.to,
        ..request
    };
    let as_class = || move_members::move_class_members(file, class_name, request);
    // In C there are no lists of constructors to follow.
    match construction::has_constructor(file, &class) {
        true => as_class(),
        false => as_c().or_else(|_| as_class()),
    }
}

/// Returns `other`, a file of the tree, with the constructors' lists of a class in the order that its
/// members have in `new`, where they were in that of `old`.
pub(crate) fn follow_order(
    old: &TokenizedFile<'_>,
    new: &TokenizedFile<'_>,
    class_name: &str,
    other: &TokenizedFile<'_>,
) -> Result<String, EditRefusal> {
    let class = class::CxxClass::find(old, class_name)?;
    let new_class = class::CxxClass::find(new, class_name)?;
    let scopes = scope::enclosing_scopes(old, class.keyword);
    let orders = MemberOrders {
        before: &class::member_names(old, &class),
        after: &class::member_names(new, &new_class),
    };
    let home = ConstructorHome::OtherFile(&scopes);
    construction::reorder_lists(other, &class, home, orders)
}

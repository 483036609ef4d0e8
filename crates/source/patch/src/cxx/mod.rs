//! Changes of C++ classes.
//!
//! The order of C++ members is also the order of their initialisation and destruction, and access
//! specifiers and functions stand between them. Structs that read as C are edited as C; here are
//! alignments, and moves in the other classes.

mod align;
mod class;
mod construction;
mod constructors;
mod member;
mod move_members;
mod own_lines;
mod padding;
mod scope;
mod units;

use crate::c::padding::BytePadding;
use crate::c::{CLanguage, change_struct, refuse_asserted};
use crate::change::{MemberPosition, MoveRequest, SourceChange};
use crate::covering_comment::{CoveringComment, comment_above_run};
use crate::language::{EditedTree, SourceLanguage, SpreadElements, StructOutline, StructSource};
use crate::lex::TokenIndex;
use crate::read_back::make_in_turn;
use crate::refusal::EditRefusal;
use crate::source_files::{SourceFiles, SourceText};
use crate::tokenized::TokenizedFile;
use construction::ClassSources;
pub(crate) use constructors::{constructor_files, follow_order};

/// C++, and files of unknown kinds: a struct that reads as C is edited as C.
pub(crate) struct CxxLanguage;

impl SourceLanguage for CxxLanguage {
    fn recognizes(&self, _: &str, _: &str) -> bool {
        true
    }

    fn is_unit(&self, file_name: &str) -> bool {
        matches!(extension(file_name), "cc" | "cpp" | "cxx")
    }

    // A class first: what C++ adds to a member may not read as C.
    fn read_struct(&self, source: StructSource<'_>) -> Result<StructOutline, EditRefusal> {
        let file = TokenizedFile::new(source.file, source.text);
        let Ok(class) = class::CxxClass::find(&file, source.name) else {
            return CLanguage.read_struct(source);
        };
        let members = class::data_members(&file, &class).into_iter();
        Ok(StructOutline {
            // The only definition.
            number: 0,
            place: file.place(class.keyword),
            members: members.flat_map(|member| member.names).collect(),
        })
    }

    fn conditional_members(&self, source: StructSource<'_>) -> Result<Vec<String>, EditRefusal> {
        let as_struct = CLanguage.conditional_members(source);
        if !matches!(as_struct, Err(EditRefusal::StructNotFound { .. })) {
            return as_struct;
        }
        let file = TokenizedFile::new(source.file, source.text);
        let class = class::CxxClass::find(&file, source.name)?;
        let members = class::data_members(&file, &class).into_iter();
        let conditional = members.filter(|member| class::is_conditional(&file, &class, member));
        Ok(conditional.flat_map(|member| member.names).collect())
    }

    fn covering_comment(&self, source: StructSource<'_>, member: &str) -> Option<CoveringComment> {
        let file = TokenizedFile::new(source.file, source.text);
        match member_token(&file, source.name, member) {
            Some(first) => comment_above_run(&file, first),
            None => CLanguage.covering_comment(source, member),
        }
    }

    fn files_beside(
        &self,
        tree: &dyn SourceFiles,
        source: StructSource<'_>,
        _: &[SourceChange],
    ) -> Vec<SourceText> {
        constructor_files(tree, source)
    }

    fn edit(
        &self,
        source: StructSource<'_>,
        changes: &[SourceChange],
        others: &[SourceText],
    ) -> Result<EditedTree, EditRefusal> {
        refuse_asserted(source)?;
        let tokenized = { others.iter() }.map(|other| TokenizedFile::new(&other.file, &other.text));
        let other_files: Vec<TokenizedFile<'_>> = tokenized.collect();
        let definition = make_in_turn(self, source, changes, |source, change| {
            let file = TokenizedFile::new(source.file, source.text);
            let as_c = || change_struct(&file, source, change);
            apply_change(&file, source.name, change, &other_files, as_c)
        })?;
        follow_order(source, definition, others)
    }

    fn moves_back(
        &self,
        source: StructSource<'_>,
        request: MoveRequest<'_>,
    ) -> Result<Vec<Vec<SourceChange>>, EditRefusal> {
        CLanguage.moves_back(source, request)
    }

    fn padded_element(&self, element: &str, line_bytes: u32) -> String {
        format!("`struct alignas({line_bytes}) padded {{ {element} value; }}`")
    }

    fn spread_elements(&self, spread: &SpreadElements<'_>) -> String {
        let stride = spread.stride;
        spread.wrapped_in(&match spread.align > 1 {
            true => format!("struct alignas({stride}) {{ T value; }}"),
            false => spread.filled_struct(),
        })
    }
}

fn extension(file_name: &str) -> &str {
    file_name.rsplit('.').next().unwrap_or("")
}

/// Returns true if the text is C++, by the file's name or by syntax that C does not have.
pub(crate) fn is_cxx(file_name: &str, text: &str) -> bool {
    let extension = extension(file_name);
    matches!(
        extension,
        "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "ipp"
    ) || extension == "h" && is_cxx_text(text)
}

/// Returns true if the text has syntax of C++ that C does not have.
pub(crate) fn is_cxx_text(text: &str) -> bool {
    // Reading the tokens of a large header takes longer than this.
    let words = ["namespace", "template", "public", "private", "protected"];
    if !words.iter().any(|word| text.contains(word)) {
        return false;
    }
    let file = TokenizedFile::new("", text);
    file.tokens.indexes().any(|at| {
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
fn apply_change(
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
        _ => match change.as_move() {
            Some(request) => move_members(file, name, request, others, as_c),
            None => as_c(),
        },
    }
}

/// Returns the first token of the declaration of a class's member.
fn member_token(file: &TokenizedFile<'_>, class_name: &str, member: &str) -> Option<TokenIndex> {
    let class = class::CxxClass::find(file, class_name).ok()?;
    let mut members = class::data_members(file, &class).into_iter();
    members
        .find(|declared| declared.declares(member))
        .map(|declared| declared.first)
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

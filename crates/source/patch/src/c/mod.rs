//! Structs of C: changes on whole lines, with the comments and `#if` groups that belong to them.

mod align;
mod block;
mod border;
pub(crate) mod comment;
mod conditional;
mod gap;
mod groups;
mod guard;
pub(crate) mod include;
mod kernel_doc;
mod members;
mod move_members;
mod neighbours;
mod one_line;
pub(crate) mod padding;
pub(crate) mod shared_declaration;
pub(crate) mod situation;
mod split;
mod unalign;
mod unit;

use crate::change::{MoveRequest, SourceChange};
use crate::covering_comment::{CoveringComment, comment_above_run};
use crate::cxx::{constructor_files, follow_order, is_cxx_text};
use crate::find::{StatementPath, StructDefinition};
use crate::language::{EditedTree, SourceLanguage, SpreadElements, StructOutline, StructSource};
use crate::read_back::make_in_turn;
use crate::refusal::EditRefusal;
use crate::source_files::{SourceFiles, SourceText};
use crate::tokenized::TokenizedFile;
use crate::uses::UseKind;
pub use guard::guard_store;
use members::source_members;

/// C, as far as its text does not show that it is C++.
pub(crate) struct CLanguage;

impl SourceLanguage for CLanguage {
    fn recognizes(&self, file_name: &str, text: &str) -> bool {
        let is_included = file_name.ends_with(".h") || file_name.ends_with(".inc");
        self.is_unit(file_name) || is_included && !is_cxx_text(text)
    }

    fn is_unit(&self, file_name: &str) -> bool {
        file_name.ends_with(".c")
    }

    fn read_struct(&self, source: StructSource<'_>) -> Result<StructOutline, EditRefusal> {
        let file = TokenizedFile::new(source.file, source.text);
        let definition = file.find_struct(source)?;
        let members = source_members(&definition).into_iter();
        Ok(StructOutline {
            number: definition.nth,
            place: definition.place.clone(),
            members: members.map(|member| member.path).collect(),
        })
    }

    fn conditional_members(&self, source: StructSource<'_>) -> Result<Vec<String>, EditRefusal> {
        let file = TokenizedFile::new(source.file, source.text);
        let members = source_members(&file.find_struct(source)?.refuse_union()?).into_iter();
        let conditional = members.filter(|member| member.is_conditional);
        Ok(conditional.map(|member| member.path).collect())
    }

    fn covering_comment(&self, source: StructSource<'_>, member: &str) -> Option<CoveringComment> {
        let file = TokenizedFile::new(source.file, source.text);
        let definition = file.find_struct(source).ok()?.refuse_union().ok()?;
        let path = definition.find_member(&file, member).ok()?;
        comment_above_run(&file, definition.statement(&path).first)
    }

    // A header without signs of C++ may still have a class, of which C++ files have constructors.
    fn files_beside(
        &self,
        tree: &dyn SourceFiles,
        source: StructSource<'_>,
        _: &[SourceChange],
    ) -> Vec<SourceText> {
        match self.is_unit(source.file) {
            true => Vec::new(),
            false => constructor_files(tree, source),
        }
    }

    fn edit(
        &self,
        source: StructSource<'_>,
        changes: &[SourceChange],
        others: &[SourceText],
    ) -> Result<EditedTree, EditRefusal> {
        refuse_asserted(source)?;
        let definition = make_in_turn(self, source, changes, |source, change| {
            change_struct(
                &TokenizedFile::new(source.file, source.text),
                source,
                change,
            )
        })?;
        follow_order(source, definition, others)
    }

    fn moves_back(
        &self,
        source: StructSource<'_>,
        request: MoveRequest<'_>,
    ) -> Result<Vec<Vec<SourceChange>>, EditRefusal> {
        let file = TokenizedFile::new(source.file, source.text);
        let definition = file.find_struct(source)?.refuse_union()?;
        let prepared = move_members::prepare_move(&file, &definition, request)?;
        let prepared_file = TokenizedFile::new(source.file, &prepared.text);
        let comments_stay = prepared.comments_stay;
        let moves = neighbours::moves_back(&prepared_file, &definition, request, comments_stay);
        let joins = prepared.joins;
        let with_joins = |back: SourceChange| [vec![back], joins.clone()].concat();
        Ok(moves.into_iter().map(with_joins).collect())
    }

    fn padded_element(&self, element: &str, line_bytes: u32) -> String {
        format!("`struct {{ {element} value; }} __attribute__((aligned({line_bytes})))`")
    }

    fn spread_elements(&self, spread: &SpreadElements<'_>) -> String {
        let stride = spread.stride;
        spread.wrapped_in(&match spread.align > 1 {
            true => format!("struct {{ _Alignas({stride}) T value; }}"),
            false => spread.filled_struct(),
        })
    }
}

/// Refuses a struct about which its file has a static assertion.
pub(crate) fn refuse_asserted(source: StructSource<'_>) -> Result<(), EditRefusal> {
    let uses = crate::uses::find_suspicious_uses(source.file, source.text, source.name);
    let mut asserts = uses
        .into_iter()
        .filter(|found| found.kind == UseKind::StaticAssert);
    match asserts.next() {
        None => Ok(()),
        Some(assertion) => Err(EditRefusal::Asserted {
            name: source.name.to_owned(),
            place: assertion.place,
        }),
    }
}

/// Returns the text with one change of the struct, which `file` has.
pub(crate) fn change_struct(
    file: &TokenizedFile<'_>,
    source: StructSource<'_>,
    change: &SourceChange,
) -> Result<String, EditRefusal> {
    let definition = file.find_struct(source)?;
    let definition = match change {
        SourceChange::AlignType { .. } | SourceChange::AddPadding { .. } => definition,
        _ => definition.refuse_union()?,
    };
    apply_change(file, &definition, change)
}

fn apply_change(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    change: &SourceChange,
) -> Result<String, EditRefusal> {
    match change {
        SourceChange::JoinDeclarations { text } => split::join_declarations(file, definition, text),
        SourceChange::JoinGroups { behind, line } => {
            groups::join_groups(file, definition, behind, line.as_deref())
        }
        SourceChange::AlignMember {
            member,
            alignment,
            reason,
        } => edit_on_own_lines(file, definition, |file, definition| {
            align::align_member(file, definition, member, alignment, reason.as_deref())
        }),
        SourceChange::AlignType { alignment, reason } => {
            align::align_type(file, definition, alignment, reason.as_deref())
        }
        SourceChange::RemoveAlignment { member } => {
            unalign::remove_alignment(file, definition, member.as_deref())
        }
        SourceChange::AddPadding {
            name,
            bytes,
            to,
            reason,
        } => {
            let padding = padding::BytePadding {
                name,
                bytes: *bytes,
            };
            edit_on_own_lines(file, definition, |file, definition| {
                padding::add_padding(file, definition, padding, to, reason.as_deref())
            })
        }
        SourceChange::RemovePadding { member } => padding::remove_padding(file, definition, member),
        SourceChange::MoveMembers { .. } | SourceChange::FixOrder { .. } => {
            match change.as_move() {
                Some(request) => move_members::move_members(file, definition, request),
                None => Err(EditRefusal::NothingToDo {
                    member: "the order of the text".to_owned(),
                    place: definition.place.clone(),
                }),
            }
        }
    }
}

/// Makes an edit that needs members on lines of their own. A body on one line stays on one, unless
/// the edit adds a comment.
fn edit_on_own_lines(
    file: &TokenizedFile<'_>,
    definition: &StructDefinition,
    edit: impl Fn(&TokenizedFile<'_>, &StructDefinition) -> Result<String, EditRefusal>,
) -> Result<String, EditRefusal> {
    let whole = StatementPath {
        bodies: Vec::new(),
        statement: 0,
    };
    let Some(unfolded) = one_line::unfold_body(file, definition, whole) else {
        return edit(file, definition);
    };
    let unfolded_file = TokenizedFile::new(file.name, &unfolded.text);
    let same = unfolded_file.find_same_definition(definition)?;
    let new = edit(&unfolded_file, &same)?;
    let folded = one_line::fold_body(
        &TokenizedFile::new(file.name, &new),
        definition,
        &unfolded.one_line,
    );
    Ok(folded.unwrap_or(new))
}

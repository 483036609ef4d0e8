//! Fields of Rust structs: their order where it is the layout's, and the type's alignment.
//!
//! Only `#[repr(C)]` lays fields out in the order of the text; elsewhere the compiler orders them
//! as it likes, and a change adds `#[repr(C)]` with an order. A field has no alignment of its own:
//! that takes a type around it.
//!
//! The order of fields is also the order in which they are dropped and in which `derive` compares
//! them: a move is refused where a comparison or a hash is derived.

mod align;
mod crate_files;
mod definition;
mod fixed_order;
mod move_fields;
mod syntax;
mod tokens;
mod wrap;

use crate::change::{MoveRequest, SourceChange};
use crate::language::{EditedTree, SourceLanguage, SpreadElements, StructOutline, StructSource};
use crate::lines::{indent_at, line_ending, line_number};
use crate::read_back::make_in_turn;
use crate::refusal::{EditRefusal, FileLine};
use crate::source_files::{SourceFiles, SourceText};
pub use crate_files::crate_folder;
use definition::{RustField, RustStruct};
use wrap::{WrappedField, wrap_field};

/// Rust.
pub(crate) struct RustLanguage;

impl SourceLanguage for RustLanguage {
    fn recognizes(&self, file_name: &str, _: &str) -> bool {
        file_name.ends_with(".rs")
    }

    fn is_unit(&self, _: &str) -> bool {
        false
    }

    fn compiler_orders_members(&self) -> bool {
        true
    }

    fn read_struct(&self, source: StructSource<'_>) -> Result<StructOutline, EditRefusal> {
        let item = RustStruct::find(source)?;
        Ok(StructOutline {
            number: item.number,
            place: item.place(),
            members: item.fields.into_iter().map(|field| field.name).collect(),
        })
    }

    // A field is wrapped wherever the struct is built.
    fn files_beside(
        &self,
        tree: &dyn SourceFiles,
        source: StructSource<'_>,
        changes: &[SourceChange],
    ) -> Vec<SourceText> {
        let wraps = |change: &SourceChange| matches!(change, SourceChange::AlignMember { .. });
        match changes.iter().any(wraps) {
            true => crate_files::other_crate_files(tree, source),
            false => Vec::new(),
        }
    }

    fn edit(
        &self,
        source: StructSource<'_>,
        changes: &[SourceChange],
        others: &[SourceText],
    ) -> Result<EditedTree, EditRefusal> {
        let mut new_others = others.to_vec();
        let definition = make_in_turn(self, source, changes, |source, change| {
            change_struct(source, &mut new_others, change)
        })?;
        let changed = { new_others.into_iter().zip(others) }.filter(|(new, old)| new != *old);
        Ok(EditedTree {
            definition,
            others: changed.map(|(new, _)| new).collect(),
        })
    }

    fn moves_back(
        &self,
        source: StructSource<'_>,
        request: MoveRequest<'_>,
    ) -> Result<Vec<Vec<SourceChange>>, EditRefusal> {
        move_fields::moves_back(&RustStruct::find(source)?, request)
    }

    fn padded_element(&self, element: &str, line_bytes: u32) -> String {
        format!(
            "`CachePadded<{element}>` of crossbeam-utils, or a struct with `#[repr(align({line_bytes}))]`"
        )
    }

    fn spread_elements(&self, spread: &SpreadElements<'_>) -> String {
        let SpreadElements {
            array,
            element_bytes,
            stride,
            ..
        } = spread;
        format!(
            "declare `#[repr(align({stride}))] struct OwnLine<T>(T);`, make the elements of `{array}` \
             ({element_bytes} bytes) OwnLine<T>, and let each use name the field `.0` of the element"
        )
    }
}

/// Returns true if the struct has `#[repr(C)]`.
///
/// ```
/// use relayout_patch::{StructSource, is_repr_c};
///
/// let text = "#[repr(C)]\nstruct S {\n    a: u8,\n}\n";
/// assert_eq!(is_repr_c(StructSource::new("s.rs", text, "S", None)), Ok(true));
/// ```
///
/// # Errors
/// An [`EditRefusal`] if the definition is not found or has no named fields.
pub fn is_repr_c(source: StructSource<'_>) -> Result<bool, EditRefusal> {
    Ok(RustStruct::find(source)?.has_repr("C"))
}

/// Returns the text with one change. A field is wrapped in the other files of the crate, too.
fn change_struct(
    source: StructSource<'_>,
    others: &mut [SourceText],
    change: &SourceChange,
) -> Result<String, EditRefusal> {
    if let SourceChange::AlignMember {
        member,
        alignment,
        reason,
    } = change
    {
        let field = WrappedField {
            name: member,
            alignment,
            reason: reason.as_deref(),
        };
        return wrap_field(source, others, &field);
    }
    let item = RustStruct::find(source)?;
    match change {
        SourceChange::AlignType { alignment, reason } => {
            align::align_type(&item, alignment, reason.as_deref())
        }
        SourceChange::RemoveAlignment { member: None } => align::remove_alignment(&item),
        SourceChange::RemoveAlignment {
            member: Some(member),
        } => {
            let field = item.field(member)?;
            Err(item.refused(
                field.own_line,
                "a field has no alignment of its own, but its type has: take the wrapper away by hand",
            ))
        }
        SourceChange::FixOrder { fields } => fixed_order::fix_field_order(&item, fields),
        SourceChange::JoinDeclarations { text } => Err(EditRefusal::NotJoined {
            text: text.clone(),
            place: item.place_of(item.open),
        }),
        SourceChange::JoinGroups { .. } => Err(item.refused(
            item.open,
            "conditions stand at each field: there are no groups of them to join",
        )),
        SourceChange::AddPadding { .. } | SourceChange::RemovePadding { .. } => Err(item.refused(
            item.open,
            "every place that builds the struct would have to name a padding field: align instead",
        )),
        SourceChange::MoveMembers { .. } | SourceChange::AlignMember { .. } => {
            let request = change.as_move().ok_or(EditRefusal::NoMembers)?;
            move_fields::move_fields(&item, request)
        }
    }
}

/// Returns a line with the comment at the indent of byte `at`; nothing without a reason.
fn reason_line(
    source: &str,
    at: usize,
    reason: Option<&str>,
    name: &str,
) -> Result<String, EditRefusal> {
    let Some(reason) = reason else {
        return Ok(String::new());
    };
    if reason.contains(['\n', '\r']) {
        return Err(EditRefusal::BadReason {
            name: name.to_owned(),
        });
    }
    let (indent, eol) = (indent_at(source, at), line_ending(source));
    Ok(format!("{indent}// {}{eol}", reason.trim()))
}

impl RustStruct<'_> {
    fn field_index(&self, member: &str) -> Result<usize, EditRefusal> {
        let found = self.fields.iter().position(|field| field.name == member);
        found.ok_or_else(|| EditRefusal::MemberNotFound {
            name: self.name.to_owned(),
            member: member.to_owned(),
            place: self.place(),
        })
    }

    fn field(&self, member: &str) -> Result<&RustField, EditRefusal> {
        self.field_index(member).map(|index| &self.fields[index])
    }

    fn refused(&self, at: usize, why: &'static str) -> EditRefusal {
        EditRefusal::RustNotEdited {
            name: self.name.to_owned(),
            why,
            place: self.place_of(at),
        }
    }

    fn place_of(&self, at: usize) -> FileLine {
        FileLine {
            file: self.file.to_owned(),
            line: line_number(self.source, at),
        }
    }

    fn place(&self) -> FileLine {
        self.place_of(self.head)
    }
}

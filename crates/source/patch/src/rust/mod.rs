//! Fields of Rust structs: their order where it is the layout's, and the type's alignment.
//!
//! Only `#[repr(C)]` lays fields out in the order of the text; elsewhere the compiler orders them
//! as it likes, and a change adds `#[repr(C)]` with an order. A field has no alignment of its own:
//! that takes a type around it.
//!
//! The order of fields is also the order in which they are dropped and in which `derive` compares
//! them: a move is refused where a comparison or a hash is derived.

mod definition;
mod fixed_order;
mod syntax;
mod tokens;
mod wrap;

use crate::change::{MemberPosition, SourceChange, WrittenAlignment};
use crate::edit::spacing::{MoveSpacing, MovedLines};
use crate::lines::{line_ending, line_number, line_start, next_line_start};
use crate::refusal::{EditRefusal, FileLine};
use definition::{RustField, RustStruct};
pub use wrap::{CrateFile, FieldWrapper, WrappedField, wrap_rust_field};

/// Makes `changes` to the struct, as [`edit_struct`](crate::edit_struct) does for C.
pub(crate) fn edit_rust_struct(
    file_name: &str,
    source: &str,
    name: &str,
    line_hint: Option<u32>,
    changes: &[SourceChange],
) -> Result<String, EditRefusal> {
    let mut text = source.to_owned();
    for change in changes {
        if let SourceChange::AlignMember {
            member,
            alignment,
            reason,
        } = change
        {
            text = wrap_in_file(
                file_name,
                &text,
                (name, member),
                alignment,
                reason.as_deref(),
            )?;
            continue;
        }
        let item = RustStruct::find(file_name, &text, name, line_hint)?;
        let new = match change {
            SourceChange::FixOrder { fields } => {
                fixed_order::fix_field_order(&item, fields, line_hint)?
            }
            _ => apply_change(&item, change)?,
        };
        let read_back = RustStruct::find(file_name, &new, name, line_hint);
        let sorted = |item: &RustStruct<'_>| {
            let mut names: Vec<String> = item.fields.iter().map(|f| f.name.clone()).collect();
            names.sort();
            names
        };
        if read_back.is_ok_and(|read| sorted(&read) != sorted(&item)) {
            return Err(EditRefusal::NotAsIntended {
                name: name.to_owned(),
                place: item.place(),
            });
        }
        text = new;
    }
    Ok(text)
}

/// Wraps a field in a type of the alignment, which is added beside the struct. The file is taken
/// for the whole crate.
fn wrap_in_file(
    file_name: &str,
    source: &str,
    (name, member): (&str, &str),
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let files = [CrateFile {
        path: file_name.to_owned(),
        text: source.to_owned(),
    }];
    let bytes = alignment_bytes(file_name, alignment)?;
    let request = WrappedField {
        struct_name: name,
        field: member,
        wrapper: &FieldWrapper::Added { bytes },
        reason,
    };
    let texts = wrap_rust_field(&files, 0, &request)?;
    Ok(texts.into_iter().next().unwrap_or_default())
}

/// Returns true if the struct has `#[repr(C)]`.
///
/// ```
/// let text = "#[repr(C)]\nstruct S {\n    a: u8,\n}\n";
/// assert_eq!(relayout_patch::is_repr_c("s.rs", text, "S", None), Ok(true));
/// ```
///
/// # Errors
/// An [`EditRefusal`] if the definition is not found or has no named fields.
pub fn is_repr_c(
    file_name: &str,
    source: &str,
    struct_name: &str,
    line_hint: Option<u32>,
) -> Result<bool, EditRefusal> {
    let item = RustStruct::find(file_name, source, struct_name, line_hint)?;
    Ok(item.has_repr("C"))
}

/// The names of its fields, in the order of the text.
pub(crate) fn field_order(
    file_name: &str,
    source: &str,
    name: &str,
) -> Result<Vec<String>, EditRefusal> {
    let item = RustStruct::find(file_name, source, name, None)?;
    Ok(item.fields.into_iter().map(|field| field.name).collect())
}

/// The move that gives `source` back, as [`inverse_changes`](crate::inverse_changes) does for C.
pub(crate) fn inverse_change(
    file_name: &str,
    source: &str,
    name: &str,
    line_hint: Option<u32>,
    change: &SourceChange,
) -> Result<SourceChange, EditRefusal> {
    let item = RustStruct::find(file_name, source, name, line_hint)?;
    let SourceChange::MoveMembers { members, to, .. } = change else {
        return Err(EditRefusal::NoInverse);
    };
    let new = apply_change(&item, change)?;
    let (first, last) = field_run(&item, members)?;
    let (start, end) = (item.fields[first].start, item.fields[last].end);
    let target = match to {
        MemberPosition::First => next_line_start(source, item.open),
        MemberPosition::Last => item.fields.last().map_or(item.open, |last| last.end),
        MemberPosition::After(anchor) => item.field(anchor)?.end,
        MemberPosition::Before(anchor) | MemberPosition::Below(anchor) => item.field(anchor)?.start,
    };
    let spacing = MoveSpacing::before_move(source, (start, end), target);
    let before = first.checked_sub(1).map(|at| item.fields[at].name.clone());
    let behind = item.fields.get(last + 1).map(|field| field.name.clone());
    let places = [
        before.map_or(MemberPosition::First, MemberPosition::After),
        behind.map_or(MemberPosition::First, MemberPosition::Before),
    ];
    let back = places.into_iter().map(|to| SourceChange::MoveMembers {
        members: members.clone(),
        to,
        spacing: Some(spacing),
        reason: None,
    });
    let new_item = RustStruct::find(file_name, &new, name, line_hint)?;
    back.into_iter()
        .find(|back| apply_change(&new_item, back).as_deref() == Ok(source))
        .ok_or(EditRefusal::NoInverse)
}

fn apply_change(item: &RustStruct<'_>, change: &SourceChange) -> Result<String, EditRefusal> {
    match change {
        SourceChange::MoveMembers {
            members,
            to,
            spacing,
            reason,
        } => move_fields(item, members, to, *spacing, reason.as_deref()),
        SourceChange::AlignType { alignment, reason } => {
            align_type(item, alignment, reason.as_deref())
        }
        SourceChange::RemoveAlignment { member: None } => remove_alignment(item),
        SourceChange::AlignMember { member, .. }
        | SourceChange::RemoveAlignment {
            member: Some(member),
        } => {
            let field = item.field(member)?;
            Err(item.refused(
                field.own_line,
                "a field has no alignment of its own, but its type has: take the wrapper away by hand",
            ))
        }
        SourceChange::FixOrder { .. } => Err(EditRefusal::NoInverse),
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
    }
}

fn move_fields(
    item: &RustStruct<'_>,
    members: &[String],
    to: &MemberPosition,
    spacing: Option<MoveSpacing>,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    if !item.has_repr("C") {
        return Err(item.refused(
            item.open,
            "without #[repr(C)] the compiler orders the fields itself: align the type, or add #[repr(C)] first",
        ));
    }
    if item.has_repr("packed") {
        return Err(EditRefusal::Packed {
            name: item.name.clone(),
            place: item.place(),
        });
    }
    if let Some(derived) = item.derives(&["PartialOrd", "Ord", "Hash"]) {
        return Err(item.refused(
            item.open,
            match derived {
                "Hash" => "a hash is derived, which is made of the fields in their order",
                _ => "an order is derived, which compares the fields in their order",
            },
        ));
    }
    let (first, last) = field_run(item, members)?;
    let anchor = match to.anchor() {
        None => None,
        Some(name) => Some(item.field_index(name)?),
    };
    if let (MemberPosition::Below(_), Some(at)) = (to, anchor) {
        return Err(item.refused(
            item.fields[at].own_line,
            "comments and attributes above a field belong to it: name a place above them",
        ));
    }
    let gap = match (to, anchor) {
        (MemberPosition::Last, _) => item.fields.len(),
        (MemberPosition::Before(_), Some(at)) => at,
        (_, Some(at)) => at + 1,
        _ => 0,
    };
    let stays = (first..=last + 1).contains(&gap);
    let inside = anchor.is_some_and(|at| (first..=last).contains(&at));
    if inside || (stays && spacing.is_none()) {
        return Err(EditRefusal::NothingToDo {
            member: members[0].clone(),
            place: item.place_of(item.fields[first].own_line),
        });
    }
    let ends = item.fields.iter().all(|field| field.has_comma);
    let source = match ends {
        true => item.source.to_owned(),
        // What moves to the end needs one, and what came to be last may keep it.
        false => item.with_last_comma(),
    };
    let shift = source.len() - item.source.len();
    let fields = &item.fields;
    let end_of =
        |index: usize| fields[index].end + if index + 1 == fields.len() { shift } else { 0 };
    let (start, end) = (fields[first].start, end_of(last));
    let target = match to {
        MemberPosition::First => next_line_start(&source, item.open),
        MemberPosition::Before(_) | MemberPosition::Below(_) => fields[gap].start,
        MemberPosition::Last | MemberPosition::After(_) => end_of(gap - 1),
    };
    splice(
        &source,
        item,
        (start, fields[first].own_line, end),
        target,
        spacing,
        reason,
    )
}

/// First and last of fields that stand together.
fn field_run(item: &RustStruct<'_>, members: &[String]) -> Result<(usize, usize), EditRefusal> {
    let indexes: Result<Vec<usize>, EditRefusal> = members
        .iter()
        .map(|member| item.field_index(member))
        .collect();
    let indexes = indexes?;
    let (Some(&first), Some(&last)) = (indexes.iter().min(), indexes.iter().max()) else {
        return Err(EditRefusal::NoMembers);
    };
    match (first..=last).find(|index| !indexes.contains(index)) {
        None => Ok((first, last)),
        Some(between) => Err(EditRefusal::NotTogether {
            member: members[0].clone(),
            place: item.place_of(item.fields[between].own_line),
        }),
    }
}

/// Puts the lines `start..end`, whose first field begins at `own`, where `target` is.
fn splice(
    source: &str,
    item: &RustStruct<'_>,
    (start, own, end): (usize, usize, usize),
    target: usize,
    spacing: Option<MoveSpacing>,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let mut text = String::new();
    if let Some(reason) = reason {
        let line = line_start(source, start);
        let white = source[line..].len() - source[line..].trim_start_matches([' ', '\t']).len();
        let indent = &source[line..line + white];
        if reason.contains(['\n', '\r']) {
            return Err(EditRefusal::BadReason {
                name: item.name.clone(),
            });
        }
        text = format!("{indent}// {}{}", reason.trim(), line_ending(source));
    }
    let moved = MovedLines {
        cut: (start, end),
        text: text + &source[start..end],
        has_comment: start < own,
        has_heading: false,
    };
    Ok(moved.insert_at(source, target, spacing))
}

fn alignment_bytes(file_name: &str, alignment: &WrittenAlignment) -> Result<u32, EditRefusal> {
    match alignment {
        WrittenAlignment::Bytes(bytes) if bytes.is_power_of_two() => Ok(*bytes),
        WrittenAlignment::Bytes(bytes) => Err(EditRefusal::BadAlignment { bytes: *bytes }),
        WrittenAlignment::Macro(name) => Err(EditRefusal::UnknownMacro {
            file: file_name.to_owned(),
            name: name.clone(),
        }),
    }
}

/// The text with `align(N)` in a `#[repr]` of the type.
fn align_type(
    item: &RustStruct<'_>,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let bytes = alignment_bytes(item.file, alignment)?;
    if item.has_repr("align") {
        return Err(EditRefusal::AlreadyAligned {
            name: item.name.clone(),
            place: item.place(),
        });
    }
    if item.has_repr("packed") || item.has_repr("transparent") {
        return Err(item.refused(item.open, "a packed or transparent type takes no alignment"));
    }
    let source = item.source;
    let eol = line_ending(source);
    let (at, text) = match item.repr_end() {
        Some(close) => (close, format!(", align({bytes})")),
        None => (
            item.head,
            format!("#[repr(align({bytes}))]{eol}{}", item.indent()),
        ),
    };
    let mut new = [&source[..at], &text, &source[at..]].concat();
    if let Some(reason) = reason {
        if reason.contains(['\n', '\r']) {
            return Err(EditRefusal::BadReason {
                name: item.name.clone(),
            });
        }
        let line = line_start(source, item.repr_start().unwrap_or(item.head));
        new.insert_str(line, &format!("{}// {}{eol}", item.indent(), reason.trim()));
    }
    Ok(new)
}

/// The text without `align(N)`.
fn remove_alignment(item: &RustStruct<'_>) -> Result<String, EditRefusal> {
    let Some(cut) = item.align_range() else {
        return Err(EditRefusal::NotAligned {
            name: item.name.clone(),
            place: item.place(),
        });
    };
    Ok([&item.source[..cut.start], &item.source[cut.end..]].concat())
}

impl RustStruct<'_> {
    fn field_index(&self, member: &str) -> Result<usize, EditRefusal> {
        let found = self.fields.iter().position(|field| field.name == member);
        found.ok_or_else(|| EditRefusal::MemberNotFound {
            name: self.name.clone(),
            member: member.to_owned(),
            place: self.place(),
        })
    }

    fn field(&self, member: &str) -> Result<&RustField, EditRefusal> {
        self.field_index(member).map(|index| &self.fields[index])
    }

    fn refused(&self, at: usize, why: &'static str) -> EditRefusal {
        EditRefusal::RustNotEdited {
            name: self.name.clone(),
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

//! Moves of fields, on whole lines with their comments and attributes.

use super::definition::RustStruct;
use super::reason_line;
use crate::change::{MemberPosition, MoveRequest, SourceChange};
use crate::lines::next_line_start;
use crate::refusal::EditRefusal;
use crate::spacing::{MoveSpacing, MovedLines};

/// Returns the text with fields of a `#[repr(C)]` struct moved.
pub(super) fn move_fields(
    item: &RustStruct<'_>,
    request: MoveRequest<'_>,
) -> Result<String, EditRefusal> {
    let MoveRequest {
        members,
        to,
        spacing,
        reason,
    } = request;
    refuse_unmovable(item)?;
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

/// Refuses a struct whose fields have no order of their own, or one that others rely on.
fn refuse_unmovable(item: &RustStruct<'_>) -> Result<(), EditRefusal> {
    if !item.has_repr("C") {
        return Err(item.refused(
            item.open,
            "without #[repr(C)] the compiler orders the fields itself: align the type, or add #[repr(C)] first",
        ));
    }
    if item.has_repr("packed") {
        return Err(EditRefusal::Packed {
            name: item.name.to_owned(),
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
    Ok(())
}

/// Returns the moves of the same fields to their place of today, with the blank lines around it.
pub(super) fn moves_back(
    item: &RustStruct<'_>,
    request: MoveRequest<'_>,
) -> Result<Vec<Vec<SourceChange>>, EditRefusal> {
    let (first, last) = field_run(item, request.members)?;
    let (start, end) = (item.fields[first].start, item.fields[last].end);
    let target = match request.to {
        MemberPosition::First => next_line_start(item.source, item.open),
        MemberPosition::Last => item.fields.last().map_or(item.open, |last| last.end),
        MemberPosition::After(anchor) => item.field(anchor)?.end,
        MemberPosition::Before(anchor) | MemberPosition::Below(anchor) => item.field(anchor)?.start,
    };
    let spacing = MoveSpacing::before_move(item.source, (start, end), target);
    let before = first.checked_sub(1).map(|at| item.fields[at].name.clone());
    let behind = item.fields.get(last + 1).map(|field| field.name.clone());
    let places = [
        before.map_or(MemberPosition::First, MemberPosition::After),
        behind.map_or(MemberPosition::First, MemberPosition::Before),
    ];
    let backs = places.into_iter().map(|to| SourceChange::MoveMembers {
        members: request.members.to_vec(),
        to,
        spacing: Some(spacing),
        reason: None,
    });
    Ok(backs.map(|back| vec![back]).collect())
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
    let comment = reason_line(source, start, reason, item.name)?;
    let moved = MovedLines {
        cut: (start, end),
        text: comment + &source[start..end],
        has_comment: start < own,
        has_heading: false,
    };
    Ok(moved.insert_at(source, target, spacing))
}

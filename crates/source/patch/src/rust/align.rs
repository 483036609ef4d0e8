//! Alignment of a struct: `#[repr(align(N))]`.

use super::definition::RustStruct;
use super::reason_line;
use crate::change::WrittenAlignment;
use crate::lines::{line_ending, line_start};
use crate::refusal::EditRefusal;

/// The text with `align(N)` in a `#[repr]` of the type.
pub(super) fn align_type(
    item: &RustStruct<'_>,
    alignment: &WrittenAlignment,
    reason: Option<&str>,
) -> Result<String, EditRefusal> {
    let WrittenAlignment::Bytes(bytes) = alignment else {
        return Err(alignment.unknown_refusal(item.file));
    };
    if item.has_repr("align") {
        return Err(EditRefusal::AlreadyAligned {
            name: item.name.to_owned(),
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
    let line = line_start(source, item.repr_start().unwrap_or(item.head));
    let comment = reason_line(source, item.head, reason, item.name)?;
    Ok([
        &source[..line],
        &comment,
        &source[line..at],
        &text,
        &source[at..],
    ]
    .concat())
}

/// The text without `align(N)`.
pub(super) fn remove_alignment(item: &RustStruct<'_>) -> Result<String, EditRefusal> {
    let Some(cut) = item.align_range() else {
        return Err(EditRefusal::NotAligned {
            name: item.name.to_owned(),
            place: item.place(),
        });
    };
    Ok([&item.source[..cut.start], &item.source[cut.end..]].concat())
}

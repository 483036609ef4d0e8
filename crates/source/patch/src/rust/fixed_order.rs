//! `#[repr(C)]` with an order of the fields, for a struct whose fields the compiler orders.

use super::definition::RustStruct;
use super::move_fields::move_fields;
use crate::change::{MemberPosition, MoveRequest};
use crate::lines::line_ending;
use crate::refusal::EditRefusal;

/// Returns the text with `#[repr(C)]` and the fields in the order. A field that `order` does not
/// name stays behind the field above it.
pub(super) fn fix_field_order(
    item: &RustStruct<'_>,
    order: &[String],
) -> Result<String, EditRefusal> {
    for field in order {
        item.field_index(field)?;
    }
    let mut text = match item.has_repr("C") {
        true => item.source.to_owned(),
        false => add_repr_c(item)?,
    };
    let moved = fields_to_move(item, order);
    for (place, field) in order.iter().enumerate() {
        if !moved.contains(field) {
            continue;
        }
        let new = item.find_again(&text)?;
        let before = place.checked_sub(1).and_then(|before| order.get(before));
        let request = MoveRequest {
            members: std::slice::from_ref(field),
            to: &MemberPosition::after(before.cloned()),
            spacing: None,
            reason: None,
        };
        match move_fields(&new, request) {
            Ok(moved) => text = moved,
            Err(EditRefusal::NothingToDo { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(text)
}

/// Adds `C` to the `#[repr]` of the struct, or a line with `#[repr(C)]`.
fn add_repr_c(item: &RustStruct<'_>) -> Result<String, EditRefusal> {
    if item.has_repr("packed") || item.has_repr("transparent") || item.has_repr("Rust") {
        let why = "a struct that is packed, transparent or repr(Rust) takes no repr(C)";
        return Err(item.refused(item.open, why));
    }
    let source = item.source;
    let (at, text) = match item.repr_end() {
        Some(close) => (close, ", C".to_owned()),
        None => {
            let eol = line_ending(source);
            (item.head, format!("#[repr(C)]{eol}{}", item.indent()))
        }
    };
    Ok([&source[..at], &text, &source[at..]].concat())
}

/// Returns the fewest fields that have to move: all but a longest run of fields that are in order.
fn fields_to_move(item: &RustStruct<'_>, order: &[String]) -> Vec<String> {
    let place_of = |field: &String| item.fields.iter().position(|own| own.name == *field);
    let places: Vec<usize> = order.iter().filter_map(place_of).collect();
    // Length of the longest rising sequence that ends at each field, and the field before in it.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(places.len());
    for (index, place) in places.iter().enumerate() {
        let before = (0..index).filter(|before| places[*before] < *place);
        let longest = before.max_by_key(|before| (best[*before].0, usize::MAX - before));
        best.push((longest.map_or(1, |before| best[before].0 + 1), longest));
    }
    let mut at = (0..best.len()).max_by_key(|index| (best[*index].0, usize::MAX - index));
    let mut stays = Vec::new();
    while let Some(index) = at {
        stays.push(index);
        at = best[index].1;
    }
    let moved = { order.iter().enumerate() }.filter(|(index, _)| !stays.contains(index));
    moved.map(|(_, field)| field.clone()).collect()
}

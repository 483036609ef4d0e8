//! A layout as moves of bytes.

use std::ops::Range;

use relayout_advice::MappedObjects;
use relayout_layout::abi::{StructLayout, StructShape};
use relayout_messages::UserError;
use relayout_record::RequestedMove;
use relayout_search::OffsetMapping;

const LINE_BYTES: u64 = 64;

/// Returns the moves that make `new` of the layout `current` in objects. What is behind an object then lies in lines of its own.
///
/// # Errors
/// The layout moves nothing, or it is longer and the objects are no whole lines.
pub fn layout_moves(
    shape: &StructShape,
    current: &StructLayout,
    new: &StructLayout,
    objects: &[&MappedObjects],
) -> Result<Vec<RequestedMove>, UserError> {
    let stretches = OffsetMapping::new(shape, current, new).moved_stretches();
    if stretches.is_empty() {
        return Err(UserError::input("the layout moves no byte"));
    }
    let reaches_behind = new.size > current.size;
    if reaches_behind && !current.size.is_multiple_of(LINE_BYTES) {
        let text = format!(
            "the layout has {} bytes instead of {}, which are no whole cache lines: where its objects would lie is not simulated",
            new.size, current.size
        );
        return Err(UserError::input(text).with_remedy("`relayout verify kernel` builds it"));
    }
    let size = u32::try_from(current.size).unwrap_or(u32::MAX);
    let parts: Vec<(Range<u32>, u32)> = { stretches.into_iter() }
        .flat_map(|(bytes, to)| split_at_end(bytes, to, size))
        .collect();
    let moves_of = |objects: &MappedObjects| {
        let MappedObjects {
            place,
            holder,
            holder_bytes,
            offset,
        } = objects;
        let moves = parts.iter().map(|(bytes, to)| {
            let bytes = bytes.start + offset..bytes.end + offset;
            let to = match to.checked_sub(size) {
                Some(behind) => holder_bytes + behind,
                None => to + offset,
            };
            RequestedMove::of_bytes(place.as_deref(), holder, bytes, to)
        });
        moves.collect::<Vec<_>>()
    };
    Ok(objects
        .iter()
        .flat_map(|objects| moves_of(objects))
        .collect())
}

/// Splits bytes that move to `to` where their new offsets reach `end`.
fn split_at_end(bytes: Range<u32>, to: u32, end: u32) -> impl Iterator<Item = (Range<u32>, u32)> {
    let middle = bytes.start + end.saturating_sub(to).min(bytes.end - bytes.start);
    let parts = [(bytes.start..middle, to), (middle..bytes.end, to.max(end))];
    parts.into_iter().filter(|(bytes, _)| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: Range<u32>, to: u32, expect: &[(Range<u32>, u32)]) {
        assert_eq!(Vec::from_iter(split_at_end(bytes, to, 192)), expect);
    }

    #[test]
    fn bytes_are_split_where_their_object_ends() {
        check(88..96, 136, &[(88..96, 136)]);
        check(88..192, 128, &[(88..152, 128), (152..192, 192)]);
        check(0..8, 192, &[(0..8, 192)]);
        check(0..8, 200, &[(0..8, 200)]);
        check(0..8, 184, &[(0..8, 184)]);
    }
}

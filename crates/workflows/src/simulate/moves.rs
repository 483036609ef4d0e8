//! A layout as moves of bytes.

use std::ops::Range;

use relayout_advice::MappedObjects;
use relayout_layout::abi::{StructLayout, StructShape};
use relayout_messages::UserError;
use relayout_record::RequestedMove;
use relayout_search::OffsetMapping;

/// Bytes of a cache line.
const LINE_BYTES: u64 = 64;

/// Returns the moves that make `new` of the layout `current` in objects. Of objects inside others, what is behind them moves, too.
///
/// # Errors
/// The layout changes nothing, or where other objects would lie then is not known.
pub fn layout_moves(
    shape: &StructShape,
    current: &StructLayout,
    new: &StructLayout,
    objects: &[&MappedObjects],
) -> Result<Vec<RequestedMove>, UserError> {
    let stretches = OffsetMapping::new(shape, current, new).moved_stretches();
    if stretches.is_empty() && new.size == current.size {
        return Err(UserError::input("the layout moves no byte"));
    }
    let sizes = [current.size, new.size];
    let are_lines = sizes.iter().all(|size| size.is_multiple_of(LINE_BYTES));
    let follows_size = |objects: &&MappedObjects| objects.is_in_slabs || are_lines;
    if current.size != new.size && !objects.iter().all(follows_size) {
        let text = format!(
            "the layout has {} bytes instead of {}, and where variables and objects of a program would lie then is not simulated, \
             unless both are whole cache lines",
            new.size, current.size
        );
        return Err(UserError::input(text).with_remedy("`relayout verify` builds and measures it"));
    }
    let mut moves = Vec::new();
    for objects in objects {
        let of_holder = holder_moves(objects, &stretches, sizes);
        moves.extend(of_holder.ok_or_else(|| UserError::input("its objects are too large"))?);
    }
    Ok(moves)
}

/// Returns the moves of whole objects that hold the type; `None` if offsets overflow.
fn holder_moves(
    objects: &MappedObjects,
    stretches: &[(Range<u32>, u32)],
    sizes: [u64; 2],
) -> Option<Vec<RequestedMove>> {
    let place = objects.place.as_deref();
    let holder = &objects.holder;
    let end_of = |size: u64| objects.offset.checked_add(u32::try_from(size).ok()?);
    let (end, new_end) = (end_of(sizes[0])?, end_of(sizes[1])?);
    let behind = objects.holder_bytes.checked_sub(end)?;
    let mut moves = Vec::new();
    if end != new_end {
        let holder_bytes = new_end.checked_add(behind)?;
        moves.push(RequestedMove::resize(place, holder, holder_bytes));
    }
    for (bytes, to) in stretches {
        let bytes = bytes.start + objects.offset..bytes.end + objects.offset;
        let to = to.checked_add(objects.offset)?;
        moves.push(RequestedMove::of_bytes(place, holder, bytes, to));
    }
    if end != new_end && behind > 0 {
        let rest = end..objects.holder_bytes;
        moves.push(RequestedMove::of_bytes(place, holder, rest, new_end));
    }
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(holder_bytes: u32, offset: u32, new_size: u64, expect: &[&str]) {
        let objects = MappedObjects {
            place: Some("cache".to_owned()),
            holder: "holder".to_owned(),
            holder_bytes,
            offset,
            is_in_slabs: true,
        };
        let stretches = [(8..16, 0), (0..8, 16)];
        let moves = holder_moves(&objects, &stretches, [16, new_size]).unwrap();
        let texts: Vec<String> = moves.iter().map(RequestedMove::to_string).collect();
        assert_eq!(texts, expect);
    }

    #[test]
    fn what_is_behind_a_type_moves_with_its_end() {
        let alone = [
            "cache:holder@size=24",
            "cache:holder@8..16=0",
            "cache:holder@0..8=16",
        ];
        check(16, 0, 24, &alone);
        let inside = [
            "cache:holder@size=72",
            "cache:holder@16..24=8",
            "cache:holder@8..16=24",
            "cache:holder@24..64=32",
        ];
        check(64, 8, 24, &inside);
        check(
            64,
            8,
            16,
            &["cache:holder@16..24=8", "cache:holder@8..16=24"],
        );
    }
}

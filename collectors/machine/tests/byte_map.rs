//! Properties of all maps: each byte has a place of its own, and what is not moved stays.

use std::collections::HashSet;

use proptest::prelude::*;
use relayout_machine::{ByteMap, MovedLayout, MovedObjects};

const BASE: u64 = 0xffff_8880_0000_0000;
const BYTES: u32 = 200;

/// A move of bytes: offset, number, and the new position if it is in the object.
type ByteMove = (u32, u32, Option<u32>);

fn any_move() -> impl Strategy<Value = ByteMove> {
    (0..BYTES, 1..BYTES, prop::option::of(0..BYTES))
}

/// A layout after those of the moves that fit.
fn moved_layout(moves: &[ByteMove]) -> MovedLayout {
    let mut layout = MovedLayout::new(BYTES).expect("not too large");
    for &(from, bytes, to) in moves {
        let moved = from..(from + bytes).min(BYTES);
        let to = to.unwrap_or(layout.next_own_line());
        let _ = layout.move_bytes(moved, to);
    }
    layout
}

proptest! {
    #[test]
    fn no_two_bytes_have_the_same_place(
        moves in prop::collection::vec(any_move(), 0..6),
        more_moves in prop::collection::vec(any_move(), 0..6),
        slack in 0..100_u64,
        count in 1..40_u64,
    ) {
        let stride = u64::from(BYTES) + slack;
        let objects = |first: u64| MovedObjects { first: BASE + first, stride, count };
        let layouts = vec![
            (moved_layout(&moves), vec![objects(0x20_000), objects(0x1_000)]),
            (moved_layout(&more_moves), vec![objects(0x1_000 + stride * count)]),
        ];
        let map = ByteMap::new(layouts).expect("the objects do not overlap");
        let mut places = HashSet::new();
        for address in BASE..BASE + 0x40_000 {
            let said = map.said_address(address);
            prop_assert!(places.insert(said), "{address:#x} at {said:#x}");
            let is_moved = said != address;
            let within = [0x1_000, 0x20_000].iter().any(|first| {
                (BASE + first..BASE + first + 2 * stride * count).contains(&address)
            });
            prop_assert!(within || !is_moved, "{address:#x} at {said:#x}");
        }
        prop_assert_eq!(ByteMap::parse(&map.to_string()), Some(map));
    }

    #[test]
    fn damaged_text_is_refused_or_a_map(text in "(layout|move|objects)( [0-9]{1,6}){1,3}(\n(move|objects)( [0-9]{1,6}){3}){0,6}") {
        if let Some(map) = ByteMap::parse(&text) {
            let mut places = HashSet::new();
            prop_assert!((0..0x1000).all(|address| places.insert(map.said_address(address))));
        }
    }
}

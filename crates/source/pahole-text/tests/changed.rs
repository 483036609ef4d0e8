//! The text of a rearranged struct equals the text of the changed source.

use relayout_layout::abi::AbiEngine;
use relayout_layout::{Aggregate, Member, Type, TypeArena, TypeId};
use relayout_pahole_text::{Options, render_aggregate};

/// Text by `pahole` 1.24 of the changed struct, compiled by GCC.
const CHANGED: &str = "\
struct pair {
	long int                   owner;                /*     0     8 */
	char                       state;                /*     8     1 */

	/* XXX 55 bytes hole, try to pack */

	/* --- cacheline 1 boundary (64 bytes) --- */
	int                        users __attribute__((__aligned__(64))); /*    64     4 */

	/* size: 128, cachelines: 2, members: 3 */
	/* sum members: 13, holes: 1, sum holes: 55 */
	/* padding: 60 */
	/* forced alignments: 1, forced holes: 1, sum forced holes: 55 */
} __attribute__((__aligned__(64)));
";

#[test]
fn moved_and_aligned() {
    let mut types = TypeArena::new();
    let mut base = |name: &str, size| {
        let name = name.to_owned();
        types.add(Type::Base { name, size })
    };
    let (char, int, long) = (base("char", 1), base("int", 4), base("long int", 8));
    let pair = Aggregate {
        name: Some("pair".to_owned()),
        size: 16,
        members: vec![
            member("state", char, 0),
            member("users", int, 4),
            member("owner", long, 8),
        ],
        complete: true,
        ..Aggregate::default()
    };
    let shape = AbiEngine::new(&types).shape(&pair).unwrap();
    let mut arrangement = shape.current_arrangement();
    arrangement.order = vec![2, 0, 1];
    arrangement.align[1] = 64;
    let changed = shape.apply_arrangement(&pair, &arrangement, &shape.lay_out(&arrangement));
    let text = render_aggregate(&types, &changed, &Options::default());
    assert_eq!(text.as_deref(), Some(CHANGED));
}

fn member(name: &str, ty: TypeId, offset: u64) -> Member {
    Member {
        name: Some(name.to_owned()),
        is_base: false,
        ty,
        offset,
        bits: None,
        declared_align: None,
        decl: None,
    }
}

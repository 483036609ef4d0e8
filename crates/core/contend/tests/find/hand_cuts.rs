//! Memory without a type that is cut into a part for each context.

use super::*;

/// Context `here` loses a line of its part to a store of context `there` to its own; the parts are
/// `stride` bytes apart, from 0x7_0000.
fn lost(here: u16, there: u16, stride: u64) -> ConflictRow {
    let part = |context: u16| 0x7_0000 + u64::from(context) * stride;
    ConflictRow {
        context: ContextId(here),
        size: 8,
        other_context: ContextId(there),
        other_size: 8,
        ..conflict(part(here) + 16, READ, part(there), 50, 50)
    }
}

#[test]
fn equal_distances_tell_the_stride() {
    let rows = vec![
        lost(1, 2, 40),
        lost(2, 1, 40),
        lost(3, 2, 40),
        lost(2, 3, 40),
    ];
    let found = find(&profile(rows), &Table);
    assert!(found.findings.is_empty(), "{found:#?}");
    let cuts = &found.unresolved[0].hand_cuts;
    assert_eq!(cuts.len(), 1, "{cuts:#?}");
    assert_eq!(
        (cuts[0].stride, cuts[0].count, cuts[0].transfers),
        (40, 3, 200)
    );
    let contexts = cuts[0].users.iter().map(|users| users.contexts[0].0);
    assert_eq!(contexts.collect::<Vec<_>>(), [1, 2, 3]);
}

/// A thread that cleared the memory is no user of it, also if the others hardly met.
#[test]
fn a_context_with_an_event_or_two_has_no_part() {
    let mut rows = vec![
        lost(1, 2, 40),
        lost(2, 1, 40),
        lost(3, 2, 40),
        lost(2, 3, 40),
    ];
    rows.push(ConflictRow {
        context: ContextId(0),
        addr: Addr(0x7_0000 + 40),
        count: 1,
        ..lost(1, 2, 40)
    });
    let found = find(&profile(rows), &Table);
    let cuts = &found.unresolved[0].hand_cuts;
    assert_eq!(cuts.len(), 1, "{cuts:#?}");
    assert_eq!((cuts[0].stride, cuts[0].count), (40, 3));
}

#[test]
fn two_contexts_are_no_regular_cut() {
    let found = find(&profile(vec![lost(1, 2, 40), lost(2, 1, 40)]), &Table);
    assert!(found.unresolved[0].hand_cuts.is_empty());
}

#[test]
fn contexts_with_the_same_bytes_have_no_parts() {
    let rows = vec![lost(1, 2, 0), lost(2, 3, 0), lost(3, 1, 0)];
    let found = find(&profile(rows), &Table);
    assert!(found.unresolved[0].hand_cuts.is_empty());
}

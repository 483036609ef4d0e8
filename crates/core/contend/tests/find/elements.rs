//! Elements of an array that different contexts use on shared lines.

use relayout_contend::Remedy;
use relayout_contend::finding::ElementUsers;

use super::*;

/// Loads or stores of a context to `offset` in an element.
fn uses(index: u64, offset: u64, context: u16, access: AccessKind, count: u64) -> CountRow {
    CountRow {
        run: RunId(0),
        addr: Addr(0x6_0000 + 16 * index + offset),
        size: 8,
        context: ContextId(context),
        site: SiteId(1),
        access,
        count,
        silent: None,
    }
}

/// An access to `here` lost the line to a store to `there`: element and offset.
fn lost(here: (u64, u64), there: (u64, u64), transfers: u64, context: u16) -> ConflictRow {
    let addr = |(index, offset): (u64, u64)| 0x6_0000 + 16 * index + offset;
    ConflictRow {
        context: ContextId(context),
        ..conflict(addr(here), READ, addr(there), transfers, transfers)
    }
}

/// Elements 0 to 3 are on one line, 4 to 7 on the next: one finding about one array.
#[test]
fn elements_on_several_lines_are_one_finding() {
    let mut profile = profile(vec![
        lost((0, 8), (1, 8), 50, 1),
        lost((1, 0), (0, 8), 40, 2),
        lost((4, 8), (5, 0), 30, 5),
    ]);
    profile.counts = vec![
        uses(0, 8, 1, AccessKind::Write, 1000),
        uses(0, 8, 0, AccessKind::Write, 1),
        uses(1, 8, 2, AccessKind::Write, 1000),
        uses(4, 8, 5, AccessKind::Write, 1000),
    ];
    let found = find(&profile, &Table);
    assert_eq!(found.findings.len(), 1, "{found:#?}");
    let finding = &found.findings[0];
    assert_eq!(finding.kind, FindingKind::FalseSharing);
    let elements = finding.elements.as_ref().expect("elements");
    assert_eq!(
        (elements.stride, elements.count, elements.transfers),
        (16, 16, 120)
    );
    // The context that set the array up is no user.
    let user = |index, context| ElementUsers {
        index,
        contexts: vec![ContextId(context)],
    };
    assert_eq!(elements.users, [user(0, 1), user(1, 2), user(4, 5)]);
    let remedy = Remedy::PadElements {
        array: "workers".into(),
        stride: 16,
        padded_stride: 64,
        transfers: 120,
    };
    assert_eq!(finding.remedies, [remedy]);
}

/// The limits are hardly ever stored to, but their readers lose the line to a neighbour's count:
/// the array is to be padded, and nothing to be gathered with what is hardly ever stored to.
#[test]
fn a_member_that_is_read_mostly_in_elements_is_shared_falsely() {
    let mut profile = profile(vec![
        lost((0, 0), (1, 8), 50, 1),
        lost((1, 0), (0, 8), 40, 2),
    ]);
    profile.counts = vec![
        uses(0, 0, 1, AccessKind::Read, 9000),
        uses(1, 0, 2, AccessKind::Read, 9000),
        uses(0, 8, 1, AccessKind::Write, 100),
        uses(1, 8, 2, AccessKind::Write, 100),
    ];
    let found = find(&profile, &Table);
    assert_eq!(found.findings[0].kind, FindingKind::FalseSharing);
    let remedies = &found.findings[0].remedies;
    assert!(
        matches!(remedies[..], [Remedy::PadElements { .. }]),
        "{remedies:?}"
    );
}

/// One member of one element: nothing is between elements.
#[test]
fn one_element_alone_is_no_array_that_shares() {
    let found = find(&profile(vec![lost((0, 0), (0, 8), 50, 1)]), &Table);
    assert_eq!(found.findings[0].elements, None);
    let remedies = &found.findings[0].remedies;
    assert!(
        matches!(remedies[..], [Remedy::SeparateMembers { .. }]),
        "{remedies:?}"
    );
}

//! Layouts that code in a source tree forbids, and what that costs.

use relayout_advice::{ForbiddenLayout, GatheredType, ProbedMachine, SearchRequest, SourceUses};
use relayout_patch::{AssertedSize, BorderSide, OrderFact};

use crate::advice::fixture::address_of;
use crate::advice::order::{SEARCH, assertion, first_member, offset_limit, range};
use crate::advice::recording::{Recording, hot_turns, loaded, turns};

/// Reason why `order` of the members of a type is not safe.
fn refusal(gathered: &GatheredType<'_>, order: &[usize]) -> Option<String> {
    let mut arrangement = gathered.shape.current_arrangement();
    arrangement.order = order.to_vec();
    let layout = gathered.shape.lay_out(&arrangement);
    gathered.order.obstacle(&gathered.shape, order, &layout)
}

#[test]
fn a_layout_that_breaks_a_rule_is_refused_with_the_line_of_the_rule() {
    let check = |variable: &str, facts: &[OrderFact], order: &[usize], expect: Option<&str>| {
        let recording = loaded(variable);
        let mut gathered = recording.gather(variable);
        gathered.apply_order_uses(SourceUses {
            search: SEARCH,
            facts: facts.to_vec(),
            macros: Vec::new(),
        });
        assert_eq!(refusal(&gathered, order).as_deref(), expect);
        let today: Vec<usize> = (0..gathered.shape.atoms.len()).collect();
        assert_eq!(refusal(&gathered, &today), None);
    };
    let second = [range(7, "second", BorderSide::Before)];
    let border = "user.c:7: use 7: a member would cross the border of that range";
    check("hot", &second, &[1, 0, 2], Some(border));
    check("hot", &second, &[0, 1, 2], None);
    let pinned = [assertion(3, &["second"], None)];
    let moved = "user.c:3: use 3: 'second' would move";
    check("hot", &pinned, &[0, 2, 1], Some(moved));
    // Another member takes the place of the first, and the second stays.
    check("embedded", &[], &[1, 0, 2], None);
    let first = "user.c:8: use 8: 'inner' stays first";
    check("embedded", &[first_member(8)], &[1, 0, 2], Some(first));
    check("embedded", &[first_member(8)], &[0, 2, 1], None);
    let limit = [
        range(7, "first", BorderSide::Before),
        offset_limit(9, "second", 64),
    ];
    let passed = "user.c:9: use 9: the limit would be passed";
    check("hot", &limit, &[0, 2, 1], Some(passed));
    let marker = "a member would cross 'copy_begin', which marks a range of members";
    check("marked", &[], &[1, 0, 2, 3, 4], Some(marker));
}

/// The layout that facts forbid, of a type whose two words two contexts add to.
fn forbidden(
    variable: &str,
    offsets: [u64; 2],
    uses: Option<&[OrderFact]>,
) -> Option<(f64, String)> {
    let start = address_of(variable);
    let recording = Recording::of_kernel(turns(offsets.map(|offset| start + offset), 100));
    let mut gathered = recording.gather(variable);
    if let Some(facts) = uses {
        gathered.apply_order_uses(SourceUses {
            search: SEARCH,
            facts: facts.to_vec(),
            macros: Vec::new(),
        });
    }
    let request = SearchRequest::plain(vec![variable.to_owned()], ProbedMachine::default());
    let advised = recording.search(vec![gathered], &request);
    let forbidden = advised.searched.forbidden.as_ref();
    forbidden.map(|ForbiddenLayout { change, limit, .. }| (*change, limit.clone()))
}

#[test]
fn a_layout_that_only_a_tree_forbids_is_named_with_the_limit() {
    // All offsets and the size stay: no layout parts the two.
    let all = [
        assertion(3, &["first", "second", "unused"], None),
        assertion(4, &[], Some(AssertedSize::Exact)),
    ];
    let (change, limit) = forbidden("hot", [0, 8], Some(&all)).expect("forbidden");
    assert_eq!(change, -1.0);
    assert!(limit.starts_with("user.c:3: use 3: '"), "{limit}");
    // Without a tree, and where its limits cost nothing, nothing is forbidden.
    assert_eq!(forbidden("hot", [0, 8], None), None);
    assert_eq!(forbidden("hot", [0, 8], Some(&[])), None);
    let harmless = [range(7, "second", BorderSide::Before)];
    assert_eq!(forbidden("hot", [0, 8], Some(&harmless)), None);
}

#[test]
fn borders_and_the_size_alone_forbid_a_layout_too() {
    // Nothing passes `second`, and nothing is aligned.
    let rules = [
        range(3, "second", BorderSide::Before),
        range(4, "second", BorderSide::After),
        assertion(5, &[], Some(AssertedSize::Exact)),
    ];
    let (change, limit) = forbidden("hot", [0, 8], Some(&rules)).expect("forbidden");
    assert_eq!(change, -1.0);
    assert!(limit.starts_with("user.c:"), "{limit}");
}

#[test]
fn rules_hold_in_the_search() {
    let recording = Recording::of_kernel(hot_turns(100));
    let mut gathered = recording.gather("hot");
    gathered.apply_order_uses(SourceUses {
        search: SEARCH,
        facts: vec![assertion(3, &["second"], None)],
        macros: Vec::new(),
    });
    let request = SearchRequest::plain(vec!["hot".to_owned()], ProbedMachine::default());
    let advised = recording.search(vec![gathered], &request);
    let advice = advised.advice().expect("searched");
    let mut candidates = advice.candidates.iter();
    assert!(!advice.candidates.is_empty());
    assert!(candidates.all(|candidate| candidate.layout.places[1].offset == 8));
}

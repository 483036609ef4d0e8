//! Code that relies on the order of members, and the rules that follow for layouts.

use relayout_advice::{
    BorderReason, FirstMember, FirstMemberPin, OrderEvidence, OrderNames, SourceSearch, SourceUses,
};
use relayout_patch::{
    AssertedSize, BorderSide, FileLine, FirstMemberReliance, OrderFact, OrderReliance, RangeBorder,
};
use relayout_search::{OrderBorder, SizeRule};

use crate::advice::recording::loaded;

/// Extent of a search in a source tree.
pub const SEARCH: SourceSearch = SourceSearch {
    files: 2,
    naming: 1,
    unread: 0,
};

fn fact(line: u32, reliance: OrderReliance) -> OrderFact {
    OrderFact {
        place: FileLine {
            file: "user.c".to_owned(),
            line,
        },
        text: format!("use {line}"),
        reliance,
    }
}

/// `memset` of memory that begins or ends at a member.
pub fn range(line: u32, member: &str, side: BorderSide) -> OrderFact {
    let border = RangeBorder {
        member: member.to_owned(),
        side,
    };
    let reliance = OrderReliance::Range {
        operation: "memset".to_owned(),
        borders: vec![border],
    };
    fact(line, reliance)
}

fn names(members: &[&str]) -> Vec<String> {
    members.iter().map(|member| (*member).to_owned()).collect()
}

pub fn assertion(line: u32, members: &[&str], size: Option<AssertedSize>) -> OrderFact {
    let members = names(members);
    fact(line, OrderReliance::Assertion { members, size })
}

pub fn offset_limit(line: u32, member: &str, below: u64) -> OrderFact {
    let reliance = OrderReliance::OffsetLimit {
        operation: "kfree_rcu".to_owned(),
        member: member.to_owned(),
        below,
    };
    fact(line, reliance)
}

pub fn first_member(line: u32) -> OrderFact {
    let operation = "container_of".to_owned();
    let reliance = FirstMemberReliance::ContainerOf { operation };
    fact(line, OrderReliance::FirstMember(reliance))
}

/// Evidence that a source tree with these facts gives.
fn evidence_with(variable: &str, facts: &[OrderFact], macros: &[(&str, &str)]) -> OrderEvidence {
    let recording = loaded(variable);
    let mut gathered = recording.gather(variable);
    let macros = { macros.iter() }.map(|(name, path)| ((*name).to_owned(), (*path).to_owned()));
    gathered.apply_order_uses(SourceUses {
        search: SEARCH,
        facts: facts.to_vec(),
        macros: macros.collect(),
    });
    gathered.order
}

fn evidence(variable: &str, facts: &[OrderFact]) -> OrderEvidence {
    evidence_with(variable, facts, &[])
}

/// Evidence without a source tree.
fn blind(variable: &str) -> OrderEvidence {
    loaded(variable).gather(variable).order
}

/// Position of a border, and true for each side on which the nearest member stays.
fn border(position: usize, holds_before: bool, holds_after: bool) -> OrderBorder {
    OrderBorder {
        position,
        holds_before,
        holds_after,
    }
}

#[test]
fn without_a_tree_a_struct_at_the_start_stays() {
    let check = |variable: &str, expect: Option<(&str, FirstMemberPin)>| {
        let expect = expect.map(|(name, pin)| FirstMember {
            name: name.to_owned(),
            pin,
        });
        assert_eq!(blind(variable).first_member, expect, "{variable}");
    };
    check("embedded", Some(("inner", FirstMemberPin::NotSearched)));
    check("embedded_later", None);
    check("hot", None);
    assert_eq!(blind("embedded").pinned_first(), Some("inner"));
    assert_eq!(blind("hot").pinned_first(), None);
    assert_eq!(blind("hot").search, None);
}

#[test]
fn code_is_sought_by_the_names_of_the_struct_and_of_what_is_at_its_start() {
    let query = |variable: &str| {
        let recording = loaded(variable);
        let gathered = recording.gather(variable);
        gathered.order_query().expect("members").clone()
    };
    let embedded = query("embedded");
    assert_eq!(embedded.tag, "embedded");
    assert_eq!(embedded.members, ["inner", "total", "rest"]);
    assert_eq!(embedded.first_members, ["inner"]);
    assert_eq!(embedded.first_types, ["worker"]);
    assert_eq!(query("hot").first_members, ["first"]);
    assert!(query("hot").first_types.is_empty());
    // The compiler orders what is Rust's.
    assert!(loaded("ring").gather("ring").order_query().is_none());
}

#[test]
fn arrays_without_elements_are_borders() {
    for evidence in [blind("marked"), evidence("marked", &[])] {
        assert_eq!(evidence.markers, ["copy_begin", "copy_end"]);
        let borders = [border(1, false, true), border(3, false, true)];
        assert_eq!(evidence.rules.borders, borders);
        let marker = |name: &str| BorderReason::Marker(name.to_owned());
        let reasons = [marker("copy_begin"), marker("copy_end")];
        assert_eq!(evidence.border_reasons, reasons);
    }
    // A flexible array at the end marks nothing.
    assert!(blind("packet").markers.is_empty());
    assert!(blind("hot").rules.borders.is_empty());
}

#[test]
fn the_border_of_a_range_lies_before_or_behind_its_member() {
    let check = |member: &str, side: BorderSide, expect: &[OrderBorder]| {
        let found = evidence("embedded", &[range(7, member, side)]);
        assert_eq!(found.rules.borders, expect, "{member}");
        let reasons = vec![BorderReason::Fact(0); expect.len()];
        assert_eq!(found.border_reasons, reasons);
    };
    // Members are `inner`, `total`, `rest`.
    check("total", BorderSide::Before, &[border(1, false, true)]);
    check("total", BorderSide::After, &[border(2, true, false)]);
    // A border inside of a member lets nothing pass it, on both sides.
    let around = [border(0, false, true), border(1, true, false)];
    check("inner.limit", BorderSide::Before, &around);
    check("inner.limit", BorderSide::After, &around);
    check("other", BorderSide::Before, &[]);
}

#[test]
fn a_macro_stands_for_the_path_of_a_member() {
    let facts = [range(7, "sum", BorderSide::Before)];
    let found = evidence_with("embedded", &facts, &[("sum", "total")]);
    assert_eq!(found.rules.borders, [border(1, false, true)]);
    let found = evidence_with("embedded", &facts, &[("sum", "inner.jobs")]);
    let around = [border(0, false, true), border(1, true, false)];
    assert_eq!(found.rules.borders, around);
    assert!(
        evidence_with("embedded", &facts, &[("other", "total")])
            .facts
            .is_empty()
    );
}

#[test]
fn equal_borders_have_the_first_reason() {
    let facts = [
        range(7, "second", BorderSide::Before),
        range(9, "second", BorderSide::Before),
    ];
    let found = evidence("hot", &facts);
    assert_eq!(found.rules.borders, [border(1, false, true)]);
    assert_eq!(found.border_reasons, [BorderReason::Fact(0)]);
    assert_eq!(found.facts.len(), 2);
}

#[test]
fn a_border_of_the_definition_needs_members_on_both_sides() {
    let mark = |before: &[&str], after: &[&str]| {
        let reliance = OrderReliance::DefinitionBorder {
            mark: "randomized_struct_fields_start".to_owned(),
            before: names(before),
            after: names(after),
        };
        evidence("hot", &[fact(3, reliance)]).rules.borders
    };
    assert_eq!(mark(&["first"], &["second"]), [border(1, false, false)]);
    assert_eq!(
        mark(&["first"], &["never", "unused"]),
        [border(2, false, false)]
    );
    // Members of other configurations.
    assert_eq!(mark(&["never"], &["second"]), []);
    assert_eq!(mark(&["first"], &["never"]), []);
    assert_eq!(mark(&[], &["first"]), []);
}

#[test]
fn asserted_offsets_pin_their_members_once() {
    let facts = [
        assertion(3, &["second", "never"], None),
        assertion(5, &["second", "unused[3]"], None),
    ];
    let found = evidence("hot", &facts);
    let pinned = [("second".to_owned(), 0), ("unused".to_owned(), 1)];
    assert_eq!(found.pinned, pinned);
    assert_eq!(found.rules.size, SizeRule::Any);
    assert!(
        evidence("hot", &[assertion(3, &["never"], None)])
            .facts
            .is_empty()
    );
}

#[test]
fn the_strictest_assertion_of_the_size_counts() {
    let rule = |sizes: &[AssertedSize]| {
        let facts = sizes.iter().map(|size| assertion(3, &[], Some(*size)));
        evidence("hot", &facts.collect::<Vec<_>>()).rules.size
    };
    assert_eq!(rule(&[]), SizeRule::Any);
    assert_eq!(rule(&[AssertedSize::Limit]), SizeRule::NoGrowth);
    assert_eq!(rule(&[AssertedSize::Exact]), SizeRule::Exact);
    let both = [AssertedSize::Exact, AssertedSize::Limit];
    assert_eq!(rule(&both), SizeRule::Exact);
}

#[test]
fn a_limit_of_an_offset_matters_where_the_struct_reaches_it() {
    let limits = |below: u64, member: &str| {
        let found = evidence("hot", &[offset_limit(3, member, below)]);
        (found.rules.offset_limits, found.facts.len())
    };
    assert_eq!(limits(64, "second"), (vec![(1, 64)], 1));
    assert_eq!(limits(128, "second"), (vec![(1, 128)], 1));
    assert_eq!(limits(4096, "second"), (vec![], 0));
    assert_eq!(limits(64, "never"), (vec![], 0));
}

#[test]
fn with_a_tree_the_first_member_stays_for_a_reason_only() {
    let check = |variable: &str, facts: &[OrderFact], name: &str, pin: FirstMemberPin| {
        let first = FirstMember {
            name: name.to_owned(),
            pin,
        };
        assert_eq!(evidence(variable, facts).first_member, Some(first));
    };
    check("embedded", &[], "inner", FirstMemberPin::Free);
    check("hot", &[], "first", FirstMemberPin::Free);
    let values = fact(9, OrderReliance::Initializer { values: 2 });
    let facts = [range(7, "total", BorderSide::Before), first_member(8)];
    check("embedded", &facts, "inner", FirstMemberPin::Fact(1));
    check(
        "hot",
        &[values.clone(), first_member(8)],
        "first",
        FirstMemberPin::Fact(0),
    );
    assert_eq!(evidence("hot", &[]).pinned_first(), None);
    assert_eq!(evidence("hot", &[values]).pinned_first(), Some("first"));
}

#[test]
fn a_base_class_stays_first_whatever_the_source_says() {
    let recording = loaded("hot");
    let shape = recording.gather("hot").shape;
    let names = OrderNames {
        first_struct: Some("base".to_owned()),
        is_base_first: true,
        ..OrderNames::default()
    };
    let stays = |evidence: OrderEvidence| {
        let first = evidence.first_member.expect("a first member");
        assert_eq!(first.pin, FirstMemberPin::BaseClass);
        assert_eq!(first.name, "base");
    };
    stays(OrderEvidence::from_layout(&names, &shape));
    for facts in [vec![], vec![first_member(8)]] {
        let uses = SourceUses {
            search: SEARCH,
            facts,
            macros: Vec::new(),
        };
        stays(OrderEvidence::from_uses(&names, &shape, uses));
    }
}

#[test]
fn a_use_that_is_not_decided_forbids_nothing() {
    let reliance = OrderReliance::Undecided {
        operation: "memset_after".to_owned(),
        member: "second".to_owned(),
        expression: "get()".to_owned(),
    };
    let found = evidence(
        "hot",
        &[fact(1, reliance), range(2, "second", BorderSide::Before)],
    );
    assert_eq!(found.undecided.len(), 1);
    assert_eq!(found.facts.len(), 1);
    assert_eq!(found.border_reasons, [BorderReason::Fact(0)]);
    assert_eq!(found.search, Some(SEARCH));
}

#[test]
fn values_by_position_and_shuffled_members_are_warned_of() {
    let shuffled = fact(4, OrderReliance::Randomized);
    let found = evidence("hot", &[shuffled, range(5, "second", BorderSide::Before)]);
    let shuffled =
        "user.c:4: struct hot may be shuffled by the compiler (CONFIG_RANDSTRUCT): use 4";
    assert_eq!(found.warnings("hot"), [shuffled]);
    let values = |line: u32| fact(line, OrderReliance::Initializer { values: 2 });
    let found = evidence("hot", &(1..=10).map(values).collect::<Vec<_>>());
    let warnings = found.warnings("hot");
    assert_eq!(warnings.len(), 9);
    assert_eq!(
        warnings[0],
        "user.c:1: struct hot is initialised by position: use 1"
    );
    assert_eq!(warnings[8], "and 2 more such uses of struct hot");
    let found = evidence("hot", &(1..=8).map(values).collect::<Vec<_>>());
    assert_eq!(found.warnings("hot").len(), 8);
}

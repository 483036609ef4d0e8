//! Guards of stores that mostly change nothing, and layouts with them.

use relayout_advice::{AdvisedType, GuardableStore, StoreCounts};
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, add, in_function, load, store};

/// A store that is known to leave its bytes as they were, or to change them.
fn known(silent: bool, step: Step) -> Step {
    Step {
        silent: Some(silent),
        ..step
    }
}

/// Two contexts load `second`, which the first stores to by `function` before each turn. Of so many
/// stores in a hundred, as many change nothing.
fn shared_flag(function: &str, silent_percent: usize) -> Vec<Step> {
    let second = address_of("hot") + 8;
    let turn = |round: usize| {
        let is_silent = round % 100 < silent_percent;
        [
            in_function(function, known(is_silent, store(0, second))),
            load(1, second),
        ]
    };
    (0..200).flat_map(turn).collect()
}

/// Statements of the best guards, as the edit names them.
fn guards(steps: Vec<Step>) -> Vec<String> {
    let recording = Recording::of_kernel(steps);
    let advised = recording.advise("hot");
    let guards = advised.guards.as_ref();
    guards.map_or(Vec::new(), |guards| guards.guard_words())
}

/// Line of the first statement of a function of the fixture.
fn line_of(function: &str) -> String {
    let source = include_str!("fixture.c");
    let is_start = |(_, line): &(usize, &str)| line.starts_with(&format!("void {function}("));
    let start = source.lines().enumerate().find(is_start);
    let (index, _) = start.expect("the function is in the fixture");
    // Two lines of the head come before the statement.
    format!("fixture.c:{}", index + 3)
}

#[test]
fn a_store_that_changes_nothing_gets_a_guard() {
    let words = format!(
        "store to 'second' only if it differs ({})",
        line_of("store_second")
    );
    for silent_percent in [100, 51] {
        let found = guards(shared_flag("store_second", silent_percent));
        assert_eq!(found.as_slice(), std::slice::from_ref(&words));
    }
}

#[test]
fn a_store_that_changes_something_half_of_the_time_gets_none() {
    assert_eq!(
        guards(shared_flag("store_second", 50)),
        Vec::<String>::new()
    );
    let mut unknown = shared_flag("store_second", 100);
    for step in &mut unknown {
        step.silent = None;
    }
    assert_eq!(guards(unknown), Vec::<String>::new());
}

#[test]
fn a_statement_in_assembler_gets_no_guard() {
    let steps = shared_flag("store_in_assembler", 100);
    assert_eq!(guards(steps), Vec::<String>::new());
}

#[test]
fn a_type_without_transfers_gets_no_guard() {
    let second = address_of("hot") + 8;
    let alone = in_function("store_second", known(true, store(0, second)));
    assert_eq!(guards(vec![alone; 200]), Vec::<String>::new());
}

#[test]
fn a_statement_has_its_place_and_its_recorded_stores() {
    let recording = Recording::of_kernel(shared_flag("store_second", 75));
    let advised = recording.advise("hot");
    let guards = advised.guards.as_ref().expect("a guard");
    let [statement] = guards.statements.as_slice() else {
        panic!("{:?}", guards.statements);
    };
    assert_eq!(statement.member, "second");
    assert_eq!(statement.function.as_deref(), Some("store_second"));
    assert_eq!(statement.source_position(), line_of("store_second"));
    let store_counts = StoreCounts {
        all: 200,
        silent: 150,
    };
    assert_eq!(statement.store_counts, store_counts);
    assert_eq!(guards.fewer_guards, 0);
}

/// The recommended candidate with guards: members that move, transfers today and then.
fn recommended(advised: &AdvisedType<'_>) -> Option<(usize, u64, u64)> {
    let (pool, found) = advised.recommended_guarded()?;
    let candidate = &pool.advice.candidates[found.index];
    let today = pool.advice.current.tally.transfers();
    Some((candidate.moved, today, candidate.tally.transfers()))
}

#[test]
fn guards_are_recommended_where_no_layout_helps() {
    let recording = Recording::of_kernel(shared_flag("store_second", 100));
    let advised = recording.advise("hot");
    assert_eq!(advised.recommended(None), None);
    assert_eq!(recommended(&advised), Some((0, 200, 0)));
    assert!(!advised.finds_nothing());
    let (pool, _) = advised.most_recommended().expect("the guard");
    assert_eq!(pool.statements.len(), 1);
}

#[test]
fn guards_that_save_no_more_than_a_layout_are_not_recommended() {
    // The member that is loaded is not the one that is stored to.
    let hot = address_of("hot");
    let silent = in_function("store_second", known(true, store(0, hot + 8)));
    let recording = Recording::of_kernel([silent, load(1, hot)].repeat(200));
    let advised = recording.advise("hot");
    assert!(advised.recommended(None).is_some());
    assert_eq!(recommended(&advised), None);
    assert!(advised.better_guarded_pool().is_none());
    let (pool, _) = advised.most_recommended().expect("a layout");
    assert_eq!(pool.statements, &[] as &[GuardableStore]);
}

#[test]
fn two_stores_to_one_line_are_guarded_together() {
    // Each of the two would take the line without the other.
    let hot = address_of("hot");
    let turn = [
        in_function("store_first", known(true, store(0, hot))),
        in_function("store_second", known(true, store(0, hot + 8))),
        load(1, hot),
        load(1, hot + 8),
    ];
    let recording = Recording::of_kernel(turn.repeat(100));
    let advised = recording.advise("hot");
    let guards = advised.guards.as_ref().expect("guards");
    let members = guards
        .statements
        .iter()
        .map(|statement| statement.member.as_str());
    assert_eq!(members.collect::<Vec<_>>(), ["first", "second"]);
    assert!(guards.guarded.is_better());
}

#[test]
fn a_second_guard_that_leaves_some_transfers_is_searched_for_too() {
    let hot = address_of("hot");
    let turn = [
        in_function("store_first", known(true, store(0, hot))),
        in_function("store_second", known(true, store(0, hot + 8))),
        load(1, hot),
        load(1, hot + 8),
    ];
    // Both add to a member of the second line.
    let counted = [add(0, hot + 64), add(1, hot + 64)].repeat(10);
    assert_eq!(guards([turn.repeat(100), counted].concat()).len(), 2);
}

/// A flag that is stored to without a change and loaded. A third context adds to the member beside it, now and then.
pub fn flag_beside_counter() -> Vec<Step> {
    let hot = address_of("hot");
    let flag = shared_flag("store_second", 100);
    let turns = flag.chunks(2).enumerate();
    let steps = turns.flat_map(|(round, turn)| {
        let third = (round % 3 == 0).then(|| add(2, hot));
        turn.iter().copied().chain(third).collect::<Vec<_>>()
    });
    steps.collect()
}

#[test]
fn guards_that_save_more_than_the_best_layout_are_preferred() {
    let recording = Recording::of_kernel(flag_beside_counter());
    let advised = recording.advise("hot");
    assert!(advised.recommended(None).is_some());
    let (pool, found) = advised.most_recommended().expect("a layout");
    assert_eq!(pool.statements.len(), 1);
    assert_eq!(pool.advice.candidates[found.index].tally.transfers(), 0);
}

#[test]
fn a_guarded_access_is_one_of_its_statement() {
    let recording = Recording::of_kernel(shared_flag("store_second", 100));
    let advised = recording.advise("hot");
    let guards = advised.guards.as_ref().expect("a guard");
    let is_guarded = guards.guard_filter();
    let accesses = &advised.searched.gathered.instances[0].trace.accesses;
    let [stored, loaded] = &accesses[..2] else {
        panic!("{accesses:?}");
    };
    assert!(is_guarded(stored));
    assert!(!is_guarded(loaded));
}

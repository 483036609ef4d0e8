use proptest::prelude::*;

use super::*;

/// An access: element, context, and true for a store.
type Use = (u64, u16, bool);

fn uses(accesses: &[Use]) -> ElementUses {
    let mut uses = ElementUses::default();
    for (index, context, is_store) in accesses {
        uses.add_ordered(*index, ContextId(*context), *is_store);
    }
    uses
}

fn runs(accesses: &[Use]) -> Vec<(u64, u64, Vec<u16>)> {
    let runs = uses(accesses).runs().into_iter();
    let numbers =
        |contexts: Vec<ContextId>| contexts.into_iter().map(|context| context.0).collect();
    runs.map(|run| (run.first, run.last, numbers(run.contexts)))
        .collect()
}

/// `passes` over `elements` by a context, a load and a store of each.
fn passes(elements: std::ops::Range<u64>, context: u16, passes: usize) -> Vec<Use> {
    let pass = elements.flat_map(move |index| [(index, context, false), (index, context, true)]);
    let pass: Vec<Use> = pass.collect();
    pass.iter()
        .copied()
        .cycle()
        .take(pass.len() * passes)
        .collect()
}

#[test]
fn filling_and_summing_by_another_context_break_no_run() {
    let fill = (0..8).map(|index| (index, 0, true)).collect::<Vec<Use>>();
    let sum = (0..8).map(|index| (index, 0, false)).collect::<Vec<Use>>();
    let expect = vec![(0, 3, vec![1]), (4, 7, vec![2])];
    for count in [1, 2, 50] {
        let work = [passes(0..4, 1, count), passes(4..8, 2, count)].concat();
        assert_eq!(runs(&[&fill[..], &work, &sum].concat()), expect, "{count}");
    }
    // One store to each element is all that the owners do.
    let stores =
        |elements: std::ops::Range<u64>, context| elements.map(move |index| (index, context, true));
    let work: Vec<Use> = stores(0..4, 1).chain(stores(4..8, 2)).collect();
    assert_eq!(runs(&[&fill[..], &work, &sum].concat()), expect);
}

#[test]
fn elements_of_several_contexts_are_shared() {
    let both: Vec<Use> = (0..40).map(|turn| (4, 1 + turn % 2, true)).collect();
    let work = [passes(0..4, 1, 20), both, passes(5..8, 2, 20)].concat();
    let expect = vec![(0, 3, vec![1]), (4, 4, vec![1, 2]), (5, 7, vec![2])];
    assert_eq!(runs(&work), expect);
    // Reading all the time is use, though it stores nothing.
    let reader: Vec<Use> = (0..40)
        .map(|turn| (4, 1 + turn % 2, turn % 2 == 0))
        .collect();
    let work = [passes(0..4, 1, 20), reader, passes(5..8, 2, 20)].concat();
    assert_eq!(runs(&work), expect);
}

#[test]
fn elements_between_two_of_one_context_belong_to_it() {
    let work = [passes(0..2, 1, 9), passes(6..9, 1, 9), passes(9..12, 2, 9)].concat();
    assert_eq!(runs(&work), [(0, 8, vec![1]), (9, 11, vec![2])]);
}

#[test]
fn rounded_runs_begin_at_lines() {
    let run = |first, last, context| ElementRun {
        first,
        last,
        contexts: vec![ContextId(context)],
    };
    let runs = [
        run(0, 24, 1),
        run(25, 49, 2),
        run(50, 74, 3),
        run(75, 99, 4),
    ];
    let rounded = RoundedRuns::new(&runs, 4, 64);
    let starts = [0, 25, 50, 75].map(|first| rounded.element(first));
    assert_eq!(starts, [0, 32, 64, 96]);
    assert_eq!((rounded.count(100), rounded.rounded(25)), (128, 32));
    // Elements of 24 bytes: one in eight begins a line.
    let rounded = RoundedRuns::new(&[run(0, 2, 1), run(3, 5, 2)], 24, 64);
    assert_eq!((rounded.element(3), rounded.rounded(3)), (8, 8));
    // Elements of two lines begin lines already.
    let rounded = RoundedRuns::new(&[run(0, 2, 1), run(3, 5, 2)], 128, 64);
    assert_eq!((rounded.element(3), rounded.count(6)), (3, 6));
}

/// Lengths of runs, of which neighbours have different contexts.
fn assignment() -> impl Strategy<Value = Vec<(u64, u16)>> {
    let lengths = prop::collection::vec((1u64..40, 1u16..6), 1..12);
    lengths.prop_map(|mut runs| {
        runs.dedup_by_key(|(_, context)| *context);
        runs
    })
}

fn expected_runs(assigned: &[(u64, u16)]) -> Vec<(u64, u64, Vec<u16>)> {
    let mut first = 0;
    let run = |(length, context): &(u64, u16)| {
        let run = (first, first + length - 1, vec![*context]);
        first += length;
        run
    };
    assigned.iter().map(run).collect()
}

/// The accesses of all contexts in turn, as threads make them.
fn interleaved(assigned: &[(u64, u16)], count: usize) -> Vec<Use> {
    let pass = expected_runs(assigned).into_iter();
    let pass: Vec<Use> = pass
        .flat_map(|(first, last, contexts)| passes(first..last + 1, contexts[0], 1))
        .collect();
    pass.iter()
        .copied()
        .cycle()
        .take(pass.len() * count)
        .collect()
}

proptest! {
    #[test]
    fn any_assignment_of_runs_is_told_back(assigned in assignment(), count in 3usize..20) {
        prop_assert_eq!(runs(&interleaved(&assigned, count)), expected_runs(&assigned));
    }

    #[test]
    fn a_stray_access_breaks_no_run(
        assigned in assignment(),
        at in any::<prop::sample::Index>(),
        element in any::<prop::sample::Index>(),
        context in 0u16..9,
        is_store in any::<bool>(),
    ) {
        let mut accesses = interleaved(&assigned, 4);
        let elements: u64 = assigned.iter().map(|(length, _)| length).sum();
        let stray = (element.index(elements as usize) as u64, context, is_store);
        accesses.insert(at.index(accesses.len() + 1), stray);
        prop_assert_eq!(runs(&accesses), expected_runs(&assigned));
    }

    /// No two runs share a line once they are rounded, and no element overtakes another.
    #[test]
    fn rounded_runs_share_no_line(assigned in assignment(), stride in 1u64..150) {
        let runs = uses(&interleaved(&assigned, 1)).runs();
        let rounded = RoundedRuns::new(&runs, stride, 64);
        let line = |element: u64| rounded.element(element) * stride / 64;
        for pair in runs.windows(2) {
            let end = (rounded.element(pair[0].last) + 1) * stride - 1;
            prop_assert!(end / 64 < line(pair[1].first));
        }
        let elements: u64 = assigned.iter().map(|(length, _)| length).sum();
        let places: Vec<u64> = (0..elements).map(|element| rounded.element(element)).collect();
        prop_assert!(places.is_sorted_by(|before, behind| before < behind));
        prop_assert!(rounded.count(elements) > *places.last().unwrap());
    }
}

//! The layout that becomes the patch.

use std::time::Duration;

use relayout_advice::{
    CheckedLayout, LayoutSimulated, LayoutSimulator, PoolLayout, ProbedMachine,
    RecommendationLimits, SearchRequest, SimulatedChange, SimulatedPoint, SimulatedType,
    SimulatedWindow, add_workload_scores, simulate_best,
};
use relayout_messages::UserError;
use relayout_profile::{CpuTimes, SimulatedMachineName};
use relayout_search::AdviceVerdict;
use relayout_statistics::DrawnRatio;
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::guards::flag_beside_counter;
use crate::advice::recording::{Recording, add, hot_turns, made_profile};

/// Each context uses both members in its turn.
fn together(rounds: usize) -> Vec<Step> {
    let hot = address_of("hot");
    let turn = |context| [add(context, hot), add(context, hot + 8)];
    [turn(0), turn(1)].concat().repeat(rounds)
}

fn request() -> SearchRequest {
    SearchRequest::plain(vec!["hot".to_owned()], ProbedMachine::default())
}

#[test]
fn a_layout_that_parts_two_counters_is_recommended() {
    let recording = Recording::of_kernel(hot_turns(100));
    let advised = recording.advise("hot");
    let found = advised.recommended(None).expect("a layout");
    let advice = advised.advice().expect("searched");
    assert_eq!(advice.current.tally.transfers(), 199);
    assert_eq!(advice.candidates[found.index].tally.transfers(), 0);
    assert_eq!(found.edit.members, 1);
    assert!(!advised.finds_nothing());
    let best = advised.best_candidate().expect("a better layout");
    assert_eq!(best, &advice.candidates[0]);
}

#[test]
fn nothing_is_recommended_where_each_turn_uses_all_members() {
    let recording = Recording::of_kernel(together(100));
    let advised = recording.advise("hot");
    assert_eq!(advised.recommended(None), None);
    assert!(advised.most_recommended().is_none());
    assert!(advised.finds_nothing());
}

#[test]
fn a_layout_that_helps_in_some_recordings_only_is_not_recommended() {
    let recorded = |second: Vec<Step>| {
        let runs = [hot_turns(100), second];
        Recording::resolve(made_profile("kernel", &runs))
    };
    let disagreeing = recorded(together(25));
    let advised = disagreeing.advise("hot");
    let verdict = &advised.advice().expect("searched").verdict;
    assert_eq!(*verdict, AdviceVerdict::Unstable);
    assert_eq!(advised.recommended(None), None);
    let agreeing = recorded(hot_turns(25));
    let advised = agreeing.advise("hot");
    let verdict = &advised.advice().expect("searched").verdict;
    assert_eq!(*verdict, AdviceVerdict::Better);
    assert!(advised.recommended(None).is_some());
}

#[test]
fn a_search_of_few_transfers_denies_nothing() {
    let recording = Recording::of_kernel(together(20));
    let advised = recording.advise("hot");
    assert_eq!(advised.recommended(None), None);
    assert!(!advised.finds_nothing());
}

#[test]
fn a_written_candidate_is_the_recommended_one() {
    let recording = Recording::of_kernel(hot_turns(100));
    let advised = recording.advise("hot");
    let pool = advised.unguarded_pool().expect("searched");
    let all = pool.recommendations(advised.limits);
    assert!(all.len() > 1, "{all:?}");
    let first = advised.recommended(None).expect("a layout");
    assert_eq!(first, all[0]);
    let written = advised.recommended(Some(PoolLayout::Candidate(all[1].index)));
    assert_eq!(written.as_ref(), Some(&all[1]));
    // A layout that is no candidate changes nothing.
    let given = advised.recommended(Some(PoolLayout::Given(all[1].index)));
    assert_eq!(given, Some(first));
}

#[test]
fn no_more_members_move_than_the_user_allows() {
    let recording = Recording::of_kernel(hot_turns(100));
    let advised = recording.advise_with(SearchRequest {
        moves_max: Some(0),
        ..request()
    });
    assert_eq!(
        advised.limits,
        RecommendationLimits {
            top: 5,
            moves_max: Some(0)
        }
    );
    let found = advised.recommended(None);
    let moved = found.map(|found| (found.edit.members, found.edit.attributes));
    assert_eq!(moved, Some((0, 1)));
}

#[test]
fn a_layout_that_crowds_other_variables_is_not_recommended() {
    let recording = Recording::of_kernel(hot_turns(100));
    let mut advised = recording.advise("hot");
    let first = advised.recommended(None).expect("a layout");
    advised.searched.crowded.candidates.insert(first.index);
    let next = advised.recommended(None).expect("another layout");
    assert_ne!(next.index, first.index);
}

/// Scores of the layouts for one workload in another.
fn scored_in(other: Vec<Step>, check: impl FnOnce(&mut relayout_advice::AdvisedType<'_>)) {
    let recording = Recording::of_kernel(hot_turns(100));
    let other = Recording::of_kernel(other);
    let mut types = vec![recording.advise("hot")];
    other.with_names(|names| {
        add_workload_scores(&other.resolved(), names, &mut types, "other", &request());
    });
    check(&mut types[0]);
}

#[test]
fn a_layout_that_hurts_another_workload_is_not_recommended() {
    scored_in(together(100), |advised| {
        assert_eq!(advised.recommended(None), None);
        let pool = advised.unguarded_pool().expect("searched");
        let hurt = pool.scenarios_hurt_by(0);
        assert_eq!(hurt.len(), 1);
        assert_eq!(hurt[0].name, "other");
        assert!(!pool.is_harmless(advised.limits.top, 0));
    });
}

#[test]
fn a_layout_that_helps_another_workload_too_is_recommended() {
    scored_in(hot_turns(50), |advised| {
        let found = advised.recommended(None).expect("a layout");
        let pool = advised.unguarded_pool().expect("searched");
        assert!(pool.is_harmless(advised.limits.top, found.index));
        assert!(pool.scenarios_hurt_by(0).is_empty());
    });
}

#[test]
fn a_layout_that_was_not_scored_in_a_workload_is_not_recommended() {
    scored_in(hot_turns(50), |advised| {
        // Only the first layouts were scored.
        let pool = advised.unguarded_pool().expect("searched");
        let shown = pool.advice.shown_candidates(advised.limits.top);
        let all = 0..pool.advice.candidates.len();
        let unlisted = all.into_iter().find(|index| !shown.contains(index));
        let unlisted = unlisted.expect("a candidate that is not shown");
        assert_eq!(pool.listed_index(advised.limits.top, unlisted), None);
        assert!(!pool.is_harmless(advised.limits.top, unlisted));
        assert_eq!(pool.listed_index(advised.limits.top, shown[1]), Some(1));
    });
}

#[test]
fn without_another_workload_all_layouts_are_harmless() {
    let recording = Recording::of_kernel(hot_turns(100));
    let advised = recording.advise("hot");
    let pool = advised.unguarded_pool().expect("searched");
    let last = pool.advice.candidates.len() - 1;
    assert!(pool.is_harmless(advised.limits.top, last));
    assert_eq!(PoolLayout::Candidate(last).listed_index(pool, 1), None);
    assert_eq!(PoolLayout::Given(3).listed_index(pool, 1), Some(3));
    assert!(PoolLayout::Given(0).ranked(pool).is_none());
    let candidate = PoolLayout::Candidate(last).ranked(pool);
    assert_eq!(candidate, pool.advice.candidates.last());
}

/// Windows on 20 CPUs with a ratio, and draws on both sides of 1 where it is not certain.
fn simulated_change(ratio: f64, is_certain: bool) -> SimulatedChange {
    let window = |rate| SimulatedWindow {
        length: Duration::from_millis(1),
        operations_per_second: Some(rate),
        times: CpuTimes::default(),
        order_breaks: 0,
        most_waited: None,
    };
    let drawn = if is_certain {
        vec![ratio]
    } else {
        vec![0.8, 1.25]
    };
    SimulatedChange {
        machine: SimulatedMachineName::default(),
        points: vec![SimulatedPoint {
            cpus: 20,
            today: window(1.0),
            then: window(ratio),
            ratio: DrawnRatio {
                expected: Some(ratio),
                drawn,
            },
            unmapped_share: 0.0,
        }],
    }
}

/// Simulator whose layouts have given ratios, with draws on both sides of each where it is not certain.
struct GivenRates {
    /// Ratio of each layout, and whether all draws agree.
    ratios: Vec<(f64, bool)>,
    /// Size of the largest layout that is executed.
    bytes_max: u64,
}

impl LayoutSimulator for GivenRates {
    fn verify_layout(
        &self,
        _: SimulatedType<'_, '_>,
        CheckedLayout { layout, .. }: CheckedLayout<'_>,
    ) -> Result<(), UserError> {
        match layout.size > self.bytes_max {
            true => Err(UserError::input("it has more bytes")),
            false => Ok(()),
        }
    }

    fn simulate_layouts(
        &self,
        _: SimulatedType<'_, '_>,
        layouts: &[CheckedLayout<'_>],
    ) -> Result<Vec<LayoutSimulated>, UserError> {
        let outcome = |index: usize| match self.ratios.get(index) {
            Some(&(ratio, is_certain)) => Ok(simulated_change(ratio, is_certain)),
            None => Err(UserError::input("it is not executed")),
        };
        Ok((0..layouts.len()).map(outcome).collect())
    }
}

/// Verdict and the executed layout that is recommended, by its place, when layouts have these ratios.
#[track_caller]
fn check_simulated(ratios: &[(f64, bool)], verdict: AdviceVerdict, expect: Option<usize>) {
    let recording = Recording::of_kernel(hot_turns(100));
    let mut types = [recording.advise("hot")];
    let rates = GivenRates {
        ratios: ratios.to_vec(),
        bytes_max: u64::MAX,
    };
    simulate_best(&recording.resolved(), &mut types, &rates).expect("executed");
    let [advised] = &types;
    assert_eq!(advised.advice().expect("searched").verdict, verdict);
    let recommended = advised.recommended(None);
    let place = |index| {
        let mut executed = advised.simulated.iter();
        executed.position(|(proposed, _)| proposed.layout == PoolLayout::Candidate(index))
    };
    assert_eq!(
        recommended.map(|found| place(found.index)),
        expect.map(Some)
    );
}

#[test]
fn simulated_time_decides_between_executed_layouts() {
    // The second is faster by all draws.
    let ratios = [(1.1, false), (1.2, true), (0.9, true)];
    check_simulated(&ratios, AdviceVerdict::Better, Some(1));
    check_simulated(&[(1.2, true), (1.2, true)], AdviceVerdict::Better, Some(0));
}

#[test]
fn what_is_no_faster_in_simulated_time_is_not_recommended() {
    let ratios = [(1.0, true), (0.7, true), (1.0, true)];
    check_simulated(&ratios, AdviceVerdict::NoFaster, None);
}

#[test]
fn transfers_decide_where_the_draws_disagree() {
    let ratios = [(1.1, false), (1.2, false), (0.9, true)];
    check_simulated(&ratios, AdviceVerdict::Better, Some(0));
    // What was not executed is not recommended in the place of what is slower.
    check_simulated(&[(0.9, true)], AdviceVerdict::NoFaster, None);
    check_simulated(&[], AdviceVerdict::Better, Some(0));
}

#[test]
fn layouts_that_cannot_be_executed_take_no_place() {
    let recording = Recording::of_kernel(hot_turns(100));
    let mut types = [recording.advise("hot")];
    let today = types[0].advice().expect("searched").current.layout.size;
    let rates = GivenRates {
        ratios: vec![(1.2, true); 3],
        bytes_max: today,
    };
    simulate_best(&recording.resolved(), &mut types, &rates).expect("executed");
    let [advised] = &types;
    let pool = advised.unguarded_pool().expect("searched");
    let size = |layout: PoolLayout| layout.ranked(pool).expect("a candidate").layout.size;
    assert!(!advised.simulated.is_empty());
    for (proposed, outcome) in &advised.simulated {
        let is_small = size(proposed.layout) <= today;
        assert_eq!(outcome.is_ok(), is_small, "{proposed:?}");
    }
}

/// Simulator in which layouts without checks have one ratio, and those with checks another.
struct CheckedRates {
    unchecked: (f64, bool),
    checked: (f64, bool),
}

impl LayoutSimulator for CheckedRates {
    fn verify_layout(
        &self,
        _: SimulatedType<'_, '_>,
        _: CheckedLayout<'_>,
    ) -> Result<(), UserError> {
        Ok(())
    }

    fn simulate_layouts(
        &self,
        _: SimulatedType<'_, '_>,
        layouts: &[CheckedLayout<'_>],
    ) -> Result<Vec<LayoutSimulated>, UserError> {
        let outcome = |layout: &CheckedLayout<'_>| {
            // `second` is stored to.
            assert!(matches!(
                layout.checked,
                [] | [std::ops::Range { start: 8, end: 16 }]
            ));
            let (ratio, is_certain) = match layout.checked {
                [] => self.unchecked,
                _ => self.checked,
            };
            Ok(simulated_change(ratio, is_certain))
        };
        Ok(layouts.iter().map(outcome).collect())
    }
}

/// Whether the recommended layout has checks, when executed layouts have these ratios; `None` where nothing is recommended.
#[track_caller]
fn check_checked(unchecked: (f64, bool), checked: (f64, bool), expect: Option<bool>) {
    let recording = Recording::of_kernel(flag_beside_counter());
    let mut types = [recording.advise("hot")];
    let rates = CheckedRates { unchecked, checked };
    simulate_best(&recording.resolved(), &mut types, &rates).expect("executed");
    let recommended = types[0].most_recommended();
    let has_checks = recommended.map(|(pool, _)| !pool.statements.is_empty());
    assert_eq!(has_checks, expect, "{unchecked:?} {checked:?}");
}

#[test]
fn simulated_time_decides_between_layouts_with_checks_and_without() {
    let (better, unclear, same) = ((1.2, true), (1.2, false), (1.0, true));
    check_checked(unclear, better, Some(true));
    check_checked(better, unclear, Some(false));
    check_checked(same, better, Some(true));
    check_checked(same, same, None);
    // One edit more, for a gain that is larger by far.
    check_checked((1.01, true), (2.0, true), Some(true));
    check_checked((2.0, true), (1.01, true), Some(false));
}

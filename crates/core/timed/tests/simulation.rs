//! Properties of the simulation: what it must give where the answer follows without it.

use proptest::prelude::*;
use relayout_profile::ContextId;
use relayout_timed::{
    CurveInputs, LineSharing, MachineRules, ModelRules, OperationPart, PlacedKind, PlacedOperation,
    PlacedOperations, ThroughputSimulation,
};

use crate::common::{access, machine, operations, set_operations, simulate};

/// Operations that visit one line so often, far apart.
fn visits(count: u32) -> PlacedOperations {
    let visit = |_| access(1000, 0, PlacedKind::Locked);
    operations((0..count).map(visit).collect(), 1000, 1)
}

fn per_second(
    placed: &PlacedOperations,
    move_ns: f64,
    rules: &ModelRules,
    cpus: u32,
    seed: u64,
) -> f64 {
    let machine = machine(move_ns);
    let simulation = ThroughputSimulation {
        machine: &machine,
        rules,
        cpus,
        seed,
    };
    simulation.run(placed).operations_per_second
}

#[test]
fn a_single_cpu_takes_the_sum_of_its_costs() {
    let rules = ModelRules {
        jitter: 0.0,
        overlap_ns: 0.0,
        ..ModelRules::default()
    };
    let placed = operations(
        vec![
            access(100, 0, PlacedKind::Load),
            access(200, 0, PlacedKind::Locked),
        ],
        700,
        1,
    );
    let nanoseconds = 1000.0 * rules.tick_ns + rules.locked_ns + rules.between_ns;
    let expect = 1e9 / nanoseconds;
    let found = per_second(&placed, 70.0, &rules, 1, 3);
    assert!((found / expect - 1.0).abs() < 1e-3, "{found} {expect}");
}

/// Where a line is all that counts, throughput is one operation for each time that it is moved.
#[test]
fn a_saturated_line_gives_visits_before_over_after() {
    let rules = ModelRules::default();
    let found = |placed| per_second(placed, 70.0, &rules, 48, 5);
    let (three, two) = (found(&visits(3)), found(&visits(2)));
    assert!((two / three - 1.5).abs() < 0.15, "{two} {three}");
    let expect = 1e9 / (3.0 * 70.0);
    assert!((three / expect - 1.0).abs() < 0.1, "{three} {expect}");
}

#[test]
fn a_line_of_two_cpus_does_not_hold_up_others() {
    let mut pairs = visits(2);
    pairs.lines[0].sharing = LineSharing::Group(2);
    let rules = ModelRules::default();
    let rate = |cpus| per_second(&pairs, 70.0, &rules, cpus, 5);
    let scaled = rate(32) / rate(2);
    assert!((scaled / 16.0 - 1.0).abs() < 0.05, "{scaled}");
}

#[test]
fn loads_alone_cost_nothing() {
    let placed = operations(vec![access(100, 0, PlacedKind::Load)], 100, 1);
    let rules = ModelRules::default();
    let scaled = per_second(&placed, 70.0, &rules, 32, 5) / per_second(&placed, 70.0, &rules, 1, 5);
    assert!((scaled / 32.0 - 1.0).abs() < 0.02, "{scaled}");
}

/// A compare-and-exchange whose word changed is tried again, and all operations end.
#[test]
fn failed_exchanges_are_tried_again() {
    let exchange = PlacedKind::CompareExchange { load: 0 };
    let placed = operations(
        vec![access(100, 0, PlacedKind::Load), access(400, 0, exchange)],
        100,
        1,
    );
    let machine = machine(70.0);
    let rules = ModelRules {
        merged_ticks: 0.0,
        ..ModelRules::default()
    };
    let simulation = ThroughputSimulation {
        machine: &machine,
        rules: &rules,
        cpus: 16,
        seed: 1,
    };
    let found = simulation.run(&placed);
    assert!(found.operations_per_second > 0.0);
    // Without a failure, an operation has two accesses; (8 + 94) * 16 operations are simulated.
    assert!(found.accesses > 2 * 1600, "{}", found.accesses);
}

/// However far the load is, no CPU tries for ever: an operation visits the line twice at most.
#[test]
fn failed_exchanges_end_in_the_same_visit() {
    let exchange = PlacedKind::CompareExchange { load: 0 };
    let placed = operations(
        vec![access(100, 0, PlacedKind::Load), access(1000, 0, exchange)],
        100,
        1,
    );
    let found = simulate(&placed, 20).operations_per_second;
    assert!(found > 1e9 / (2.5 * 70.0), "{found}");
}

/// CPUs take the parts in turn, and each part's rate is its own.
#[test]
fn parts_are_executed_by_cpus_of_their_own() {
    let mut placed = visits(1);
    placed.operations.push(PlacedOperation {
        accesses: Vec::new(),
        ticks_behind: 500,
        locked_behind: 0,
    });
    placed.parts.push(OperationPart {
        context: Some(ContextId(1)),
        operations: vec![1],
    });
    let rates = |cpus| simulate(&placed, cpus).by_part;
    let (two, four) = (rates(2), rates(4));
    let code_ns = 500.0 * ModelRules::default().tick_ns;
    assert!((two[1] * code_ns / 1e9 - 1.0).abs() < 0.05, "{two:?}");
    assert!((four[1] / two[1] - 2.0).abs() < 0.05, "{four:?} {two:?}");
    // A CPU that has both parts executes one operation after the other.
    let alone = rates(1);
    assert!(alone[0] > 0.0 && alone[1] < two[1], "{alone:?}");
}

#[test]
fn the_same_layout_gains_nothing() {
    let placed = visits(3);
    let machine = machine(70.0);
    let inputs = CurveInputs {
        today: &placed,
        changed: &placed,
        machine: &machine,
        rules: &MachineRules::default(),
        between_ns: 50.0,
        seed: 9,
    };
    for point in inputs.points(&[1, 2, 20, 64]).expect("nothing waits") {
        assert_eq!((point.ratio, point.low, point.high), (1.0, 1.0, 1.0));
    }
}

#[test]
fn fewer_visits_gain_by_the_number_of_cpus() {
    let (three, two) = (visits(3), visits(2));
    let machine = machine(70.0);
    let inputs = CurveInputs {
        today: &three,
        changed: &two,
        machine: &machine,
        rules: &MachineRules::default(),
        between_ns: 50.0,
        seed: 9,
    };
    let curve = inputs
        .curve(&[1, 4, 16, 64], vec!["line".to_owned()])
        .expect("nothing waits");
    let ratios: Vec<f64> = curve.points.iter().map(|point| point.ratio).collect();
    // The operation that visits twice has less code.
    assert!(
        ratios.windows(2).all(|pair| pair[0] <= pair[1] + 0.35),
        "{ratios:?}"
    );
    assert!((ratios[3] - 1.5).abs() < 0.15, "{ratios:?}");
    assert!(
        curve.saturates_at.is_some_and(|cpus| cpus <= 16),
        "{:?}",
        curve.saturates_at
    );
    assert!(
        curve
            .points
            .iter()
            .all(|point| point.low <= point.ratio && point.ratio <= point.high)
    );
    assert_eq!(curve.rule_effects.len(), 13);
}

/// What is read under a sequence count is read again if the count changed.
#[test]
fn sequences_are_read_again() {
    let reader = PlacedOperation {
        accesses: vec![
            access(100, 0, PlacedKind::Load),
            access(3000, 0, PlacedKind::SequenceCheck { load: 0 }),
        ],
        ticks_behind: 100,
        locked_behind: 0,
    };
    let writer = PlacedOperation {
        accesses: vec![access(100, 0, PlacedKind::Store)],
        ticks_behind: 3000,
        locked_behind: 0,
    };
    let mut placed = operations(Vec::new(), 0, 1);
    set_operations(&mut placed, vec![reader.clone(), reader.clone()]);
    let undisturbed = simulate(&placed, 8);
    set_operations(&mut placed, vec![reader, writer]);
    let disturbed = simulate(&placed, 8);
    assert!(undisturbed.accesses > 0 && disturbed.operations_per_second > 0.0);
    // Both simulate equally many operations. A reader has two accesses and a writer one, if nothing is read again.
    let once = undisturbed.accesses as f64 * 0.75;
    assert!(
        disturbed.accesses as f64 > once * 1.1,
        "{} {once}",
        disturbed.accesses
    );
}

fn any_kind() -> impl Strategy<Value = PlacedKind> {
    prop_oneof![
        Just(PlacedKind::Load),
        Just(PlacedKind::LoadBeforeStore { ticks: 16 }),
        Just(PlacedKind::Store),
        Just(PlacedKind::Locked),
    ]
}

fn waiting_kind() -> impl Strategy<Value = PlacedKind> {
    prop_oneof![Just(PlacedKind::Load), Just(PlacedKind::Locked)]
}

fn operations_of(
    kind: impl Strategy<Value = PlacedKind>,
) -> impl Strategy<Value = PlacedOperations> {
    let access_of = (0u32..2000, 0u32..3, kind);
    let accesses = proptest::collection::vec(access_of, 0..12);
    proptest::collection::vec(accesses, 1..6).prop_map(|all| {
        let mut placed = operations(Vec::new(), 0, 3);
        let operations = { all.into_iter() }
            .map(|accesses| PlacedOperation {
                accesses: { accesses.into_iter() }
                    .map(|(ticks, line, kind)| access(ticks, line, kind))
                    .collect(),
                ticks_behind: 500,
                locked_behind: 0,
            })
            .collect();
        set_operations(&mut placed, operations);
        placed
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Without retries, throughput does not rise by more than 1% with the time to move a line, at the median of
    /// seeds, if CPUs wait for each access and lose a line at once. If a store goes on without its CPU, or a line is
    /// used for a while after it was asked for, two accesses may share a visit because it takes longer.
    #[test]
    fn slower_lines_never_help(placed in operations_of(waiting_kind()), cpus in 1u32..24) {
        let rules = ModelRules {
            kept_factor: 0.0,
            ..ModelRules::default()
        };
        let rate = |move_ns, seed| per_second(&placed, move_ns, &rules, cpus, seed);
        let mut rates: Vec<f64> = (0..9).map(|seed| rate(90.0, seed) / rate(60.0, seed)).collect();
        rates.sort_by(f64::total_cmp);
        prop_assert!(rates[4] <= 1.01, "{rates:?}");
    }

    #[test]
    fn results_depend_on_the_seed_alone(placed in operations_of(any_kind()), seed: u64) {
        let rules = ModelRules::default();
        let run = || per_second(&placed, 70.0, &rules, 6, seed);
        prop_assert_eq!(run().to_bits(), run().to_bits());
    }
}

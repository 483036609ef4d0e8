use super::*;
use crate::contention::document::{
    AdjacentTest, HoldTest, OwnerOrder, ReaderTest, UpgradePoint, UpgradeTest,
};
use crate::file::VisitCost;
use crate::topology::CpuRelation;

fn exact(value: f64) -> ProbeEstimate {
    ProbeEstimate::new(value, value, value)
}

/// A machine that moves a line in 50 to 60 ns, and whose loads leave lines with their owners.
fn machine() -> MachineFile {
    let visit = |kind: &str, ns| VisitCost {
        kind: kind.to_owned(),
        instructions: None,
        ns,
    };
    let mut file = crate::file::tests::sample();
    file.visits = vec![
        visit("exchange", ProbeEstimate::new(55.0, 50.0, 60.0)),
        visit("load-then-exchange", exact(100.0)),
    ];
    file
}

fn tests() -> ContentionTests {
    ContentionTests {
        hold: vec![HoldTest {
            cpu_a: 0,
            cpu_b: 1,
            relation: CpuRelation::SameCache,
            points: Vec::new(),
            half_ns: ProbeEstimate::new(22.0, 20.0, 24.0),
        }],
        readers: ReaderTest {
            points: Vec::new(),
            slope_ns: ProbeEstimate::new(9.0, 8.0, 10.0),
        },
        upgrade: UpgradeTest {
            points: vec![UpgradePoint {
                sharers: 1,
                ns: ProbeEstimate::new(44.0, 42.0, 46.0),
            }],
            slope_ns: ProbeEstimate::new(2.0, 1.0, 3.0),
        },
        ..ContentionTests::default()
    }
}

#[track_caller]
fn check_value(value: RuleValue, expect: [f64; 3]) {
    let value = value.unwrap();
    for (value, expect) in value.iter().zip(expect) {
        assert!((value - expect).abs() < 1e-9, "{value} is not {expect}");
    }
}

#[test]
fn ratios_have_the_widest_interval() {
    check_value(transfer_time(&machine()), [1.0, 50.0 / 55.0, 60.0 / 55.0]);
    check_value(
        hold_after_loss(&tests(), &machine()),
        [0.4, 20.0 / 60.0, 24.0 / 50.0],
    );
    check_value(
        upgrade(&tests(), &machine()),
        [0.8, 42.0 / 60.0, 46.0 / 50.0],
    );
    check_value(clean_read_occupation(&tests()), [7.0, 5.0, 9.0]);
}

#[test]
fn missing_measurements_are_named() {
    let none = ContentionTests::default();
    assert_eq!(
        hold_after_loss(&none, &machine()).unwrap_err(),
        "the time is not known"
    );
    assert_eq!(
        clean_read_occupation(&none).unwrap_err(),
        "the cost of a reader is not known"
    );
    let mut migratory = machine();
    migratory.visits[1].ns = exact(55.0);
    assert!(
        upgrade(&tests(), &migratory)
            .unwrap_err()
            .contains("nothing is upgraded")
    );
    assert!(near_first(&none).unwrap_err().contains("several caches"));
    assert!(adjacent_line(&none).is_err());
}

#[test]
fn loads_fetch_for_stores_up_to_some_instructions() {
    let cost = |access: &str, between: Option<&str>, instructions, ns| LoadStoreCost {
        access: access.to_owned(),
        between: between.map(str::to_owned),
        instructions,
        ns: exact(ns),
    };
    let costs = |separate: f64, by_instructions: [f64; 3]| {
        let mut costs = vec![
            cost("exchange", None, None, 100.0),
            cost("compare-exchange", Some("address"), None, separate),
        ];
        for (count, ns) in [0, 32, 64].into_iter().zip(by_instructions) {
            let between = Some("instructions");
            costs.push(cost("compare-exchange", between, Some(count), ns));
            costs.push(cost("store", between, Some(count), separate));
        }
        load_before_store(&costs)
    };
    check_value(costs(200.0, [100.0, 110.0, 190.0]), [12.4, 12.4, 18.8]);
    check_value(costs(200.0, [190.0, 195.0, 200.0]), [0.0, 0.0, 6.0]);
    check_value(costs(200.0, [100.0, 100.0, 100.0]), [18.8; 3]);
    let why = costs(200.0, [190.0, 110.0, 100.0]).unwrap_err();
    assert!(
        why.contains("6 ns behind it cost two transfers, and 12 ns behind it one"),
        "{why}"
    );
    let why = costs(105.0, [100.0; 3]).unwrap_err();
    assert!(why.contains("any load fetches the line for both"), "{why}");
    assert!(load_before_store(&[]).is_err());
}

#[test]
fn near_cpus_come_first_if_they_do_more_often_than_by_chance() {
    let value = |share: [f64; 3]| {
        let [value, low, high] = share;
        let runs = OwnerRuns {
            group: "cluster".to_owned(),
            groups: 2,
            length: exact(1.0),
            random_length: None,
            in_turn_length: None,
            near_share: ProbeEstimate::new(value, low, high),
            near_share_by_chance: Some(0.5),
        };
        near_first(&ContentionTests {
            owners: vec![OwnerOrder {
                placement: "pack".to_owned(),
                cpus: 8,
                ticket_ns: exact(20.0),
                largest_share: exact(1.0),
                smallest_share: exact(1.0),
                runs: vec![runs],
            }],
            ..ContentionTests::default()
        })
    };
    check_value(value([0.5, 0.49, 0.52]), [0.0; 3]);
    check_value(value([0.8, 0.75, 0.9]), [3.0, 2.0, 8.0]);
    assert!(value([0.6, 0.5, 0.7]).is_err());
}

#[test]
fn adjacent_lines_matter_if_one_pattern_says_so() {
    let value = |coefficients: [Option<f64>; 2]| {
        let test = |value: Option<f64>| AdjacentTest {
            cpu_a: 0,
            cpu_b: 1,
            relation: CpuRelation::SameCache,
            pattern: "beside-read".to_owned(),
            coefficient: value.map(exact).unwrap_or_default(),
        };
        adjacent_line(&ContentionTests {
            adjacent: coefficients.map(test).to_vec(),
            ..ContentionTests::default()
        })
    };
    check_value(value([Some(0.0), Some(0.0)]), [0.0; 3]);
    check_value(value([None, Some(0.3)]), [1.0; 3]);
    assert!(value([None, Some(0.0)]).is_err());
}

use std::collections::BTreeMap;

use relayout_contend::CoherenceTally;
use relayout_verify::judge::{JudgingRules, judge_runs};
use relayout_verify::judged_change::ChangeVerdict;
use relayout_verify::plan::ExperimentSide;
use relayout_verify::runs::{ExperimentEnding, ExperimentRuns, ExperimentSetup};
use relayout_workflows::verify::kernel::{
    BootCounts, BootSample, BootSamples, DetailSelection, TypeCounts,
};

use super::kernel_sentences as sentences;

/// Number of pairs of boots, which differ a little from each other.
const PAIRS: usize = 10;

/// Transfers of a type for each side: all, and those that are false by first touch.
type TypeTransfers = [(u64, u64); 2];

/// Returns pairs of boots with 1000 operations each.
fn samples(pairs: usize, of_type: TypeTransfers, of_kernel: [u64; 2]) -> BootSamples {
    let mut boots = Vec::new();
    for pair in 0..pairs {
        for side in ExperimentSide::ALL {
            let jitter = (pair as u64 * 7919 + side as u64 * 31) % 11;
            let (transfers, first_touch) = of_type[side as usize];
            let tally = CoherenceTally {
                read_transfers: transfers + jitter,
                false_first_touch: first_touch,
                ..CoherenceTally::default()
            };
            // `a` has the misses that are false, and `b` the others; `c` next to none.
            let members = [("a", first_touch), ("b", transfers - first_touch), ("c", 3)];
            let members = members.map(|(name, count)| (name.to_owned(), count));
            let members = BTreeMap::from(members);
            let types = BTreeMap::from([
                ("one".to_owned(), TypeCounts { tally, members }),
                ("other".to_owned(), TypeCounts::default()),
            ]);
            let kernel = CoherenceTally {
                read_transfers: of_kernel[side as usize] + jitter,
                ..CoherenceTally::default()
            };
            boots.push(BootSample {
                operations_per_second: None,
                side,
                pair,
                setting: "mntns, 4 CPUs".to_owned(),
                counts: BootCounts {
                    operations: 1000,
                    kernel,
                    types,
                },
                wall_s: 1.0,
            });
        }
    }
    let setup = ExperimentSetup {
        tool_version: String::new(),
        before: String::new(),
        after: String::new(),
        patch: None,
        seed: 1,
        pairs,
        early_stop: false,
        warmups: 0,
        cpus: Vec::new(),
        fifo: false,
        lost_max: 1.0,
        disturbed_code: None,
        are_boots: true,
    };
    BootSamples {
        setup,
        ending: ExperimentEnding::Complete,
        boots,
    }
}

#[track_caller]
fn check(of_type: TypeTransfers, of_kernel: [u64; 2], verdict: ChangeVerdict, expect: &[&str]) {
    let samples = samples(PAIRS, of_type, of_kernel);
    let outcome = judge_runs(
        &samples.runs(DetailSelection::Without),
        &JudgingRules::default(),
    );
    assert_eq!(outcome.verdict, verdict, "{outcome:?}");
    let words = said(&samples);
    for part in expect {
        assert!(words.contains(part), "{words}");
    }
}

fn said(samples: &BootSamples) -> String {
    let outcome = judge_runs(
        &samples.runs(DetailSelection::Without),
        &JudgingRules::default(),
    );
    let details = judge_runs(
        &samples.runs(DetailSelection::Only),
        &JudgingRules::default(),
    );
    sentences(samples, &outcome, &details).join("\n")
}

/// Rates in simulated time decide where there are any: transfers that are saved need not be those that CPUs wait for.
#[test]
fn rates_decide_where_there_are_any() {
    let with_rates = |ratios: [f64; PAIRS]| {
        let mut samples = samples(PAIRS, [(2000, 100), (2000, 100)], [100_000, 100_000]);
        for boot in &mut samples.boots {
            let ratio = match boot.side {
                ExperimentSide::Before => 1.0,
                ExperimentSide::After => ratios[boot.pair],
            };
            boot.operations_per_second = Some(2e6 * ratio);
        }
        samples
    };
    let check = |samples: &BootSamples, verdict, part: &str| {
        let runs = samples.runs(DetailSelection::Without);
        let outcome = judge_runs(&runs, &JudgingRules::default());
        assert_eq!(outcome.verdict, verdict, "{outcome:?}");
        let words = said(samples);
        assert!(words.contains(part), "{words}");
        // The saved file is judged alike.
        let saved = serde_json::to_string(&runs).unwrap();
        let loaded = ExperimentRuns::parse(&saved).unwrap();
        assert_eq!(judge_runs(&loaded, &JudgingRules::default()), outcome);
    };
    let mut ratios = [1.25; PAIRS];
    check(
        &with_rates(ratios),
        ChangeVerdict::Better,
        "operations a second: more (+25.0%, draws +25.0% to +25.0%)",
    );
    ratios[1] = 0.5;
    check(
        &with_rates(ratios),
        ChangeVerdict::Unclear,
        "operations a second: unclear (+25.0%, draws -50.0% to +25.0%), draws of the machine's rules disagree",
    );
}

/// Few pairs decide nothing, but can show that misses moved. Three pairs are too few, since the
/// shift may be chance.
#[test]
fn misses_that_moved_in_few_pairs() {
    let said = |pairs| {
        said(&samples(
            pairs,
            [(2000, 1000), (2000, 500)],
            [100_000, 100_000],
        ))
    };
    let moved = ". Misses moved from a (1.00 to 0.50) to b (1.00 to 1.50) per operation";
    assert!(said(4).contains(moved), "{}", said(4));
    assert!(!said(3).contains("moved"), "{}", said(3));
}

#[test]
fn fewer() {
    let expect = [
        "mntns, 4 CPUs: transfers of one: fewer (-49.9%",
        "they were 2.0% of the kernel's",
        "transfers of the whole kernel: the same within",
    ];
    check(
        [(2000, 100), (1000, 100)],
        [100_000, 100_000],
        ChangeVerdict::Better,
        &expect,
    );
}

/// Case 1 on 6.1: nothing is saved, and the misses of one member look as if.
#[test]
fn misses_that_moved() {
    let expect = [
        "transfers of one: the same within 2.0% (",
        "false by first touch: fewer (-50.0%",
        ". Misses moved from a (1.00 to 0.50) to b (1.00 to 1.50) per operation: at each of these members, all \
         boots with the patch lie beyond all without it, and the lines still move: a profile of misses by \
         member shows a gain that there is not",
    ];
    check(
        [(2000, 1000), (2000, 500)],
        [100_000, 100_000],
        ChangeVerdict::Same,
        &expect,
    );
}

/// Boots that differ by more than the margin are not called the same.
#[test]
fn too_noisy_to_tell() {
    let expect = [
        "transfers of one: unclear (",
        ", too noisy: any change in the interval is possible",
    ];
    check(
        [(40, 20), (40, 20)],
        [100_000, 100_000],
        ChangeVerdict::Unclear,
        &expect,
    );
}

#[test]
fn more() {
    let expect = ["transfers of the whole kernel: more (+10.0%"];
    check(
        [(2000, 0), (2000, 0)],
        [100_000, 110_000],
        ChangeVerdict::Worse,
        &expect,
    );
}

/// A metric that neither kernel counts is not compared.
#[test]
fn metrics() {
    let samples = samples(PAIRS, [(2000, 1000), (2000, 500)], [100_000, 100_000]);
    let names = |which| {
        let runs = samples.runs(which);
        let series = runs
            .series()
            .into_iter()
            .map(|series| series.description.name);
        series.collect::<Vec<_>>()
    };
    let setting = "[mntns, 4 CPUs]";
    let expect = ["one", "kernel"].map(|name| format!("{name}{setting}"));
    assert_eq!(names(DetailSelection::Without), expect);
    let details = [
        "one: false by first touch",
        "one.b",
        "one.a",
        "one: other members",
    ];
    let expect = details.map(|name| format!("{name}{setting}"));
    assert_eq!(names(DetailSelection::Only), expect);
}

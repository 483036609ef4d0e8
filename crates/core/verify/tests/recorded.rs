//! Experiments with identical sides, which `verify` must not call better or worse, on recorded noise.
//!
//! The files in `noise/` hold one number for each start of a real program, in chronological order.
//! The head of a file describes its recording. A section of a file serves as an experiment: two
//! neighbours form a pair, and a coin decides which one is before.

use crate::common::judge_by_looks;
use relayout_statistics::random::{RandomSequence, SplitMix64};
use relayout_verify::judge::{JudgingRules, MARGIN, judge_series};
use relayout_verify::judged_change::{ChangeBasis, ChangeVerdict};
use relayout_verify::metric::{BetterDirection, MetricDescription};
use relayout_verify::plan::ExperimentPlan;
use relayout_verify::runs::MetricSeries;

/// Number of experiments for each recording.
const EXPERIMENTS: u64 = 100;
/// Number of pairs, which is the default of the command.
const PAIRS: usize = 30;

/// Margin that holds the interval of each recording that is not too noisy.
const WIDE_MARGIN: f64 = 0.25;

/// Name and content of a recording.
type Recording = (&'static str, &'static str);

macro_rules! recordings {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("noise/", $name, ".txt")))),+]
    };
}

/// Recordings of programs that other programs hardly disturbed. Some have outliers: their standard
/// deviation is a third of the mean or more.
const RECORDINGS: &[Recording] = recordings![
    "counters-apart-fifo",
    "counters-shared-fifo",
    "messaging-fifo",
    "pipe-fifo",
    "python-fifo",
    "xz-cpu",
    "xz-wall",
];

/// Recordings of programs that shared two CPUs with a dozen compilers. Most starts measure the
/// scheduling of the compilers.
const TOO_NOISY: &[Recording] = recordings!["counters-shared", "messaging", "pipe", "python"];

fn starts(text: &str) -> Vec<f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.parse().unwrap()).collect()
}

fn experiment(starts: &[f64], seed: u64, change: f64) -> MetricSeries {
    let mut random = SplitMix64::new(seed);
    let from = random.below(starts.len() - 2 * PAIRS + 1);
    let pairs = starts[from..from + 2 * PAIRS].chunks_exact(2);
    let pairs = pairs.map(|pair| match random.bits() >> 63 {
        0 => (pair[0], change * pair[1]),
        _ => (pair[1], change * pair[0]),
    });
    MetricSeries {
        description: MetricDescription {
            name: "recorded".into(),
            better: BetterDirection::Higher,
            unit: None,
            is_detail: false,
            basis: None,
        },
        pairs: pairs.collect(),
        unmatched: 0,
    }
}

/// Share of the experiments that end with `verdict`, at a margin.
fn share(starts: &[f64], change: f64, margin: f64, verdict: ChangeVerdict) -> f64 {
    let found = (0..EXPERIMENTS).filter(|&seed| {
        let series = experiment(starts, seed, change);
        judge_by_looks(&series, seed, &JudgingRules { margin }).verdict == verdict
    });
    found.count() as f64 / EXPERIMENTS as f64
}

#[test]
fn same_or_unclear_in_19_of_20() {
    for (name, text) in RECORDINGS {
        let starts = starts(text);
        let [same, unclear] = [ChangeVerdict::Same, ChangeVerdict::Unclear]
            .map(|verdict| share(&starts, 1.0, MARGIN, verdict));
        let wide = share(&starts, 1.0, WIDE_MARGIN, ChangeVerdict::Same);
        eprintln!(
            "{name}: same in {same:.3}, unclear in {unclear:.3}; with 25%: same in {wide:.3}"
        );
        assert!(same + unclear >= 0.95, "{name}: {same} {unclear}");
        assert!(wide >= 0.95, "{name}: {wide}");
    }
}

/// Recordings with too much noise give "same" or "unclear" in at least 94% of the experiments, and
/// "unclear" in at least 10%.
#[test]
fn too_noisy() {
    for (name, text) in TOO_NOISY {
        let starts = starts(text);
        let [same, unclear] = [ChangeVerdict::Same, ChangeVerdict::Unclear]
            .map(|verdict| share(&starts, 1.0, MARGIN, verdict));
        eprintln!("{name}: same in {same:.3}, unclear in {unclear:.3}");
        assert!(same + unclear >= 0.94, "{name}: {same} {unclear}");
        assert!(unclear >= 0.1, "{name}: {same} {unclear}");
    }
}

/// A change well above the noise of a recording is found, in the right direction.
#[test]
fn changes_are_found() {
    for (name, text) in RECORDINGS {
        let starts = starts(text);
        for (change, expect) in [
            (1.5, ChangeVerdict::Better),
            (1.0 / 1.5, ChangeVerdict::Worse),
        ] {
            let found = share(&starts, change, MARGIN, expect);
            eprintln!("{name}: {expect:?} in {found:.3}");
            assert!(found >= 0.95, "{name}: {found}");
        }
    }
}

/// All recordings serve as metrics of one program.
#[test]
fn many_at_once() {
    let same = (0..100).filter(|&seed| {
        let all = RECORDINGS
            .iter()
            .map(|(_, text)| experiment(&starts(text), seed, 1.0));
        let all: Vec<MetricSeries> = all.collect();
        let plan = ExperimentPlan { pairs: PAIRS, seed };
        let rules = JudgingRules {
            margin: WIDE_MARGIN,
        };
        judge_series(&all, ChangeBasis::Measured, plan, PAIRS, &rules, true).verdict
            == ChangeVerdict::Same
    });
    let same = same.count();
    eprintln!("same in {same} of 100");
    assert!(same >= 95, "{same}");
}

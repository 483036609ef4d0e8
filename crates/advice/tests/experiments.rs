//! Trials of layouts by experiments whose outcomes are given.

use std::ops::Range;

use relayout_advice::{
    BenchEffect, ChangeRejection, EffectSubject, LayoutExperiment, LayoutOutcome, LayoutTrial,
    TrialRules, TrialStage, TriedLayout,
};
use relayout_messages::UserError;
use relayout_verify::judged_change::{ChangeBasis, ChangeScale, ChangeVerdict, JudgedChange};

const LAYOUT: TriedLayout<'_> = TriedLayout {
    type_name: "queue",
    diff: "--- a/queue.h\n+++ b/queue.h\n",
};
const SEEDS: Range<u64> = 1..4;

/// Experiment with known outcomes.
struct GivenExperiment {
    basis: ChangeBasis,
    outcome: LayoutOutcome,
}

impl LayoutExperiment for GivenExperiment {
    fn basis(&self) -> ChangeBasis {
        self.basis
    }

    fn run_layouts(
        &mut self,
        layouts: &[TriedLayout<'_>],
        seeds: Range<u64>,
    ) -> Result<Vec<LayoutOutcome>, UserError> {
        assert_eq!((layouts, seeds), (&[LAYOUT][..], SEEDS));
        Ok(vec![self.outcome.clone()])
    }
}

fn judged(basis: ChangeBasis, before: f64, after: f64, verdict: ChangeVerdict) -> JudgedChange {
    JudgedChange {
        basis,
        before,
        after,
        scale: ChangeScale::Ratio,
        change: Some(after / before - 1.0),
        interval: None,
        verdict,
    }
}

fn counted(bench: &str, verdict: ChangeVerdict, after: f64) -> BenchEffect {
    BenchEffect {
        bench: bench.to_owned(),
        subject: EffectSubject::Type("queue".to_owned()),
        judged: judged(ChangeBasis::Counted, 2.0, after, verdict),
        is_paired: false,
        samples: 3,
    }
}

fn measured(bench: &str, verdict: ChangeVerdict) -> BenchEffect {
    BenchEffect {
        bench: bench.to_owned(),
        subject: EffectSubject::Metric {
            name: "rate".to_owned(),
            unit: None,
        },
        judged: JudgedChange {
            change: Some(0.04),
            interval: Some([0.03, 0.05]),
            ..judged(ChangeBasis::Measured, 12_500_000.0, 13_000_000.0, verdict)
        },
        is_paired: true,
        samples: 10,
    }
}

fn rules(counts_decide: bool) -> TrialRules<'static> {
    TrialRules {
        counted_type: "queue",
        main_bench: "main",
        counts_decide,
    }
}

/// Tries a layout in one experiment. `expect` is a part of the reason for which it is rejected.
#[track_caller]
fn check(
    basis: ChangeBasis,
    effects: &[BenchEffect],
    counts_decide: bool,
    expect: Result<(), (TrialStage, &str)>,
) {
    let mut experiment = GivenExperiment {
        basis,
        outcome: Ok(effects.to_vec()),
    };
    let mut trial = LayoutTrial::new(LAYOUT, SEEDS, rules(counts_decide));
    match (trial.run(&mut experiment).expect("it runs"), expect) {
        (Ok(()), Ok(())) => {}
        (Err(found), Err((stage, part))) => {
            assert_eq!(found.stage, stage);
            assert!(found.reason.contains(part), "{found:?}");
        }
        (found, _) => panic!("{found:?}"),
    }
    assert_eq!(trial.into_effects(), effects);
}

#[test]
fn counts_reject_what_saves_nothing_and_what_hurts_another_benchmark() {
    use ChangeVerdict::{Better, Same, Unclear, Worse};
    let rejected = |part| Err((TrialStage::Count, part));
    for basis in [ChangeBasis::Counted, ChangeBasis::Replayed] {
        let check = |effects: &[BenchEffect], counts_decide, expect| {
            let of_basis = effects.iter().cloned().map(|mut effect| {
                effect.judged.basis = basis;
                effect
            });
            check(basis, &of_basis.collect::<Vec<_>>(), counts_decide, expect);
        };
        check(&[counted("main", Better, 1.0)], true, Ok(()));
        check(&[counted("main", Unclear, 1.9)], false, Ok(()));
        check(
            &[counted("main", Unclear, 1.9)],
            true,
            rejected("not certain"),
        );
        check(
            &[counted("main", Same, 2.0)],
            false,
            rejected("saves nothing"),
        );
        let other_loses = [counted("main", Better, 1.0), counted("other", Worse, 2.5)];
        let loss =
            rejected("other loses: transfers on queue per operation from 2.000 to 2.500 (+25.0%)");
        check(&other_loses, false, loss);
        check(&[], false, Ok(()));
        check(
            &[],
            true,
            rejected("queue was not seen in the new recordings of main"),
        );
        check(
            &[counted("other", Better, 1.0)],
            false,
            rejected("not seen"),
        );
    }
}

#[test]
fn measurements_keep_what_makes_the_main_benchmark_better() {
    use ChangeVerdict::{Better, Same, Unclear, Worse};
    let check = |effects: &[BenchEffect], expect| {
        check(ChangeBasis::Measured, effects, false, expect);
    };
    let rejected = |part| Err((TrialStage::Measurement, part));
    let other = |verdict| measured("other", verdict);
    check(&[measured("main", Better), other(Same)], Ok(()));
    check(&[measured("main", Better), other(Unclear)], Ok(()));
    check(
        &[measured("main", Better), other(Worse)],
        rejected(
            "other loses: rate: median 12.500e6 before and 13.000e6 after; within pairs +4.0%, 95% interval +3.0% to +5.0%",
        ),
    );
    check(
        &[measured("main", Same), other(Better)],
        rejected("not clearly better"),
    );
    check(&[measured("main", Worse)], rejected("main loses"));
}

/// Rates in simulated time reject what loses in all draws, and keep what gains in all; elsewhere something else decides.
#[test]
fn rates_in_simulated_time_decide_where_all_draws_agree() {
    use ChangeVerdict::{Better, Same, Unclear, Worse};
    let simulated = |bench: &str, verdict| {
        let mut effect = measured(bench, verdict);
        effect.judged.basis = ChangeBasis::Simulated;
        effect
    };
    let check = |effects: &[BenchEffect], has_gain, expect| {
        check(ChangeBasis::Simulated, effects, true, expect);
        let outcome = Ok(effects.to_vec());
        let basis = ChangeBasis::Simulated;
        let mut trial = LayoutTrial::new(LAYOUT, SEEDS, rules(true));
        let _ = trial.run(&mut GivenExperiment { basis, outcome });
        assert_eq!(trial.has_gain(basis), has_gain, "{effects:?}");
        assert!(!trial.has_gain(ChangeBasis::Counted));
    };
    check(&[simulated("main", Better)], true, Ok(()));
    check(&[simulated("main", Same)], false, Ok(()));
    check(&[simulated("main", Unclear)], false, Ok(()));
    check(&[simulated("other", Better)], false, Ok(()));
    check(&[], false, Ok(()));
    let loss = "other loses: rate: median 12.500e6 before and 13.000e6 after; within pairs +4.0%, draws +3.0%";
    check(
        &[simulated("main", Better), simulated("other", Worse)],
        true,
        Err((TrialStage::Simulation, loss)),
    );
}

#[test]
fn effects_of_two_bases_are_not_judged_together() {
    let mut trial = LayoutTrial::new(LAYOUT, SEEDS, rules(false));
    let mut run = |basis, effect: BenchEffect| {
        let outcome = Ok(vec![effect]);
        trial.run(&mut GivenExperiment { basis, outcome })
    };
    let better = ChangeVerdict::Better;
    run(ChangeBasis::Counted, counted("main", better, 1.0))
        .expect("it runs")
        .expect("it is kept");
    // The counts gain, and say nothing about the measured rate.
    let slower = run(ChangeBasis::Measured, measured("main", ChangeVerdict::Same));
    assert_eq!(
        slower.expect("it runs").unwrap_err().stage,
        TrialStage::Measurement
    );
    let foreign = run(ChangeBasis::Measured, counted("main", better, 1.0)).unwrap_err();
    assert_eq!(
        foreign.to_string(),
        "an effect on main is counted, in an experiment whose effects are measured"
    );
    let effects = trial.into_effects();
    assert_eq!(
        effects,
        [
            counted("main", better, 1.0),
            measured("main", ChangeVerdict::Same)
        ]
    );
}

#[test]
fn a_layout_that_does_not_build_is_rejected_there() {
    let rejection = ChangeRejection::new(TrialStage::Build, "make failed".to_owned());
    let mut experiment = GivenExperiment {
        basis: ChangeBasis::Counted,
        outcome: Err(rejection.clone()),
    };
    let mut trial = LayoutTrial::new(LAYOUT, SEEDS, rules(true));
    assert_eq!(trial.run(&mut experiment).expect("it runs"), Err(rejection));
    assert!(trial.into_effects().is_empty());
}

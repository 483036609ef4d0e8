//! Evidence for and against a change, and the decision.

use relayout_verify::judge::{ChangeScale, ChangeVerdict};
use serde::{Deserialize, Serialize};

/// Effect of a layout by replaying the recording of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedEffect {
    /// Benchmark, or workload of a kernel.
    pub bench: String,
    /// Transfers on the type in the recording.
    pub before: u64,
    /// The same with the new layout.
    pub after: u64,
}

/// Effect of a change on one benchmark, by recording both builds. The numbers are transfers per
/// operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedEffect {
    /// Benchmark, or workload of a kernel.
    pub bench: String,
    /// Type; `None` for all memory.
    pub type_name: Option<String>,
    /// Mean of the recordings without the change; median in pairs of boots.
    pub before: f64,
    /// The same with it.
    pub after: f64,
    /// True for boots in pairs, of which the change is that within pairs.
    pub is_paired: bool,
    /// Change as a fraction: -0.2 for 20% fewer. `None` where it cannot be told.
    pub change: Option<f64>,
    /// Its 95% interval.
    pub interval: Option<[f64; 2]>,
    /// Verdict.
    pub verdict: ChangeVerdict,
    /// Recordings of each side.
    pub recordings: usize,
}

/// Effect of a change on a metric of one benchmark, measured on hardware.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredEffect {
    /// Benchmark.
    pub bench: String,
    /// Metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: Option<String>,
    /// Median without the change.
    pub before: f64,
    /// Median with it.
    pub after: f64,
    /// Unit of `change` and `interval`.
    pub scale: ChangeScale,
    /// Change as a fraction: 0.2 for 20% more; `None` where it cannot be told.
    pub change: Option<f64>,
    /// Its 95% interval.
    pub interval: Option<[f64; 2]>,
    /// Verdict.
    pub verdict: ChangeVerdict,
    /// Pairs of starts.
    pub pairs: usize,
}

/// Step at which a change was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuneStage {
    /// Search and patch.
    Advice,
    /// Build with the change.
    Build,
    /// Test command.
    Test,
    /// Second recording.
    Count,
    /// Measurement on hardware.
    Measurement,
}

impl TuneStage {
    /// Name of the stage in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advice => "advice",
            Self::Build => "build",
            Self::Test => "test",
            Self::Count => "count",
            Self::Measurement => "measurement",
        }
    }
}

/// Reason why a change is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRejection {
    /// Step that rejected it.
    pub stage: TuneStage,
    /// Reason, as a sentence without its full stop.
    pub reason: String,
}

impl ChangeRejection {
    pub(super) fn new(stage: TuneStage, reason: String) -> Self {
        Self { stage, reason }
    }
}

/// Change whose counts are judged.
pub(super) struct CountedChange<'c> {
    pub(super) type_name: &'c str,
    /// Benchmark that must gain.
    pub(super) main_bench: &'c str,
    /// The gain must be certain, because nothing is measured afterwards.
    pub(super) is_decisive: bool,
}

impl CountedChange<'_> {
    /// Judges what recording again counted: the type must have fewer transfers in the main
    /// benchmark, and no benchmark may lose.
    pub(super) fn judge(&self, effects: &[CountedEffect]) -> Result<(), ChangeRejection> {
        let rejected = |reason| Err(ChangeRejection::new(TuneStage::Count, reason));
        let is_worse = |effect: &&CountedEffect| effect.verdict == ChangeVerdict::Worse;
        if let Some(effect) = effects.iter().find(is_worse) {
            return rejected(format!("{} loses: {}", effect.bench, effect.words()));
        }
        let is_of_main = |effect: &&CountedEffect| {
            effect.bench == self.main_bench && effect.type_name.as_deref() == Some(self.type_name)
        };
        match effects.iter().find(is_of_main) {
            // Nothing was counted, so that measuring decides.
            None if effects.is_empty() && !self.is_decisive => Ok(()),
            None => rejected(format!(
                "{} was not seen in the new recordings of {}",
                self.type_name, self.main_bench
            )),
            Some(effect) if effect.after >= effect.before => rejected(format!(
                "recorded again, it saves nothing: {}",
                effect.words()
            )),
            Some(effect) if self.is_decisive && effect.verdict != ChangeVerdict::Better => {
                rejected(format!("the gain is not certain: {}", effect.words()))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Judges what was measured: the main benchmark must be better, and none may be worse.
pub(super) fn judge_measured(
    effects: &[MeasuredEffect],
    main_bench: &str,
) -> Result<(), ChangeRejection> {
    let rejected = |reason| Err(ChangeRejection::new(TuneStage::Measurement, reason));
    let is_worse = |effect: &&MeasuredEffect| effect.verdict == ChangeVerdict::Worse;
    if let Some(effect) = effects.iter().find(is_worse) {
        return rejected(format!("{} loses: {}", effect.bench, effect.words()));
    }
    let mut of_main = effects.iter().filter(|effect| effect.bench == main_bench);
    match of_main
        .clone()
        .any(|effect| effect.verdict == ChangeVerdict::Better)
    {
        true => Ok(()),
        false => {
            let words = of_main.next().map_or(String::new(), MeasuredEffect::words);
            rejected(format!("{main_bench} is not clearly better: {words}"))
        }
    }
}

impl CountedEffect {
    /// Returns the effect in words: `transfers on dentry per operation from 2.100 to 0.400 (-81.0%,
    /// 95% interval -83.0% to -79.0%)`.
    pub fn words(&self) -> String {
        let subject = match &self.type_name {
            Some(name) => format!(" on {name}"),
            None => String::new(),
        };
        let percent = |fraction| ChangeScale::Ratio.change_text(fraction);
        let values = [self.before, self.after].map(|value| format!("{value:.3}"));
        let change = self.change.map(percent);
        let interval = self.interval.map(|ends| ends.map(percent));
        let what = format!("transfers{subject} per operation");
        effect_words(&what, &values, self.is_paired, change, interval)
    }
}

impl MeasuredEffect {
    /// Returns the effect in words: `rate: median 12.500e6 before and 16.900e6 after; within pairs
    /// +35.0%, 95% interval +34.0% to +36.0%`.
    pub fn words(&self) -> String {
        let unit = self.unit.iter().map(|unit| format!(" {unit}"));
        let unit: String = unit.collect();
        let number = |value: f64| match value.abs() {
            1e5.. => format!("{:.3}e6{unit}", value / 1e6),
            100.0.. => format!("{value:.0}{unit}"),
            _ => format!("{value:.4}{unit}"),
        };
        let values = [self.before, self.after].map(number);
        let change_text = |change| self.scale.change_text(change);
        let change = self.change.map(change_text);
        let interval = self.interval.map(|ends| ends.map(change_text));
        effect_words(&self.metric, &values, true, change, interval)
    }
}

/// Returns the words of a change. The change within pairs is not that of the medians.
fn effect_words(
    what: &str,
    [before, after]: &[String; 2],
    is_paired: bool,
    change: Option<String>,
    interval: Option<[String; 2]>,
) -> String {
    let interval = interval.map(|[low, high]| format!(", 95% interval {low} to {high}"));
    let change = change.map(|change| change + &interval.unwrap_or_default());
    match (is_paired, change) {
        (true, Some(change)) => {
            format!("{what}: median {before} before and {after} after; within pairs {change}")
        }
        (true, None) => format!("{what}: median {before} before and {after} after"),
        (false, Some(change)) => format!("{what} from {before} to {after} ({change})"),
        (false, None) => format!("{what} from {before} to {after}"),
    }
}

impl PredictedEffect {
    /// Returns the effect in words: `64868 to 0 transfers (-100.0%)`.
    pub fn words(&self) -> String {
        let change = match self.before {
            0 => String::new(),
            before => format!(
                " ({:+.1}%)",
                100.0 * (self.after as f64 / before as f64 - 1.0)
            ),
        };
        format!("{} to {} transfers{change}", self.before, self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(bench: &str, verdict: ChangeVerdict, after: f64) -> CountedEffect {
        CountedEffect {
            bench: bench.to_owned(),
            type_name: Some("queue".to_owned()),
            before: 2.0,
            after,
            change: Some(after / 2.0 - 1.0),
            interval: None,
            verdict,
            is_paired: false,
            recordings: 3,
        }
    }

    #[track_caller]
    fn check_counts(effects: &[CountedEffect], is_decisive: bool, expect: Result<(), &str>) {
        let change = CountedChange {
            type_name: "queue",
            main_bench: "main",
            is_decisive,
        };
        match (change.judge(effects), expect) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(part)) => assert!(found.reason.contains(part), "{found:?}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn counts() {
        use ChangeVerdict::*;
        check_counts(&[counted("main", Better, 1.0)], true, Ok(()));
        check_counts(&[counted("main", Unclear, 1.9)], false, Ok(()));
        check_counts(&[counted("main", Unclear, 1.9)], true, Err("not certain"));
        check_counts(&[counted("main", Same, 2.0)], false, Err("saves nothing"));
        let other_loses = [counted("main", Better, 1.0), counted("other", Worse, 2.5)];
        check_counts(&other_loses, false, Err("other loses: transfers on queue"));
        check_counts(&[], false, Ok(()));
        check_counts(&[], true, Err("not seen"));
    }

    fn measured(bench: &str, verdict: ChangeVerdict) -> MeasuredEffect {
        MeasuredEffect {
            bench: bench.to_owned(),
            metric: "rate".to_owned(),
            unit: None,
            before: 12_500_000.0,
            after: 13_000_000.0,
            scale: ChangeScale::Ratio,
            change: Some(0.04),
            interval: Some([0.03, 0.05]),
            verdict,
            pairs: 10,
        }
    }

    #[track_caller]
    fn check_measured(effects: &[MeasuredEffect], expect: Result<(), &str>) {
        match (judge_measured(effects, "main"), expect) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(part)) => assert!(found.reason.contains(part), "{found:?}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn measurements() {
        use ChangeVerdict::*;
        let other = |verdict| measured("other", verdict);
        check_measured(&[measured("main", Better), other(Same)], Ok(()));
        check_measured(&[measured("main", Better), other(Unclear)], Ok(()));
        check_measured(
            &[measured("main", Better), other(Worse)],
            Err(
                "other loses: rate: median 12.500e6 before and 13.000e6 after; within pairs +4.0%, 95% interval +3.0% to +5.0%",
            ),
        );
        check_measured(
            &[measured("main", Same), other(Better)],
            Err("not clearly better"),
        );
        check_measured(&[measured("main", Worse)], Err("main loses"));
    }
}

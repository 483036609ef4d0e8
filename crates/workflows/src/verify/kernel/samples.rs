//! Counts of all boots, as metrics that can be judged.

use std::collections::BTreeMap;

use relayout_contend::CoherenceTally;
use relayout_verify::extract::Values;
use relayout_verify::judged_change::ChangeBasis;
use relayout_verify::metric::{BetterDirection, MetricDescription};
use relayout_verify::plan::ExperimentSide;
use relayout_verify::runs::{
    ExperimentEnding, ExperimentRuns, ExperimentSetup, ProgramStart, SCHEMA, StartFate,
};

use super::counts::BootCounts;

/// Types that are shown, by transfers.
const TYPES_MAX: usize = 8;
/// Largest number of members that are shown for a type, by transfers.
const MEMBERS_MAX: usize = 6;
/// Least share of the type's transfers of a shown member, on either side.
const MEMBER_SHARE_MIN: f64 = 0.01;
/// Least number of transfers per operation of a shown member.
const MEMBER_MIN: f64 = 0.05;
/// Suffix of a type's name in the metric of the members that are not shown.
const OTHER_MEMBERS: &str = ": other members";
/// Name of the metric of the rate in simulated time.
pub const OPERATIONS: &str = "operations";
/// Name of the metric of the whole kernel.
pub const KERNEL: &str = "kernel";
/// Suffix of a type's name in the metric of the transfers that are false by first touch.
pub const FALSE_BY_FIRST_TOUCH: &str = ": false by first touch";

/// Counts of one boot.
#[derive(Clone, Debug)]
pub struct BootSample {
    /// Side of the boot.
    pub side: ExperimentSide,
    /// Index of the boot's pair.
    pub pair: usize,
    /// Workload and settings of the boot, as shown to the reader.
    pub setting: String,
    /// Counts of the boot's recording.
    pub counts: BootCounts,
    /// Operations a second in simulated time; `None` in the time of the host.
    pub operations_per_second: Option<f64>,
    /// Seconds of booting and recording.
    pub wall_s: f64,
}

/// All boots.
#[derive(Clone, Debug)]
pub struct BootSamples {
    /// Setup of the experiment.
    pub setup: ExperimentSetup,
    /// Reason for its end.
    pub ending: ExperimentEnding,
    /// All boots, in order.
    pub boots: Vec<BootSample>,
}

/// Selection of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailSelection {
    /// Transfers of the kernel and of each type, which decide the verdict.
    Without,
    /// Classes and members.
    Only,
    /// All.
    Both,
}

/// A number of one boot.
struct BootMetric {
    name: String,
    is_detail: bool,
    number: BootNumber,
}

/// Source of a number.
enum BootNumber {
    /// A count, for each operation.
    Count(Box<dyn Fn(&BootCounts) -> u64>),
    /// Operations a second in simulated time.
    Rate,
}

impl BootMetric {
    fn value(&self, sample: &BootSample) -> Option<f64> {
        match &self.number {
            BootNumber::Count(count) => Some(per_operation(count(&sample.counts), &sample.counts)),
            BootNumber::Rate => sample.operations_per_second,
        }
    }

    fn describe(&self) -> MetricDescription {
        let (better, unit, basis) = match self.number {
            BootNumber::Count(_) => (BetterDirection::Lower, "1/operation", None),
            BootNumber::Rate => (BetterDirection::Higher, "1/s", Some(ChangeBasis::Simulated)),
        };
        MetricDescription {
            name: self.name.clone(),
            better,
            unit: Some(unit.to_owned()),
            is_detail: self.is_detail,
            basis,
        }
    }
}

impl BootSamples {
    /// Tells whether there was no boot.
    pub fn is_empty(&self) -> bool {
        self.boots.is_empty()
    }

    /// The metrics of all boots.
    pub fn runs(&self, which: DetailSelection) -> ExperimentRuns {
        let numbers: Vec<BootMetric> = self
            .metrics()
            .into_iter()
            .filter(|number| match which {
                DetailSelection::Without => !number.is_detail,
                DetailSelection::Only => number.is_detail,
                DetailSelection::Both => true,
            })
            .collect();
        let mut starts: BTreeMap<(usize, ExperimentSide), ProgramStart> = BTreeMap::new();
        for sample in &self.boots {
            let start = starts
                .entry((sample.pair, sample.side))
                .or_insert_with(|| ProgramStart {
                    side: sample.side,
                    pair: sample.pair,
                    fate: StartFate::Kept,
                    wall_s: 0.0,
                    cpu_s: 0.0,
                    lost: None,
                    values: vec![Values::new(); numbers.len()],
                });
            start.wall_s += sample.wall_s;
            for (number, values) in numbers.iter().zip(&mut start.values) {
                // Nothing to compare where neither kernel ever had any.
                let value = number.value(sample);
                if let Some(value) = value.filter(|_| self.has_any(number, &sample.setting)) {
                    values.insert(sample.setting.clone(), vec![value]);
                }
            }
        }
        ExperimentRuns {
            schema: SCHEMA.to_owned(),
            setup: self.setup.clone(),
            metrics: numbers.iter().map(BootMetric::describe).collect(),
            ending: self.ending,
            starts: starts.into_values().collect(),
        }
    }

    fn has_any(&self, number: &BootMetric, setting: &str) -> bool {
        let mut of_setting = (self.boots.iter()).filter(|sample| sample.setting == setting);
        of_setting.any(|sample| number.value(sample).is_some_and(|value| value > 0.0))
    }

    /// Tells whether the boots executed in simulated time.
    pub fn are_simulated(&self) -> bool {
        (self.boots.iter()).any(|sample| sample.operations_per_second.is_some())
    }

    /// Settings of the boots, in the order of the first pair.
    pub fn setting_names(&self) -> Vec<String> {
        let mut settings: Vec<String> = Vec::new();
        for sample in &self.boots {
            if !settings.contains(&sample.setting) {
                settings.push(sample.setting.clone());
            }
        }
        settings
    }

    /// Types with transfers, most first.
    pub fn type_names(&self) -> Vec<String> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in &self.boots {
            for (name, type_counts) in &sample.counts.types {
                *sums.entry(name).or_default() += type_counts.tally.transfers();
            }
        }
        largest(sums, TYPES_MAX)
    }

    /// The members of a type that are shown, most transfers first.
    pub fn member_names(&self, name: &str) -> Vec<String> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        // By setting and side: operations, transfers of the type, and of each member.
        type Group<'s> = (u64, u64, BTreeMap<&'s str, u64>);
        let mut groups: BTreeMap<(&str, ExperimentSide), Group<'_>> = BTreeMap::new();
        for sample in &self.boots {
            let Some(type_counts) = sample.counts.types.get(name) else {
                continue;
            };
            let group = groups.entry((&sample.setting, sample.side)).or_default();
            group.0 += sample.counts.operations;
            group.1 += type_counts.tally.transfers();
            for (member, transfers) in &type_counts.members {
                *sums.entry(member).or_default() += transfers;
                *group.2.entry(member).or_default() += transfers;
            }
        }
        sums.retain(|member, _| {
            groups.values().any(|(operations, transfers, members)| {
                let count = members.get(member).copied().unwrap_or(0) as f64;
                count >= MEMBER_SHARE_MIN * *transfers as f64
                    && count >= MEMBER_MIN * *operations as f64
            })
        });
        largest(sums, MEMBERS_MAX)
    }

    fn metrics(&self) -> Vec<BootMetric> {
        let mut numbers = Vec::new();
        if self.are_simulated() {
            numbers.push(BootMetric {
                name: OPERATIONS.to_owned(),
                is_detail: false,
                number: BootNumber::Rate,
            });
        }
        let mut add_subject = |name: &str, tally_of: fn(&BootCounts, &str) -> CoherenceTally| {
            let mut add = |suffix: &str, is_detail, number: fn(CoherenceTally) -> u64| {
                let key = name.to_owned();
                numbers.push(BootMetric {
                    name: format!("{name}{suffix}"),
                    is_detail,
                    number: BootNumber::Count(Box::new(move |counts| {
                        number(tally_of(counts, &key))
                    })),
                });
            };
            add("", false, |tally| tally.transfers());
            add(FALSE_BY_FIRST_TOUCH, true, |tally| tally.false_first_touch);
            add(": false by lifetime", true, |tally| tally.false_lifetime);
            add(": upgrades", true, |tally| tally.upgrades);
        };
        let types = self.type_names();
        for name in &types {
            add_subject(name, |counts, name| {
                counts
                    .types
                    .get(name)
                    .map_or(CoherenceTally::default(), |type_counts| type_counts.tally)
            });
        }
        add_subject(KERNEL, |counts, _| counts.kernel);
        for name in types {
            let members = self.member_names(&name);
            for member in &members {
                let key = (name.clone(), member.clone());
                numbers.push(BootMetric {
                    name: member_metric_name(&name, member),
                    is_detail: true,
                    number: BootNumber::Count(Box::new(move |counts| {
                        let type_counts = counts.types.get(&key.0);
                        type_counts
                            .and_then(|type_counts| type_counts.members.get(&key.1))
                            .copied()
                            .unwrap_or(0)
                    })),
                });
            }
            numbers.push(BootMetric {
                name: format!("{name}{OTHER_MEMBERS}"),
                is_detail: true,
                number: BootNumber::Count(Box::new(move |counts| {
                    let members_of_type = counts
                        .types
                        .get(&name)
                        .map(|type_counts| type_counts.members.iter());
                    members_of_type
                        .into_iter()
                        .flatten()
                        .filter(|(member, _)| !members.contains(member))
                        .map(|(_, transfers)| transfers)
                        .sum()
                })),
            });
        }
        numbers
    }
}

/// Name of the metric of a member's transfers.
pub fn member_metric_name(name: &str, member: &str) -> String {
    match member {
        "" => format!("{name}.(hole)"),
        member => format!("{name}.{member}"),
    }
}

fn per_operation(count: u64, counts: &BootCounts) -> f64 {
    count as f64 / counts.operations.max(1) as f64
}

/// Names with the most, without those that have none.
fn largest(sums: BTreeMap<&str, u64>, count: usize) -> Vec<String> {
    let mut ranked: Vec<(&str, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    ranked.truncate(count);
    ranked
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect()
}

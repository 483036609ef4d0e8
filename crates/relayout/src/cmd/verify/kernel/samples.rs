//! What all boots counted, as metrics that can be judged.

use std::collections::BTreeMap;

use relayout_contend::Tally;
use relayout_verify::extract::Values;
use relayout_verify::metric::{About, Better};
use relayout_verify::plan::Side;
use relayout_verify::runs::{Ending, Fate, Runs, SCHEMA, Setup, Start};

use super::counts::Counts;

/// Types that are shown, by transfers.
const TYPES_MAX: usize = 8;
/// Members of each that are shown, by transfers.
const MEMBERS_MAX: usize = 6;
/// Members are shown that have this part of their type's transfers on either side, ...
const MEMBER_SHARE_MIN: f64 = 0.01;
/// ... and so many per operation.
const MEMBER_MIN: f64 = 0.05;
/// What follows a type's name for the members that are not shown.
pub(super) const OTHER_MEMBERS: &str = ": other members";
/// What all of the kernel is called.
pub(super) const KERNEL: &str = "kernel";
/// What follows a type's name for that class.
pub(super) const FALSE_BY_FIRST_TOUCH: &str = ": false by first touch";

/// One boot.
pub(super) struct Sample {
    pub side: Side,
    pub pair: usize,
    /// What was run, as a reader sees it.
    pub setting: String,
    pub counts: Counts,
    pub wall_s: f64,
}

/// All boots.
pub(super) struct Samples {
    pub setup: Setup,
    pub ending: Ending,
    pub all: Vec<Sample>,
}

/// Which metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Details {
    /// Transfers of the kernel and of each type: what the verdict is about.
    Without,
    /// Classes and members.
    Only,
    /// All.
    Both,
}

/// A number per operation of one boot.
struct Number {
    name: String,
    is_detail: bool,
    of: Box<dyn Fn(&Counts) -> u64>,
}

impl Samples {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The metrics of all boots.
    pub fn runs(&self, which: Details) -> Runs {
        let numbers: Vec<Number> = { self.numbers().into_iter() }
            .filter(|number| match which {
                Details::Without => !number.is_detail,
                Details::Only => number.is_detail,
                Details::Both => true,
            })
            .collect();
        let mut starts: BTreeMap<(usize, Side), Start> = BTreeMap::new();
        for sample in &self.all {
            let start = { starts.entry((sample.pair, sample.side)) }.or_insert_with(|| Start {
                side: sample.side,
                pair: sample.pair,
                fate: Fate::Kept,
                wall_s: 0.0,
                cpu_s: 0.0,
                lost: None,
                values: vec![Values::new(); numbers.len()],
            });
            start.wall_s += sample.wall_s;
            for (number, values) in numbers.iter().zip(&mut start.values) {
                // Nothing to compare where neither kernel ever had any.
                if self.is_counted(number, &sample.setting) {
                    let value = per_operation((number.of)(&sample.counts), &sample.counts);
                    values.insert(sample.setting.clone(), vec![value]);
                }
            }
        }
        let about = |number: &Number| About {
            name: number.name.clone(),
            better: Better::Lower,
            unit: Some("1/operation".to_owned()),
            is_detail: number.is_detail,
        };
        Runs {
            schema: SCHEMA.to_owned(),
            setup: self.setup.clone(),
            metrics: numbers.iter().map(about).collect(),
            ending: self.ending,
            starts: starts.into_values().collect(),
        }
    }

    fn is_counted(&self, number: &Number, setting: &str) -> bool {
        let of_setting = self.all.iter().filter(|sample| sample.setting == setting);
        { of_setting }.any(|sample| (number.of)(&sample.counts) > 0)
    }

    /// What was run, in the order of the first pair.
    pub fn settings(&self) -> Vec<String> {
        let mut settings: Vec<String> = Vec::new();
        for sample in &self.all {
            if !settings.contains(&sample.setting) {
                settings.push(sample.setting.clone());
            }
        }
        settings
    }

    /// Types with transfers, most first.
    pub fn types(&self) -> Vec<String> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for sample in &self.all {
            for (name, of) in &sample.counts.types {
                *sums.entry(name).or_default() += of.tally.transfers();
            }
        }
        most(sums, TYPES_MAX)
    }

    /// The members of a type that are shown, most transfers first.
    pub fn members(&self, name: &str) -> Vec<String> {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        // By setting and side: operations, transfers of the type, and of each member.
        type Group<'s> = (u64, u64, BTreeMap<&'s str, u64>);
        let mut groups: BTreeMap<(&str, Side), Group<'_>> = BTreeMap::new();
        for sample in &self.all {
            let Some(of) = sample.counts.types.get(name) else {
                continue;
            };
            let group = groups.entry((&sample.setting, sample.side)).or_default();
            group.0 += sample.counts.operations;
            group.1 += of.tally.transfers();
            for (member, transfers) in &of.members {
                *sums.entry(member).or_default() += transfers;
                *group.2.entry(member).or_default() += transfers;
            }
        }
        sums.retain(|member, _| {
            groups.values().any(|(operations, all, members)| {
                let count = members.get(member).copied().unwrap_or(0) as f64;
                count >= MEMBER_SHARE_MIN * *all as f64 && count >= MEMBER_MIN * *operations as f64
            })
        });
        most(sums, MEMBERS_MAX)
    }

    fn numbers(&self) -> Vec<Number> {
        let mut numbers = Vec::new();
        let mut subject = |name: &str, of: fn(&Counts, &str) -> Tally| {
            let mut add = |what: &str, is_detail, number: fn(Tally) -> u64| {
                let key = name.to_owned();
                numbers.push(Number {
                    name: format!("{name}{what}"),
                    is_detail,
                    of: Box::new(move |counts| number(of(counts, &key))),
                });
            };
            add("", false, |tally| tally.transfers());
            add(FALSE_BY_FIRST_TOUCH, true, |tally| tally.false_first_touch);
            add(": false by lifetime", true, |tally| tally.false_lifetime);
            add(": upgrades", true, |tally| tally.upgrades);
        };
        let types = self.types();
        for name in &types {
            subject(name, |counts, name| {
                counts
                    .types
                    .get(name)
                    .map_or(Tally::default(), |of| of.tally)
            });
        }
        subject(KERNEL, |counts, _| counts.kernel);
        for name in types {
            let members = self.members(&name);
            for member in &members {
                let key = (name.clone(), member.clone());
                numbers.push(Number {
                    name: metric_of(&name, member),
                    is_detail: true,
                    of: Box::new(move |counts| {
                        let of = counts.types.get(&key.0);
                        of.and_then(|of| of.members.get(&key.1))
                            .copied()
                            .unwrap_or(0)
                    }),
                });
            }
            numbers.push(Number {
                name: format!("{name}{OTHER_MEMBERS}"),
                is_detail: true,
                of: Box::new(move |counts| {
                    let all = counts.types.get(&name).map(|of| of.members.iter());
                    let others = { all.into_iter().flatten() }
                        .filter(|(member, _)| !members.contains(member));
                    others.map(|(_, transfers)| transfers).sum()
                }),
            });
        }
        numbers
    }
}

/// What a member's transfers are called.
pub(super) fn metric_of(name: &str, member: &str) -> String {
    match member {
        "" => format!("{name}.(hole)"),
        member => format!("{name}.{member}"),
    }
}

fn per_operation(count: u64, counts: &Counts) -> f64 {
    count as f64 / counts.operations.max(1) as f64
}

/// Names with the most, without those that have none.
fn most(sums: BTreeMap<&str, u64>, count: usize) -> Vec<String> {
    let mut ranked: Vec<(&str, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    ranked.truncate(count);
    ranked
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect()
}

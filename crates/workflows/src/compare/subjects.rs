//! Changes by type and variable, and by their members.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use relayout_contend::{FindingSubject, MemberTraffic, SubjectTraffic};
use relayout_layout::MemberSpan;
use relayout_session::RecordedOperations;
use relayout_verify::judged_change::ChangeVerdict;

use super::rates::{judge_rates, mean};
use super::{ChangeCause, CompareSettings, RateChange, SideWorkload};

/// Fraction of the transfers of a side that a subject needs to be compared. Smaller ones move little,
/// and each comparison more makes all of them less certain.
const SHARE_MIN: f64 = 0.01;

/// Change of a type or variable.
#[derive(Clone, Debug)]
pub struct SubjectChange {
    /// Type or variable.
    pub subject: FindingSubject,
    /// Transfers per operation.
    pub rate: RateChange,
    /// Its members on both sides, the largest change first.
    pub members: Vec<MemberChange>,
    /// Cause of the change; `None` unless it is better or worse.
    pub cause: Option<ChangeCause>,
    /// Transfers per operation between two members of one object, on both sides.
    pub pairs: BTreeMap<[String; 2], [f64; 2]>,
}

/// A member on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberChange {
    /// Path from the type, empty for holes.
    pub path: String,
    /// Place in the old recordings, with its traffic in all of them; `None` if nothing accessed it
    /// there.
    pub old: Option<MemberSide>,
    /// The same in the new recordings.
    pub new: Option<MemberSide>,
}

/// A member on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberSide {
    /// Offset in bytes from the start of the object, of the element with most transfers.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Transfers per operation.
    pub rate: f64,
    /// Traffic in all recordings.
    pub traffic: MemberTraffic,
}

impl MemberChange {
    /// Returns the difference of the rates.
    pub fn difference(&self) -> f64 {
        let rate = |side: &Option<MemberSide>| side.as_ref().map_or(0.0, |side| side.rate);
        rate(&self.new) - rate(&self.old)
    }
}

/// Compares all subjects with enough transfers, or the named ones.
pub(super) fn compare_subjects(
    old: &SideWorkload,
    new: &SideWorkload,
    settings: &CompareSettings,
) -> Vec<SubjectChange> {
    let sides = [old, new];
    let subjects: Vec<&FindingSubject> = select_subjects(sides, settings).into_iter().collect();
    let samples = subjects.iter().map(|subject| {
        sides.map(|side| {
            let rate = |recording| rate_of_subject(recording, subject);
            side.recordings.iter().map(rate).collect()
        })
    });
    let rates = judge_rates(samples.collect(), settings.margin);
    let mut changes: Vec<SubjectChange> = { subjects.iter().zip(rates) }
        .map(|(subject, rate)| SubjectChange {
            subject: (*subject).clone(),
            rate,
            members: compare_members(sides, subject),
            cause: None,
            pairs: pair_rates(sides, subject),
        })
        .collect();
    changes.sort_by(shown_order);
    changes
}

fn select_subjects<'s>(
    sides: [&'s SideWorkload; 2],
    settings: &CompareSettings,
) -> BTreeSet<&'s FindingSubject> {
    let is_named = |subject: &FindingSubject| {
        let variable = subject.variable();
        { settings.names.iter() }.any(|name| subject.type_name() == name || variable == Some(name))
    };
    let mut selected = BTreeSet::new();
    for side in sides {
        let all: u64 = { side.recordings.iter() }
            .map(|recording| recording.traffic.transfers)
            .sum();
        let mut sums: BTreeMap<&FindingSubject, u64> = BTreeMap::new();
        for recording in &side.recordings {
            for (subject, traffic) in &recording.traffic.subjects {
                *sums.entry(subject).or_default() += traffic.transfers;
            }
        }
        let is_large = |transfers: u64| transfers as f64 >= SHARE_MIN * all as f64 && transfers > 0;
        selected.extend({ sums.into_iter() }.filter_map(|(subject, transfers)| {
            let is_selected = match settings.names.is_empty() {
                true => is_large(transfers),
                false => is_named(subject),
            };
            is_selected.then_some(subject)
        }));
    }
    selected
}

fn traffic_of<'r>(
    recording: &'r RecordedOperations,
    subject: &FindingSubject,
) -> Option<&'r SubjectTraffic> {
    recording.traffic.subjects.get(subject)
}

fn rate_of_subject(recording: &RecordedOperations, subject: &FindingSubject) -> f64 {
    traffic_of(recording, subject).map_or(0.0, |traffic| recording.rate(traffic.transfers))
}

fn compare_members(sides: [&SideWorkload; 2], subject: &FindingSubject) -> Vec<MemberChange> {
    let [mut old, mut new] = sides.map(|side| members_of_side(side, subject));
    let paths: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
    let mut members: Vec<MemberChange> = { paths.into_iter() }
        .map(|path| MemberChange {
            old: old.remove(&path),
            new: new.remove(&path),
            path,
        })
        .collect();
    members.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
    members
}

/// Returns the members of a subject by path.
fn members_of_side(side: &SideWorkload, subject: &FindingSubject) -> BTreeMap<String, MemberSide> {
    let mut sums: BTreeMap<&MemberSpan, MemberTraffic> = BTreeMap::new();
    for traffic in { side.recordings.iter() }.filter_map(|each| traffic_of(each, subject)) {
        for (member, own) in &traffic.members {
            sums.entry(member).or_default().add(own);
        }
    }
    let mut members: BTreeMap<String, MemberSide> = BTreeMap::new();
    let mut most: BTreeMap<&str, u64> = BTreeMap::new();
    for (member, traffic) in sums {
        let transfers = traffic.transfers;
        let held = members.entry(member.path.clone());
        let held = held.or_insert_with(|| MemberSide {
            offset: member.offset,
            size: member.size,
            rate: 0.0,
            traffic: MemberTraffic::default(),
        });
        held.traffic.add(&traffic);
        let largest = most.entry(&member.path).or_default();
        if transfers > *largest {
            *largest = transfers;
            (held.offset, held.size) = (member.offset, member.size);
        }
    }
    for member in members.values_mut() {
        member.rate = member.traffic.transfers as f64 / side.operations();
    }
    members
}

fn pair_rates(
    sides: [&SideWorkload; 2],
    subject: &FindingSubject,
) -> BTreeMap<[String; 2], [f64; 2]> {
    let mut rates: BTreeMap<[String; 2], [Vec<f64>; 2]> = BTreeMap::new();
    for (side_index, side) in sides.into_iter().enumerate() {
        for recording in &side.recordings {
            let pairs = traffic_of(recording, subject).map(|traffic| &traffic.pairs);
            for (names, transfers) in pairs.into_iter().flatten() {
                let held = rates.entry(names.clone()).or_default();
                held[side_index].push(recording.rate(*transfers));
            }
        }
    }
    let mean_rate = |values: &Vec<f64>, side: &SideWorkload| {
        mean(values) * values.len() as f64 / side.recordings.len().max(1) as f64
    };
    { rates.into_iter() }
        .map(|(names, [old, new])| {
            (
                names,
                [mean_rate(&old, sides[0]), mean_rate(&new, sides[1])],
            )
        })
        .collect()
}

/// Worse ones first, then better, unclear and same ones; in each group the largest difference
/// first.
fn shown_order(a: &SubjectChange, b: &SubjectChange) -> Ordering {
    let group = |change: &SubjectChange| match change.rate.judged.verdict {
        ChangeVerdict::Worse => 0,
        ChangeVerdict::Better => 1,
        ChangeVerdict::Unclear => 2,
        ChangeVerdict::Same => 3,
    };
    let size =
        |change: &SubjectChange| (change.rate.judged.after - change.rate.judged.before).abs();
    { group(a).cmp(&group(b)) }.then_with(|| size(b).total_cmp(&size(a)))
}

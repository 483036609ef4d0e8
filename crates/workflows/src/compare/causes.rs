//! Layout changes behind changes of traffic.
//!
//! A layout change is a cause only with evidence from both sides. Two members came onto one line and
//! the transfers between them became more, or went apart and the transfers became fewer. And all
//! members on the lines of these two, taken together, changed in the same direction: a member that
//! leaves a line takes no transfers away if it has as many on the line that it comes to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use relayout_check::RecordedHotMember;
use relayout_contend::strip_type_tag;
use relayout_diff::{DiffSide, DiffStatus, LayoutDiff, TypeDiff, TypeLayout, compare_sides};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::{TypePattern, canonical_type, readable_type_name};
use relayout_messages::{RecordingProgress, UserError};
use relayout_session::diff::{ComparedFiles, HotDiff, HotPair, HotTypeTraffic};
use relayout_session::with_both_types;
use relayout_verify::judged_change::ChangeVerdict;

use super::{MemberChange, MemberSide, SubjectChange, WorkloadComparison};

/// Transfers of a pair that are evidence, as a fraction of those of its type on the side with more.
const PAIR_SHARE_MIN: f64 = 0.05;

/// Cause of a change.
#[derive(Clone, Debug)]
pub enum ChangeCause {
    /// The variable has no members.
    NoMembers,
    /// Both sides have the same layout of the type: other code, or another order of events.
    SameLayout,
    /// The layout differs, but no pair of members has more or fewer transfers by it: other code, another order of events, or objects
    /// that share lines otherwise.
    OtherThanPairs(Box<ChangedLayouts>),
    /// Members came onto a line or left it.
    Layout(Box<LayoutCause>),
    /// It cannot be told, for this reason.
    Unknown(String),
}

impl ChangeCause {
    /// Returns the layouts of both builds, if they differ.
    pub fn layouts(&self) -> Option<&ChangedLayouts> {
        match self {
            Self::Layout(cause) => Some(&cause.layouts),
            Self::OtherThanPairs(layouts) => Some(layouts),
            Self::NoMembers | Self::SameLayout | Self::Unknown(_) => None,
        }
    }
}

/// Layouts of a type in both builds.
#[derive(Clone, Debug)]
pub struct ChangedLayouts {
    /// In the old build.
    pub old: TypeLayout,
    /// In the new build.
    pub new: TypeLayout,
}

/// A changed layout, with the pairs of members that have more or fewer transfers by it.
#[derive(Clone, Debug)]
pub struct LayoutCause {
    /// Layouts in both builds.
    pub layouts: ChangedLayouts,
    /// Hot members of both sides, and the pairs that are evidence, the largest change first.
    pub hot: HotDiff,
    /// Transfers per operation of each pair of `hot`, before and now.
    pub rates: Vec<[f64; 2]>,
    /// Bytes of a cache line.
    pub line_bytes: u64,
}

/// Files with the types of both builds, and the bytes of a line.
type BuildPair = (PathBuf, PathBuf, u64);

/// Finds the causes of all changes that are better or worse.
pub(super) fn find_causes(
    workloads: &mut [WorkloadComparison],
    progress: &dyn RecordingProgress,
    notes: &mut Vec<String>,
) {
    let mut by_builds: BTreeMap<BuildPair, Vec<&mut SubjectChange>> = BTreeMap::new();
    for workload in workloads {
        let builds = builds_of(workload);
        for change in workload
            .subjects
            .iter_mut()
            .filter(|change| is_told(change))
        {
            match &builds {
                Ok(builds) => by_builds.entry(builds.clone()).or_default().push(change),
                Err(cause) => change.cause = Some(cause.clone()),
            }
        }
    }
    for ((old_file, new_file, line_bytes), mut changes) in by_builds {
        progress.step("comparing the layouts of both builds");
        let warn = |text: &str| progress.warn(text);
        let format = DebugInfoFormat::Any;
        let found = with_both_types(&old_file, &new_file, format, &warn, |old, new| {
            compare_layouts(&mut changes, old, new, line_bytes)
        });
        if let Err(error) = found {
            let reason = format!("the layouts cannot be compared: {error}");
            for change in changes {
                change.cause = Some(ChangeCause::Unknown(reason.clone()));
            }
            notes.push(reason);
        }
    }
}

fn is_told(change: &SubjectChange) -> bool {
    matches!(
        change.rate.judged.verdict,
        ChangeVerdict::Better | ChangeVerdict::Worse
    )
}

/// Returns the files with the types of both builds, or the cause if they need not or cannot be read.
fn builds_of(workload: &WorkloadComparison) -> Result<BuildPair, ChangeCause> {
    let (old, new) = (&workload.old, &workload.new);
    if old.meta.build_id == new.meta.build_id && !old.meta.build_id.is_empty() {
        return Err(ChangeCause::SameLayout);
    }
    match (&old.debug_file, &new.debug_file) {
        (Ok(before), Ok(after)) => Ok((before.clone(), after.clone(), new.line_bytes.into())),
        (Err(reason), _) | (_, Err(reason)) => Err(ChangeCause::Unknown(reason.clone())),
    }
}

fn compare_layouts(
    changes: &mut [&mut SubjectChange],
    old: &TypeCatalog<'_>,
    new: &TypeCatalog<'_>,
    line_bytes: u64,
) -> Result<(), UserError> {
    let mut sides = (DiffSide::new(old), DiffSide::new(new));
    for change in changes.iter() {
        let Ok(pattern) = TypePattern::parse(strip_type_tag(change.subject.type_name())) else {
            continue;
        };
        sides.0.load_matching(&pattern, false)?;
        sides.1.load_matching(&pattern, false)?;
    }
    let (diff, _) = compare_sides(sides.0, sides.1)?;
    let files = ComparedFiles {
        old,
        new,
        line_bytes,
    };
    for change in changes.iter_mut() {
        change.cause = Some(find_cause(change, &files, &diff)?);
    }
    Ok(())
}

/// Finds the cause of one change. Of several types of one name, the one with most evidence counts.
fn find_cause(
    change: &SubjectChange,
    files: &ComparedFiles<'_, '_, '_>,
    diff: &LayoutDiff,
) -> Result<ChangeCause, UserError> {
    if !change.subject.has_members() {
        return Ok(ChangeCause::NoMembers);
    }
    let name = canonical_type(change.subject.type_name());
    let is_named = |type_diff: &&TypeDiff| {
        let shape = diff.layout(type_diff);
        let printed = readable_type_name(shape.key.scope.as_deref(), &shape.key.name);
        canonical_type(&printed) == name
    };
    let candidates: Vec<&TypeDiff> = { diff.types.iter() }
        .filter(is_named)
        .filter(|type_diff| diff.both_layouts(type_diff).is_some())
        .collect();
    if candidates.is_empty() {
        let has_name = |named: &TypeDiff| is_named(&named);
        let reason = match diff.types.iter().find(|named| has_name(named)) {
            Some(found) if found.new.is_some() => "the old build has no type of this name",
            Some(_) => "the new build has no type of this name",
            None => "the type has no name, or is not in the main debug file",
        };
        return Ok(ChangeCause::Unknown(reason.to_owned()));
    }
    let changed = { candidates.into_iter() }.filter(|each| each.status == DiffStatus::Changed);
    let mut cause = ChangeCause::SameLayout;
    let mut evidence_max = 0.0;
    for type_diff in changed {
        let found = layout_cause(change, files, diff, type_diff)?;
        let evidence = found.as_ref().map_or(0.0, |found| {
            found.rates.iter().map(|[old, new]| (new - old).abs()).sum()
        });
        match found {
            Some(found) if evidence > evidence_max => {
                evidence_max = evidence;
                cause = ChangeCause::Layout(Box::new(found));
            }
            _ if evidence_max == 0.0 => {
                if let Some(layouts) = changed_layouts(diff, type_diff) {
                    cause = ChangeCause::OtherThanPairs(Box::new(layouts));
                }
            }
            _ => {}
        }
    }
    Ok(cause)
}

fn changed_layouts(diff: &LayoutDiff, type_diff: &TypeDiff) -> Option<ChangedLayouts> {
    let (old, new) = diff.both_layouts(type_diff)?;
    Some(ChangedLayouts {
        old: old.clone(),
        new: new.clone(),
    })
}

/// Returns the pairs of members whose transfers changed as their layout did; `None` without any.
fn layout_cause(
    change: &SubjectChange,
    files: &ComparedFiles<'_, '_, '_>,
    diff: &LayoutDiff,
    type_diff: &TypeDiff,
) -> Result<Option<LayoutCause>, UserError> {
    let hot_type = hot_type_of(change);
    let (Some(mut hot), Some(layouts)) = (
        files.compare(diff, type_diff, &hot_type)?,
        changed_layouts(diff, type_diff),
    ) else {
        return Ok(None);
    };
    let needed = PAIR_SHARE_MIN * change.rate.judged.before.max(change.rate.judged.after);
    let is_worse = change.rate.judged.verdict == ChangeVerdict::Worse;
    let is_evidence = |[before, now]: [f64; 2]| {
        let added = if is_worse { now - before } else { before - now };
        added >= needed && added > 0.0
    };
    let pairs = { hot.pairs.iter() }
        .map(|pair| (*pair, rates_of_pair(change, &hot, pair)))
        .filter(|(pair, rates)| pair.heat > 0 && pair.together == is_worse && is_evidence(*rates));
    let mut pairs: Vec<(HotPair, [f64; 2])> = join_pairs(pairs)
        .into_iter()
        .filter(|joined| is_evidence(rates_of_lines(change, &hot, joined, files.line_bytes)))
        .flatten()
        .collect();
    let size = |rates: [f64; 2]| (rates[1] - rates[0]).abs();
    pairs.sort_by(|(_, a), (_, b)| size(*b).total_cmp(&size(*a)));
    if pairs.is_empty() {
        return Ok(None);
    }
    let rates = pairs.iter().map(|(_, rates)| *rates).collect();
    hot.pairs = pairs.into_iter().map(|(pair, _)| pair).collect();
    Ok(Some(LayoutCause {
        layouts,
        hot,
        rates,
        line_bytes: files.line_bytes,
    }))
}

fn rates_of_pair(change: &SubjectChange, hot: &HotDiff, pair: &HotPair) -> [f64; 2] {
    let mut names = [pair.first, pair.second].map(|index| hot.moves[index].member.path.clone());
    names.sort();
    change.pairs.get(&names).copied().unwrap_or_default()
}

/// A pair of members with its transfers per operation, before and now.
type PairEvidence = (HotPair, [f64; 2]);

/// Joins pairs that have a member in common.
fn join_pairs(pairs: impl Iterator<Item = PairEvidence>) -> Vec<Vec<PairEvidence>> {
    let mut joined: Vec<Vec<PairEvidence>> = Vec::new();
    for evidence in pairs {
        let touches = |(pair, _): &PairEvidence| {
            let ends = [evidence.0.first, evidence.0.second];
            ends.contains(&pair.first) || ends.contains(&pair.second)
        };
        let (touching, mut apart): (Vec<_>, Vec<_>) =
            { joined.into_iter() }.partition(|others| others.iter().any(touches));
        let mut all: Vec<PairEvidence> = touching.into_iter().flatten().collect();
        all.push(evidence);
        apart.push(all);
        joined = apart;
    }
    joined
}

/// Returns the transfers per operation of all members on the lines that the members of `pairs` are on,
/// in the old build with its lines and in the new one with its own.
fn rates_of_lines(
    change: &SubjectChange,
    hot: &HotDiff,
    pairs: &[PairEvidence],
    line_bytes: u64,
) -> [f64; 2] {
    let mut lines: [BTreeSet<u64>; 2] = Default::default();
    for (pair, _) in pairs {
        for hot_move in [&hot.moves[pair.first], &hot.moves[pair.second]] {
            lines[0].insert(hot_move.old.offset / line_bytes);
            lines[1].insert(hot_move.new.offset / line_bytes);
        }
    }
    let is_on_lines = |side: &Option<MemberSide>, lines: &BTreeSet<u64>| {
        { side.as_ref() }.is_some_and(|side| lines.contains(&(side.offset / line_bytes)))
    };
    let mut sums = [0.0; 2];
    for MemberChange { old, new, .. } in &change.members {
        if is_on_lines(old, &lines[0]) || is_on_lines(new, &lines[1]) {
            sums[0] += old.as_ref().map_or(0.0, |side| side.rate);
            sums[1] += new.as_ref().map_or(0.0, |side| side.rate);
        }
    }
    sums
}

/// Returns the members of both sides; one that both have, at its place on the side with more
/// transfers.
fn hot_type_of(change: &SubjectChange) -> HotTypeTraffic {
    let members = { change.members.iter() }.filter(|member| !member.path.is_empty());
    let members = members.filter_map(|member| {
        let sides = [&member.new, &member.old].into_iter().flatten();
        let side = sides.max_by(|a, b| a.rate.total_cmp(&b.rate))?;
        Some(RecordedHotMember {
            path: member.path.clone(),
            offset: side.offset,
            size: side.size,
            reads: side.traffic.reads,
            writes: side.traffic.writes,
            contexts: side.traffic.contexts.len() as u32,
            transfers: side.traffic.transfers,
        })
    });
    HotTypeTraffic {
        name: change.subject.type_name().to_owned(),
        transfers: 0,
        share: 0.0,
        phase: None,
        members: members.collect(),
    }
}

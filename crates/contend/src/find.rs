//! From a profile to ranked findings.

mod members;
mod names;
mod ranks;
mod uses;

use std::collections::BTreeMap;

use relayout_profile::{ConflictRow, Profile};
use rustc_hash::FxHashSet;

use members::members;
pub(crate) use names::{neighbours, other_name, own_name};
use names::{origins, types_path};
pub(crate) use ranks::ByRun;
use ranks::{RunRanks, by_run};
pub(crate) use uses::Sources;
use uses::{Uses, pairs, sites};

use crate::adjacent;
use crate::detect::{self, Context, Replays};
use crate::finding::{Finding, Findings, Totals, Unresolved, share};
use crate::group::{self, Group, Groups, Places};
use crate::identify::{Identify, Place};
use crate::phases::{self, Joined};
use crate::rates::{self, Observed};
use crate::replay::Tally;

/// Bytes of a line where the profile does not say.
const LINE_BYTES: u32 = 64;
/// Class of transfers in holes of typed objects.
const HOLE: &str = "hole";
/// Class of transfers whose other side the collector did not know, so that only the line's totals
/// have them.
const ONE_SIDED: &str = "other side unknown";

/// What is known besides the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// What a pair transfer costs on the machine that is asked about, in transfers (0: lines of a pair
    /// do not disturb each other); `None`: not known.
    pub pair_coefficient: Option<f64>,
}

/// [`find_with`] nothing known besides.
pub fn find(profile: &Profile, identify: &impl Identify) -> Findings {
    find_with(profile, identify, &Settings::default())
}

/// Finds what hurts in `profile`: groups its coherence events by line of a type (or variable), over
/// all objects, names each group and ranks them by transfers. Adjacent lines are ranked among them by
/// what they are estimated to cost, if that is known and not nothing.
///
/// `identify` is asked once per distinct address and instruction.
///
/// Where a profile holds samples without order, the events are those that [`rates`] expects, and the
/// findings say so.
pub fn find_with(profile: &Profile, identify: &impl Identify, settings: &Settings) -> Findings {
    if !rates::is_order_less(profile) {
        return rank(profile, None, identify, settings);
    }
    let mut expected = profile.clone();
    expected.conflicts = rates::estimate(profile);
    // What hardware told is not mixed with what is expected.
    for line in &mut expected.lines {
        (line.read_transfers, line.write_transfers, line.upgrades) = (0, 0, 0);
    }
    rank(&expected, Some(&Observed::new(profile)), identify, settings)
}

/// Ranks the events of a profile; with `observed`, they are expected ones.
fn rank(
    profile: &Profile,
    observed: Option<&Observed>,
    identify: &impl Identify,
    settings: &Settings,
) -> Findings {
    let line_bytes = match profile.meta.line_bytes {
        0 => LINE_BYTES,
        bytes => bytes,
    };
    let places = Places::new(profile, identify);
    let Groups { groups, unresolved } = group::group(profile, &places, line_bytes.into());
    let mut totals = totals(profile, &groups, &unresolved, line_bytes.into());
    totals.hitm = observed.and_then(Observed::total);
    let mut sources = Sources::new(identify);
    let replays = Replays::new(profile);
    let context = Context {
        profile,
        line_bytes: line_bytes.into(),
        replays: &replays,
    };
    let all = totals.tally.transfers();
    let mut findings: Vec<(Finding, ByRun)> = phases::join(groups, &context)
        .iter()
        .map(|joined| {
            let mut finding = finding(joined, &context, &mut sources);
            finding.estimated = observed.is_some();
            finding.hitm = observed.and_then(|observed| observed.of(&joined.group));
            (finding, by_run(&joined.group, profile.meta.runs.len()))
        })
        .collect();
    let (adjacent, line_pairs) =
        adjacent::find(profile, &places, line_bytes, settings, &mut sources);
    findings.extend(adjacent);
    findings
        .sort_by_key(|(finding, _)| std::cmp::Reverse((finding.weight(), finding.tally.upgrades)));
    let ranks = RunRanks::new(profile.meta.runs.len(), &findings);
    let findings = findings
        .into_iter()
        .enumerate()
        .map(|(at, (mut finding, _))| {
            finding.rank = at as u32 + 1;
            finding.share = share(finding.tally.transfers(), all, 0.0);
            finding.stability = ranks.stability(at);
            if finding.is_unstable() {
                // What holds in some recordings only is no advice.
                finding.remedies.clear();
            }
            finding
        })
        .collect();
    let unresolved = unresolved_classes(unresolved, all, line_bytes.into(), &mut sources);
    Findings {
        findings,
        unresolved,
        totals,
        estimated: observed.is_some(),
        line_pairs,
    }
}

impl Finding {
    /// What it is ranked by: its transfers, or what adjacent lines are estimated to cost.
    fn weight(&self) -> u64 {
        match &self.adjacent {
            Some(adjacent) => adjacent.cost_transfers as u64,
            None => self.tally.transfers(),
        }
    }
}

fn totals(
    profile: &Profile,
    groups: &[Group],
    unresolved: &BTreeMap<&str, Vec<&ConflictRow>>,
    line_bytes: u64,
) -> Totals {
    let mut totals = Totals::default();
    for conflict in groups.iter().flat_map(|group| &group.conflicts) {
        let transfers = group::tally(conflict.row).transfers();
        match conflict.here {
            Place::Member { member, .. } if member.path.is_empty() => {
                *totals.unresolved.entry(HOLE.to_owned()).or_default() += transfers;
            }
            _ => totals.resolved += transfers,
        }
    }
    for (class, rows) in unresolved {
        let transfers: u64 = rows.iter().map(|row| group::tally(row).transfers()).sum();
        *totals.unresolved.entry((*class).to_owned()).or_default() += transfers;
    }
    totals.tally = profile.conflicts.iter().map(group::tally).sum();
    let one_sided = one_sided(profile, &totals.tally);
    *totals.unresolved.entry(ONE_SIDED.to_owned()).or_default() += one_sided.transfers();
    totals.unresolved.retain(|_, transfers| *transfers > 0);
    totals.tally += one_sided;
    let lines: FxHashSet<_> = profile
        .conflicts
        .iter()
        .map(|row| (row.run, row.addr / line_bytes))
        .collect();
    totals.lines = lines.len() as u64;
    let errors = profile.lines.iter().filter_map(|row| row.order_errors);
    totals.order_errors = errors.reduce(|sum, errors| sum + errors);
    totals
}

/// Events that the lines counted and the conflicts, whose sum is `conflicts`, lack.
fn one_sided(profile: &Profile, conflicts: &Tally) -> Tally {
    let lines: Tally = profile
        .lines
        .iter()
        .map(|row| Tally {
            read_transfers: row.read_transfers,
            write_transfers: row.write_transfers,
            upgrades: row.upgrades,
            ..Tally::default()
        })
        .sum();
    Tally {
        read_transfers: lines
            .read_transfers
            .saturating_sub(conflicts.read_transfers),
        write_transfers: lines
            .write_transfers
            .saturating_sub(conflicts.write_transfers),
        upgrades: lines.upgrades.saturating_sub(conflicts.upgrades),
        ..Tally::default()
    }
}

fn finding<I: Identify>(
    joined: &Joined,
    context: &Context,
    sources: &mut Sources<'_, I>,
) -> Finding {
    let Joined { group, tally, .. } = joined;
    let contexts: FxHashSet<_> = group
        .conflicts
        .iter()
        .map(|conflict| conflict.row.context)
        .chain(group.counts.iter().map(|count| count.row.context))
        .collect();
    Finding {
        rank: 0,
        kind: joined.kind,
        types_path: types_path(group),
        subject: group.subject.clone(),
        line_offset: group.line_offset,
        places: joined.places.clone(),
        line_bytes: context.line_bytes as u32,
        tally: *tally,
        share: 0.0,
        adjacent: None,
        objects: phases::objects(group),
        contexts: contexts.len() as u32,
        stability: None,
        estimated: false,
        hitm: None,
        members: members(group),
        sites: sites(group, sources),
        pairs: pairs(group, sources),
        remote_reads: detect::remote_reads(group, tally),
        neighbours: neighbours(group),
        origins: origins(group),
        kinds_by_run: detect::kinds_by_run(group, context),
        remedies: detect::remedies(group, joined.kind, tally, context, sources),
    }
}

fn unresolved_classes<I: Identify>(
    classes: BTreeMap<&str, Vec<&ConflictRow>>,
    all: u64,
    line_bytes: u64,
    sources: &mut Sources<'_, I>,
) -> Vec<Unresolved> {
    let mut found: Vec<Unresolved> = classes
        .into_iter()
        .map(|(class, rows)| {
            let tally: Tally = rows.iter().map(|row| group::tally(row)).sum();
            let lines: FxHashSet<_> = rows
                .iter()
                .map(|row| (row.run, row.addr / line_bytes))
                .collect();
            let mut uses = Uses::default();
            for row in rows {
                uses.add(row, sources);
            }
            Unresolved {
                class: class.to_owned(),
                tally,
                share: share(tally.transfers(), all, 0.0),
                lines: lines.len() as u64,
                sites: uses.ranked(),
            }
        })
        .collect();
    found.sort_by_key(|class| std::cmp::Reverse(class.tally.transfers()));
    found
}

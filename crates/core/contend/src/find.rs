//! Finds what is contended in a profile, and ranks it.

mod element_rows;
mod members;
mod site_uses;

use std::collections::BTreeMap;

use relayout_profile::{ConflictRow, Profile};
use rustc_hash::{FxHashMap, FxHashSet};

use members::accessed_members;
use site_uses::{SiteUses, conflict_pairs, group_site_uses};

use crate::adjacent;
use crate::detect::{self, DetectContext, GroupReplays};
use crate::elements;
use crate::finding::{Finding, Findings, ProfileTotals, UnresolvedLines, share};
use crate::group::{self, GroupedRows, LineGroup, TargetCache};
use crate::hand_cut;
use crate::identify::{AccessTarget, AddressNamer};
use crate::line_join::{self, JoinedGroup};
use crate::names::{neighbours, origins, rival_type, types_path};
use crate::ranks::{self, RecordingIndex, RunRanks, RunWeights};
use crate::rates::{self, ObservedHitm};
use crate::replay::CoherenceTally;
use crate::source_cache::SourceCache;
use crate::type_confidence::TypeConfidence;
use crate::unread_memory::unread_memory;

/// Line size in bytes where the profile does not tell.
const LINE_BYTES: u32 = 64;
/// Class of transfers in holes of typed objects.
const HOLE: &str = "hole";
/// Class of transfers without a known other side: only the line's totals count them.
const ONE_SIDED: &str = "other side unknown";

/// Facts besides the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FindSettings {
    /// Cost of a pair transfer on the machine of interest, in transfers; 0 where the lines of a
    /// pair do not disturb each other, `None` if unknown.
    pub pair_coefficient: Option<f64>,
}

/// Finds what is contended in `profile`, without other facts: see [`find_with`].
pub fn find(profile: &Profile, identify: &impl AddressNamer) -> Findings {
    find_with(profile, identify, &FindSettings::default())
}

/// Finds what is contended in `profile`. It groups the coherence events by line of a type or
/// variable, over all objects, names each group and ranks the groups by transfers; in simulated time by
/// the time for which contexts stood still for them. Adjacent lines
/// are ranked among them by their estimated cost, if that is known and above 0.
///
/// `identify` is asked once for each distinct address and instruction.
///
/// If the profile holds samples without order, the events are estimates by [`rates`], and the
/// findings are marked as estimated.
pub fn find_with(
    profile: &Profile,
    identify: &impl AddressNamer,
    settings: &FindSettings,
) -> Findings {
    if !rates::lacks_order(profile) {
        return rank_findings(profile, None, identify, settings);
    }
    let mut expected = profile.clone();
    expected.conflicts = rates::estimate(profile);
    // Events that hardware reported are not mixed with estimates.
    for line in &mut expected.lines {
        (line.read_transfers, line.write_transfers, line.upgrades) = (0, 0, 0);
    }
    rank_findings(
        &expected,
        Some(&ObservedHitm::new(profile)),
        identify,
        settings,
    )
}

/// Returns the line size of a profile in bytes.
pub(crate) fn profile_line_bytes(profile: &Profile) -> u32 {
    match profile.meta.line_bytes {
        0 => LINE_BYTES,
        bytes => bytes,
    }
}

/// Ranks the events of a profile; with `observed`, they are estimates.
fn rank_findings(
    profile: &Profile,
    observed: Option<&ObservedHitm>,
    identify: &impl AddressNamer,
    settings: &FindSettings,
) -> Findings {
    let line_bytes = profile_line_bytes(profile);
    let places = TargetCache::new(profile, identify);
    let GroupedRows { groups, unresolved } = group::group_rows(profile, &places, line_bytes.into());
    let recordings = RecordingIndex::from_meta(&profile.meta);
    let mut totals = sum_totals(profile, &groups, &unresolved, line_bytes.into());
    totals.hitm = observed.and_then(ObservedHitm::total);
    totals.transfers_range = ranks::range(&ranks::total_transfers(profile, &recordings));
    let mut sources = SourceCache::new(identify);
    let replays = GroupReplays::new(profile);
    let context = DetectContext {
        profile,
        recordings: &recordings,
        line_bytes: line_bytes.into(),
        replays: &replays,
    };
    let total_transfers = totals.tally.transfers();
    let mut findings: Vec<(Finding, RunWeights)> = line_join::join_groups(groups, &context)
        .iter()
        .map(|joined| {
            let mut finding = group_finding(joined, &context, &mut sources);
            finding.estimated = observed.is_some();
            finding.hitm = observed.and_then(|observed| observed.on_lines_of(&joined.group));
            (finding, RunWeights::new(&joined.group, &recordings))
        })
        .collect();
    let (adjacent, line_pairs) = adjacent::find_adjacent(
        profile,
        &places,
        line_bytes,
        settings.pair_coefficient,
        &recordings,
        &mut sources,
    );
    findings.extend(adjacent);
    findings.sort_by_key(|(finding, _)| {
        let wait_ps = finding.wait_ps.unwrap_or_default();
        std::cmp::Reverse((wait_ps, finding.weight(), finding.tally.upgrades))
    });
    let ranks = RunRanks::new(recordings.count, &findings);
    let findings = findings
        .into_iter()
        .enumerate()
        .map(|(index, (mut finding, by_recording))| {
            finding.rank = index as u32 + 1;
            finding.share = share(finding.tally.transfers(), total_transfers, 0.0);
            finding.stability = ranks.stability(index);
            if finding.adjacent.is_none() {
                finding.transfers_range = ranks::range(&by_recording.transfers);
            }
            if finding.is_unstable() {
                // Advice that holds in some recordings only is none.
                finding.remedies.clear();
            }
            finding
        })
        .collect();
    let unread_memory = unread_memory(profile, &unresolved, total_transfers);
    let unresolved =
        unresolved_classes(unresolved, total_transfers, line_bytes.into(), &mut sources);
    Findings {
        findings,
        unresolved,
        totals,
        estimated: observed.is_some(),
        line_pairs,
        unread_memory,
    }
}

impl Finding {
    /// Returns the weight by which it is ranked, where no time is known: its transfers, or the estimated cost of adjacent
    /// lines.
    fn weight(&self) -> u64 {
        match &self.adjacent {
            Some(adjacent) => adjacent.cost_transfers as u64,
            None => self.tally.transfers(),
        }
    }
}

fn sum_totals(
    profile: &Profile,
    groups: &[LineGroup],
    unresolved: &BTreeMap<&str, Vec<&ConflictRow>>,
    line_bytes: u64,
) -> ProfileTotals {
    let mut totals = ProfileTotals::default();
    for conflict in groups.iter().flat_map(|group| &group.conflicts) {
        let transfers = group::row_tally(conflict.row).transfers();
        match conflict.here {
            AccessTarget::Member { member, .. } if member.path.is_empty() => {
                *totals.unresolved.entry(HOLE.to_owned()).or_default() += transfers;
            }
            _ => totals.resolved += transfers,
        }
    }
    for (class, rows) in unresolved {
        let transfers: u64 = rows
            .iter()
            .map(|row| group::row_tally(row).transfers())
            .sum();
        *totals.unresolved.entry((*class).to_owned()).or_default() += transfers;
    }
    totals.tally = profile.conflicts.iter().map(group::row_tally).sum();
    let one_sided = one_sided(profile, &totals.tally);
    *totals.unresolved.entry(ONE_SIDED.to_owned()).or_default() += one_sided.transfers();
    totals.unresolved.retain(|_, transfers| *transfers > 0);
    totals.tally += one_sided;
    totals.first_reads = first_reads(profile);
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

/// Returns the first reads of all lines, also those whose other side is not known.
fn first_reads(profile: &Profile) -> Option<u64> {
    let of_lines = (profile.lines.iter()).try_fold(0, |sum: u64, row| {
        Some(sum.saturating_add(row.first_reads?))
    })?;
    Some(group::first_reads(&profile.conflicts)?.max(of_lines))
}

/// Returns the events that the lines counted and the conflicts, whose sum is `conflicts`, lack.
fn one_sided(profile: &Profile, conflicts: &CoherenceTally) -> CoherenceTally {
    let lines: CoherenceTally = profile
        .lines
        .iter()
        .map(|row| CoherenceTally {
            read_transfers: row.read_transfers,
            write_transfers: row.write_transfers,
            upgrades: row.upgrades,
            ..CoherenceTally::default()
        })
        .sum();
    CoherenceTally {
        read_transfers: lines
            .read_transfers
            .saturating_sub(conflicts.read_transfers),
        write_transfers: lines
            .write_transfers
            .saturating_sub(conflicts.write_transfers),
        upgrades: lines.upgrades.saturating_sub(conflicts.upgrades),
        ..CoherenceTally::default()
    }
}

fn group_finding<I: AddressNamer>(
    joined: &JoinedGroup,
    context: &DetectContext,
    sources: &mut SourceCache<'_, I>,
) -> Finding {
    let JoinedGroup { group, tally, .. } = joined;
    let contexts: FxHashSet<_> = group
        .conflicts
        .iter()
        .map(|conflict| conflict.row.context)
        .chain(group.counts.iter().map(|count| count.row.context))
        .collect();
    Finding {
        rank: 0,
        kind: joined.kind,
        types_path: types_path(
            { group.conflicts.iter() }
                .map(|conflict| (conflict.here, group::row_tally(conflict.row).transfers())),
        ),
        subject: group.subject.clone(),
        line_offset: group.line_offset,
        places: joined.places.clone(),
        line_bytes: context.line_bytes as u32,
        tally: *tally,
        first_reads: group::first_reads(group.conflicts.iter().map(|conflict| conflict.row)),
        wait_ps: { context.profile.meta.simulated_machine.as_ref() }.map(|_| group.wait_ps()),
        waited_lines: group.waited_lines(),
        share: 0.0,
        adjacent: None,
        objects: line_join::object_count(group),
        type_confidence: type_confidence(group),
        rival_type: rival_type(group),
        contexts: contexts.len() as u32,
        stability: None,
        transfers_range: None,
        estimated: false,
        hitm: None,
        members: accessed_members(group),
        sites: group_site_uses(group, sources),
        pairs: conflict_pairs(group, sources),
        remote_reads: detect::remote_reads(group, tally),
        neighbours: neighbours(group),
        origins: origins(group),
        elements: elements::shared_elements(group, tally, context.replays),
        kinds_by_run: detect::kinds_by_run(group, context),
        remedies: detect::remedies(group, joined.kind, tally, context, sources),
    }
}

fn type_confidence(group: &LineGroup) -> TypeConfidence {
    let percents: FxHashMap<_, u8> = { group.conflicts.iter() }
        .filter_map(|conflict| {
            let object = group::object_at(conflict.here)?;
            Some(((conflict.row.run, object.base), object.type_percent))
        })
        .collect();
    TypeConfidence::from_percents(percents.into_values())
}

fn unresolved_classes<I: AddressNamer>(
    classes: BTreeMap<&str, Vec<&ConflictRow>>,
    total_transfers: u64,
    line_bytes: u64,
    sources: &mut SourceCache<'_, I>,
) -> Vec<UnresolvedLines> {
    let mut found: Vec<UnresolvedLines> = classes
        .into_iter()
        .map(|(class, rows)| {
            let tally: CoherenceTally = rows.iter().map(|row| group::row_tally(row)).sum();
            let lines: FxHashSet<_> = rows
                .iter()
                .map(|row| (row.run, row.addr / line_bytes))
                .collect();
            let mut uses = SiteUses::default();
            for row in &rows {
                uses.add(row, sources);
            }
            UnresolvedLines {
                class: class.to_owned(),
                tally,
                share: share(tally.transfers(), total_transfers, 0.0),
                lines: lines.len() as u64,
                sites: uses.ranked(),
                hand_cuts: hand_cut::hand_cuts(&rows, line_bytes),
            }
        })
        .collect();
    found.sort_by_key(|class| std::cmp::Reverse(class.tally.transfers()));
    found
}

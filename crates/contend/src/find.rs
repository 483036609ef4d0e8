//! From a profile to ranked findings.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{Access, ConflictRow, Profile};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::adjacent;
use crate::detect::{self, Context, Replays};
use crate::finding::{Finding, Findings, Member, Pair, Side, SiteUse, Totals, Unresolved, share};
use crate::group::{self, Group, Groups, Places, object};
use crate::identify::{Identify, Place, Source};
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
    let mut sources = Sources {
        identify,
        known: FxHashMap::default(),
    };
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

/// What findings are ranked by, in each run alone.
pub(crate) type ByRun = Vec<u64>;

fn by_run(group: &Group, runs: usize) -> ByRun {
    let mut transfers = vec![0; runs];
    for conflict in &group.conflicts {
        if let Some(sum) = transfers.get_mut(usize::from(conflict.row.run)) {
            *sum += group::tally(conflict.row).transfers();
        }
    }
    transfers
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

/// Sources of sites, each asked for once.
pub(crate) struct Sources<'a, I> {
    identify: &'a I,
    known: FxHashMap<u32, Source>,
}

impl<I: Identify> Sources<'_, I> {
    pub fn get(&mut self, site: u32) -> Source {
        self.known
            .entry(site)
            .or_insert_with(|| self.identify.source(site))
            .clone()
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

/// The types down to the member with the most transfers.
fn types_path(group: &Group) -> Vec<String> {
    let mut transfers: BTreeMap<&[String], u64> = BTreeMap::new();
    for conflict in &group.conflicts {
        if let Place::Member { member, .. } = conflict.here {
            *transfers.entry(&member.types_path).or_default() +=
                group::tally(conflict.row).transfers();
        }
    }
    // The first of equals in order of names.
    let most = transfers
        .into_iter()
        .rev()
        .max_by_key(|(_, transfers)| *transfers);
    most.map(|(path, _)| path.to_vec()).unwrap_or_default()
}

/// What is gathered about one member.
#[derive(Default)]
struct Gathered {
    reads: u64,
    writes: u64,
    silent: Option<u64>,
    contexts: BTreeSet<u16>,
    writers: BTreeSet<u16>,
    transfers: u64,
}

fn members(group: &Group) -> Vec<Member> {
    let mut members: BTreeMap<(i64, u64, String), Gathered> = BTreeMap::new();
    for count in &group.counts {
        let Some(key) = member_key(group, count.place, count.row.addr) else {
            continue;
        };
        let member = members.entry(key).or_default();
        member.contexts.insert(count.row.context);
        if count.row.access != Access::Write {
            member.reads += count.row.count;
        }
        if count.row.access != Access::Read {
            member.writes += count.row.count;
            member.writers.insert(count.row.context);
            if let Some(silent) = count.row.silent {
                *member.silent.get_or_insert(0) += silent;
            }
        }
        // A member that is only read has no silent stores, where they would have been seen.
        if count.row.silent.is_some() {
            member.silent.get_or_insert(0);
        }
    }
    for conflict in &group.conflicts {
        let Some(key) = member_key(group, conflict.here, conflict.row.addr) else {
            continue;
        };
        let member = members.entry(key).or_default();
        member.transfers += group::tally(conflict.row).transfers();
        member.contexts.insert(conflict.row.context);
    }
    members
        .into_iter()
        .map(|((offset, size, name), gathered)| Member {
            name,
            offset,
            size,
            reads: gathered.reads,
            writes: gathered.writes,
            silent_writes: gathered.silent,
            contexts: gathered.contexts.len() as u32,
            writers: gathered.writers.len() as u32,
            transfers: gathered.transfers,
        })
        .collect()
}

/// Offset, size and name of what an access touched. A hole has no bounds of its own, so it is
/// named by the byte.
fn member_key(group: &Group, place: &Place, addr: u64) -> Option<(i64, u64, String)> {
    match place {
        Place::Member { object, member } if member.path.is_empty() => {
            Some((addr.wrapping_sub(object.base) as i64, 1, String::new()))
        }
        Place::Member { member, .. } => {
            Some((member.offset as i64, member.size, member.path.clone()))
        }
        // Each variable of a line of scalars is a member, at its distance from the one that gave
        // the line its name.
        Place::Scalar(object) => {
            let line = addr - addr % group.line_bytes;
            let offset = object.base.wrapping_sub(line) as i64 + group.line_offset;
            Some((
                offset,
                object.bytes,
                object.variable.clone().unwrap_or_default(),
            ))
        }
        Place::Unresolved(_) => None,
    }
}

fn sites<I: Identify>(group: &Group, sources: &mut Sources<'_, I>) -> Vec<SiteUse> {
    let mut uses = Uses::default();
    for count in &group.counts {
        uses.get(sources.get(count.row.site), count.row.access)
            .count += count.row.count;
    }
    for conflict in &group.conflicts {
        uses.add(conflict.row, sources);
    }
    uses.ranked()
}

/// Uses by source line and kind of access.
#[derive(Default)]
struct Uses(BTreeMap<(Source, Access), SiteUse>);

impl Uses {
    fn get(&mut self, source: Source, access: Access) -> &mut SiteUse {
        let fresh = SiteUse {
            source: source.clone(),
            access,
            count: 0,
            transfers: 0,
            caused: 0,
        };
        self.0.entry((source, access)).or_insert(fresh)
    }

    fn add<I: Identify>(&mut self, row: &ConflictRow, sources: &mut Sources<'_, I>) {
        let transfers = group::tally(row).transfers();
        self.get(sources.get(row.site), row.access).transfers += transfers;
        self.get(sources.get(row.other_site), row.other_access)
            .caused += transfers;
    }

    fn ranked(self) -> Vec<SiteUse> {
        let mut uses: Vec<SiteUse> = self.0.into_values().collect();
        uses.sort_by_key(|site| std::cmp::Reverse((site.transfers + site.caused, site.count)));
        uses
    }
}

fn pairs<I: Identify>(group: &Group, sources: &mut Sources<'_, I>) -> Vec<Pair> {
    let mut pairs: BTreeMap<(Side, Side), Tally> = BTreeMap::new();
    for conflict in &group.conflicts {
        let row = conflict.row;
        let here = Side {
            member: own_name(conflict.here),
            access: row.access,
            source: sources.get(row.site),
        };
        let there = Side {
            member: other_name(conflict.here, conflict.there),
            access: row.other_access,
            source: sources.get(row.other_site),
        };
        *pairs.entry((here, there)).or_default() += group::tally(row);
    }
    let mut pairs: Vec<Pair> = pairs
        .into_iter()
        .map(|((here, there), tally)| Pair { here, there, tally })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse((pair.tally.transfers(), pair.tally.upgrades)));
    pairs
}

pub(crate) fn own_name(place: &Place) -> String {
    match place {
        Place::Member { member, .. } => member.path.clone(),
        Place::Scalar(object) => object.variable.clone().unwrap_or_default(),
        Place::Unresolved(class) => class.clone(),
    }
}

/// The name of `there`, the other side of an access to `here`; with its object's where that is another
/// one.
pub(crate) fn other_name(here: &Place, there: &Place) -> String {
    let own = own_name(there);
    match (there, object(here) == object(there)) {
        (Place::Member { .. }, false) => match object_name(there) {
            name if own.is_empty() => name,
            name => format!("{name}.{own}"),
        },
        _ => own,
    }
}

/// What to call an object as a whole.
fn object_name(place: &Place) -> String {
    match place {
        Place::Member { object, member } => match (&object.variable, member.types_path.first()) {
            (Some(name), _) | (None, Some(name)) => name.clone(),
            (None, None) => String::new(),
        },
        Place::Scalar(object) => object.variable.clone().unwrap_or_default(),
        Place::Unresolved(class) => class.clone(),
    }
}

pub(crate) fn neighbours(group: &Group) -> BTreeMap<String, u64> {
    let mut neighbours = BTreeMap::new();
    for conflict in &group.conflicts {
        let transfers = group::tally(conflict.row).transfers();
        if transfers > 0 && object(conflict.here) != object(conflict.there) {
            *neighbours.entry(object_name(conflict.there)).or_default() += transfers;
        }
    }
    neighbours
}

fn origins(group: &Group) -> BTreeMap<String, u64> {
    let mut origins = BTreeMap::new();
    for conflict in &group.conflicts {
        let origin = object(conflict.here).and_then(|object| object.origin.clone());
        if let Some(origin) = origin {
            *origins.entry(origin).or_default() += group::tally(conflict.row).transfers();
        }
    }
    origins
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

/// Ranks of the findings in each run alone.
struct RunRanks {
    /// By run, then by overall place: the rank in that run, from 1; `None` if it was not there.
    ranks: Vec<Vec<Option<usize>>>,
}

impl RunRanks {
    /// Ranks may differ by this much and be called the same.
    const SLACK: usize = 2;
    /// Or both be among this many.
    const TOP: usize = 10;

    fn new(runs: usize, findings: &[(Finding, ByRun)]) -> Self {
        let rank_run = |run: usize| {
            let transfers: Vec<u64> = findings.iter().map(|(_, by_run)| by_run[run]).collect();
            let mut order: Vec<usize> = (0..transfers.len()).collect();
            order.sort_by_key(|&at| std::cmp::Reverse(transfers[at]));
            let mut ranks = vec![None; transfers.len()];
            for (rank, at) in order.into_iter().enumerate() {
                ranks[at] = (transfers[at] > 0).then_some(rank + 1);
            }
            ranks
        };
        Self {
            ranks: (0..runs).map(rank_run).collect(),
        }
    }

    /// See [`Finding::stability`]; `at` counts findings from 0.
    fn stability(&self, at: usize) -> Option<f64> {
        let overall = at + 1;
        let kept =
            |rank: usize| rank.abs_diff(overall) <= Self::SLACK || rank.max(overall) <= Self::TOP;
        let runs = self.ranks.len();
        let stayed = self
            .ranks
            .iter()
            .filter(|ranks| ranks[at].is_some_and(kept))
            .count();
        (runs > 1).then(|| share(stayed as u64, runs as u64, 0.0))
    }
}

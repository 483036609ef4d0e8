//! Sorts a profile's rows into groups: one per contended line of a type or variable.

use std::collections::BTreeMap;

use relayout_profile::{Addr, CoherenceEvent, ConflictRow, CountRow, Profile, RunId, WaitRow};
use rustc_hash::FxHashMap;

use crate::finding::{Finding, FindingSubject};
use crate::identify::{AccessTarget, AddressNamer, DeclaringFunction, TargetObject};
use crate::replay::CoherenceTally;

/// Rows of one line of a subject.
pub(crate) struct LineGroup<'a> {
    pub subject: FindingSubject,
    /// Offset from the object's first byte.
    pub line_offset: i64,
    pub line_bytes: u64,
    pub conflicts: Vec<ResolvedConflict<'a>>,
    pub counts: Vec<ResolvedCount<'a>>,
    /// Waiting for it in simulated time.
    pub waits: Vec<&'a WaitRow>,
}

impl LineGroup<'_> {
    /// Returns the simulated time for which contexts stood still for the line, in picoseconds.
    pub fn wait_ps(&self) -> u64 {
        { self.waits.iter() }.fold(0, |sum, row| sum.saturating_add(row.wait_ps))
    }

    /// Returns the addresses of the lines for which contexts stood still, longest first.
    pub fn waited_lines(&self) -> Vec<u64> {
        let mut waits: BTreeMap<u64, u64> = BTreeMap::new();
        for row in self.waits.iter().filter(|row| row.wait_ps > 0) {
            let sum = waits
                .entry(row.addr.align_down(self.line_bytes).0)
                .or_default();
            *sum = sum.saturating_add(row.wait_ps);
        }
        let mut ordered: Vec<(u64, u64)> = waits.into_iter().collect();
        ordered.sort_by_key(|(_, wait_ps)| std::cmp::Reverse(*wait_ps));
        ordered.truncate(Finding::WAITED_LINES_MAX);
        ordered.into_iter().map(|(line, _)| line).collect()
    }
}

/// A conflict with the targets at both ends.
#[derive(Clone, Copy)]
pub(crate) struct ResolvedConflict<'a> {
    pub row: &'a ConflictRow,
    pub here: &'a AccessTarget,
    pub there: &'a AccessTarget,
}

/// A count with its target.
#[derive(Clone, Copy)]
pub(crate) struct ResolvedCount<'a> {
    pub row: &'a CountRow,
    pub target: &'a AccessTarget,
}

/// All rows by group.
pub(crate) struct GroupedRows<'a> {
    pub groups: Vec<LineGroup<'a>>,
    /// Conflicts without a known object, by class.
    pub unresolved: BTreeMap<&'a str, Vec<&'a ConflictRow>>,
}

/// Targets of a profile's addresses, each looked up once.
pub(crate) struct TargetCache(FxHashMap<(RunId, Addr, u8), AccessTarget>);

impl TargetCache {
    /// Looks up every address of conflicts, counts, pairs and waits.
    pub fn new(profile: &Profile, identify: &impl AddressNamer) -> Self {
        let counts = counts_by_place(profile).map(|rows| (rows[0].run, rows[0].addr, rows[0].size));
        let mut places: Vec<(RunId, Addr, u8)> = counts.collect();
        let conflicts = profile.conflicts.iter();
        places.extend(conflicts.flat_map(|row| {
            let other = (row.run, row.other_addr, row.other_size);
            [(row.run, row.addr, row.size), other]
        }));
        places.extend(profile.pairs.iter().flat_map(|row| {
            let other = (row.run, row.other_addr, row.other_size);
            [(row.run, row.addr, row.size), other]
        }));
        let waits = profile.waits.iter();
        places.extend(waits.map(|row| (row.run, row.addr, row.size)));
        places.sort();
        places.dedup();
        let targets = identify.targets_at(&places);
        Self(places.into_iter().zip(targets).collect())
    }

    pub fn get(&self, run: RunId, addr: Addr, size: u8) -> &AccessTarget {
        self.0
            .get(&(run, addr, size))
            .expect("all addresses of the profile were asked for")
    }
}

/// Returns the counts of accesses to the same bytes, which follow each other in a profile.
fn counts_by_place(profile: &Profile) -> impl Iterator<Item = &[CountRow]> {
    let place = |row: &CountRow| (row.run, row.addr, row.size);
    profile
        .counts
        .chunk_by(move |row, next| place(row) == place(next))
}

/// Returns the events of a row.
pub(crate) fn row_tally(row: &ConflictRow) -> CoherenceTally {
    let count = |transfer| {
        if row.transfer == transfer {
            row.count
        } else {
            0
        }
    };
    CoherenceTally {
        read_transfers: count(CoherenceEvent::Read),
        write_transfers: count(CoherenceEvent::Write),
        upgrades: count(CoherenceEvent::Upgrade),
        false_first_touch: row.false_first_touch,
        false_lifetime: row.false_lifetime,
    }
}

/// Returns the first reads among the events of rows; `None` if some row does not tell them apart.
pub(crate) fn first_reads<'a>(rows: impl IntoIterator<Item = &'a ConflictRow>) -> Option<u64> {
    rows.into_iter().try_fold(0, |sum: u64, row| {
        Some(sum.saturating_add(row.first_reads?))
    })
}

/// Returns the object at a target, if it is known.
pub(crate) fn object_at(place: &AccessTarget) -> Option<&TargetObject> {
    match place {
        AccessTarget::Member { object, .. } | AccessTarget::Scalar(object) => Some(object),
        AccessTarget::Unresolved(_) => None,
    }
}

/// Sorts the rows of `profile` into groups, in the order of their keys.
pub(crate) fn group_rows<'a>(
    profile: &'a Profile,
    places: &'a TargetCache,
    line_bytes: u64,
) -> GroupedRows<'a> {
    let names = scalar_lines(profile, places, line_bytes);
    let key = |run, addr: Addr, place: &AccessTarget| {
        group_key(run, addr.align_down(line_bytes), place, &names)
    };
    let mut groups: BTreeMap<(FindingSubject, i64), LineGroup> = BTreeMap::new();
    let mut unresolved: BTreeMap<&str, Vec<&ConflictRow>> = BTreeMap::new();
    for row in &profile.conflicts {
        let here = places.get(row.run, row.addr, row.size);
        let there = places.get(row.run, row.other_addr, row.other_size);
        match (key(row.run, row.addr, here), here) {
            (Some(key), _) => groups
                .entry(key)
                .or_insert_with_key(|(subject, line_offset)| LineGroup {
                    subject: subject.clone(),
                    line_offset: *line_offset,
                    line_bytes,
                    conflicts: Vec::new(),
                    counts: Vec::new(),
                    waits: Vec::new(),
                })
                .conflicts
                .push(ResolvedConflict { row, here, there }),
            (None, AccessTarget::Unresolved(class)) => {
                unresolved.entry(class).or_default().push(row)
            }
            (None, _) => unresolved.entry("unnamed").or_default().push(row),
        }
    }
    for rows in counts_by_place(profile) {
        let CountRow {
            run, addr, size, ..
        } = rows[0];
        let target = places.get(run, addr, size);
        let group = key(run, addr, target).and_then(|key| groups.get_mut(&key));
        if let Some(group) = group {
            let resolved = rows.iter().map(|row| ResolvedCount { row, target });
            group.counts.extend(resolved);
        }
    }
    for row in &profile.waits {
        let target = places.get(row.run, row.addr, row.size);
        if let Some(group) = key(row.run, row.addr, target).and_then(|key| groups.get_mut(&key)) {
            group.waits.push(row);
        }
    }
    GroupedRows {
        groups: groups.into_values().collect(),
        unresolved,
    }
}

/// Returns the subject of the pair of lines at `pair`, by an access to `place` in it, and the
/// offset of the pair in the object.
pub(crate) fn pair_key(
    run: RunId,
    pair: Addr,
    place: &AccessTarget,
) -> Option<(FindingSubject, i64)> {
    group_key(run, pair, place, &ScalarLines::default())
}

/// By run and line: the scalar variable with the most transfers, and its address.
type ScalarLines<'a> = FxHashMap<(RunId, Addr), (ScalarName<'a>, Addr)>;

/// Name of a scalar variable, and the function that declares it if it is local.
type ScalarName<'a> = (&'a str, Option<&'a DeclaringFunction>);

fn scalar_name(object: &TargetObject) -> Option<ScalarName<'_>> {
    Some((object.variable.as_deref()?, object.declaring.as_ref()))
}

fn scalar_lines<'a>(
    profile: &Profile,
    places: &'a TargetCache,
    line_bytes: u64,
) -> ScalarLines<'a> {
    let mut transfers: BTreeMap<(RunId, Addr, ScalarName<'_>), (u64, Addr)> = BTreeMap::new();
    for row in &profile.conflicts {
        let place = places.get(row.run, row.addr, row.size);
        if let AccessTarget::Scalar(object) = place
            && let Some(name) = scalar_name(object)
        {
            let line = row.addr.align_down(line_bytes);
            let first = object.array.map_or(object.base, |array| array.base);
            let entry = transfers.entry((row.run, line, name)).or_insert((0, first));
            entry.0 += row_tally(row).transfers();
        }
    }
    let mut most: FxHashMap<(RunId, Addr), (ScalarName<'_>, Addr)> = FxHashMap::default();
    let mut best: FxHashMap<(RunId, Addr), u64> = FxHashMap::default();
    for ((run, line, name), (count, base)) in transfers {
        let best = best.entry((run, line)).or_insert(0);
        if count > *best || !most.contains_key(&(run, line)) {
            *best = count;
            most.insert((run, line), (name, base));
        }
    }
    most
}

fn group_key(
    run: RunId,
    line: Addr,
    place: &AccessTarget,
    names: &ScalarLines,
) -> Option<(FindingSubject, i64)> {
    match place {
        AccessTarget::Member { object, member } => {
            let type_name = member.types_path.first().cloned();
            let subject = match (type_name, object.variable.clone()) {
                (Some(name), None) => FindingSubject::Type { name },
                (Some(type_name), Some(name)) => FindingSubject::Variable { type_name, name },
                (None, Some(name)) => FindingSubject::Variable {
                    type_name: String::new(),
                    name,
                },
                (None, None) => return None,
            };
            Some((subject, line.wrapping_sub(object.base) as i64))
        }
        AccessTarget::Scalar(object) => {
            let first = object.array.map_or(object.base, |array| array.base);
            let own = scalar_name(object).map(|name| (name, first));
            let ((name, declaring), base) = names.get(&(run, line)).copied().or(own)?;
            let name = name.to_owned();
            let subject = match declaring.cloned() {
                Some(declaring) => FindingSubject::Local { name, declaring },
                None => FindingSubject::Scalar { name },
            };
            Some((subject, line.wrapping_sub(base) as i64))
        }
        AccessTarget::Unresolved(_) => None,
    }
}

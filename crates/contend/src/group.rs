//! Sorts a profile's rows into groups: one per contended line of a type or variable.

use std::collections::BTreeMap;

use relayout_profile::{ConflictRow, CountRow, Profile, Transfer};
use rustc_hash::FxHashMap;

use crate::finding::Subject;
use crate::identify::{Identify, Object, Place};
use crate::replay::Tally;

/// Rows about one line of a subject.
pub(crate) struct Group<'a> {
    pub subject: Subject,
    /// From the object's first byte.
    pub line_offset: i64,
    pub line_bytes: u64,
    pub conflicts: Vec<Conflict<'a>>,
    pub counts: Vec<Count<'a>>,
}

/// A conflict and what lies at its ends.
#[derive(Clone, Copy)]
pub(crate) struct Conflict<'a> {
    pub row: &'a ConflictRow,
    pub here: &'a Place,
    pub there: &'a Place,
}

/// A count and what it is of.
#[derive(Clone, Copy)]
pub(crate) struct Count<'a> {
    pub row: &'a CountRow,
    pub place: &'a Place,
}

/// All rows, sorted.
pub(crate) struct Groups<'a> {
    pub groups: Vec<Group<'a>>,
    /// By class.
    pub unresolved: BTreeMap<&'a str, Vec<&'a ConflictRow>>,
}

/// The places of a profile's addresses, each asked for once.
pub(crate) struct Places(FxHashMap<(u16, u64, u8), Place>);

impl Places {
    /// Asks `identify` about every address that conflicts or counts name.
    pub fn new(profile: &Profile, identify: &impl Identify) -> Self {
        let mut places = FxHashMap::default();
        let mut ask = |run, addr, size| {
            places
                .entry((run, addr, size))
                .or_insert_with(|| identify.place(run, addr, size));
        };
        for row in &profile.conflicts {
            ask(row.run, row.addr, row.size);
            ask(row.run, row.other_addr, row.other_size);
        }
        for row in &profile.counts {
            ask(row.run, row.addr, row.size);
        }
        for row in &profile.pairs {
            ask(row.run, row.addr, row.size);
            ask(row.run, row.other_addr, row.other_size);
        }
        Self(places)
    }

    pub fn get(&self, run: u16, addr: u64, size: u8) -> &Place {
        self.0
            .get(&(run, addr, size))
            .expect("all addresses of the profile were asked for")
    }
}

/// The events of one row.
pub(crate) fn tally(row: &ConflictRow) -> Tally {
    let count = |transfer| {
        if row.transfer == transfer {
            row.count
        } else {
            0
        }
    };
    Tally {
        read_transfers: count(Transfer::Read),
        write_transfers: count(Transfer::Write),
        upgrades: count(Transfer::Upgrade),
        false_first_touch: row.false_first_touch,
        false_lifetime: row.false_lifetime,
    }
}

/// The object at a place, if it is known.
pub(crate) fn object(place: &Place) -> Option<&Object> {
    match place {
        Place::Member { object, .. } | Place::Scalar(object) => Some(object),
        Place::Unresolved(_) => None,
    }
}

/// Sorts the rows of `profile`. Groups are in order of their keys.
pub(crate) fn group<'a>(profile: &'a Profile, places: &'a Places, line_bytes: u64) -> Groups<'a> {
    let names = scalar_lines(profile, places, line_bytes);
    let key = |run, addr: u64, place: &Place| key(run, addr - addr % line_bytes, place, &names);
    let mut groups: BTreeMap<(Subject, i64), Group> = BTreeMap::new();
    let mut unresolved: BTreeMap<&str, Vec<&ConflictRow>> = BTreeMap::new();
    for row in &profile.conflicts {
        let here = places.get(row.run, row.addr, row.size);
        let there = places.get(row.run, row.other_addr, row.other_size);
        match (key(row.run, row.addr, here), here) {
            (Some(key), _) => groups
                .entry(key)
                .or_insert_with_key(|(subject, line_offset)| Group {
                    subject: subject.clone(),
                    line_offset: *line_offset,
                    line_bytes,
                    conflicts: Vec::new(),
                    counts: Vec::new(),
                })
                .conflicts
                .push(Conflict { row, here, there }),
            (None, Place::Unresolved(class)) => unresolved.entry(class).or_default().push(row),
            (None, _) => unresolved.entry("unnamed").or_default().push(row),
        }
    }
    for row in &profile.counts {
        let place = places.get(row.run, row.addr, row.size);
        let group = key(row.run, row.addr, place).and_then(|key| groups.get_mut(&key));
        if let Some(group) = group {
            group.counts.push(Count { row, place });
        }
    }
    Groups {
        groups: groups.into_values().collect(),
        unresolved,
    }
}

/// What the pair of lines at `pair` belongs to, by an access to `place` in it: the object and where
/// the pair begins in it.
pub(crate) fn pair_key(run: u16, pair: u64, place: &Place) -> Option<(Subject, i64)> {
    key(run, pair, place, &ScalarLines::default())
}

/// By run and line: the scalar variable with the most transfers there, and its address.
type ScalarLines<'a> = FxHashMap<(u16, u64), (&'a str, u64)>;

fn scalar_lines<'a>(profile: &Profile, places: &'a Places, line_bytes: u64) -> ScalarLines<'a> {
    let mut transfers: BTreeMap<(u16, u64, &str), (u64, u64)> = BTreeMap::new();
    for row in &profile.conflicts {
        let place = places.get(row.run, row.addr, row.size);
        if let Place::Scalar(Object {
            variable: Some(name),
            base,
            ..
        }) = place
        {
            let line = row.addr - row.addr % line_bytes;
            let entry = transfers.entry((row.run, line, name)).or_insert((0, *base));
            entry.0 += tally(row).transfers();
        }
    }
    let mut most: FxHashMap<(u16, u64), (&str, u64)> = FxHashMap::default();
    let mut best: FxHashMap<(u16, u64), u64> = FxHashMap::default();
    for ((run, line, name), (count, base)) in transfers {
        let best = best.entry((run, line)).or_insert(0);
        if count > *best || !most.contains_key(&(run, line)) {
            *best = count;
            most.insert((run, line), (name, base));
        }
    }
    most
}

fn key(run: u16, line: u64, place: &Place, names: &ScalarLines) -> Option<(Subject, i64)> {
    match place {
        Place::Member { object, member } => {
            let type_name = member.types_path.first().cloned();
            let subject = match (type_name, object.variable.clone()) {
                (Some(name), None) => Subject::Type { name },
                (Some(type_name), Some(name)) => Subject::Variable { type_name, name },
                (None, Some(name)) => Subject::Variable {
                    type_name: String::new(),
                    name,
                },
                (None, None) => return None,
            };
            Some((subject, line.wrapping_sub(object.base) as i64))
        }
        Place::Scalar(object) => {
            let own = object.variable.as_deref().map(|name| (name, object.base));
            let (name, base) = names.get(&(run, line)).copied().or(own)?;
            let subject = Subject::Scalar {
                name: name.to_owned(),
            };
            Some((subject, line.wrapping_sub(base) as i64))
        }
        Place::Unresolved(_) => None,
    }
}

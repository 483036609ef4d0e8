//! The rule on hot members: they share lines as they did when they were recorded.

use std::collections::BTreeMap;

use super::words::names;
use super::{Broken, Subject, missing, places};
use crate::lock::{HotMember, RecordedType};
use crate::members::Place;
use crate::{AsRecorded, Error, MemberPattern};

/// A hot member then and now.
struct Pair<'r> {
    was: &'r HotMember,
    is: Place,
    old_line: u64,
    new_line: u64,
}

/// What is no longer as it was recorded: members that are gone, lines that came apart, lines that
/// came together, members that straddle a line now; and with [`AsRecorded::Offsets`] those that
/// moved at all.
pub(crate) fn recorded(
    subject: &Subject<'_>,
    record: &RecordedType,
    how: AsRecorded,
) -> Result<Vec<Broken>, Error> {
    let mut broken = Vec::new();
    let mut pairs = Vec::new();
    for was in &record.hot {
        let found = match MemberPattern::parse(&was.path) {
            Ok(pattern) => places(subject, &pattern)?,
            Err(_) => Vec::new(),
        };
        match found.into_iter().next() {
            Some(is) => pairs.push(Pair {
                old_line: record.line_of(was.offset),
                new_line: record.line_of(is.offset()),
                was,
                is,
            }),
            None => broken.push(missing(subject, &was.path)),
        }
    }
    broken.extend(came_apart(subject, &pairs));
    broken.extend(came_together(subject, &pairs));
    broken.extend(
        pairs
            .iter()
            .filter_map(|pair| straddles(subject, record, pair)),
    );
    if how == AsRecorded::Offsets {
        broken.extend(pairs.iter().filter_map(|pair| moved(subject, pair)));
    }
    Ok(broken)
}

/// Lines whose members lie on several now.
fn came_apart(subject: &Subject<'_>, pairs: &[Pair<'_>]) -> Vec<Broken> {
    let mut lines: BTreeMap<u64, Vec<&Pair<'_>>> = BTreeMap::new();
    for pair in pairs {
        lines.entry(pair.old_line).or_default().push(pair);
    }
    let told = |members: Vec<&Pair<'_>>| {
        let first = members.first()?;
        let off = members
            .iter()
            .find(|pair| pair.new_line != first.new_line)?;
        let expected = format!("{} on one line", paths(&members));
        Some(group(subject, &members, off, expected))
    };
    lines.into_values().filter_map(told).collect()
}

/// Lines that hold members now which were on several.
fn came_together(subject: &Subject<'_>, pairs: &[Pair<'_>]) -> Vec<Broken> {
    let mut lines: BTreeMap<u64, BTreeMap<u64, Vec<&Pair<'_>>>> = BTreeMap::new();
    for pair in pairs {
        let here = lines.entry(pair.new_line).or_default();
        here.entry(pair.old_line).or_default().push(pair);
    }
    let told = |from: BTreeMap<u64, Vec<&Pair<'_>>>| {
        if from.len() < 2 {
            return None;
        }
        let sides: Vec<String> = from.values().map(|members| paths(members)).collect();
        // The fewest came to the others.
        let off = *from.values().min_by_key(|members| members.len())?.first()?;
        let expected = format!("on different lines: {}", sides.join("; "));
        let members: Vec<&Pair<'_>> = from.values().flatten().copied().collect();
        Some(group(subject, &members, off, expected))
    };
    lines.into_values().filter_map(told).collect()
}

fn straddles(subject: &Subject<'_>, record: &RecordedType, pair: &Pair<'_>) -> Option<Broken> {
    let crosses = |offset: u64, size: u64| {
        let last = offset.saturating_add(size.max(1) - 1);
        record.line_of(offset) != record.line_of(last)
    };
    let does = crosses(pair.is.offset(), pair.is.bytes());
    let did = crosses(pair.was.offset, pair.was.size);
    (does && !did && pair.is.bytes() <= record.line_bytes).then(|| {
        let expected = "on one line".to_owned();
        let found = super::words::places(&[&pair.is], subject.line_bytes);
        subject.broken(&pair.is, expected, found)
    })
}

fn moved(subject: &Subject<'_>, pair: &Pair<'_>) -> Option<Broken> {
    let (was, is) = (pair.was.offset, pair.is.offset());
    (was != is).then(|| subject.broken(&pair.is, format!("offset {was}"), format!("offset {is}")))
}

fn group(subject: &Subject<'_>, members: &[&Pair<'_>], off: &Pair<'_>, expected: String) -> Broken {
    let places: Vec<&Place> = members.iter().map(|pair| &pair.is).collect();
    subject.broken_group(&places, &off.is, expected)
}

fn paths(members: &[&Pair<'_>]) -> String {
    names(members.iter().map(|pair| &*pair.is.path))
}

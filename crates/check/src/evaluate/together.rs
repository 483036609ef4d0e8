//! Rules on members that should share a line.

use super::words::names;
use super::{Broken, Subject};
use crate::members::{self, Place};

/// Members between two others that are told.
const BETWEEN_MAX: usize = 6;

pub(super) fn same_line(subject: &Subject<'_>, places: &[Place]) -> Option<Broken> {
    let line = |place: &Place| place.offset() / subject.line_bytes;
    let first = places.first()?;
    let off = places.iter().find(|place| line(place) != line(first))?;
    let others = places.iter().filter(|place| place.path != off.path);
    let expected = format!(
        "on one line with {}",
        names(others.map(|place| &*place.path))
    );
    Some(group(subject, places, off, expected))
}

pub(super) fn within_line(subject: &Subject<'_>, places: &[Place]) -> Option<Broken> {
    let first = places.first()?;
    let line = first.offset() / subject.line_bytes;
    let outside = |place: &&Place| place.lines(subject.line_bytes) != (line, line);
    let off = places.iter().find(outside)?;
    let expected = match places.len() {
        1 => "within one line".to_owned(),
        _ => format!(
            "all of {} within one line",
            names(places.iter().map(|place| &*place.path))
        ),
    };
    Some(group(subject, places, off, expected))
}

fn group(subject: &Subject<'_>, places: &[Place], off: &Place, expected: String) -> Broken {
    let all: Vec<&Place> = places.iter().collect();
    Broken {
        between: between(subject, places),
        ..subject.broken_group(&all, off, expected)
    }
}

/// The members of the type itself that lie between the first and the last of `places`, largest
/// first, without those that hold one of them.
fn between(subject: &Subject<'_>, places: &[Place]) -> Vec<String> {
    let first = places.iter().map(Place::end).min().unwrap_or(0);
    let last = places.iter().map(Place::offset).max().unwrap_or(0);
    let mut found: Vec<Place> = members::children(subject.types, &members::start(subject.id));
    found.retain(|child| {
        child.offset() >= first
            && child.end() <= last
            && !places.iter().any(|place| {
                let rest = place.path.strip_prefix(child.path.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
    });
    found.sort_by_key(|child| (std::cmp::Reverse(child.bytes()), child.offset()));
    found.truncate(BETWEEN_MAX);
    found.into_iter().map(|child| child.path).collect()
}

//! Rules on members that should not share a line, or a pair of lines.

use std::collections::BTreeMap;

use super::words::names;
use super::{Broken, Subject};
use crate::members::Place;

/// A place with the stretches (lines, or pairs of lines) that it touches, and whose it is.
#[derive(Clone, Copy)]
struct Span<'p> {
    first: u64,
    last: u64,
    group: usize,
    place: &'p Place,
}

/// No stretch of `lines` aligned lines holds bytes of two of `groups`; what is wrong for each
/// stretch that does.
pub(super) fn apart(subject: &Subject<'_>, groups: &[Vec<Place>], lines: u64) -> Vec<Broken> {
    let stretch_bytes = subject.line_bytes.saturating_mul(lines);
    let shared = shared(groups, stretch_bytes).into_iter();
    shared
        .filter_map(|(stretch, spans)| {
            let off = spans.iter().max_by_key(|span| span.group)?.place;
            let all: Vec<&Place> = spans.iter().map(|span| span.place).collect();
            let paths = names(all.iter().map(|place| &*place.path));
            let expected = match lines {
                1 => format!("{paths} on different lines"),
                _ => format!("{paths} on different {stretch_bytes}-byte pairs of lines"),
            };
            let mut broken = subject.broken_group(&all, off, expected);
            if lines > 1 {
                broken.found = format!("{}: all on pair {stretch}", broken.found);
            }
            Some(broken)
        })
        .collect()
}

/// The stretches on which places of different groups meet. Two that meet on several are told of on
/// the first.
fn shared(groups: &[Vec<Place>], stretch_bytes: u64) -> BTreeMap<u64, Vec<Span<'_>>> {
    let mut spans: Vec<Span<'_>> = Vec::new();
    for (group, places) in groups.iter().enumerate() {
        for place in places {
            let (first, last) = place.lines(stretch_bytes);
            spans.push(Span {
                first,
                last,
                group,
                place,
            });
        }
    }
    spans.sort_by_key(|span| (span.first, span.last));
    let mut shared: BTreeMap<u64, Vec<Span<'_>>> = BTreeMap::new();
    let mut reaching: Vec<Span<'_>> = Vec::new();
    for span in spans {
        reaching.retain(|earlier| earlier.last >= span.first);
        let met = reaching
            .iter()
            .filter(|earlier| earlier.group != span.group);
        let met: Vec<Span<'_>> = met.copied().collect();
        if !met.is_empty() {
            let here = shared.entry(span.first).or_default();
            for one in met.into_iter().chain([span]) {
                if !here.iter().any(|known| known.place.path == one.place.path) {
                    here.push(one);
                }
            }
        }
        reaching.push(span);
    }
    shared
}

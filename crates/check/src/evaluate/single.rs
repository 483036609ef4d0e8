//! Rules on a type as a whole, and on one member.

use super::words::bytes;
use super::{Broken, Subject};
use crate::explain;
use crate::members::Place;

/// The alignment of a type, and whether it could be more than the debug information says.
struct Alignment {
    bytes: u64,
    may_be_more: bool,
}

pub(super) fn size_max(subject: &Subject<'_>, most: u64) -> Option<Broken> {
    let size = subject.types.size_of(subject.id).unwrap_or(0);
    (size > most).then(|| of_size(subject, size, format!("at most {}", bytes(most))))
}

pub(super) fn size(subject: &Subject<'_>, wanted: u64) -> Option<Broken> {
    let size = subject.types.size_of(subject.id).unwrap_or(0);
    (size != wanted).then(|| of_size(subject, size, bytes(wanted)))
}

fn of_size(subject: &Subject<'_>, size: u64, expected: String) -> Broken {
    let known = subject.known.into_iter();
    Broken {
        expected,
        found: bytes(size),
        pushed_by: known
            .flat_map(|known| explain::size(subject.types, subject.id, known))
            .collect(),
        decl: subject.decl.cloned(),
        ..Broken::default()
    }
}

pub(super) fn align(subject: &Subject<'_>, wanted: u64) -> Option<Broken> {
    let found = alignment(subject);
    (found.bytes < wanted).then(|| Broken {
        expected: format!("aligned to {}", bytes(wanted)),
        found: found.words(),
        decl: subject.decl.cloned(),
        ..Broken::default()
    })
}

pub(super) fn at(subject: &Subject<'_>, place: &Place, wanted: u64) -> Option<Broken> {
    let offset = place.offset();
    (offset != wanted).then(|| {
        subject.broken(
            place,
            format!("offset {wanted}"),
            format!("offset {offset}"),
        )
    })
}

pub(super) fn aligned(subject: &Subject<'_>, place: &Place, wanted: u64) -> Option<Broken> {
    let offset = place.offset();
    let expected = || format!("aligned to {}", bytes(wanted));
    if !offset.is_multiple_of(wanted) {
        return Some(subject.broken(place, expected(), format!("offset {offset}")));
    }
    let of_type = alignment(subject);
    (of_type.bytes < wanted).then(|| {
        let found = format!(
            "offset {offset}, but the type itself is {}",
            of_type.words()
        );
        subject.broken(place, expected(), found)
    })
}

pub(super) fn no_straddle(subject: &Subject<'_>, place: &Place) -> Option<Broken> {
    let line_bytes = subject.line_bytes;
    let (first, last) = place.lines(line_bytes);
    let (touched, needed) = (last - first + 1, place.bytes().div_ceil(line_bytes).max(1));
    (touched > needed).then(|| {
        let expected = match needed {
            1 => "on one line".to_owned(),
            _ => format!("on {needed} lines"),
        };
        let found = format!(
            "{} at {} on lines {first} to {last}",
            bytes(place.bytes()),
            place.offset()
        );
        subject.broken(place, expected, found)
    })
}

fn alignment(subject: &Subject<'_>) -> Alignment {
    let inferred = subject.abi.align_of(subject.id);
    let size = subject.types.size_of(subject.id).unwrap_or(0);
    let bytes = inferred.unwrap_or_else(|| subject.types.align_of(subject.id));
    Alignment {
        bytes,
        may_be_more: !subject.alignments_known && size.is_multiple_of(bytes.saturating_mul(2)),
    }
}

impl Alignment {
    fn words(&self) -> String {
        let more = match self.may_be_more {
            true => " by its members; BTF does not say more (check a file with DWARF)",
            false => "",
        };
        format!("aligned to {}{more}", bytes(self.bytes))
    }
}

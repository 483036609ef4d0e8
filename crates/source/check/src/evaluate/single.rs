//! Rules for a whole type, and for one member.

use super::words::byte_count;
use super::{RuleBreach, RuleSubject};
use crate::explain;
use crate::members::MatchedMember;

/// Alignment of a type in bytes. The true alignment can be larger than the debug information says.
struct TypeAlignment {
    bytes: u64,
    may_be_more: bool,
}

pub(super) fn judge_size_max(subject: &RuleSubject<'_>, most: u64) -> Option<RuleBreach> {
    let size = subject.types.size_of(subject.id).unwrap_or(0);
    (size > most).then(|| size_breach(subject, size, format!("at most {}", byte_count(most))))
}

pub(super) fn judge_size(subject: &RuleSubject<'_>, wanted: u64) -> Option<RuleBreach> {
    let size = subject.types.size_of(subject.id).unwrap_or(0);
    (size != wanted).then(|| size_breach(subject, size, byte_count(wanted)))
}

fn size_breach(subject: &RuleSubject<'_>, size: u64, expected: String) -> RuleBreach {
    let known = subject.known.into_iter();
    RuleBreach {
        expected,
        found: byte_count(size),
        pushed_by: known
            .flat_map(|known| explain::explain_size(subject.types, subject.id, known))
            .collect(),
        decl: subject.decl.cloned(),
        ..RuleBreach::default()
    }
}

pub(super) fn judge_align(subject: &RuleSubject<'_>, wanted: u64) -> Option<RuleBreach> {
    let found = type_alignment(subject);
    (found.bytes < wanted).then(|| RuleBreach {
        expected: format!("aligned to {}", byte_count(wanted)),
        found: found.description(),
        decl: subject.decl.cloned(),
        ..RuleBreach::default()
    })
}

pub(super) fn judge_offset(
    subject: &RuleSubject<'_>,
    place: &MatchedMember,
    wanted: u64,
) -> Option<RuleBreach> {
    let offset = place.offset();
    (offset != wanted).then(|| {
        subject.breach_at(
            place,
            format!("offset {wanted}"),
            format!("offset {offset}"),
        )
    })
}

pub(super) fn judge_aligned(
    subject: &RuleSubject<'_>,
    place: &MatchedMember,
    wanted: u64,
) -> Option<RuleBreach> {
    let offset = place.offset();
    let expected = || format!("aligned to {}", byte_count(wanted));
    if !offset.is_multiple_of(wanted) {
        return Some(subject.breach_at(place, expected(), format!("offset {offset}")));
    }
    let of_type = type_alignment(subject);
    (of_type.bytes < wanted).then(|| {
        let found = format!(
            "offset {offset}, but the type itself is {}",
            of_type.description()
        );
        subject.breach_at(place, expected(), found)
    })
}

pub(super) fn judge_straddle(
    subject: &RuleSubject<'_>,
    place: &MatchedMember,
) -> Option<RuleBreach> {
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
            byte_count(place.bytes()),
            place.offset()
        );
        subject.breach_at(place, expected, found)
    })
}

fn type_alignment(subject: &RuleSubject<'_>) -> TypeAlignment {
    let inferred = subject.abi.align_of(subject.id);
    let size = subject.types.size_of(subject.id).unwrap_or(0);
    let bytes = inferred.unwrap_or_else(|| subject.types.align_of(subject.id));
    TypeAlignment {
        bytes,
        may_be_more: !subject.alignments_known && size.is_multiple_of(bytes.saturating_mul(2)),
    }
}

impl TypeAlignment {
    fn description(&self) -> String {
        let more = match self.may_be_more {
            true => " by its members; BTF does not say more (check a file with DWARF)",
            false => "",
        };
        format!("aligned to {}{more}", byte_count(self.bytes))
    }
}

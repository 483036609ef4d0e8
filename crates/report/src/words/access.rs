//! Words for a side of a conflict: its member and its source line.

use relayout_contend::finding::AccessSide;
use relayout_profile::AccessKind;

use crate::words::source_positions::SourcePositions;

/// Returns the name of a member; a hole has none.
pub(crate) fn shown_name(member: &str) -> &str {
    if member.is_empty() { "(hole)" } else { member }
}

/// `R base_addr`
pub(crate) fn access_words(side: &AccessSide) -> String {
    let letter = match side.access {
        AccessKind::Read => "R ",
        AccessKind::Write => "W ",
        AccessKind::ReadWrite => "RW",
    };
    format!("{letter} {}", shown_name(&side.member))
}

/// `osq_lock kernel/locking/osq_lock.c:128 (vcpu_is_preempted)`; an inlined function in brackets.
pub(crate) fn source_words(side: &AccessSide, sources: &SourcePositions) -> String {
    let function = side.source.function.as_deref().unwrap_or("?");
    let position = sources.position(&side.source);
    match &side.source.inlined {
        Some(inlined) => format!("{function} {position} ({inlined})"),
        None => format!("{function} {position}"),
    }
}

//! Words for a side of a conflict: its member and its source line.

use relayout_profile::AccessKind;

use super::source_positions::SourcePositions;
use crate::documents::report::finding::SideDocument;

/// Returns the name of a member; a hole has none.
pub(crate) fn shown_name(member: &str) -> &str {
    if member.is_empty() { "(hole)" } else { member }
}

/// `R base_addr`
pub(crate) fn access_words(side: &SideDocument) -> String {
    let letter = match side.access {
        AccessKind::Read => "R ",
        AccessKind::Write => "W ",
        AccessKind::ReadWrite => "RW",
    };
    format!("{letter} {}", shown_name(&side.member))
}

/// `osq_lock kernel/locking/osq_lock.c:128 (vcpu_is_preempted)`; an inlined function in brackets.
pub(crate) fn source_words(side: &SideDocument, sources: &SourcePositions) -> String {
    let place = sources.function_and_position(&side.position);
    match &side.position.inlined {
        Some(inlined) => format!("{place} ({inlined})"),
        None => place,
    }
}

//! Elements of one array that lie on the same lines and that different contexts use.
//!
//! Example: `static struct worker w[4]`, one element for each thread.

use super::DetectContext;
use crate::elements;
use crate::finding::FindingKind;
use crate::group::LineGroup;
use crate::remedy::Remedy;
use crate::replay::CoherenceTally;

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    _: &DetectContext,
) -> Option<FindingKind> {
    elements::are_shared(group, tally).then_some(FindingKind::FalseSharing)
}

/// Advises to give each element lines of its own.
pub(super) fn remedy(
    group: &LineGroup,
    tally: &CoherenceTally,
    context: &DetectContext,
) -> Option<Remedy> {
    let elements = elements::shared_elements(group, tally)?;
    let name = match group.subject.variable() {
        Some(variable) => variable,
        None => group.subject.type_name(),
    };
    Some(Remedy::PadElements {
        array: name.to_owned(),
        stride: elements.stride,
        padded_stride: elements.stride.next_multiple_of(context.line_bytes.max(1)),
        transfers: elements.transfers,
    })
}

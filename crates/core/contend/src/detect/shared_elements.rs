//! Elements of one array that lie on the same lines and that different contexts use.
//!
//! Example: `static struct worker w[4]`, one element for each thread.

use super::DetectContext;
use crate::element_runs::{self, RoundedRuns};
use crate::elements::{self, RecordedArray};
use crate::finding::{ElementRun, FindingKind, SharedElements};
use crate::group::LineGroup;
use crate::remedy::{Remedy, ReplayComparison};
use crate::replay::{CoherenceTally, ObjectTrace, RecordedPlacement, replay};

pub(super) fn detect(
    group: &LineGroup,
    tally: &CoherenceTally,
    _: &DetectContext,
) -> Option<FindingKind> {
    elements::shared_array(group, tally).map(|_| FindingKind::FalseSharing)
}

/// Advises to round the borders of runs of elements to lines, or to give each element lines of its
/// own where contexts use single elements.
pub(super) fn remedy(
    group: &LineGroup,
    tally: &CoherenceTally,
    context: &DetectContext,
) -> Option<Remedy> {
    let array = elements::shared_array(group, tally)?;
    let elements = elements::shared_elements(group, tally, context.replays)?;
    let name = match (&elements.member, group.subject.variable()) {
        (Some(member), _) => member,
        (None, Some(variable)) => variable,
        (None, None) => group.subject.type_name(),
    };
    let line = context.line_bytes.max(1);
    let padded_stride = elements.stride.next_multiple_of(line);
    let rounded = element_runs::are_runs(&elements.runs)
        .then(|| round_runs(&array, &elements, name, context));
    Some(rounded.flatten().unwrap_or_else(|| Remedy::PadElements {
        array: name.to_owned(),
        stride: elements.stride,
        padded_stride,
        transfers: elements.transfers,
    }))
}

/// Advises to round the borders of the runs; `None` where replay shows that this hardly helps.
fn round_runs(
    array: &RecordedArray,
    elements: &SharedElements,
    name: &str,
    context: &DetectContext,
) -> Option<Remedy> {
    let line = context.line_bytes.max(1);
    let rounded = RoundedRuns::new(&elements.runs, elements.stride, line);
    let padded_stride = elements.stride.next_multiple_of(line);
    let replayed = replay_runs(array, &rounded, padded_stride, context);
    let helps = |[today, changed, _]: [u64; 3]| ReplayComparison { today, changed }.helps();
    if replayed.is_some_and(|transfers| !helps(transfers)) {
        return None;
    }
    let run_elements = common_length(&elements.runs);
    Some(Remedy::RoundRuns {
        array: name.to_owned(),
        stride: elements.stride,
        run_elements,
        rounded_elements: run_elements.map(|elements| rounded.rounded(elements)),
        granule_elements: rounded.rounded(1),
        extra_elements_max: rounded.count(elements.count).saturating_sub(elements.count),
        padded_stride,
        transfers: elements.transfers,
        replayed: replayed.map(|[today, changed, _]| ReplayComparison { today, changed }),
        padded_transfers: replayed.map(|[.., padded]| padded),
    })
}

/// Returns the transfers of the array as it is, with rounded runs, and with padded elements.
fn replay_runs(
    array: &RecordedArray,
    rounded: &RoundedRuns,
    padded_stride: u64,
    context: &DetectContext,
) -> Option<[u64; 3]> {
    let line = u32::try_from(context.line_bytes).unwrap_or(u32::MAX);
    let stride = array.array.stride.max(1);
    let padded = |offset: u32| {
        let offset = u64::from(offset);
        let place = offset / stride * padded_stride + offset % stride;
        u32::try_from(place).unwrap_or(u32::MAX)
    };
    let today = |trace: &ObjectTrace| replay(trace, trace.phase(line), &RecordedPlacement, line);
    let by_rounded = |trace: &ObjectTrace| replay(trace, 0, rounded, line);
    let by_padded = |trace: &ObjectTrace| replay(trace, 0, &padded, line);
    let ways: [&dyn Fn(&ObjectTrace) -> CoherenceTally; 3] = [&today, &by_rounded, &by_padded];
    context.replays.transfers_at(array.extent(), ways)
}

/// Returns the length of all runs but the first and the last, which the array may cut short; `None`
/// where lengths differ.
pub(crate) fn common_length(runs: &[ElementRun]) -> Option<u64> {
    let longest = runs.iter().map(ElementRun::element_count).max()?;
    let inner = runs
        .get(1..runs.len().saturating_sub(1))
        .unwrap_or_default();
    inner
        .iter()
        .all(|run| run.element_count() == longest)
        .then_some(longest)
}

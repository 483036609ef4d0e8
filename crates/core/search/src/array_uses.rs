//! Elements of arrays that different contexts use.
//!
//! An array may be a member of the type, or the objects of the type may be its elements. Who uses
//! which element follows from the recorded accesses, as [`ElementUses`] decides.

use std::collections::BTreeMap;

use relayout_contend::{ElementRun, ElementUses, TraceAccess};
use relayout_layout::abi::{ArrayLevel, StructLayout};

use crate::mapping::narrow;
use crate::subject::{AdviceSubject, RecordedInstance};

/// A member that is an array, with elements of different contexts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedArray {
    /// Index into [`StructShape::atoms`](relayout_layout::abi::StructShape::atoms).
    pub atom: usize,
    /// Elements that are used as a whole.
    pub level: ArrayLevel,
    /// Runs of elements: no border of a run lies in one of another object.
    pub runs: Vec<ElementRun>,
}

/// Returns the members that are arrays of which different contexts use elements.
pub(crate) fn used_arrays(subject: &AdviceSubject<'_>, current: &StructLayout) -> Vec<UsedArray> {
    let atoms = subject.shape.atoms.iter().enumerate();
    atoms
        .filter(|(_, atom)| !atom.arrays.is_empty() && !atom.flexible)
        .filter_map(|(index, atom)| used_array(subject, current, index, &atom.arrays))
        .collect()
}

fn used_array(
    subject: &AdviceSubject<'_>,
    current: &StructLayout,
    atom: usize,
    levels: &[ArrayLevel],
) -> Option<UsedArray> {
    let place = &current.places[atom];
    let mut by_object: Vec<Vec<TraceAccess>> = Vec::new();
    for instance in subject.instances {
        by_object.extend(accesses_by_object(instance, [place.offset, place.end]));
    }
    let runs_at = |level: &ArrayLevel| -> Vec<Vec<ElementRun>> {
        let stride = narrow(level.stride);
        { by_object.iter() }
            .map(|accesses| ElementUses::from_accesses(accesses, stride).runs())
            .collect()
    };
    let shared = |runs: &[Vec<ElementRun>]| {
        let runs = runs.iter().flatten();
        runs.filter(|run| run.contexts.len() > 1).count()
    };
    // The outermost elements that are used as a whole: a level further in would split what one
    // context uses.
    let innermost = shared(&runs_at(levels.last()?));
    let mut candidates = levels.iter().map(|level| (level, runs_at(level)));
    let (level, runs) = candidates.find(|(_, runs)| shared(runs) <= innermost)?;
    let is_split = |runs: &Vec<ElementRun>| {
        runs.windows(2)
            .any(|pair| pair[0].contexts != pair[1].contexts)
    };
    runs.iter().any(is_split).then(|| UsedArray {
        atom,
        level: *level,
        runs: common_runs(&runs),
    })
}

/// Returns the accesses to the bytes from `start` to `end` of each object of an instance, relative
/// to `start`.
fn accesses_by_object(
    instance: &RecordedInstance,
    [start, end]: [u64; 2],
) -> Vec<Vec<TraceAccess>> {
    let mut by_object: BTreeMap<u32, Vec<TraceAccess>> = BTreeMap::new();
    for access in &instance.trace.accesses {
        let (object, offset) = instance.locate(access.offset);
        if (start..end).contains(&u64::from(offset)) {
            let access = TraceAccess {
                offset: offset - narrow(start),
                ..*access
            };
            by_object.entry(object).or_default().push(access);
        }
    }
    by_object.into_values().collect()
}

/// Returns runs with all borders of the runs of all objects.
fn common_runs(by_object: &[Vec<ElementRun>]) -> Vec<ElementRun> {
    let mut starts: BTreeMap<u64, &ElementRun> = BTreeMap::new();
    for run in by_object.iter().flatten() {
        starts.entry(run.first).or_insert(run);
    }
    let ends = by_object.iter().flatten().map(|run| run.last);
    let last = ends.max().unwrap_or(0);
    let mut runs: Vec<ElementRun> = Vec::new();
    for (first, run) in starts {
        if let Some(before) = runs.last_mut() {
            before.last = first - 1;
        }
        runs.push(ElementRun {
            first,
            last,
            contexts: run.contexts.clone(),
        });
    }
    runs
}

/// Returns the runs of objects in a row that one context uses; none for a single object.
pub(crate) fn row_runs(instance: &RecordedInstance) -> Vec<ElementRun> {
    match instance.even_stride() {
        None => Vec::new(),
        Some(stride) => ElementUses::from_accesses(&instance.trace.accesses, stride).runs(),
    }
}

#[cfg(test)]
mod tests {
    use relayout_profile::ContextId;

    use super::*;

    #[test]
    fn runs_of_several_objects_keep_all_borders() {
        let run = |first, last, context| ElementRun {
            first,
            last,
            contexts: vec![ContextId(context)],
        };
        let halves = vec![run(0, 3, 1), run(4, 7, 2)];
        let other = vec![run(0, 5, 1), run(6, 7, 3)];
        let common = common_runs(&[halves, other]);
        let borders: Vec<(u64, u64)> = common.iter().map(|run| (run.first, run.last)).collect();
        assert_eq!(borders, [(0, 3), (4, 5), (6, 7)]);
    }
}

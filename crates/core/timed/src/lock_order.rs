//! Order in which operations take locks.
//!
//! Code takes two locks in one order, or it would come to a stop. An operation in which the order is the other way
//! round was not read right: a part of it was not logged, or a release was taken for that of another lock.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::locks::AccessStep;
use crate::operations::RecordedOperation;

/// Fraction of the operations that may be dropped. Where more are in two minds, the order is not what it seems.
const DROPPED_SHARE_MAX: f64 = 0.1;

/// Drops the operations that take two locks in the rarer one of two orders, if they are few.
pub(crate) fn drop_inversions(operations: &mut Vec<RecordedOperation>) {
    let nested: Vec<BTreeSet<(u32, u32)>> = operations.iter().map(nested_locks).collect();
    let mut counts: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    for pair in nested.iter().flatten() {
        *counts.entry(*pair).or_default() += 1;
    }
    let count = |pair: (u32, u32)| counts.get(&pair).copied().unwrap_or(0);
    let is_inversion = |(outer, inner): &(u32, u32)| {
        let (own, other) = (count((*outer, *inner)), count((*inner, *outer)));
        (own, outer) < (other, inner)
    };
    let is_dropped: Vec<bool> = { nested.iter() }
        .map(|pairs| pairs.iter().any(is_inversion))
        .collect();
    let dropped = is_dropped.iter().filter(|is_dropped| **is_dropped).count();
    if dropped as f64 > operations.len() as f64 * DROPPED_SHARE_MAX {
        return;
    }
    let mut marks = is_dropped.into_iter();
    operations.retain(|_| !marks.next().unwrap_or(false));
}

/// Returns the pairs of locks of which the second is taken while the first is held.
fn nested_locks(operation: &RecordedOperation) -> BTreeSet<(u32, u32)> {
    let mut held: Vec<u32> = Vec::new();
    let mut pairs = BTreeSet::new();
    for access in &operation.accesses {
        match access.step {
            AccessStep::Acquire(lock, _) => {
                pairs.extend(held.iter().map(|outer| (*outer, lock)));
                held.push(lock);
            }
            AccessStep::Release(lock) => held.retain(|other| *other != lock),
            AccessStep::Plain | AccessStep::SequenceCheck => {}
        }
    }
    pairs
}

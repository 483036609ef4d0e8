//! Runs of neighbouring elements of an array that one context uses.
//!
//! Example: four threads fill 25 elements each of `int a[100]`. Only the lines at the borders of
//! the runs are shared, so runs that begin at lines need no larger elements.
//!
//! The recorded accesses decide who uses an element:
//!
//! - A context with less than a twentieth of the element's accesses does not use it, nor does one
//!   that accessed it once where another stored more often, or accessed it more than a few times.
//! - A context with a few accesses does not use it if it stored before all others began, and loaded
//!   before that or after the others' last store: it set the array up, or added it up.
//! - If nobody is left, the context that stored most uses it.
//!
//! An element belongs to the context of its neighbours on both sides, if a few accesses of another
//! context are all that was recorded of it. So do elements without
//! recorded accesses between two of one context: another context would have taken their line.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::ContextId;

use crate::finding::ElementRun;
use crate::replay::{BytePlacement, TraceAccess};

/// A context uses an element if it has at least one in this many of the element's accesses.
const USER_PART: u64 = 20;
/// Most accesses to an element by a context that sets an array up, or adds it up.
const PASSING_MAX: u64 = 4;
/// A context that is recorded with a few accesses only, in the run of another, has less than one in
/// this many of the other's accesses.
const STRAY_PART: u64 = 4;

/// Recorded accesses to the elements of an array.
#[derive(Clone, Debug, Default)]
pub struct ElementUses {
    elements: BTreeMap<u64, ElementUse>,
}

/// Accesses to one element.
#[derive(Clone, Debug, Default)]
struct ElementUse {
    counts: BTreeMap<ContextId, ContextCounts>,
    /// Accesses in order, as far as they were logged: context, and true for a store.
    order: Vec<OrderedUse>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ContextCounts {
    /// Counted accesses and stores.
    accesses: u64,
    stores: u64,
    /// Those that were logged in order.
    ordered: u64,
    ordered_stores: u64,
}

#[derive(Clone, Copy, Debug)]
struct OrderedUse {
    context: ContextId,
    is_store: bool,
}

impl ContextCounts {
    /// Returns the accesses, by whichever of counting and logging has more.
    fn accesses(self) -> u64 {
        self.accesses.max(self.ordered)
    }

    fn stores(self) -> u64 {
        self.stores.max(self.ordered_stores)
    }
}

impl ElementUses {
    /// Returns the uses of the elements of `stride` bytes by accesses in order, whose offsets are
    /// relative to the first element. An access that spans two elements uses both.
    pub fn from_accesses<'a>(
        accesses: impl IntoIterator<Item = &'a TraceAccess>,
        stride: u32,
    ) -> Self {
        let mut uses = Self::default();
        let stride = stride.max(1);
        for access in accesses {
            let last = access.offset + u32::from(access.size.max(1)) - 1;
            for index in access.offset / stride..=last / stride {
                uses.add_ordered(index.into(), access.context, access.is_store());
            }
        }
        uses
    }

    /// Adds accesses that were counted.
    pub fn add_count(&mut self, index: u64, context: ContextId, is_store: bool, count: u64) {
        let counts = &mut self.elements.entry(index).or_default().counts;
        let counts = counts.entry(context).or_default();
        counts.accesses = counts.accesses.saturating_add(count);
        if is_store {
            counts.stores = counts.stores.saturating_add(count);
        }
    }

    /// Adds the next access in order.
    pub fn add_ordered(&mut self, index: u64, context: ContextId, is_store: bool) {
        let element = self.elements.entry(index).or_default();
        let counts = element.counts.entry(context).or_default();
        counts.ordered += 1;
        counts.ordered_stores += u64::from(is_store);
        element.order.push(OrderedUse { context, is_store });
    }

    /// Returns the contexts that use each element, by index; most accesses first.
    pub fn users(&self) -> BTreeMap<u64, Vec<ContextId>> {
        let mut users: BTreeMap<u64, Vec<ContextId>> = { self.elements.iter() }
            .map(|(index, element)| (*index, element.users()))
            .collect();
        self.absorb_strays(&mut users);
        users
    }

    /// Returns the runs of elements with the same users, ascending.
    pub fn runs(&self) -> Vec<ElementRun> {
        join_runs(&self.users())
    }

    /// Gives elements that a context hardly touched to the context whose elements are around.
    fn absorb_strays(&self, users: &mut BTreeMap<u64, Vec<ContextId>>) {
        let mut totals: BTreeMap<ContextId, u64> = BTreeMap::new();
        for element in self.elements.values() {
            for (context, counts) in &element.counts {
                *totals.entry(*context).or_default() += counts.accesses();
            }
        }
        let is_weak = |index: u64| {
            let counts = self.elements[&index].counts.values();
            counts.map(|counts| counts.accesses()).sum::<u64>() <= PASSING_MAX
        };
        let listed: Vec<(u64, Vec<ContextId>)> = { users.iter() }
            .map(|(index, own)| (*index, own.clone()))
            .collect();
        let groups: Vec<&[(u64, Vec<ContextId>)]> =
            listed.chunk_by(|(_, own), (_, next)| own == next).collect();
        for (number, group) in groups.iter().enumerate() {
            let [context] = group[0].1[..] else { continue };
            let around = [number.checked_sub(1), Some(number + 1)];
            let mut owners = { around.into_iter().flatten() }
                .filter_map(|neighbour| Some(&groups.get(neighbour)?[0].1[..]));
            let Some([owner]) = owners.next() else {
                continue;
            };
            let is_rare = totals[&context].saturating_mul(STRAY_PART) < totals[owner];
            let is_inside = owners.all(|other| *other == [*owner]);
            if is_rare && is_inside && group.iter().all(|(index, _)| is_weak(*index)) {
                users.extend(group.iter().map(|(index, _)| (*index, vec![*owner])));
            }
        }
    }
}

impl ElementUse {
    fn users(&self) -> Vec<ContextId> {
        let frequent: Vec<ContextId> = { self.counts.keys().copied() }
            .filter(|context| self.is_frequent(*context))
            .collect();
        let mut users: Vec<ContextId> = { frequent.iter().copied() }
            .filter(|context| !self.is_passing(*context, &frequent))
            .collect();
        if users.is_empty() {
            let stores = |context: &ContextId| {
                let counts = self.counts[context];
                (counts.stores(), counts.accesses())
            };
            users.extend(frequent.into_iter().rev().max_by_key(stores));
        }
        users.sort_by_key(|context| {
            let accesses = self.counts[context].accesses();
            (std::cmp::Reverse(accesses), *context)
        });
        users
    }

    /// Returns false for a context with hardly any of the accesses.
    fn is_frequent(&self, context: ContextId) -> bool {
        let own = self.counts[&context];
        let total = { self.counts.values() }
            .fold(0, |sum: u64, counts| sum.saturating_add(counts.accesses()));
        let mut others = self.counts.iter().filter(|(other, _)| **other != context);
        let is_single = own.accesses() == 1
            && others.any(|(_, other)| {
                let is_reader = own.stores() == 0 && (other.accesses() > 1 || other.stores() > 0);
                is_reader || other.stores() > own.stores() || other.accesses() > PASSING_MAX
            });
        own.accesses().saturating_mul(USER_PART) >= total && !is_single
    }

    /// Returns true for a context that set the element up before the others used it, or looked at
    /// it when they were done, with a few accesses.
    fn is_passing(&self, context: ContextId, frequent: &[ContextId]) -> bool {
        let counts = self.counts[&context];
        let is_few = counts.accesses() <= PASSING_MAX && counts.ordered == counts.accesses();
        if !is_few || frequent.len() < 2 {
            return false;
        }
        let is_other =
            |used: &OrderedUse| used.context != context && frequent.contains(&used.context);
        let Some(first) = self.order.iter().position(is_other) else {
            return false;
        };
        let stored = |used: &OrderedUse| used.is_store && is_other(used);
        let last_store = self.order.iter().rposition(stored);
        let mut own = { self.order.iter().enumerate() }.filter(|(_, used)| used.context == context);
        own.all(|(place, used)| {
            let is_behind = !used.is_store && last_store.is_some_and(|last| place > last);
            place < first || is_behind
        })
    }
}

/// Joins neighbours with the same users. An element without users is in a run if the elements in
/// front and behind have one user, the same.
fn join_runs(users: &BTreeMap<u64, Vec<ContextId>>) -> Vec<ElementRun> {
    let mut runs: Vec<ElementRun> = Vec::new();
    for (index, contexts) in users {
        let mut sorted = contexts.clone();
        sorted.sort_unstable();
        let continues = |run: &ElementRun| {
            run.contexts == sorted && (run.last + 1 == *index || sorted.len() == 1)
        };
        match runs.last_mut().filter(|run| continues(run)) {
            Some(run) => run.last = *index,
            None => runs.push(ElementRun {
                first: *index,
                last: *index,
                contexts: sorted,
            }),
        }
    }
    runs
}

/// Returns true if contexts use runs of elements that are longer than one, two on the average at
/// least, and each context some of its own.
pub fn are_runs(runs: &[ElementRun]) -> bool {
    let elements: u64 = runs.iter().map(ElementRun::element_count).sum();
    let owners: BTreeSet<&[ContextId]> = runs.iter().map(|run| &run.contexts[..]).collect();
    let own = runs.iter().filter(|run| run.contexts.len() == 1).count();
    owners.len() > 1 && own > 1 && elements >= 2 * runs.len() as u64
}

/// Elements of an array with each run moved to the next element that begins a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundedRuns {
    stride: u64,
    /// Elements after which one begins at the alignment again.
    granule: u64,
    /// First element of each run, today and then, ascending.
    starts: Vec<(u64, u64)>,
}

impl RoundedRuns {
    /// Rounds the borders of `runs` of elements of `stride` bytes to multiples of `align` bytes.
    ///
    /// ```
    /// use relayout_contend::{BytePlacement, ElementRun, RoundedRuns};
    /// use relayout_profile::ContextId;
    ///
    /// let run = |first, last, context| {
    ///     let contexts = vec![ContextId(context)];
    ///     ElementRun { first, last, contexts }
    /// };
    /// let rounded = RoundedRuns::new(&[run(0, 24, 1), run(25, 49, 2)], 4, 64);
    /// assert_eq!(rounded.element(25), 32);
    /// assert_eq!(rounded.place(26 * 4 + 1), 33 * 4 + 1);
    /// ```
    pub fn new(runs: &[ElementRun], stride: u64, align: u64) -> Self {
        let (stride, align) = (stride.max(1), align.max(1));
        let granule = align / greatest_common_divisor(align, stride);
        let mut starts: Vec<(u64, u64)> = vec![(0, 0)];
        for run in runs {
            let (first, then) = starts[starts.len() - 1];
            let behind = then + run.first.saturating_sub(first);
            if run.first > first {
                starts.push((run.first, behind.next_multiple_of(granule)));
            }
        }
        Self {
            stride,
            granule,
            starts,
        }
    }

    /// Returns the index to which an element moves.
    pub fn element(&self, index: u64) -> u64 {
        let behind = self.starts.partition_point(|(first, _)| *first <= index);
        let (first, then) = self.starts[behind.saturating_sub(1)];
        then + index.saturating_sub(first)
    }

    /// Returns the number of elements of an array of `count`, with its end rounded as well.
    pub fn count(&self, count: u64) -> u64 {
        match count.checked_sub(1) {
            Some(last) => (self.element(last) + 1).next_multiple_of(self.granule),
            None => 0,
        }
    }

    /// Returns the number of elements to which a run of `elements` is rounded.
    pub fn rounded(&self, elements: u64) -> u64 {
        elements.next_multiple_of(self.granule)
    }
}

impl BytePlacement for RoundedRuns {
    fn place(&self, offset: u32) -> u32 {
        let offset = u64::from(offset);
        let place = self.element(offset / self.stride) * self.stride + offset % self.stride;
        u32::try_from(place).unwrap_or(u32::MAX)
    }
}

fn greatest_common_divisor(mut left: u64, mut right: u64) -> u64 {
    while right > 0 {
        (left, right) = (right, left % right);
    }
    left.max(1)
}

#[cfg(test)]
mod tests;

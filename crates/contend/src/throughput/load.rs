//! What a recording says of its contexts besides the subject of a change.

use std::collections::BTreeMap;

use relayout_profile::{Access, Profile, Transfer};

use crate::replay::{ByKind, ContextWaits};
use crate::traces::Extent;

/// Lines that are told apart.
const LINES_MAX: usize = 32;
/// A context with less than one in so many of the accesses of the busiest only waits for the others to end.
const WORKING_PART: u64 = 1000;

/// How contexts spent the recorded window: accesses, and waits on the lines that are not the subject's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// All accesses, by context that worked.
    contexts: BTreeMap<u16, ByKind>,
    /// By line that is not the subject's: who waited. Most waits first, [`LINES_MAX`] at most.
    lines: Vec<Vec<ContextWaits>>,
    /// All other lines together.
    rest: Vec<ContextWaits>,
    subject_waits: u64,
}

impl Load {
    /// Of `profile`, where the subject of a change is all that lies at `subject`.
    ///
    /// What conflicts do not know the other side of is missing; so are the accesses of exchanges to lines
    /// that never moved, which count as a load and a store.
    pub fn new(profile: &Profile, subject: &[Extent]) -> Self {
        let line_bytes = u64::from(profile.meta.line_bytes).max(1);
        let subject = Subject::new(subject);
        let mut load = Self {
            contexts: accesses(profile),
            ..Self::default()
        };
        let used: BTreeMap<(u16, u64, u16), u64> = profile
            .lines
            .iter()
            .map(|row| {
                (
                    (row.run, row.line, row.context),
                    row.reads.saturating_add(row.writes),
                )
            })
            .collect();
        let mut waits: BTreeMap<(u16, u64, u16), ByKind> = BTreeMap::new();
        for row in &profile.conflicts {
            if subject.holds(row.run, row.addr) {
                load.subject_waits = load.subject_waits.saturating_add(row.count);
                continue;
            }
            let line = row.addr - row.addr % line_bytes;
            let of_line = waits.entry((row.run, line, row.context)).or_default();
            *kind(of_line, row.access, row.transfer) += row.count;
        }
        let mut lines: BTreeMap<(u16, u64), Vec<ContextWaits>> = BTreeMap::new();
        for ((run, line, context), waits) in waits {
            lines.entry((run, line)).or_default().push(ContextWaits {
                context,
                waits,
                accesses: used.get(&(run, line, context)).copied().unwrap_or(0),
            });
        }
        load.lines = lines.into_values().collect();
        let all = |line: &Vec<ContextWaits>| line.iter().map(|one| one.waits.all()).sum::<u64>();
        load.lines.sort_by_key(|line| std::cmp::Reverse(all(line)));
        let rest = load.lines.split_off(load.lines.len().min(LINES_MAX));
        let mut sums: BTreeMap<u16, ContextWaits> = BTreeMap::new();
        for one in rest.iter().flatten() {
            let sum = sums.entry(one.context).or_default();
            sum.context = one.context;
            sum.waits += one.waits;
            sum.accesses = sum.accesses.saturating_add(one.accesses);
        }
        load.rest = sums.into_values().collect();
        load
    }

    /// Contexts that worked, ascending.
    pub fn contexts(&self) -> impl Iterator<Item = u16> + '_ {
        self.contexts.keys().copied()
    }

    /// All that a context accessed.
    pub fn accesses(&self, context: u16) -> ByKind {
        self.contexts.get(&context).copied().unwrap_or_default()
    }

    /// All but those lines together, by context.
    pub fn rest(&self) -> &[ContextWaits] {
        &self.rest
    }

    /// Lines that are not the subject's, with who waited for them; those with most waits.
    pub fn lines(&self) -> impl Iterator<Item = &[ContextWaits]> {
        self.lines.iter().map(Vec::as_slice)
    }

    /// Transfers and upgrades on the subject in the whole recording.
    pub fn subject_waits(&self) -> u64 {
        self.subject_waits
    }
}

/// Loads, stores and exchanges by context, of those that worked.
fn accesses(profile: &Profile) -> BTreeMap<u16, ByKind> {
    let mut contexts: BTreeMap<u16, ByKind> = BTreeMap::new();
    for row in &profile.lines {
        let sum = contexts.entry(row.context).or_default();
        sum.loads = sum.loads.saturating_add(row.reads);
        sum.stores = sum.stores.saturating_add(row.writes);
    }
    for row in profile
        .counts
        .iter()
        .filter(|row| row.access == Access::ReadWrite)
    {
        if let Some(sum) = contexts.get_mut(&row.context) {
            // `lines` has it under both.
            let both = row.count.min(sum.loads).min(sum.stores);
            sum.loads -= both;
            sum.stores -= both;
            sum.exchanges = sum.exchanges.saturating_add(both);
        }
    }
    let busiest = contexts.values().map(ByKind::all).max().unwrap_or(0);
    contexts.retain(|_, sum| sum.all().saturating_mul(WORKING_PART) >= busiest);
    contexts
}

fn kind(waits: &mut ByKind, access: Access, transfer: Transfer) -> &mut u64 {
    match (access, transfer) {
        (Access::ReadWrite, _) => &mut waits.exchanges,
        (Access::Read, Transfer::Read) => &mut waits.loads,
        _ => &mut waits.stores,
    }
}

/// Where the subject's objects are.
struct Subject(Vec<Extent>);

impl Subject {
    fn new(extents: &[Extent]) -> Self {
        let mut extents = extents.to_vec();
        extents.sort_unstable();
        Self(extents)
    }

    fn holds(&self, run: u16, addr: u64) -> bool {
        let after = self
            .0
            .partition_point(|extent| (extent.run, extent.base) <= (run, addr));
        let last = after.checked_sub(1).map(|last| self.0[last]);
        last.is_some_and(|extent| extent.run == run && addr - extent.base < extent.bytes.into())
    }
}

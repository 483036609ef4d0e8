//! Load of the contexts in a recording besides the subject of a change.

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, Addr, ContextId, Profile, RunId};

use crate::replay::{AccessCounts, ContextWaits};
use crate::traces::ObjectExtent;

/// Maximum number of lines with separate waits.
const LINES_MAX: usize = 32;
/// A context with less than one in this many of the accesses of the busiest only waits for the
/// others to end.
const WORKING_PART: u64 = 1000;
const PS_PER_NS: f64 = 1e3;

/// Accesses of contexts in the recorded window, and their waits on lines that are not the
/// subject's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedLoad {
    /// All accesses by context that worked.
    contexts: BTreeMap<ContextId, AccessCounts>,
    /// Time between accesses by context, where it was measured.
    code: BTreeMap<ContextId, CodeTime>,
    /// Accesses by context to lines that the subject has a part of.
    subject: BTreeMap<ContextId, AccessCounts>,
    /// Waits by line that is not the subject's. Most waits first, [`LINES_MAX`] at most.
    lines: Vec<Vec<ContextWaits>>,
    /// Waits for all other lines together, by context.
    rest: BTreeMap<ContextId, u64>,
    subject_waits: u64,
}

/// Time of the code between a context's accesses, per access.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CodeTime {
    /// Time in nanoseconds.
    pub ns: f64,
    /// Error of this time, in either direction.
    pub error_ns: f64,
}

impl CodeTime {
    /// Returns the time that is distinct from 0: the estimate of James and Stein (1961), whose mean
    /// error is smaller than that of the mean itself where that is near zero. `None` if the time is
    /// no more than its error.
    pub(super) fn told_ns(&self) -> Option<f64> {
        (self.ns > self.error_ns).then(|| self.ns - self.error_ns * self.error_ns / self.ns)
    }
}

impl RecordedLoad {
    /// Load of `profile`; the subject of a change is all that lies at `subject`.
    ///
    /// Events whose other side is unknown are missing. The accesses of exchanges to lines that
    /// never moved count as a load and a store.
    pub fn new(profile: &Profile, subject: &[ObjectExtent]) -> Self {
        let line_bytes = u64::from(profile.meta.line_bytes).max(1);
        let subject = SubjectExtents::new(subject);
        let used = accesses_by_line(profile, line_bytes);
        let mut load = Self {
            code: code_times(profile),
            ..Self::default()
        };
        for ((run, line, context), accesses) in &used {
            *load.contexts.entry(*context).or_default() += *accesses;
            if subject.meets(*run, *line, line_bytes) {
                *load.subject.entry(*context).or_default() += *accesses;
            }
        }
        let busiest = load
            .contexts
            .values()
            .map(AccessCounts::total)
            .max()
            .unwrap_or(0);
        load.contexts
            .retain(|_, sum| sum.total().saturating_mul(WORKING_PART) >= busiest);
        let mut waits: BTreeMap<LineContext, u64> = BTreeMap::new();
        for row in &profile.conflicts {
            if subject.meets(row.run, row.addr, 1) {
                load.subject_waits = load.subject_waits.saturating_add(row.count);
                continue;
            }
            let line = row.addr - row.addr % line_bytes;
            let of_line = waits.entry((row.run, line, row.context)).or_default();
            *of_line = of_line.saturating_add(row.count);
        }
        let mut lines: BTreeMap<(RunId, Addr), Vec<ContextWaits>> = BTreeMap::new();
        for (place, waits) in waits {
            let (run, line, context) = place;
            lines.entry((run, line)).or_default().push(ContextWaits {
                context,
                waits,
                accesses: used.get(&place).copied().unwrap_or_default(),
            });
        }
        load.lines = lines.into_values().collect();
        let total_waits = |line: &Vec<ContextWaits>| {
            let waits = line.iter().map(|context_waits| context_waits.waits);
            waits.fold(0, u64::saturating_add)
        };
        load.lines
            .sort_by_key(|line| std::cmp::Reverse(total_waits(line)));
        for context_waits in load.lines.iter().skip(LINES_MAX).flatten() {
            let rest = load.rest.entry(context_waits.context).or_default();
            *rest = rest.saturating_add(context_waits.waits);
        }
        load.lines.truncate(LINES_MAX);
        load
    }

    /// Returns the contexts that worked, ascending.
    pub fn contexts(&self) -> impl Iterator<Item = ContextId> + '_ {
        self.contexts.keys().copied()
    }

    /// Returns all accesses of a context.
    pub fn accesses(&self, context: ContextId) -> AccessCounts {
        self.contexts.get(&context).copied().unwrap_or_default()
    }

    /// Returns the time of a context between accesses; `None` where it was not measured.
    pub fn code(&self, context: ContextId) -> Option<CodeTime> {
        self.code.get(&context).copied()
    }

    /// Returns the accesses of a context to lines that the subject has a part of.
    pub fn on_subject(&self, context: ContextId) -> AccessCounts {
        self.subject.get(&context).copied().unwrap_or_default()
    }

    /// Returns the waits of a context for lines that are neither in [`Self::lines`] nor the
    /// subject's.
    pub fn rest(&self, context: ContextId) -> u64 {
        self.rest.get(&context).copied().unwrap_or(0)
    }

    /// Returns the waits for lines that are not the subject's, those with most waits.
    pub fn lines(&self) -> impl Iterator<Item = &[ContextWaits]> {
        self.lines.iter().map(Vec::as_slice)
    }

    /// Returns the transfers and upgrades on the subject in the whole recording.
    pub fn subject_waits(&self) -> u64 {
        self.subject_waits
    }
}

/// Returns the times between accesses by context, over all runs.
fn code_times(profile: &Profile) -> BTreeMap<ContextId, CodeTime> {
    let mut sums: BTreeMap<ContextId, (f64, CodeTime)> = BTreeMap::new();
    for gaps in profile.meta.runs.iter().flat_map(|run| &run.gaps) {
        let (all, code) = sums.entry(ContextId(gaps.context)).or_default();
        let samples = gaps.samples as f64;
        *all += samples;
        code.ns += samples * gaps.mean_ps as f64 / PS_PER_NS;
        code.error_ns += samples * gaps.error_ps as f64 / PS_PER_NS;
    }
    let mean = |(context, (all, code)): (ContextId, (f64, CodeTime))| {
        let code = CodeTime {
            ns: code.ns / all,
            error_ns: code.error_ns / all,
        };
        (context, code)
    };
    sums.into_iter().map(mean).collect()
}

/// Run, address of a line, context.
type LineContext = (RunId, Addr, ContextId);

/// Returns loads, stores and exchanges by line and context.
fn accesses_by_line(profile: &Profile, line_bytes: u64) -> BTreeMap<LineContext, AccessCounts> {
    let mut used: BTreeMap<LineContext, AccessCounts> = BTreeMap::new();
    for row in &profile.lines {
        let sum = used.entry((row.run, row.line, row.context)).or_default();
        sum.loads = sum.loads.saturating_add(row.reads);
        sum.stores = sum.stores.saturating_add(row.writes);
    }
    let exchanges = profile.counts.iter();
    for row in exchanges.filter(|row| row.access == AccessKind::ReadWrite) {
        let line = row.addr - row.addr % line_bytes;
        if let Some(sum) = used.get_mut(&(row.run, line, row.context)) {
            // `lines` has it under both.
            let both = row.count.min(sum.loads).min(sum.stores);
            sum.loads -= both;
            sum.stores -= both;
            sum.exchanges = sum.exchanges.saturating_add(both);
        }
    }
    used
}

/// Address ranges of the subject's objects.
struct SubjectExtents(Vec<ObjectExtent>);

impl SubjectExtents {
    fn new(extents: &[ObjectExtent]) -> Self {
        let mut extents = extents.to_vec();
        extents.sort_unstable();
        Self(extents)
    }

    /// Returns true if any of the `bytes` from `addr` on belongs to an object.
    fn meets(&self, run: RunId, addr: Addr, bytes: u64) -> bool {
        let end = addr.saturating_add(bytes);
        let after = self
            .0
            .partition_point(|extent| (extent.run, extent.base) < (run, end));
        let last = after.checked_sub(1).map(|last| self.0[last]);
        last.is_some_and(|extent| {
            extent.run == run && extent.base.saturating_add(extent.bytes.into()) > addr
        })
    }
}

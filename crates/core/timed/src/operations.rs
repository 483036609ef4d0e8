//! Operations of a recording: the accesses of each to lines that were logged with a clock.
//!
//! A visit ([`relayout_profile::VisitRow`]) has the clock of its context and the number of operations that the
//! context had finished. The visits of one context and one number are an operation. Visits of a region are
//! complete from its first ticket on until its log was full, so operations count that lie in a stretch of the order
//! in which the regions are complete ([`LoggedStretch`](crate::stretch::LoggedStretch)).

use std::collections::BTreeMap;

use relayout_profile::{AccessKind, Addr, ClockUnit, ContextId, Profile, RunId, SiteId, VisitRow};
use rustc_hash::FxHashMap;

use crate::interrupts::without_interrupts;
use crate::lock_order::drop_inversions;
use crate::locks::{AccessStep, LockTable, RecordedLock, lock_spans};
use crate::roles::SiteRoles;
use crate::stretch::LoggedStretch;

/// Operations of a context that a prediction needs, at least.
const OPERATIONS_MIN: usize = 2;
/// Operations that are kept, at most.
const OPERATIONS_MAX: usize = 4000;
/// Time between two accesses, over the median between the same two instructions, from which on something else
/// must have run in between: an interrupt, or another task.
const GAP_FACTOR: u32 = 4;
/// Ticks that are never cut.
const GAP_TICKS_MIN: u32 = 200;
/// Visits of a piece, where nothing marks operations.
const PIECE_VISITS: usize = 64;

/// An access of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationAccess {
    /// Ticks of the clock since the access before it, or since the operation began.
    pub ticks: u32,
    /// First byte.
    pub addr: Addr,
    /// Bytes.
    pub size: u8,
    /// Instruction.
    pub site: SiteId,
    /// Kind.
    pub kind: AccessKind,
    /// The instruction is atomic.
    pub locked: bool,
    /// The instruction stores only if memory holds an expected value.
    pub compare_exchange: bool,
    /// Purpose.
    pub step: AccessStep,
}

/// An operation of one context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedOperation {
    /// Context.
    pub context: ContextId,
    /// Accesses in order.
    pub accesses: Vec<OperationAccess>,
    /// Ticks from its last access to its end.
    pub ticks_behind: u32,
}

/// Way in which the recorded accesses are divided into operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationDivision {
    /// The workload marks its operations, and all contexts do the same.
    Marks,
    /// Nothing: operations are pieces of what each context did, and each context has a part of its own.
    Pieces,
}

/// Operations of one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationLog {
    /// Recording.
    pub run: RunId,
    /// Way in which the accesses are divided into them.
    pub division: OperationDivision,
    /// Operations, by context and in order.
    pub operations: Vec<RecordedOperation>,
    /// Contexts that have operations.
    pub contexts: usize,
    /// Locks that operations take and give back.
    pub locks: Vec<RecordedLock>,
    /// Visits to the subject that were left out, and are no part of a lock that the simulation has: of waiting, by
    /// instruction.
    pub left_out: BTreeMap<SiteId, u64>,
}

/// Reason for which a recording has no operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingOperations {
    /// No accesses were logged with a clock: an older profile, or samples.
    NoClock,
    /// The clock counts accesses, not instructions.
    NoInstructions,
    /// Fewer than two contexts have enough whole operations in the time in which all accesses were logged.
    TooFew,
}

impl OperationLog {
    /// Reads the operations of the run that has most. All accesses to bytes for which `is_subject` returns true are in
    /// them, but for those of interrupts and of waiting for locks.
    ///
    /// # Errors
    /// The recording lacks something.
    pub fn from_profile(
        profile: &Profile,
        is_subject: &dyn Fn(RunId, Addr) -> bool,
        roles: &dyn SiteRoles,
    ) -> Result<Self, MissingOperations> {
        match profile.meta.clock {
            None => return Err(MissingOperations::NoClock),
            Some(ClockUnit::Instructions) => {}
            Some(ClockUnit::Accesses) => return Err(MissingOperations::NoInstructions),
        }
        let runs = profile.visits.chunk_by(|a, b| a.run == b.run);
        let logs = runs.filter_map(|visits| Self::of_run(profile, visits, is_subject, roles));
        logs.max_by_key(|log| log.operations.len())
            .ok_or(MissingOperations::TooFew)
    }

    fn of_run(
        profile: &Profile,
        visits: &[VisitRow],
        is_subject: &dyn Fn(RunId, Addr) -> bool,
        roles: &dyn SiteRoles,
    ) -> Option<Self> {
        let run = visits.first()?.run;
        let stretch = LoggedStretch::find(&profile.regions, visits, run, is_subject)?;
        let mut by_context: BTreeMap<ContextId, Vec<&VisitRow>> = BTreeMap::new();
        for visit in visits.iter().filter(|visit| stretch.has(visit)) {
            by_context.entry(visit.context).or_default().push(visit);
        }
        let kept = OPERATIONS_MAX / by_context.len().max(1);
        let mut operations = Vec::new();
        let mut locks = LockTable::default();
        let mut contexts = 0;
        let division = match visits.iter().all(|visit| visit.operation == 0) {
            true => OperationDivision::Pieces,
            false => OperationDivision::Marks,
        };
        for visits in by_context.values() {
            let parts = match division {
                OperationDivision::Marks => {
                    visits.chunk_by(|a, b| a.operation == b.operation).collect()
                }
                OperationDivision::Pieces => pieces(visits, roles),
            };
            let own: Vec<RecordedOperation> = { whole_operations(&parts, division).into_iter() }
                .filter_map(|(own, end_clock)| read_operation(own, end_clock, roles, &mut locks))
                .collect();
            if own.len() >= OPERATIONS_MIN {
                contexts += 1;
                operations.extend(own.into_iter().take(kept));
            }
        }
        drop_inversions(&mut operations);
        cut_long_gaps(&mut operations);
        let mut left_out: BTreeMap<SiteId, u64> = BTreeMap::new();
        for ((site, addr), count) in locks.left_out {
            if is_subject(run, addr) {
                *left_out.entry(site).or_default() += count;
            }
        }
        let log = Self {
            run,
            division,
            operations,
            contexts,
            locks: locks.locks,
            left_out,
        };
        (contexts > 1).then_some(log)
    }
}

/// Cuts what a context did into pieces of some visits, where it has no lock and asks for none.
fn pieces<'v, 'p>(visits: &'v [&'p VisitRow], roles: &dyn SiteRoles) -> Vec<&'v [&'p VisitRow]> {
    let mut spans = lock_spans(visits, roles).into_iter().peekable();
    let mut locked_until = 0;
    let mut pieces = Vec::new();
    let mut first = 0;
    for at in 1..visits.len() {
        while let Some((_, released)) = spans.next_if(|(first_try, _)| *first_try < at) {
            locked_until = locked_until.max(released + 1);
        }
        if at - first >= PIECE_VISITS && at >= locked_until {
            pieces.push(&visits[first..at]);
            first = at;
        }
    }
    pieces.push(&visits[first..]);
    pieces
}

/// Returns the visits of the whole operations of one context, and when each ends. The first and the last are no whole
/// ones, as the window may cut them.
fn whole_operations<'v, 'p>(
    parts: &[&'v [&'p VisitRow]],
    division: OperationDivision,
) -> Vec<(&'v [&'p VisitRow], u64)> {
    let mut whole = Vec::new();
    for neighbours in parts.windows(3) {
        let [before, own, after] = neighbours else {
            continue;
        };
        let (Some(last), Some(first), Some(next)) = (before.last(), own.first(), after.first())
        else {
            continue;
        };
        let is_next = first.operation == last.operation.wrapping_add(1)
            && next.operation == first.operation.wrapping_add(1);
        if is_next || division == OperationDivision::Pieces {
            whole.push((*own, next.clock));
        }
    }
    whole
}

fn read_operation(
    visits: &[&VisitRow],
    end_clock: u64,
    roles: &dyn SiteRoles,
    locks: &mut LockTable,
) -> Option<RecordedOperation> {
    let first = visits.first()?;
    let (timed, interrupted) = without_interrupts(visits, roles);
    let (stepped, waited) = locks.step_visits(&timed, roles);
    let mut clock = first.clock;
    let mut accesses = Vec::with_capacity(stepped.len());
    for stepped in stepped {
        let visit = stepped.timed.visit;
        // An exchange that failed left its line as it was, but for the one of which the lock is taken later.
        if visit.stored == Some(false) && stepped.step == AccessStep::Plain {
            continue;
        }
        accesses.push(OperationAccess {
            ticks: narrow(stepped.timed.clock.saturating_sub(clock)),
            addr: visit.addr,
            size: visit.size,
            site: visit.site,
            kind: visit.access,
            locked: visit.locked,
            compare_exchange: visit.compare_exchange,
            step: stepped.step,
        });
        clock = clock.max(stepped.timed.clock);
    }
    let end = end_clock.saturating_sub(interrupted + waited);
    Some(RecordedOperation {
        context: first.context,
        accesses,
        ticks_behind: narrow(end.saturating_sub(clock)),
    })
}

fn narrow(ticks: u64) -> u32 {
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// Cuts times between accesses in which something else must have run.
fn cut_long_gaps(operations: &mut [RecordedOperation]) {
    let mut gaps: FxHashMap<(Option<SiteId>, Option<SiteId>), Vec<u32>> = FxHashMap::default();
    for operation in operations.iter() {
        for_each_gap(operation, |pair, ticks| {
            gaps.entry(pair).or_default().push(ticks)
        });
    }
    let limits: FxHashMap<_, u32> = { gaps.into_iter() }
        .map(|(pair, mut ticks)| {
            ticks.sort_unstable();
            let median = ticks[ticks.len() / 2];
            (pair, median.saturating_mul(GAP_FACTOR).max(GAP_TICKS_MIN))
        })
        .collect();
    for operation in operations {
        let mut cut = Vec::with_capacity(operation.accesses.len() + 1);
        for_each_gap(operation, |pair, ticks| cut.push(ticks.min(limits[&pair])));
        let behind = cut.pop().unwrap_or_default();
        operation.ticks_behind = behind;
        for (access, ticks) in operation.accesses.iter_mut().zip(cut) {
            access.ticks = ticks;
        }
    }
}

/// Calls `use_gap` with the time before each access, and at last with that behind the operation. A gap is known by
/// the instructions around it.
fn for_each_gap(
    operation: &RecordedOperation,
    mut use_gap: impl FnMut((Option<SiteId>, Option<SiteId>), u32),
) {
    let mut before = None;
    for access in &operation.accesses {
        use_gap((before, Some(access.site)), access.ticks);
        before = Some(access.site);
    }
    use_gap((before, None), operation.ticks_behind);
}

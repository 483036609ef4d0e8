//! Operations on the lines of one layout: only the lines that contexts fight for are left.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, ContextId, RunId};
use rustc_hash::FxHashMap;

use crate::locks::{AccessStep, RecordedLock};
use crate::operations::{OperationAccess, OperationDivision, OperationLog, RecordedOperation};
use crate::roles::{LockKind, LockMode};

/// Fraction of the operations that store to a line, from which on it is simulated. Others are read by all, which
/// costs nothing.
const STORED_SHARE_MIN: f64 = 0.005;
/// Ticks from a load to a store on the same line, up to which a processor may fetch the line for both at once: it looks
/// no further ahead.
const MERGED_TICKS_MAX: u16 = 512;
/// Bytes of a word that a compare-and-exchange compares.
const WORD_BYTES: u32 = 8;

/// Line, or what is left of it in another layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineName {
    /// Line of memory, by its number.
    Memory(u64),
    /// Line of an object that is laid out anew: index of the object, and number of the line in it.
    Object(u32, u32),
}

/// Place of a byte: its line, and its offset there.
pub type BytePlace = (LineName, u32);

/// Places of bytes under one layout.
pub trait LineLayout {
    /// Returns the place of a byte of the recording.
    fn place(&self, run: RunId, addr: Addr) -> BytePlace;
}

/// Contexts that share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSharing {
    /// All contexts: there is one such line, for any number of CPUs.
    All,
    /// So many contexts: each group of as many CPUs has a line of its own.
    Group(u16),
}

/// A line that contexts fight for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContendedLine {
    /// Line.
    pub name: LineName,
    /// Contexts that share it.
    pub sharing: LineSharing,
}

/// Effect of an access on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacedKind {
    /// A load.
    Load,
    /// A load that a store to the line follows.
    LoadBeforeStore {
        /// Ticks from the load to the store.
        ticks: u16,
    },
    /// A store, which does not wait.
    Store,
    /// An atomic instruction, which waits until all stores before it are done.
    Locked,
    /// A compare-and-exchange. If the word changed since it was loaded, it is tried again.
    CompareExchange {
        /// Index of the load in the operation, or of the access itself without one.
        load: u16,
    },
    /// A load that checks a sequence count. If the word changed since its first load, the operation goes on from
    /// there again.
    SequenceCheck {
        /// Index of the first load in the operation.
        load: u16,
    },
    /// Takes a lock by an atomic instruction on its word, or waits for it in the lock's queue.
    Acquire {
        /// Index of the lock.
        lock: u32,
        /// Alone, or with others that read.
        mode: LockMode,
    },
    /// Gives a lock back.
    Release {
        /// Index of the lock.
        lock: u32,
        /// The instruction is atomic, and waits.
        atomic: bool,
    },
}

/// A lock whose word is on a contended line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedLock {
    /// Index of its word's line.
    pub line: u32,
    /// Way in which contexts wait for it.
    pub kind: LockKind,
    /// Lines, beside that, that a context stores to when it begins to wait.
    pub enqueued: Vec<u32>,
    /// Lines that the first in the queue loads again whenever somebody stores to them.
    pub polled: Vec<u32>,
}

/// An access to a contended line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedAccess {
    /// Ticks since the access before it.
    pub ticks: u32,
    /// Index of the line.
    pub line: u32,
    /// Index of the word, over all lines.
    pub word: u32,
    /// Kind.
    pub kind: PlacedKind,
    /// Number of locked instructions on other lines since the access before it.
    pub locked_before: u16,
    /// Number of recorded stores to other lines since the access before it.
    pub stores_before: u16,
}

/// An operation on contended lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedOperation {
    /// Accesses in order.
    pub accesses: Vec<PlacedAccess>,
    /// Ticks behind the last access.
    pub ticks_behind: u32,
    /// Number of locked instructions on other lines behind the last access.
    pub locked_behind: u16,
}

impl PlacedOperation {
    /// Returns the ticks of its code.
    pub fn ticks(&self) -> u64 {
        let accesses = self.accesses.iter().map(|access| u64::from(access.ticks));
        accesses.sum::<u64>() + u64::from(self.ticks_behind)
    }
}

/// Operations from which a CPU draws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationPart {
    /// Context whose operations they are; `None` if all contexts do the same.
    pub context: Option<ContextId>,
    /// Indices of the operations.
    pub operations: Vec<u32>,
}

/// Operations under one layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacedOperations {
    /// Lines that contexts fight for.
    pub lines: Vec<ContendedLine>,
    /// For each word, its line.
    pub words: Vec<u32>,
    /// Locks.
    pub locks: Vec<PlacedLock>,
    /// Operations, in the order of the log.
    pub operations: Vec<PlacedOperation>,
    /// Parts that CPUs take, at least one.
    pub parts: Vec<OperationPart>,
}

impl PlacedOperations {
    /// Places the operations of a log.
    pub fn new(log: &OperationLog, layout: &dyn LineLayout) -> Self {
        let lines = contended_lines(log, layout);
        let numbers: FxHashMap<LineName, u32> = { lines.iter() }
            .zip(0..)
            .map(|(line, number)| (line.name, number))
            .collect();
        let mut placer = OperationPlacer {
            run: log.run,
            layout,
            numbers,
            words: FxHashMap::default(),
            word_lines: Vec::new(),
            lock_numbers: vec![None; log.locks.len()],
            locks: Vec::new(),
        };
        placer.place_locks(&log.locks);
        let operations = log
            .operations
            .iter()
            .map(|found| placer.place(found))
            .collect();
        Self {
            lines,
            words: placer.word_lines,
            locks: placer.locks,
            operations,
            parts: parts(log),
        }
    }

    /// Returns the fraction of the accesses to contended lines that take or give back locks.
    pub fn locking_share(&self) -> f64 {
        let is_locking = |access: &&PlacedAccess| {
            matches!(
                access.kind,
                PlacedKind::Acquire { .. } | PlacedKind::Release { .. }
            )
        };
        let accesses = || self.operations.iter().flat_map(|found| &found.accesses);
        accesses().filter(is_locking).count() as f64 / accesses().count().max(1) as f64
    }

    /// Returns the accesses of an operation to contended lines, on average.
    pub fn accesses_per_operation(&self) -> f64 {
        let all: usize = self
            .operations
            .iter()
            .map(|found| found.accesses.len())
            .sum();
        all as f64 / self.operations.len().max(1) as f64
    }
}

/// Returns the parts: one of each context where they differ, and one of all operations where all contexts do the same.
fn parts(log: &OperationLog) -> Vec<OperationPart> {
    let mut parts: BTreeMap<Option<ContextId>, Vec<u32>> = BTreeMap::new();
    for (number, operation) in (0..).zip(&log.operations) {
        let context = match log.division {
            OperationDivision::Marks => None,
            OperationDivision::Pieces => Some(operation.context),
        };
        parts.entry(context).or_default().push(number);
    }
    let part = |(context, operations)| OperationPart {
        context,
        operations,
    };
    parts.into_iter().map(part).collect()
}

/// Returns the lines that two or more contexts touch, and that enough operations store to.
fn contended_lines(log: &OperationLog, layout: &dyn LineLayout) -> Vec<ContendedLine> {
    #[derive(Default)]
    struct LineUsers {
        contexts: BTreeSet<ContextId>,
        storing_operations: usize,
        last_storing: Option<usize>,
    }
    let mut users: BTreeMap<LineName, LineUsers> = BTreeMap::new();
    for (number, operation) in log.operations.iter().enumerate() {
        for access in &operation.accesses {
            for (line, _) in places_of(log.run, access, layout) {
                let users = users.entry(line).or_default();
                users.contexts.insert(operation.context);
                if access.kind != AccessKind::Read && users.last_storing != Some(number) {
                    users.last_storing = Some(number);
                    users.storing_operations += 1;
                }
            }
        }
    }
    let stores_min = log.operations.len() as f64 * STORED_SHARE_MIN;
    let is_contended = |users: &LineUsers| {
        users.contexts.len() > 1 && users.storing_operations as f64 >= stores_min
    };
    { users.into_iter() }
        .filter(|(_, users)| is_contended(users))
        .map(|(name, users)| ContendedLine {
            name,
            sharing: match users.contexts.len() {
                all if all >= log.contexts => LineSharing::All,
                some => LineSharing::Group(u16::try_from(some).unwrap_or(u16::MAX)),
            },
        })
        .collect()
}

/// Returns the lines that an access touches: one, or two where it crosses their border.
fn places_of(
    run: RunId,
    access: &OperationAccess,
    layout: &dyn LineLayout,
) -> impl Iterator<Item = BytePlace> {
    let first = layout.place(run, access.addr);
    let last = layout.place(run, access.addr + u64::from(access.size.max(1)) - 1);
    std::iter::once(first).chain(Some(last).filter(|last| last.0 != first.0))
}

/// Places operations one after the other.
struct OperationPlacer<'l> {
    run: RunId,
    layout: &'l dyn LineLayout,
    numbers: FxHashMap<LineName, u32>,
    words: FxHashMap<(u32, u32), u32>,
    word_lines: Vec<u32>,
    /// For each lock of the log, its index if it is on a contended line.
    lock_numbers: Vec<Option<u32>>,
    locks: Vec<PlacedLock>,
}

impl OperationPlacer<'_> {
    fn place_locks(&mut self, locks: &[RecordedLock]) {
        for (number, lock) in locks.iter().enumerate() {
            let Some(line) = self.contended_line(lock.word) else {
                continue;
            };
            self.lock_numbers[number] = Some(self.locks.len() as u32);
            let lines_of = |words: &BTreeSet<Addr>| {
                let lines: BTreeSet<u32> = { words.iter() }
                    .filter_map(|word| self.contended_line(*word))
                    .collect();
                lines.into_iter()
            };
            let enqueued = lines_of(&lock.enqueued).filter(|other| *other != line);
            let placed = PlacedLock {
                line,
                kind: lock.kind,
                enqueued: enqueued.collect(),
                polled: match lock.polled.is_empty() {
                    true => vec![line],
                    false => lines_of(&lock.polled).collect(),
                },
            };
            self.locks.push(placed);
        }
    }

    fn contended_line(&self, addr: Addr) -> Option<u32> {
        let (line, _) = self.layout.place(self.run, addr);
        self.numbers.get(&line).copied()
    }

    fn place(&mut self, operation: &RecordedOperation) -> PlacedOperation {
        let mut placed = PlacedOperation::default();
        let (mut ticks, mut locked, mut stores) = (0u32, 0u16, 0u16);
        for access in &operation.accesses {
            ticks = ticks.saturating_add(access.ticks);
            let mut is_placed = false;
            for (line, offset) in places_of(self.run, access, self.layout) {
                let Some(&line) = self.numbers.get(&line) else {
                    continue;
                };
                let word = self.word(line, offset / WORD_BYTES);
                let kind = match self.locking_kind(access) {
                    Some(_) if is_placed => continue,
                    Some(locking) => locking,
                    None => placed_kind(access, &placed.accesses, word),
                };
                placed.accesses.push(PlacedAccess {
                    ticks: std::mem::take(&mut ticks),
                    line,
                    word,
                    kind,
                    locked_before: std::mem::take(&mut locked),
                    stores_before: std::mem::take(&mut stores),
                });
                is_placed = true;
            }
            if is_placed {
                continue;
            }
            if access.locked {
                locked = locked.saturating_add(1);
            } else if access.kind != AccessKind::Read {
                stores = stores.saturating_add(1);
            }
        }
        placed.ticks_behind = ticks.saturating_add(operation.ticks_behind);
        placed.locked_behind = locked;
        mark_loads_before_stores(&mut placed.accesses);
        placed
    }

    /// Returns what an access does to a lock on a contended line.
    fn locking_kind(&self, access: &OperationAccess) -> Option<PlacedKind> {
        let number = |lock: u32| self.lock_numbers.get(lock as usize).copied().flatten();
        match access.step {
            AccessStep::Acquire(lock, mode) => Some(PlacedKind::Acquire {
                lock: number(lock)?,
                mode,
            }),
            AccessStep::Release(lock) => Some(PlacedKind::Release {
                lock: number(lock)?,
                atomic: access.locked,
            }),
            AccessStep::Plain | AccessStep::SequenceCheck => None,
        }
    }

    fn word(&mut self, line: u32, word: u32) -> u32 {
        *self.words.entry((line, word)).or_insert_with(|| {
            self.word_lines.push(line);
            self.word_lines.len() as u32 - 1
        })
    }
}

fn placed_kind(access: &OperationAccess, before: &[PlacedAccess], word: u32) -> PlacedKind {
    let first_load = || {
        let is_load = |other: &PlacedAccess| other.word == word && other.kind == PlacedKind::Load;
        u16::try_from(before.iter().rposition(is_load)?).ok()
    };
    match access.kind {
        AccessKind::Read if access.step == AccessStep::SequenceCheck => match first_load() {
            Some(load) => PlacedKind::SequenceCheck { load },
            None => PlacedKind::Load,
        },
        AccessKind::Read => PlacedKind::Load,
        _ if access.compare_exchange => {
            // What the operation itself stored there is what it expects.
            let last = before.iter().rposition(|other| other.word == word);
            let load = last.filter(|index| before[*index].kind == PlacedKind::Load);
            let load = load.unwrap_or(before.len());
            PlacedKind::CompareExchange {
                load: u16::try_from(load).unwrap_or(u16::MAX),
            }
        }
        _ if access.locked => PlacedKind::Locked,
        _ => PlacedKind::Store,
    }
}

/// Marks loads that are followed by a store to their line before long.
fn mark_loads_before_stores(accesses: &mut [PlacedAccess]) {
    for index in 0..accesses.len() {
        if accesses[index].kind != PlacedKind::Load {
            continue;
        }
        let mut ticks = 0u32;
        for behind in index + 1..accesses.len() {
            ticks = ticks.saturating_add(accesses[behind].ticks);
            if ticks > MERGED_TICKS_MAX.into() {
                break;
            }
            let is_store = !matches!(
                accesses[behind].kind,
                PlacedKind::Load
                    | PlacedKind::LoadBeforeStore { .. }
                    | PlacedKind::SequenceCheck { .. }
            );
            if accesses[behind].line == accesses[index].line && is_store {
                let ticks = u16::try_from(ticks).unwrap_or(u16::MAX);
                accesses[index].kind = PlacedKind::LoadBeforeStore { ticks };
                break;
            }
        }
    }
}

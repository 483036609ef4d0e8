//! Locks in the recorded operations: what takes one, what gives it back, and the waiting in between.
//!
//! A lock is a word that instructions of acquiring functions store to, and then one of a releasing function. The last
//! such store before the release has taken it. Whatever a context did between its first try and that store was
//! waiting for this one recorded order, and is left out: the simulation has its own queue.

use std::collections::{BTreeMap, BTreeSet};

use relayout_profile::{AccessKind, Addr, SiteId, VisitRow};
use rustc_hash::FxHashMap;

use crate::interrupts::TimedVisit;
use crate::roles::{LockKind, LockMode, SiteRole, SiteRoles};

/// Bytes of a word that a lock is known by.
const LOCK_WORD_BYTES: u64 = 4;
/// Distance from a lock's word within which words belong to the same lock.
const LOCK_BYTES_MAX: u64 = 64;

/// Purpose of an access beside that of its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessStep {
    /// Nothing.
    #[default]
    Plain,
    /// Loads a sequence count again; if it changed meanwhile, what was read under it is read again.
    SequenceCheck,
    /// Takes the lock of this number, of those of the log.
    Acquire(u32, LockMode),
    /// Gives it back.
    Release(u32),
}

/// A lock, and what those do that wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedLock {
    /// Its word.
    pub word: Addr,
    /// Way in which contexts wait for it.
    pub kind: LockKind,
    /// Other words that a context stores to when it begins to wait: the end of a queue.
    pub enqueued: BTreeSet<Addr>,
    /// Words that the first in the queue loads until the lock is free; the lock's own if there are no others.
    pub polled: BTreeSet<Addr>,
}

/// Locks by their words.
#[derive(Debug, Default)]
pub(crate) struct LockTable {
    by_word: FxHashMap<Addr, u32>,
    pub locks: Vec<RecordedLock>,
    /// Visits that were left out as waiting, and are to memory that has nothing to do with the lock: by instruction
    /// and first byte.
    pub left_out: FxHashMap<(SiteId, Addr), u64>,
}

/// Visit of an operation after its locks were told.
pub(crate) struct SteppedVisit<'v> {
    pub timed: TimedVisit<'v>,
    pub step: AccessStep,
}

/// One lock held for a part of the operation; indices of visits.
struct HeldLock {
    word: Addr,
    kind: LockKind,
    mode: LockMode,
    /// Stores of acquiring functions to its word; the last has taken it.
    tries: Vec<usize>,
    first_try: usize,
    taken: usize,
    released: usize,
}

impl LockTable {
    /// Tells the locks of an operation, and leaves out the waiting for them. Returns the visits, and the ticks that
    /// were cut out.
    pub fn step_visits<'v>(
        &mut self,
        visits: &[TimedVisit<'v>],
        roles: &dyn SiteRoles,
    ) -> (Vec<SteppedVisit<'v>>, u64) {
        let mut held = held_locks(visits, roles);
        drop_impossible(&mut held);
        find_begins(&mut held, visits, roles);
        let mut begins: BTreeMap<usize, &HeldLock> = BTreeMap::new();
        for lock in &held {
            // Of two that begin together, the longer wait holds the other.
            let longest = begins.entry(lock.first_try).or_insert(lock);
            if lock.taken > longest.taken {
                *longest = lock;
            }
        }
        let mut releases: BTreeMap<usize, AccessStep> = BTreeMap::new();
        let mut stepped = Vec::with_capacity(visits.len());
        let (mut at, mut cut) = (0, 0);
        while let Some(timed) = visits.get(at) {
            let clock = timed.clock.saturating_sub(cut);
            let visit = timed.visit;
            let Some(lock) = begins.get(&at) else {
                let role = roles.role(visit.site);
                if role == SiteRole::Queue {
                    *self.left_out.entry((visit.site, visit.addr)).or_default() += 1;
                } else {
                    let timed = TimedVisit { visit, clock };
                    let is_check =
                        role == SiteRole::SequenceCheck && visit.access == AccessKind::Read;
                    let step = match releases.remove(&at) {
                        Some(release) => release,
                        None if is_check => AccessStep::SequenceCheck,
                        None => AccessStep::Plain,
                    };
                    stepped.push(SteppedVisit { timed, step });
                }
                at += 1;
                continue;
            };
            let number = self.number_of(lock.word, lock.kind);
            self.learn_waiting(number, &visits[lock.first_try..=lock.taken], roles);
            cut += visits[lock.taken].clock.saturating_sub(timed.clock);
            let visit = visits[lock.taken].visit;
            let timed = TimedVisit { visit, clock };
            let step = AccessStep::Acquire(number, lock.mode);
            stepped.push(SteppedVisit { timed, step });
            releases.insert(lock.released, AccessStep::Release(number));
            at = lock.taken + 1;
            releases.retain(|release, _| *release >= at);
        }
        (stepped, cut)
    }

    fn number_of(&mut self, word: Addr, kind: LockKind) -> u32 {
        *self.by_word.entry(word).or_insert_with(|| {
            self.locks.push(RecordedLock {
                word,
                kind,
                enqueued: BTreeSet::new(),
                polled: BTreeSet::new(),
            });
            self.locks.len() as u32 - 1
        })
    }

    /// Learns from one wait what those do that wait.
    fn learn_waiting(&mut self, number: u32, visits: &[TimedVisit<'_>], roles: &dyn SiteRoles) {
        let lock = &mut self.locks[number as usize];
        for TimedVisit { visit, .. } in visits {
            let word = lock_word(visit.addr);
            let is_waiting = match roles.role(visit.site) {
                SiteRole::Acquire(kind, _) => kind.may_sleep(),
                role => role == SiteRole::Queue,
            };
            if !is_near(word, lock.word) {
                *self.left_out.entry((visit.site, visit.addr)).or_default() += 1;
            } else if is_waiting && word != lock.word {
                match visit.access {
                    AccessKind::Read => lock.polled.insert(word),
                    _ => lock.enqueued.insert(word),
                };
            }
        }
    }
}

/// Returns the word of a lock at an address.
fn lock_word(addr: Addr) -> Addr {
    Addr(addr.0 - addr.0 % LOCK_WORD_BYTES)
}

/// Returns the locks that are taken and given back in an operation.
fn held_locks(visits: &[TimedVisit<'_>], roles: &dyn SiteRoles) -> Vec<HeldLock> {
    let mut open: FxHashMap<Addr, HeldLock> = FxHashMap::default();
    let mut held = Vec::new();
    for (index, TimedVisit { visit, .. }) in visits.iter().enumerate() {
        if visit.access == AccessKind::Read {
            continue;
        }
        let word = lock_word(visit.addr);
        match roles.role(visit.site) {
            SiteRole::Acquire(kind, mode) => {
                let lock = open.entry(word).or_insert(HeldLock {
                    word,
                    kind,
                    mode,
                    tries: Vec::new(),
                    first_try: index,
                    taken: index,
                    released: index,
                });
                lock.tries.push(index);
                lock.taken = index;
            }
            SiteRole::Release => {
                if let Some(mut lock) = open.remove(&word) {
                    lock.released = index;
                    held.push(lock);
                }
            }
            _ => {}
        }
    }
    held
}

/// Returns the spans of visits, from the first try to the end, in which a context asks for a lock or has it.
pub(crate) fn lock_spans(visits: &[&VisitRow], roles: &dyn SiteRoles) -> Vec<(usize, usize)> {
    let timed: Vec<TimedVisit<'_>> = { visits.iter() }
        .map(|visit| TimedVisit {
            visit,
            clock: visit.clock,
        })
        .collect();
    let held = held_locks(&timed, roles);
    let mut spans: Vec<(usize, usize)> = { held.iter() }
        .map(|lock| (lock.first_try, lock.released))
        .collect();
    spans.sort_unstable();
    spans
}

/// Drops spin locks that seem to be held while a context takes a lock that it may sleep for: what lies between is not
/// logged.
fn drop_impossible(held: &mut Vec<HeldLock>) {
    let taken: Vec<(usize, Addr)> = { held.iter() }
        .filter(|lock| lock.kind.may_sleep())
        .map(|lock| (lock.taken, lock.word))
        .collect();
    held.retain(|lock| {
        let is_within = |(at, word): &(usize, Addr)| {
            (lock.taken..lock.released).contains(at) && !is_near(*word, lock.word)
        };
        lock.kind.may_sleep() || !taken.iter().any(is_within)
    });
}

/// Finds where the waits begin. Each wait for a lock that contexts sleep for begins with the first access of an acquiring
/// function to its other words, such as its owner's name, and with the lock of its queue, if that was taken before and is given back in the
/// wait.
///
/// No wait reaches back over the end of another such lock: who held one worked. A try before that did not fail; a task
/// took the lock, and gave it back on another CPU.
fn find_begins(held: &mut [HeldLock], visits: &[TimedVisit<'_>], roles: &dyn SiteRoles) {
    let words: BTreeSet<Addr> = held.iter().map(|lock| lock.word).collect();
    let is_asking = |timed: &TimedVisit<'_>| {
        let role = roles.role(timed.visit.site);
        matches!(role, SiteRole::Acquire(kind, _) if kind.may_sleep())
    };
    let asks: Vec<(usize, Addr)> = { visits.iter().enumerate() }
        .filter(|(_, timed)| is_asking(timed))
        .map(|(index, timed)| (index, lock_word(timed.visit.addr)))
        .filter(|(_, word)| !words.contains(word))
        .collect();
    let ends: Vec<(usize, Addr)> = { held.iter() }
        .filter(|lock| lock.kind.may_sleep())
        .map(|lock| (lock.released, lock.word))
        .collect();
    for index in 0..held.len() {
        let lock = &held[index];
        if lock.kind == LockKind::Spinning {
            held[index].first_try = first_of_spinning(lock, visits, roles);
            continue;
        }
        // The locks are in the order of their ends.
        let is_work = |(end, word): &&(usize, Addr)| {
            *end < lock.taken && (*word == lock.word || !is_near(*word, lock.word))
        };
        let worked = ends.iter().rfind(is_work).map(|(end, _)| *end);
        let is_after = |index: usize| worked.is_none_or(|worked| index > worked);
        let mut tries = lock.tries.iter().copied().filter(|tried| is_after(*tried));
        let first_try = tries.next().unwrap_or(lock.taken);
        let is_own = |(index, word): &&(usize, Addr)| is_after(*index) && is_near(*word, lock.word);
        let asked = asks.iter().find(is_own).map(|(first, _)| *first);
        let first = asked.unwrap_or(first_try).min(first_try);
        let is_of_queue = |other: &&HeldLock| {
            is_near(other.word, lock.word)
                && other.word != lock.word
                && (first..=lock.taken).contains(&other.released)
                && other.first_try < first
                && is_after(other.first_try)
        };
        let queue = held.iter().find(is_of_queue).map(|other| other.first_try);
        held[index].first_try = queue.unwrap_or(first);
    }
}

/// Returns the first try of those between which a context did nothing but spin. After a try before them it had the lock;
/// that it was given back is not logged, where that followed at once.
fn first_of_spinning(lock: &HeldLock, visits: &[TimedVisit<'_>], roles: &dyn SiteRoles) -> usize {
    let is_spinning = |timed: &TimedVisit<'_>| {
        let role = roles.role(timed.visit.site);
        matches!(role, SiteRole::Acquire(LockKind::Spinning, _))
    };
    let mut first = lock.taken;
    for tried in lock.tries.iter().rev() {
        if !visits[*tried..first].iter().all(is_spinning) {
            break;
        }
        first = *tried;
    }
    first
}

/// Returns true for two words of one lock.
fn is_near(word: Addr, other: Addr) -> bool {
    word.0.abs_diff(other.0) < LOCK_BYTES_MAX
}

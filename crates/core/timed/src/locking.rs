//! Locks of a simulation: which task holds each, and which wait.
//!
//! A waiting task spins or sleeps, by the kind of the lock:
//!
//! - A spin lock has a queue, and goes to its front.
//! - A mutex or semaphore has a queue of spinning tasks, whose front tries again when the lock is given back, and a list
//!   of sleeping ones. A task sleeps where the owner does not run, and a reader always does. A task that just comes may
//!   take the lock before both.
//! - A futex has sleeping tasks. Any task may take it until a woken one has tried again. Of some, tasks spin before.

use std::collections::VecDeque;

use crate::lines::{PS, copy_count};
use crate::placed::{PlacedLock, PlacedOperations};
use crate::roles::{LockKind, LockMode};

/// Time for which a task waits for a semaphore until it is next: `RWSEM_WAIT_TIMEOUT` in kernel/locking/rwsem.c, at
/// least 4 ms.
const HANDOFF_NS: f64 = 4e6;

/// Time for which a task spins for a futex: Rust's standard library, 100 pauses of 40 cycles (AMD) to 140 (Intel).
const SPIN_NS: f64 = 2e3;

/// Copy of a lock: a group of CPUs may have its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockCopy {
    /// Number of the lock, of [`PlacedOperations::locks`].
    pub lock: u32,
    /// Index of the copy, counted from the lock's first.
    pub copy: usize,
}

/// Last state of a task before it asks for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockComer {
    /// It just comes.
    New,
    /// It was at the front of those that spin.
    Spinning,
    /// It slept, and was woken.
    Sleeping,
}

/// Task that waits for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockWaiter {
    pub task: u32,
    pub mode: LockMode,
    /// When it asked for the lock first.
    pub asked_at: u64,
    /// When it asked last, and began to spin or to sleep.
    pub since: u64,
    pub comer: LockComer,
}

/// Result of asking for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockAnswer {
    Taken,
    Spin,
    Sleep,
}

/// Effects of giving a lock back.
#[derive(Debug, Default)]
pub(crate) struct LockRelease {
    /// Tasks that hold the lock now.
    pub granted: Vec<GrantedLock>,
    /// Tasks that have stopped spinning before, and sleep.
    pub fell_asleep: Vec<u32>,
    /// Spinning task that tries again at once.
    pub retrying: Option<LockWaiter>,
    /// Sleeping tasks that try again when they were woken.
    pub woken: Vec<LockWaiter>,
    /// Whoever gives the lock back calls the kernel to wake others.
    pub wakes: bool,
}

/// Waiting task that was given the lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrantedLock {
    pub waiter: LockWaiter,
    pub was_asleep: bool,
}

/// State of a copy of a lock.
#[derive(Debug, Default)]
struct LockState {
    /// Tasks that hold it.
    holders: u32,
    /// They hold it to read.
    is_shared: bool,
    /// The task that holds it alone.
    owner: Option<u32>,
    spinning: VecDeque<LockWaiter>,
    sleeping: VecDeque<LockWaiter>,
    /// The front of `spinning` has left it to try again.
    is_retried: bool,
    /// The front of `sleeping` has left it to try again.
    is_woken_for: bool,
    /// Woken task that failed, and has the lock next.
    promised: Option<GrantedLock>,
    /// The word says that others may sleep; only that of a futex is asked.
    is_flagged: bool,
}

impl LockState {
    /// Returns true if a task may take the lock.
    fn admits(&self, kind: LockKind, waiter: &LockWaiter) -> bool {
        if self.holders > 0 && !(self.is_shared && is_reader(waiter)) {
            return false;
        }
        match kind {
            LockKind::Spinning => self.spinning.is_empty(),
            // A reader does not join others while a task sleeps for the lock.
            LockKind::Semaphore | LockKind::Futex | LockKind::SpunFutex if self.holders > 0 => {
                self.sleeping.is_empty() && !self.is_woken_for
            }
            LockKind::Mutex | LockKind::Semaphore | LockKind::Futex | LockKind::SpunFutex => true,
        }
    }

    fn hold(&mut self, waiter: &LockWaiter) {
        self.holders += 1;
        self.is_shared = is_reader(waiter);
        self.owner = (!self.is_shared).then_some(waiter.task);
    }

    /// Puts a task among those that wait.
    fn wait(&mut self, kind: LockKind, waiter: LockWaiter, owner_runs: bool) -> LockAnswer {
        let may_spin = match kind {
            LockKind::Spinning => true,
            LockKind::SpunFutex => owner_runs && !self.is_flagged,
            LockKind::Mutex => owner_runs,
            LockKind::Semaphore => {
                owner_runs && waiter.mode == LockMode::Alone && waiter.comer != LockComer::Sleeping
            }
            LockKind::Futex => false,
        };
        let queue = match may_spin {
            true => &mut self.spinning,
            false => &mut self.sleeping,
        };
        match (kind, waiter.comer) {
            (LockKind::Mutex, LockComer::Sleeping) => {
                let was_asleep = !may_spin;
                self.promised = Some(GrantedLock { waiter, was_asleep });
            }
            (LockKind::Semaphore, LockComer::Sleeping) => queue.push_front(waiter),
            (_, LockComer::Spinning) if may_spin => queue.push_front(waiter),
            _ => queue.push_back(waiter),
        }
        match may_spin {
            true => LockAnswer::Spin,
            false => LockAnswer::Sleep,
        }
    }

    /// Gives the lock to tasks that waited.
    fn grant(&mut self, waiters: Vec<LockWaiter>, was_asleep: bool) -> Vec<GrantedLock> {
        waiters.iter().for_each(|waiter| self.hold(waiter));
        let waiters = waiters.into_iter();
        waiters
            .map(|waiter| GrantedLock { waiter, was_asleep })
            .collect()
    }
}

fn is_reader(waiter: &LockWaiter) -> bool {
    waiter.mode == LockMode::Shared
}

/// Takes the first task out of a queue; of readers, those directly behind it, too.
fn pop_leading(queue: &mut VecDeque<LockWaiter>) -> Vec<LockWaiter> {
    let mut popped = Vec::from_iter(queue.pop_front());
    while popped.first().is_some_and(is_reader) && queue.front().is_some_and(is_reader) {
        popped.extend(queue.pop_front());
    }
    popped
}

/// Takes the first task out of a list; of readers, all.
fn pop_first_or_readers(list: &mut VecDeque<LockWaiter>) -> Vec<LockWaiter> {
    if !list.front().is_some_and(is_reader) {
        return Vec::from_iter(list.pop_front());
    }
    let (readers, others) = list.drain(..).partition(is_reader);
    *list = others;
    readers.into()
}

/// All locks of a simulation.
pub(crate) struct SimulatedLocks<'s> {
    placed: &'s [PlacedLock],
    states: Vec<LockState>,
    /// Index of each lock's first copy.
    firsts: Vec<usize>,
    /// Locks whose waiters poll a line: by line.
    polling: Vec<Vec<u32>>,
}

impl<'s> SimulatedLocks<'s> {
    pub fn new(placed: &'s PlacedOperations, cpus: u32) -> Self {
        let mut firsts = Vec::with_capacity(placed.locks.len());
        let mut polling = vec![Vec::new(); placed.lines.len()];
        let mut count = 0;
        for (number, lock) in (0u32..).zip(&placed.locks) {
            firsts.push(count);
            count += copy_count(placed.lines[lock.line as usize].sharing, cpus);
            for line in &lock.polled {
                polling[*line as usize].push(number);
            }
        }
        Self {
            placed: &placed.locks,
            states: (0..count).map(|_| LockState::default()).collect(),
            firsts,
            polling,
        }
    }

    /// Returns the recorded properties of a lock.
    pub fn placed(&self, lock: u32) -> &'s PlacedLock {
        &self.placed[lock as usize]
    }

    /// Returns the locks whose waiters poll a line.
    pub fn polling(&self, line: u32) -> &[u32] {
        &self.polling[line as usize]
    }

    fn state(&mut self, LockCopy { lock, copy }: LockCopy) -> &mut LockState {
        &mut self.states[self.firsts[lock as usize] + copy]
    }

    /// Returns the task that holds a lock alone.
    pub fn owner(&mut self, at: LockCopy) -> Option<u32> {
        self.state(at).owner
    }

    /// Takes a lock for a task, or puts the task among those that wait.
    pub fn ask(&mut self, at: LockCopy, waiter: LockWaiter, owner_runs: bool) -> LockAnswer {
        let kind = self.placed(at.lock).kind;
        let state = self.state(at);
        match waiter.comer {
            LockComer::New => {}
            LockComer::Spinning => state.is_retried = false,
            LockComer::Sleeping => state.is_woken_for = false,
        }
        let is_taken = state.admits(kind, &waiter);
        let answer = match is_taken {
            true => LockAnswer::Taken,
            false => state.wait(kind, waiter, owner_runs),
        };
        if is_taken {
            state.hold(&waiter);
        }
        if answer == LockAnswer::Sleep || waiter.comer == LockComer::Sleeping {
            state.is_flagged = true;
        }
        answer
    }

    /// Gives a lock back, and tells which tasks have it now or may try to take it.
    pub fn give_back(&mut self, at: LockCopy, now: u64) -> LockRelease {
        let kind = self.placed(at.lock).kind;
        let state = self.state(at);
        state.holders = state.holders.saturating_sub(1);
        if state.holders > 0 {
            return LockRelease::default();
        }
        state.owner = None;
        match kind {
            LockKind::Spinning => {
                let first = pop_leading(&mut state.spinning);
                LockRelease {
                    granted: state.grant(first, false),
                    ..LockRelease::default()
                }
            }
            LockKind::Futex | LockKind::SpunFutex => state.give_back_futex(now),
            LockKind::Mutex | LockKind::Semaphore => state.give_back_kernel_lock(kind, now),
        }
    }

    /// Returns the task at the front of those that spin for a lock.
    pub fn poller(&self, LockCopy { lock, copy }: LockCopy) -> Option<u32> {
        let state = &self.states[self.firsts[lock as usize] + copy];
        let promised = state.promised.filter(|next| !next.was_asleep);
        let first = promised.map(|next| next.waiter);
        let first = first.or_else(|| state.spinning.front().copied())?;
        Some(first.task)
    }

    /// Lets those tasks sleep that spin for a lock and that `stops` selects, and returns them.
    pub fn stop_spinning(
        &mut self,
        at: LockCopy,
        now: u64,
        stops: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        if self.placed(at.lock).kind == LockKind::Spinning {
            return Vec::new();
        }
        let state = self.state(at);
        let mut stopped = Vec::new();
        if let Some(next) = &mut state.promised
            && !next.was_asleep
            && stops(next.waiter.task)
        {
            next.was_asleep = true;
            next.waiter.since = now;
            stopped.push(next.waiter.task);
        }
        let spinning = std::mem::take(&mut state.spinning);
        for waiter in spinning {
            if !stops(waiter.task) {
                state.spinning.push_back(waiter);
                continue;
            }
            stopped.push(waiter.task);
            state.sleeping.push_back(LockWaiter {
                since: now,
                ..waiter
            });
        }
        state.is_flagged |= !stopped.is_empty();
        stopped
    }
}

impl LockState {
    /// Gives back a mutex or a semaphore. It goes to a task that was promised it or waits for it too long. Else the first
    /// that spins tries again, and the first that sleeps is woken; sleeping readers have it, if no task spins.
    fn give_back_kernel_lock(&mut self, kind: LockKind, now: u64) -> LockRelease {
        let mut release = LockRelease::default();
        let handoff_ps = (HANDOFF_NS * PS) as u64;
        let has_waited = |waiter: &LockWaiter| now.saturating_sub(waiter.asked_at) >= handoff_ps;
        let is_late = kind == LockKind::Semaphore && self.sleeping.front().is_some_and(has_waited);
        if let Some(next) = self.promised.take() {
            self.hold(&next.waiter);
            release.granted.push(next);
        } else if is_late {
            release.granted = self.grant_sleeping();
        } else {
            if !self.is_retried {
                release.retrying = self.spinning.pop_front();
                self.is_retried = release.retrying.is_some();
            }
            if self.sleeping.front().is_some_and(is_reader) {
                if !self.is_retried {
                    release.granted = self.grant_sleeping();
                }
            } else if !self.is_woken_for {
                release.woken.extend(self.sleeping.pop_front());
                self.is_woken_for = !release.woken.is_empty();
            }
        }
        release.wakes =
            !release.woken.is_empty() || release.granted.iter().any(|own| own.was_asleep);
        release
    }

    /// Gives back a futex. The first that spins tries again, and the first that sleeps is woken if the word says that some
    /// may sleep.
    fn give_back_futex(&mut self, now: u64) -> LockRelease {
        let mut release = LockRelease::default();
        let spin_ps = (SPIN_NS * PS) as u64;
        while let Some(waiter) = self.spinning.front().copied()
            && now > waiter.since + spin_ps
        {
            self.spinning.pop_front();
            self.is_flagged = true;
            release.fell_asleep.push(waiter.task);
            self.sleeping.push_back(LockWaiter {
                since: waiter.since + spin_ps,
                ..waiter
            });
        }
        if !self.is_retried {
            release.retrying = self.spinning.pop_front();
            self.is_retried = release.retrying.is_some();
        }
        release.wakes = std::mem::take(&mut self.is_flagged);
        if release.wakes {
            release.woken = pop_first_or_readers(&mut self.sleeping);
        }
        release
    }

    fn grant_sleeping(&mut self) -> Vec<GrantedLock> {
        let first = pop_first_or_readers(&mut self.sleeping);
        self.grant(first, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockMode::{Alone, Shared};

    use crate::placed::{ContendedLine, LineName, LineSharing};

    const LOCK: LockCopy = LockCopy { lock: 0, copy: 0 };

    fn placed(kind: LockKind) -> PlacedOperations {
        PlacedOperations {
            lines: vec![ContendedLine {
                name: LineName::Memory(0),
                sharing: LineSharing::All,
            }],
            locks: vec![PlacedLock {
                kind,
                ..PlacedLock::default()
            }],
            ..PlacedOperations::default()
        }
    }

    fn waiter(task: u32, mode: LockMode, comer: LockComer) -> LockWaiter {
        LockWaiter {
            task,
            mode,
            asked_at: 0,
            since: 0,
            comer,
        }
    }

    /// Lets tasks ask for a lock in turn: task 0 takes it.
    fn asked<'p>(
        placed: &'p PlacedOperations,
        others: &[(LockMode, bool, LockAnswer)],
    ) -> SimulatedLocks<'p> {
        let mut locks = SimulatedLocks::new(placed, 8);
        let first = waiter(0, Alone, LockComer::New);
        assert_eq!(locks.ask(LOCK, first, true), LockAnswer::Taken);
        for (task, (mode, owner_runs, expect)) in (1..).zip(others) {
            let other = waiter(task, *mode, LockComer::New);
            assert_eq!(locks.ask(LOCK, other, *owner_runs), *expect);
        }
        locks
    }

    fn tasks_of(waiters: impl IntoIterator<Item = LockWaiter>) -> Vec<u32> {
        waiters.into_iter().map(|waiter| waiter.task).collect()
    }

    fn granted_tasks(release: &LockRelease) -> Vec<u32> {
        let granted = release.granted.iter();
        granted.map(|granted| granted.waiter.task).collect()
    }

    /// Both the first that spins and the first that sleeps try again; the woken one is next if it comes too late.
    #[test]
    fn a_woken_task_that_finds_a_mutex_taken_is_next() {
        let placed = placed(LockKind::Mutex);
        let others = [
            (Alone, false, LockAnswer::Sleep),
            (Alone, true, LockAnswer::Spin),
            (Alone, true, LockAnswer::Spin),
        ];
        let mut locks = asked(&placed, &others);
        let release = locks.give_back(LOCK, 10);
        assert_eq!(
            (tasks_of(release.retrying), tasks_of(release.woken)),
            (vec![2], vec![1])
        );
        assert!(release.wakes && release.granted.is_empty());
        let spinner = waiter(2, Alone, LockComer::Spinning);
        assert_eq!(locks.ask(LOCK, spinner, true), LockAnswer::Taken);
        let woken = waiter(1, Alone, LockComer::Sleeping);
        assert_eq!(locks.ask(LOCK, woken, true), LockAnswer::Spin);
        assert_eq!(locks.poller(LOCK), Some(1));
        let release = locks.give_back(LOCK, 20);
        assert_eq!(granted_tasks(&release), [1]);
        assert!(!release.wakes && release.retrying.is_none());
        assert_eq!(locks.owner(LOCK), Some(1));
    }

    #[test]
    fn who_spins_sleeps_with_the_owner() {
        let placed = placed(LockKind::Mutex);
        let others = [(Alone, true, LockAnswer::Spin); 2];
        let mut locks = asked(&placed, &others);
        assert_eq!(locks.stop_spinning(LOCK, 5, |_| true), [1, 2]);
        assert_eq!(locks.poller(LOCK), None);
        let release = locks.give_back(LOCK, 10);
        assert_eq!(
            (tasks_of(release.retrying), tasks_of(release.woken)),
            (vec![], vec![1])
        );
    }

    /// Readers have a semaphore together, if no writer spins for it; a writer that sleeps has it after 4 ms.
    #[test]
    fn a_semaphore_goes_to_readers_or_to_who_waits_too_long() {
        let placed = placed(LockKind::Semaphore);
        let others = [
            (Shared, true, LockAnswer::Sleep),
            (Alone, false, LockAnswer::Sleep),
            (Shared, true, LockAnswer::Sleep),
        ];
        let mut locks = asked(&placed, &others);
        let release = locks.give_back(LOCK, 10);
        assert_eq!(granted_tasks(&release), [1, 3]);
        assert!(release.wakes);
        // A reader that comes does not join them while the writer sleeps.
        let reader = waiter(4, Shared, LockComer::New);
        assert_eq!(locks.ask(LOCK, reader, true), LockAnswer::Sleep);
        assert!(locks.give_back(LOCK, 20).woken.is_empty());
        let late = (HANDOFF_NS * PS) as u64;
        assert_eq!(granted_tasks(&locks.give_back(LOCK, late)), [2]);
    }

    #[test]
    fn a_spinning_writer_tries_before_readers_that_sleep() {
        let placed = placed(LockKind::Semaphore);
        let others = [
            (Shared, true, LockAnswer::Sleep),
            (Alone, true, LockAnswer::Spin),
        ];
        let mut locks = asked(&placed, &others);
        let release = locks.give_back(LOCK, 10);
        assert_eq!(tasks_of(release.retrying), [2]);
        assert!(release.granted.is_empty() && release.woken.is_empty());
    }

    /// The task that gives a futex back calls the kernel once after another waited, and any task may take it meanwhile.
    #[test]
    fn a_futex_is_free_until_a_woken_task_takes_it() {
        let placed = placed(LockKind::Futex);
        let mut locks = asked(&placed, &[(Alone, true, LockAnswer::Sleep)]);
        let release = locks.give_back(LOCK, 10);
        assert_eq!((tasks_of(release.woken), release.wakes), (vec![1], true));
        let comer = waiter(2, Alone, LockComer::New);
        assert_eq!(locks.ask(LOCK, comer, true), LockAnswer::Taken);
        assert!(!locks.give_back(LOCK, 20).wakes);
        let woken = waiter(1, Alone, LockComer::Sleeping);
        assert_eq!(locks.ask(LOCK, woken, true), LockAnswer::Taken);
        // It cannot know whether others sleep.
        let release = locks.give_back(LOCK, 30);
        assert!(release.wakes && release.woken.is_empty());
    }
}

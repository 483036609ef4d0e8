//! Locks in a simulation: how tasks ask for them, wait, and are woken.

use super::SimulationState;
use super::tasks::{LockWait, TaskStep};
use crate::lines::{LineUse, PS};
use crate::locking::{GrantedLock, LockAnswer, LockComer, LockCopy, LockWaiter};
use crate::placed::PlacedAccess;
use crate::roles::LockMode;

impl SimulationState<'_> {
    /// Asks for a lock at the end of the access to its word.
    pub(super) fn acquire(
        &mut self,
        task: u32,
        end: u64,
        access: &PlacedAccess,
        lock: u32,
        mode: LockMode,
    ) {
        let cpu = self.cpu_of(task);
        let copy = self.lines.copy_of(access.line, cpu);
        let at = LockCopy { lock, copy };
        let owner = self.locks.owner(at);
        // Nobody spins where another task could run, either.
        let owner_runs =
            owner.is_none_or(|owner| self.is_running(owner)) && self.cpu_mut(task).ready.is_empty();
        let wait = self.tasks[task as usize].wait;
        let waiter = LockWaiter {
            task,
            mode,
            asked_at: wait.map_or(end, |wait| wait.asked_at),
            since: end,
            comer: wait.map_or(LockComer::New, |wait| wait.comer),
        };
        let answer = self.locks.ask(at, waiter, owner_runs);
        if answer == LockAnswer::Taken {
            self.end_wait(task, end, access.line);
            self.tasks[task as usize].held.push(at);
            return self.go_on(task, end, 0);
        }
        if wait.is_none() {
            self.tasks[task as usize].wait = Some(LockWait {
                lock: at,
                asked_at: end,
                comer: LockComer::New,
            });
            let mut asked_at = end;
            for line in &self.locks.placed(lock).enqueued {
                asked_at = self.lines.access(*line, cpu, asked_at, LineUse::Locked);
            }
            if self.locks.poller(at) == Some(task) {
                for line in &self.locks.placed(lock).polled {
                    self.lines.access(*line, cpu, asked_at, LineUse::Load);
                }
            }
        }
        if answer == LockAnswer::Sleep {
            self.fall_asleep(task, end);
        }
    }

    /// Gives a lock back, and lets those that wait for it go on or try again.
    pub(super) fn release(
        &mut self,
        task: u32,
        at: u64,
        access: &PlacedAccess,
        lock: u32,
        atomic: bool,
    ) {
        let (seen_at, own_end) = match atomic {
            true => {
                let end = self.take_when_drained(task, at, access.line);
                self.waits_ps[access.line as usize] += end - at;
                self.poll_line(access.line, self.cpu_of(task), end);
                let end = end + (self.rules.locked_ns * PS) as u64;
                (end, end)
            }
            false => (self.store(task, at, access), at),
        };
        let copy = self.lines.copy_of(access.line, self.cpu_of(task));
        let given = LockCopy { lock, copy };
        self.tasks[task as usize].held.retain(|held| *held != given);
        let release = self.locks.give_back(given, seen_at);
        for sleeper in release.fell_asleep {
            self.fall_asleep(sleeper, at);
        }
        for granted in release.granted {
            self.grant(granted, seen_at, access.line, given);
        }
        if let Some(waiter) = release.retrying {
            self.try_again(waiter, seen_at, LockComer::Spinning);
        }
        for waiter in release.woken {
            let runs_at = self.runs_at(waiter, seen_at);
            self.try_again(waiter, runs_at, LockComer::Sleeping);
        }
        let waking_ps = if release.wakes { self.kernel_ps() } else { 0 };
        self.go_on(task, own_end + waking_ps, 0);
    }

    /// Lets a task go on that was given its lock.
    fn grant(&mut self, granted: GrantedLock, seen_at: u64, line: u32, lock: LockCopy) {
        let GrantedLock { waiter, was_asleep } = granted;
        let taken_at = match was_asleep {
            true => self.runs_at(waiter, seen_at),
            false => {
                let cpu = self.cpu_of(waiter.task);
                let loaded = self.lines.access(line, cpu, seen_at, LineUse::Load);
                self.lines.access(line, cpu, loaded, LineUse::Locked)
            }
        };
        self.end_wait(waiter.task, taken_at, line);
        let own = &mut self.tasks[waiter.task as usize];
        own.held.push(lock);
        own.step = TaskStep::GoOn;
        self.schedule_at(waiter.task, taken_at.max(waiter.since));
    }

    /// Lets a task ask for its lock again.
    fn try_again(&mut self, waiter: LockWaiter, at: u64, comer: LockComer) {
        let own = &mut self.tasks[waiter.task as usize];
        if let Some(wait) = &mut own.wait {
            wait.comer = comer;
        }
        own.step = TaskStep::Execute;
        self.schedule_at(waiter.task, at.max(waiter.since));
    }

    /// Returns when a sleeping task runs that is woken: at once, if it was still about to fall asleep.
    fn runs_at(&self, waiter: LockWaiter, woken_at: u64) -> u64 {
        let asleep_at = waiter.since + self.kernel_ps();
        match woken_at < asleep_at {
            true => asleep_at,
            false => woken_at + (self.rules.wake_ns * PS) as u64,
        }
    }

    /// Returns the time of a call of the kernel that lets a task sleep or wakes one.
    fn kernel_ps(&self) -> u64 {
        (self.rules.kernel_ns * PS) as u64
    }

    /// Ends a task's wait for a lock, and counts it.
    fn end_wait(&mut self, task: u32, at: u64, line: u32) {
        if let Some(wait) = self.tasks[task as usize].wait.take() {
            let since = wait.asked_at.max(self.counted_from);
            self.waits_ps[line as usize] += at.saturating_sub(since);
        }
    }

    /// Counts the waits that have not ended.
    pub(super) fn end_waits(&mut self) {
        for task in 0..self.tasks.len() as u32 {
            if let Some(wait) = self.tasks[task as usize].wait {
                let line = self.locks.placed(wait.lock.lock).line;
                self.end_wait(task, self.now, line);
            }
        }
    }

    /// Lets a task sleep, and those that spin for a lock that it holds; those for their locks, too.
    fn fall_asleep(&mut self, task: u32, at: u64) {
        let mut falling = vec![task];
        while let Some(task) = falling.pop() {
            self.leave_cpu(task, at + self.kernel_ps());
            for index in 0..self.tasks[task as usize].held.len() {
                let lock = self.tasks[task as usize].held[index];
                falling.extend(self.locks.stop_spinning(lock, at, |_| true));
            }
        }
    }

    /// Lets a task sleep that spins for a lock, because another could run on its CPU.
    pub(super) fn yield_cpu(&mut self, task: u32, at: u64) {
        let Some(wait) = self.tasks[task as usize].wait else {
            return;
        };
        let stopped = self
            .locks
            .stop_spinning(wait.lock, at, |spinning| spinning == task);
        if !stopped.is_empty() {
            self.fall_asleep(task, at);
        }
    }

    /// Lets those that poll a line load it again, after a CPU stored to it.
    pub(super) fn poll_line(&mut self, line: u32, cpu: u32, at: u64) {
        for index in 0..self.locks.polling(line).len() {
            let lock = self.locks.polling(line)[index];
            let copy = self.lines.copy_of(self.locks.placed(lock).line, cpu);
            if let Some(poller) = self.locks.poller(LockCopy { lock, copy })
                && let poller = self.cpu_of(poller)
                && poller != cpu
            {
                self.lines.access(line, poller, at, LineUse::Load);
            }
        }
    }
}

//! Simulation of CPUs that execute recorded operations, drawn at random.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use relayout_statistics::random::SplitMix64;

use crate::lines::{LineUse, PS, SimulatedLines, copy_count};
use crate::locking::{LockWaiter, SimulatedLocks};
use crate::machine::TimedMachine;
use crate::placed::{PlacedAccess, PlacedKind, PlacedOperation, PlacedOperations};
use crate::roles::LockMode;
use crate::rules::ModelRules;

/// Operations of each CPU before counting begins, and that are counted.
const WARM_UP: u64 = 8;
const COUNTED: u64 = 32;
/// Operations that are counted at least, however few CPUs there are.
const COUNTED_MIN: u64 = 4000;

/// Accesses of a simulation. Of long operations fewer are counted, but for [`LONG_COUNTED`] of each CPU, after one.
const ACCESSES: u64 = 1_000_000;
const LONG_COUNTED: u64 = 2;
/// Ticks of a loop from one try of a compare-and-exchange to the next, at most. What lay before the first, such as the
/// remains of an interrupt, does not come again.
const RETRY_TICKS_MAX: u32 = 32;
/// Accesses over those that the operations have, for each CPU, at most: of CPUs that read again and again what is under
/// a sequence count.
const RETRIES_MAX: u64 = 4;

/// A word that no access names.
const NO_WORD: u32 = u32::MAX;

/// Inputs of a simulation beside the operations.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputSimulation<'m> {
    /// Machine.
    pub machine: &'m TimedMachine,
    /// Rules.
    pub rules: &'m ModelRules,
    /// CPUs that execute operations.
    pub cpus: u32,
    /// Seed. With one seed, each CPU draws the same operations in the same order under all layouts.
    pub seed: u64,
}

/// Result of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedThroughput {
    /// Operations of all CPUs in a second.
    pub operations_per_second: f64,
    /// Operations in a second by part of [`PlacedOperations::parts`].
    pub by_part: Vec<f64>,
    /// Fraction of the CPUs' time that they wait for each line.
    pub waiting: Vec<f64>,
    /// Accesses that were simulated.
    pub accesses: u64,
    /// No operation ends any more: all CPUs wait for locks, and none gives one back. Recorded operations that take locks
    /// in different orders cannot be executed in any order.
    pub is_stuck: bool,
}

impl ThroughputSimulation<'_> {
    /// Executes the operations.
    pub fn run(&self, placed: &PlacedOperations) -> SimulatedThroughput {
        let none = SimulatedThroughput {
            operations_per_second: 0.0,
            by_part: vec![0.0; placed.parts.len()],
            waiting: vec![0.0; placed.lines.len()],
            accesses: 0,
            is_stuck: false,
        };
        if placed.operations.is_empty() || self.cpus == 0 {
            return none;
        }
        let mut state = SimulationState::new(self, placed);
        let effort = SimulationEffort::new(placed, self.cpus);
        state.run_until(effort.warm_up, effort.accesses_max);
        let (begin, done) = (state.now, state.finished);
        state.counted_from = begin;
        state.waits_ps.fill(0);
        state.finished_by_part.fill(0);
        state.run_until(done + effort.counted, effort.accesses_max);
        let elapsed = (state.now - begin).max(1) as f64;
        let cpu_time = elapsed * f64::from(self.cpus);
        SimulatedThroughput {
            operations_per_second: (state.finished - done) as f64 / elapsed * PS * 1e9,
            by_part: { state.finished_by_part.iter() }
                .map(|finished| *finished as f64 / elapsed * PS * 1e9)
                .collect(),
            waiting: { state.waits_ps.iter() }
                .map(|waited| *waited as f64 / cpu_time)
                .collect(),
            accesses: state.accesses,
            is_stuck: state.finished < done + effort.counted,
        }
    }
}

/// Number of operations that are simulated, and of accesses at most.
struct SimulationEffort {
    /// Operations before counting begins.
    warm_up: u64,
    /// Operations that are counted.
    counted: u64,
    accesses_max: u64,
}

impl SimulationEffort {
    fn new(placed: &PlacedOperations, cpus: u32) -> Self {
        let cpus = u64::from(cpus);
        let each = placed.accesses_per_operation().ceil().max(1.0) as u64;
        let usual = (COUNTED * cpus).max(COUNTED_MIN);
        let affordable = ACCESSES / each;
        let (warm_up, counted) = match WARM_UP * cpus + usual <= affordable {
            true => (WARM_UP * cpus, usual),
            false => {
                let counted = affordable.saturating_sub(WARM_UP * cpus);
                let is_long = counted < LONG_COUNTED * cpus;
                let warm_up = if is_long { cpus } else { WARM_UP * cpus };
                (warm_up, counted.max(LONG_COUNTED * cpus).min(usual))
            }
        };
        Self {
            warm_up,
            counted,
            accesses_max: (warm_up + counted + cpus) * each * RETRIES_MAX * (cpus + 1),
        }
    }
}

/// CPU with the operation that it executes.
struct SimulatedCpu {
    /// Draws operations.
    choice: SplitMix64,
    /// Draws the code between accesses.
    jitter: SplitMix64,
    operation: usize,
    /// Part that the operation belongs to.
    part: usize,
    next: usize,
    /// It waits for the line of its next access, which is there at its next event.
    is_waiting: bool,
    /// Time that it waited for that.
    waited: u64,
    /// When all stores so far are done.
    drained_at: u64,
    /// Stores that wait for their lines, in order: when each is done, and its word. Some are done already.
    stores: VecDeque<(u64, u32)>,
    /// Time of the code that a wait has hidden.
    hidden: u64,
    /// Versions of the words that the accesses of the operation loaded.
    loaded: Vec<u32>,
}

struct SimulationState<'s> {
    rules: &'s ModelRules,
    placed: &'s PlacedOperations,
    lines: SimulatedLines<'s>,
    locks: SimulatedLocks<'s>,
    cpus: Vec<SimulatedCpu>,
    /// Time of the next access of each CPU.
    events: BinaryHeap<Reverse<(u64, u32)>>,
    /// Number of stores to each copy of a word.
    versions: Vec<u32>,
    /// Index of the first copy of each word.
    word_copies: Vec<usize>,
    waits_ps: Vec<u64>,
    /// Time from which waits are counted.
    counted_from: u64,
    now: u64,
    finished: u64,
    finished_by_part: Vec<u64>,
    accesses: u64,
}

impl<'s> SimulationState<'s> {
    fn new(simulation: &'s ThroughputSimulation<'_>, placed: &'s PlacedOperations) -> Self {
        let ThroughputSimulation {
            machine,
            rules,
            cpus,
            seed,
        } = *simulation;
        let mut word_copies = Vec::with_capacity(placed.words.len());
        let mut count = 0;
        for line in &placed.words {
            word_copies.push(count);
            count += copy_count(placed.lines[*line as usize].sharing, cpus);
        }
        let mut state = Self {
            rules,
            placed,
            lines: SimulatedLines::new(&placed.lines, cpus, machine, rules),
            locks: SimulatedLocks::new(placed, cpus),
            cpus: (0..cpus).map(|cpu| SimulatedCpu::new(seed, cpu)).collect(),
            events: BinaryHeap::with_capacity(cpus as usize),
            versions: vec![0; count],
            word_copies,
            waits_ps: vec![0; placed.lines.len()],
            counted_from: 0,
            now: 0,
            finished: 0,
            finished_by_part: vec![0; placed.parts.len()],
            accesses: 0,
        };
        for cpu in 0..cpus {
            state.begin_operation(cpu, 0);
        }
        state
    }

    fn run_until(&mut self, finished: u64, accesses_max: u64) {
        while self.finished < finished
            && self.accesses < accesses_max
            && let Some(Reverse((at, cpu))) = self.events.pop()
        {
            self.now = at;
            let operation = self.operation_of(cpu);
            let own = &mut self.cpus[cpu as usize];
            let is_there = std::mem::take(&mut own.is_waiting);
            match operation.accesses.get(own.next) {
                Some(access) if is_there => self.finish_access(cpu, at, access),
                Some(access) => self.execute(cpu, at, access),
                None => {
                    self.finished += 1;
                    self.finished_by_part[self.cpus[cpu as usize].part] += 1;
                    self.begin_operation(cpu, at);
                }
            }
        }
    }

    fn operation_of(&self, cpu: u32) -> &'s PlacedOperation {
        &self.placed.operations[self.cpus[cpu as usize].operation]
    }

    /// Draws the next operation of a CPU. CPUs take the parts in turn; where there are more parts than CPUs, a CPU draws
    /// from all that are its own.
    fn begin_operation(&mut self, cpu: u32, at: u64) {
        let parts = &self.placed.parts;
        let stride = self.cpus.len();
        let own = &mut self.cpus[cpu as usize];
        let first = cpu as usize % parts.len();
        own.part = match (parts.len() - first).div_ceil(stride) {
            1 => first,
            several => first + stride * own.choice.below(several),
        };
        let operations = &parts[own.part].operations;
        own.operation = operations[own.choice.below(operations.len())] as usize;
        own.next = 0;
        own.loaded.clear();
        self.schedule(cpu, at);
    }

    /// Sets the time of the CPU's next access, or of its operation's end.
    fn schedule(&mut self, cpu: u32, after: u64) {
        let operation = self.operation_of(cpu);
        let own = &mut self.cpus[cpu as usize];
        let (ticks, locked, between_ns) = match operation.accesses.get(own.next) {
            Some(access) => {
                own.hold_back_stores(access.stores_before, after);
                (access.ticks, access.locked_before, 0.0)
            }
            None => (
                operation.ticks_behind,
                operation.locked_behind,
                self.rules.between_ns,
            ),
        };
        let spread = 1.0 + self.rules.jitter * (2.0 * own.jitter.unit() - 1.0);
        let code_ns = (f64::from(ticks) * self.rules.tick_ns + between_ns) * spread
            + f64::from(locked) * self.rules.locked_ns;
        let code = (code_ns * PS) as u64;
        let visible = code - code.min(std::mem::take(&mut own.hidden));
        self.events.push(Reverse((after + visible, cpu)));
    }

    /// Begins an access.
    fn execute(&mut self, cpu: u32, at: u64, access: &PlacedAccess) {
        self.accesses += 1;
        match access.kind {
            PlacedKind::Store => {
                if let Some(room_at) = self.store_room(cpu, at) {
                    self.waits_ps[access.line as usize] += room_at - at;
                    self.accesses -= 1;
                    return self.events.push(Reverse((room_at, cpu)));
                }
                self.store(cpu, at, access);
                self.go_on(cpu, at, 0);
            }
            PlacedKind::Release { lock, atomic } => {
                self.release(cpu, at, access, lock, atomic);
            }
            PlacedKind::Load | PlacedKind::SequenceCheck { .. } => {
                let end = self.load(cpu, at, access, LineUse::Load);
                self.wait_for_line(cpu, at, end, access);
            }
            PlacedKind::LoadBeforeStore { ticks } => {
                let line_use = match f64::from(ticks) < self.rules.merged_ticks {
                    true => LineUse::Store,
                    false => LineUse::Load,
                };
                let end = self.load(cpu, at, access, line_use);
                self.wait_for_line(cpu, at, end, access);
            }
            PlacedKind::Locked
            | PlacedKind::CompareExchange { .. }
            | PlacedKind::Acquire { .. } => {
                let end = self.take_when_drained(cpu, at, access.line);
                self.wait_for_line(cpu, at, end, access);
            }
        }
    }

    /// Takes a line alone for an atomic instruction, after all stores, and returns when it is there.
    fn take_when_drained(&mut self, cpu: u32, at: u64, line: u32) -> u64 {
        let begin = at.max(self.cpus[cpu as usize].drained_at);
        self.lines.access(line, cpu, begin, LineUse::Locked)
    }

    /// Loads a word, and returns when it is there: at once, if it is one that the CPU has just stored.
    fn load(&mut self, cpu: u32, at: u64, access: &PlacedAccess, line_use: LineUse) -> u64 {
        let mut stores = self.cpus[cpu as usize].stores.iter();
        if stores.any(|(end, word)| *end > at && *word == access.word) {
            return at;
        }
        self.lines.access(access.line, cpu, at, line_use)
    }

    /// Returns when another store may wait for its line, if too many wait.
    fn store_room(&mut self, cpu: u32, at: u64) -> Option<u64> {
        let stores = &mut self.cpus[cpu as usize].stores;
        while stores.front().is_some_and(|(end, _)| *end <= at) {
            stores.pop_front();
        }
        let too_many = (stores.len() + 1).checked_sub(self.rules.stores_max.max(1.0) as usize)?;
        Some(stores.get(too_many.checked_sub(1)?)?.0)
    }

    /// Goes on with an access when its line is there. Only then is it known what others did to the line before.
    fn wait_for_line(&mut self, cpu: u32, at: u64, end: u64, access: &PlacedAccess) {
        let own = &mut self.cpus[cpu as usize];
        own.waited = end - at;
        self.waits_ps[access.line as usize] += end - at;
        if end == at {
            return self.finish_access(cpu, at, access);
        }
        own.is_waiting = true;
        self.events.push(Reverse((end, cpu)));
    }

    /// Ends an access whose line the CPU has.
    fn finish_access(&mut self, cpu: u32, at: u64, access: &PlacedAccess) {
        let locked_end = at + (self.rules.locked_ns * PS) as u64;
        match access.kind {
            PlacedKind::Load | PlacedKind::LoadBeforeStore { .. } => {
                let version = *self.version(access.word, access.line, cpu);
                let hidden = (self.rules.overlap_ns * PS) as u64;
                let own = &mut self.cpus[cpu as usize];
                own.hidden = hidden.min(own.waited);
                self.go_on(cpu, at, version);
            }
            PlacedKind::SequenceCheck { load } => {
                self.check_sequence(cpu, at, access, load.into());
            }
            PlacedKind::CompareExchange { load } => {
                self.poll_line(access.line, cpu, at);
                self.compare_exchange(cpu, locked_end, access, load.into());
            }
            PlacedKind::Acquire { lock, mode } => {
                self.poll_line(access.line, cpu, at);
                self.acquire(cpu, locked_end, access, lock, mode);
            }
            // Stores do not wait for their lines, and have ended.
            PlacedKind::Store | PlacedKind::Release { .. } => {}
            PlacedKind::Locked => {
                self.poll_line(access.line, cpu, at);
                *self.version(access.word, access.line, cpu) += 1;
                self.go_on(cpu, locked_end, 0);
            }
        }
    }

    /// Executes a store, and returns when others can see it. The CPU does not wait for that.
    fn store(&mut self, cpu: u32, at: u64, access: &PlacedAccess) -> u64 {
        let end = self.lines.access(access.line, cpu, at, LineUse::Store);
        *self.version(access.word, access.line, cpu) += 1;
        let own = &mut self.cpus[cpu as usize];
        own.drained_at = own.drained_at.max(end);
        if own.drained_at > at {
            own.stores.push_back((own.drained_at, access.word));
        }
        self.poll_line(access.line, cpu, end);
        end
    }

    /// Lets those that poll a line load it again, after a CPU stored to it.
    fn poll_line(&mut self, line: u32, cpu: u32, at: u64) {
        for index in 0..self.locks.polling(line).len() {
            let lock = self.locks.polling(line)[index];
            let copy = self.lines.copy_of(self.locks.placed(lock).line, cpu);
            if let Some(poller) = self.locks.poller(lock, copy)
                && poller != cpu
            {
                self.lines.access(line, poller, at, LineUse::Load);
            }
        }
    }

    fn acquire(&mut self, cpu: u32, end: u64, access: &PlacedAccess, lock: u32, mode: LockMode) {
        let copy = self.lines.copy_of(access.line, cpu);
        let waiter = LockWaiter {
            cpu,
            mode,
            since: end,
        };
        if self.locks.take_or_wait(lock, copy, waiter) {
            return self.go_on(cpu, end, 0);
        }
        let mut asked_at = end;
        for line in &self.locks.placed(lock).enqueued {
            asked_at = self.lines.access(*line, cpu, asked_at, LineUse::Locked);
        }
        if self.locks.poller(lock, copy) == Some(cpu) {
            for line in &self.locks.placed(lock).polled {
                self.lines.access(*line, cpu, asked_at, LineUse::Load);
            }
        }
    }

    fn release(&mut self, cpu: u32, at: u64, access: &PlacedAccess, lock: u32, atomic: bool) {
        let (seen_at, own_end) = match atomic {
            true => {
                let end = self.take_when_drained(cpu, at, access.line);
                self.waits_ps[access.line as usize] += end - at;
                self.poll_line(access.line, cpu, end);
                let end = end + (self.rules.locked_ns * PS) as u64;
                (end, end)
            }
            false => (self.store(cpu, at, access), at),
        };
        let copy = self.lines.copy_of(access.line, cpu);
        for waiter in self.locks.give_back(lock, copy) {
            let taken_at = match waiter.mode {
                LockMode::Alone => {
                    let (line, cpu) = (access.line, waiter.cpu);
                    let loaded = self.lines.access(line, cpu, seen_at, LineUse::Load);
                    self.lines.access(line, cpu, loaded, LineUse::Locked)
                }
                LockMode::Shared => seen_at + (self.rules.wake_ns * PS) as u64,
            };
            let since = waiter.since.max(self.counted_from);
            self.waits_ps[access.line as usize] += taken_at.saturating_sub(since);
            self.go_on(waiter.cpu, taken_at.max(waiter.since), 0);
        }
        self.go_on(cpu, own_end, 0);
    }

    fn check_sequence(&mut self, cpu: u32, at: u64, access: &PlacedAccess, load: usize) {
        let version = *self.version(access.word, access.line, cpu);
        let own = &mut self.cpus[cpu as usize];
        if own
            .loaded
            .get(load)
            .is_some_and(|loaded| *loaded != version)
        {
            own.loaded.truncate(load);
            own.next = load;
            return self.schedule(cpu, at);
        }
        self.go_on(cpu, at, version);
    }

    /// Ends a compare-and-exchange. If it fails, it has brought the word, and the next try a few instructions later
    /// finds the line still there.
    fn compare_exchange(&mut self, cpu: u32, end: u64, access: &PlacedAccess, load: usize) {
        let version = self.version(access.word, access.line, cpu);
        let current = *version;
        *version += 1;
        let loaded = self.cpus[cpu as usize].loaded.get(load).copied();
        let has_failed = loaded.is_some_and(|loaded| loaded != current);
        let again = match has_failed {
            true => {
                self.accesses += 1;
                let code = f64::from(access.ticks.min(RETRY_TICKS_MAX)) * self.rules.tick_ns;
                ((code + self.rules.locked_ns) * PS) as u64
            }
            false => 0,
        };
        self.go_on(cpu, end + again, 0);
    }

    /// Goes on behind an access that loaded a version of its word; only that of a load is asked for later.
    fn go_on(&mut self, cpu: u32, end: u64, version: u32) {
        let own = &mut self.cpus[cpu as usize];
        own.loaded.push(version);
        own.next += 1;
        self.schedule(cpu, end);
    }

    fn version(&mut self, word: u32, line: u32, cpu: u32) -> &mut u32 {
        let copy = self.lines.copy_of(line, cpu);
        &mut self.versions[self.word_copies[word as usize] + copy]
    }
}

impl SimulatedCpu {
    fn new(seed: u64, cpu: u32) -> Self {
        let own_seed = |purpose: u64| {
            let mut mixed = SplitMix64::new(seed ^ (u64::from(cpu) << 8 | purpose));
            SplitMix64::new(mixed.bits())
        };
        Self {
            choice: own_seed(1),
            jitter: own_seed(2),
            operation: 0,
            part: 0,
            next: 0,
            is_waiting: false,
            waited: 0,
            drained_at: 0,
            stores: VecDeque::new(),
            hidden: 0,
            loaded: Vec::new(),
        }
    }

    /// Adds stores to lines that the CPU has, which wait for those before them.
    fn hold_back_stores(&mut self, count: u16, at: u64) {
        if self.drained_at > at {
            let held = std::iter::repeat_n((self.drained_at, NO_WORD), count.into());
            self.stores.extend(held);
        }
    }
}

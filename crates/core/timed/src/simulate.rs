//! Simulation of CPUs that execute recorded operations, drawn at random.

mod events;
mod tasks;
mod waiting;

use crate::lines::{LineUse, PS, SimulatedLines, copy_count};
use crate::locking::SimulatedLocks;
use crate::machine::TimedMachine;
use crate::placed::{PlacedAccess, PlacedKind, PlacedOperation, PlacedOperations};
use crate::rules::ModelRules;
use events::EventQueue;
use relayout_statistics::random::RandomSequence;
use tasks::{SimulatedCpu, SimulatedTask, TaskStep};

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
/// Accesses over those that the operations have on average, for each CPU, at most: the rest are longer, or read again what
/// is under a sequence count.
const RETRIES_MAX: u64 = 4;

/// Operations of each part that are counted at least, as long as the simulation has fewer than [`STARVED_ACCESSES`]: tasks
/// may sleep for a futex while others take it many times.
const PART_COUNTED_MIN: u64 = 16;
const STARVED_ACCESSES: u64 = 4 * ACCESSES;

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
    /// Fraction of the tasks' time that they wait for each line. There is a task for each CPU, or for each part if those
    /// are more.
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
        while state.finished >= done + effort.counted
            && state.accesses < effort.accesses_max.min(STARVED_ACCESSES)
            && state.has_starved_part()
        {
            state.run_until(state.finished + effort.counted, effort.accesses_max);
        }
        state.end_waits();
        let elapsed = (state.now - begin).max(1) as f64;
        let task_time = elapsed * state.tasks.len() as f64;
        SimulatedThroughput {
            operations_per_second: (state.finished - done) as f64 / elapsed * PS * 1e9,
            by_part: { state.finished_by_part.iter() }
                .map(|finished| *finished as f64 / elapsed * PS * 1e9)
                .collect(),
            waiting: { state.waits_ps.iter() }
                .map(|waited| *waited as f64 / task_time)
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

struct SimulationState<'s> {
    rules: &'s ModelRules,
    placed: &'s PlacedOperations,
    lines: SimulatedLines<'s>,
    locks: SimulatedLocks<'s>,
    cpus: Vec<SimulatedCpu>,
    tasks: Vec<SimulatedTask>,
    /// Time of the next step of each task that does not wait for a lock or a CPU.
    events: EventQueue,
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
            cpus: (0..cpus).map(|_| SimulatedCpu::default()).collect(),
            tasks: (0..cpus.max(placed.parts.len() as u32))
                .map(|task| SimulatedTask::new(seed, task, cpus, placed.parts.len()))
                .collect(),
            events: EventQueue::default(),
            versions: vec![0; count],
            word_copies,
            waits_ps: vec![0; placed.lines.len()],
            counted_from: 0,
            now: 0,
            finished: 0,
            finished_by_part: vec![0; placed.parts.len()],
            accesses: 0,
        };
        for task in 0..state.tasks.len() as u32 {
            state.schedule_at(task, 0);
        }
        state
    }

    fn run_until(&mut self, finished: u64, accesses_max: u64) {
        while self.finished < finished
            && self.accesses < accesses_max
            && let Some((at, task)) = self.events.pop()
        {
            self.now = at;
            if self.enter_cpu(task, at) {
                self.take_step(task, at);
            }
        }
    }

    fn take_step(&mut self, task: u32, at: u64) {
        let step = std::mem::replace(&mut self.tasks[task as usize].step, TaskStep::Execute);
        let next = self.tasks[task as usize].next;
        match (step, self.operation_of(task).accesses.get(next)) {
            (TaskStep::Begin, _) => self.begin_operation(task, at),
            (TaskStep::GoOn, _) => self.go_on(task, at, 0),
            (TaskStep::Finish, Some(access)) => self.finish_access(task, at, access),
            (_, Some(access)) => self.execute(task, at, access),
            (_, None) => self.end_operation(task, at),
        }
    }

    /// Returns true if a part has few operations that are counted.
    fn has_starved_part(&self) -> bool {
        let mut counts = self.finished_by_part.iter();
        counts.any(|finished| *finished < PART_COUNTED_MIN)
    }

    fn operation_of(&self, task: u32) -> &'s PlacedOperation {
        &self.placed.operations[self.tasks[task as usize].operation]
    }

    fn cpu_of(&self, task: u32) -> u32 {
        self.tasks[task as usize].cpu
    }

    fn cpu_mut(&mut self, task: u32) -> &mut SimulatedCpu {
        &mut self.cpus[self.tasks[task as usize].cpu as usize]
    }

    fn is_running(&self, task: u32) -> bool {
        self.cpus[self.cpu_of(task) as usize].running == Some(task)
    }

    /// Lets a task run on its CPU and returns true, if the CPU does not execute another; else it is ready.
    fn enter_cpu(&mut self, task: u32, at: u64) -> bool {
        let cpu = self.cpu_mut(task);
        let running = *cpu.running.get_or_insert(task);
        if running == task {
            return true;
        }
        cpu.ready.push_back(task);
        self.yield_cpu(running, at);
        false
    }

    /// Takes a task off its CPU, which executes the next one that is ready from a time on.
    fn leave_cpu(&mut self, task: u32, at: u64) {
        let cpu = self.cpu_mut(task);
        cpu.running = cpu.ready.pop_front();
        if let Some(next) = cpu.running {
            self.schedule_at(next, at);
        }
    }

    fn schedule_at(&mut self, task: u32, at: u64) {
        self.events.push((at, task));
    }

    fn end_operation(&mut self, task: u32, at: u64) {
        self.finished += 1;
        self.finished_by_part[self.tasks[task as usize].part] += 1;
        if self.cpu_mut(task).ready.is_empty() {
            return self.begin_operation(task, at);
        }
        self.tasks[task as usize].step = TaskStep::Begin;
        self.cpu_mut(task).ready.push_back(task);
        self.leave_cpu(task, at);
    }

    /// Draws the next operation of a task.
    fn begin_operation(&mut self, task: u32, at: u64) {
        let own = &mut self.tasks[task as usize];
        let operations = &self.placed.parts[own.part].operations;
        own.operation = operations[own.choice.below(operations.len())] as usize;
        own.next = 0;
        own.reread_to = 0;
        own.loaded.clear();
        self.schedule(task, at);
    }

    /// Sets the time of the task's next access, or of its operation's end.
    fn schedule(&mut self, task: u32, after: u64) {
        let operation = self.operation_of(task);
        let own = &mut self.tasks[task as usize];
        let cpu = &mut self.cpus[own.cpu as usize];
        let (ticks, locked, between_ns) = match operation.accesses.get(own.next) {
            Some(access) => {
                cpu.hold_back_stores(access.stores_before, after);
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
        let visible = code - code.min(std::mem::take(&mut cpu.hidden));
        self.schedule_at(task, after + visible);
    }

    /// Begins an access.
    fn execute(&mut self, task: u32, at: u64, access: &PlacedAccess) {
        self.accesses += 1;
        match access.kind {
            PlacedKind::Store => {
                let stores_max = self.rules.stores_max.max(1.0) as usize;
                if let Some(room_at) = self.cpu_mut(task).store_room(at, stores_max) {
                    self.waits_ps[access.line as usize] += room_at - at;
                    self.accesses -= 1;
                    return self.schedule_at(task, room_at);
                }
                self.store(task, at, access);
                self.go_on(task, at, 0);
            }
            PlacedKind::Release { lock, atomic } => {
                self.release(task, at, access, lock, atomic);
            }
            PlacedKind::Load | PlacedKind::SequenceCheck { .. } => {
                let end = self.load(task, at, access, LineUse::Load);
                self.wait_for_line(task, at, end, access);
            }
            PlacedKind::LoadBeforeStore { ticks } => {
                let line_use = match f64::from(ticks) < self.rules.merged_ticks {
                    true => LineUse::Store,
                    false => LineUse::Load,
                };
                let end = self.load(task, at, access, line_use);
                self.wait_for_line(task, at, end, access);
            }
            PlacedKind::Locked
            | PlacedKind::CompareExchange { .. }
            | PlacedKind::Acquire { .. } => {
                let end = self.take_when_drained(task, at, access.line);
                self.wait_for_line(task, at, end, access);
            }
        }
    }

    /// Takes a line alone for an atomic instruction, after all stores, and returns when it is there.
    fn take_when_drained(&mut self, task: u32, at: u64, line: u32) -> u64 {
        let begin = at.max(self.cpu_mut(task).drained_at);
        self.lines
            .access(line, self.cpu_of(task), begin, LineUse::Locked)
    }

    /// Loads a word, and returns when it is there: at once, if it is one that the CPU has just stored.
    fn load(&mut self, task: u32, at: u64, access: &PlacedAccess, line_use: LineUse) -> u64 {
        let mut stores = self.cpu_mut(task).stores.iter();
        if stores.any(|(end, word)| *end > at && *word == access.word) {
            return at;
        }
        self.lines
            .access(access.line, self.cpu_of(task), at, line_use)
    }

    /// Goes on with an access when its line is there. Only then is it known what others did to the line before.
    fn wait_for_line(&mut self, task: u32, at: u64, end: u64, access: &PlacedAccess) {
        let own = &mut self.tasks[task as usize];
        own.waited = end - at;
        // The wait for a lock is counted as a whole.
        if own.wait.is_none() {
            self.waits_ps[access.line as usize] += end - at;
        }
        if end == at {
            return self.finish_access(task, at, access);
        }
        own.step = TaskStep::Finish;
        self.schedule_at(task, end);
    }

    /// Ends an access whose line the CPU has.
    fn finish_access(&mut self, task: u32, at: u64, access: &PlacedAccess) {
        let locked_end = at + (self.rules.locked_ns * PS) as u64;
        match access.kind {
            PlacedKind::Load | PlacedKind::LoadBeforeStore { .. } => {
                let version = *self.version(access.word, access.line, task);
                let hidden = (self.rules.overlap_ns * PS) as u64;
                let waited = self.tasks[task as usize].waited;
                self.cpu_mut(task).hidden = hidden.min(waited);
                self.go_on(task, at, version);
            }
            PlacedKind::SequenceCheck { load } => {
                self.check_sequence(task, at, access, load.into());
            }
            PlacedKind::CompareExchange { load } => {
                self.poll_line(access.line, self.cpu_of(task), at);
                self.compare_exchange(task, locked_end, access, load.into());
            }
            PlacedKind::Acquire { lock, mode } => {
                self.poll_line(access.line, self.cpu_of(task), at);
                self.acquire(task, locked_end, access, lock, mode);
            }
            // Stores do not wait for their lines, and have ended.
            PlacedKind::Store | PlacedKind::Release { .. } => {}
            PlacedKind::Locked => {
                self.poll_line(access.line, self.cpu_of(task), at);
                *self.version(access.word, access.line, task) += 1;
                self.go_on(task, locked_end, 0);
            }
        }
    }

    /// Executes a store, and returns when others can see it. The CPU does not wait for that.
    fn store(&mut self, task: u32, at: u64, access: &PlacedAccess) -> u64 {
        let cpu = self.cpu_of(task);
        let end = self.lines.access(access.line, cpu, at, LineUse::Store);
        *self.version(access.word, access.line, task) += 1;
        let own = &mut self.cpus[cpu as usize];
        own.drained_at = own.drained_at.max(end);
        if own.drained_at > at {
            own.stores.push_back((own.drained_at, access.word));
        }
        self.poll_line(access.line, cpu, end);
        end
    }

    /// Ends a check of a sequence count. What was read under one that changed is read once more. Code takes the lock then,
    /// or does without (`read_seqbegin_or_lock`, the walk of a path).
    fn check_sequence(&mut self, task: u32, at: u64, access: &PlacedAccess, load: usize) {
        let version = *self.version(access.word, access.line, task);
        let own = &mut self.tasks[task as usize];
        let has_changed = own
            .loaded
            .get(load)
            .is_some_and(|loaded| *loaded != version);
        if has_changed && own.next >= own.reread_to {
            own.reread_to = own.next + 1;
            own.loaded.truncate(load);
            own.next = load;
            return self.schedule(task, at);
        }
        self.go_on(task, at, version);
    }

    /// Ends a compare-and-exchange. If it fails, it has brought the word, and the next try a few instructions later
    /// finds the line still there.
    fn compare_exchange(&mut self, task: u32, end: u64, access: &PlacedAccess, load: usize) {
        let version = self.version(access.word, access.line, task);
        let current = *version;
        *version += 1;
        let loaded = self.tasks[task as usize].loaded.get(load).copied();
        let has_failed = loaded.is_some_and(|loaded| loaded != current);
        let again = match has_failed {
            true => {
                self.accesses += 1;
                let code = f64::from(access.ticks.min(RETRY_TICKS_MAX)) * self.rules.tick_ns;
                ((code + self.rules.locked_ns) * PS) as u64
            }
            false => 0,
        };
        self.go_on(task, end + again, 0);
    }

    /// Goes on behind an access that loaded a version of its word; only that of a load is asked for later.
    fn go_on(&mut self, task: u32, end: u64, version: u32) {
        let own = &mut self.tasks[task as usize];
        own.loaded.push(version);
        own.next += 1;
        self.schedule(task, end);
    }

    fn version(&mut self, word: u32, line: u32, task: u32) -> &mut u32 {
        let copy = self.lines.copy_of(line, self.cpu_of(task));
        &mut self.versions[self.word_copies[word as usize] + copy]
    }
}

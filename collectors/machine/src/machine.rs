//! The machine: whose turn it is, and until when it may run.

mod accesses;
mod pauses;
mod queues;
mod requests;

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::CPUS_MAX;
use crate::amounts::{ISSUE_DENOMINATOR, RuleAmounts};
use crate::core_map::CoreMap;
use crate::counts::{CpuCounts, MachineCounts};
use crate::cpu::{CpuPhase, MachineCpu};
use crate::line_table::LineTable;
use crate::protocol::CoherenceProtocol;
use crate::request::{CpuTurn, LineRequest};
use crate::rules::MachineRules;
use crate::sites::RequestSites;
use crate::time::SimulatedTime;
use crate::topology::{CpuPlace, MachineTopology};
use crate::turn_order::TurnOrder;
use crate::wait_queue::WaitQueue;

/// Description of a machine and of the guest's CPUs on it.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineSetup {
    /// Cores and the times between them.
    pub topology: MachineTopology,
    /// Rules.
    pub rules: MachineRules,
    /// Place of each CPU of the guest, at most [`CPUS_MAX`].
    pub cpus: Vec<CpuPlace>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// A machine in simulated time. The caller executes one CPU at a time, and the machine says which.
///
/// ```
/// use relayout_machine::*;
///
/// let topology = find_machine("sapphire-rapids-2s").expect("it is in the table").topology;
/// let cpus = CpuPlacement::Pack.places(2, &topology).expect("there is room");
/// let mut rules = MachineRules::default();
/// rules.switch_off(MachineRule::TransferJitter);
/// rules.switch_off(MachineRule::CodeJitter);
/// let mut machine = SimulatedMachine::new(MachineSetup { topology, rules, cpus, seed: 1 });
/// machine.start_cpu(0, SimulatedTime(0));
/// machine.start_cpu(1, SimulatedTime(0));
///
/// let line = LineNumber(0x1000);
/// let address = line.0 << 6;
/// let increment = |cpu, at| LineRequest { cpu, line, address, access: LineAccess::Atomic, site: 1, at };
/// // CPU 0 adds at 5 ns; nobody has used the line.
/// assert_eq!(machine.next_turn(), Some(CpuTurn { cpu: 0, at: SimulatedTime(0) }));
/// assert!(!machine.must_order(0, line, LineAccess::Atomic, SimulatedTime(5_000)));
/// machine.note_access(0, line, LineAccess::Atomic, SimulatedTime(5_000));
/// machine.end_turn(0, SimulatedTime(8_000));
/// // CPU 1 adds at 7 ns, and waits 59 ns for the line. Meanwhile CPU 0 goes on.
/// assert_eq!(machine.next_turn().expect("CPU 1 is behind").cpu, 1);
/// assert!(machine.must_order(1, line, LineAccess::Atomic, SimulatedTime(7_000)));
/// assert!(machine.is_next(1, SimulatedTime(7_000)));
/// assert_eq!(machine.request(increment(1, SimulatedTime(7_000))), LineAnswer::Waits);
/// assert_eq!(machine.next_turn(), Some(CpuTurn { cpu: 0, at: SimulatedTime(8_000) }));
/// machine.go_idle(0, SimulatedTime(20_000));
/// assert_eq!(machine.next_turn(), Some(CpuTurn { cpu: 1, at: SimulatedTime(66_000) }));
/// ```
#[derive(Clone, Debug)]
pub struct SimulatedMachine {
    amounts: RuleAmounts,
    protocol: CoherenceProtocol,
    cores: CoreMap,
    cpus: Vec<MachineCpu>,
    /// Times of CPUs that wait for their turn; the running one has none.
    order: TurnOrder,
    lines: LineTable,
    /// Times at which lines come free that have a queue, with the line's index. A line is here at most once.
    events: BinaryHeap<Reverse<(SimulatedTime, u32)>>,
    waiting: WaitQueue,
    sites: RequestSites,
    counts: MachineCounts,
    now: SimulatedTime,
}

impl SimulatedMachine {
    /// Makes a machine whose CPUs are all idle and whose lines nobody has.
    ///
    /// # Panics
    /// With no CPU, or with more than [`CPUS_MAX`].
    pub fn new(setup: MachineSetup) -> Self {
        let count = setup.cpus.len();
        assert!((1..=CPUS_MAX).contains(&count), "{count} CPUs");
        Self {
            amounts: RuleAmounts::new(&setup.rules, &setup.topology),
            protocol: setup.topology.protocol,
            cores: CoreMap::new(&setup.topology, &setup.cpus),
            cpus: (0..count)
                .map(|cpu| MachineCpu::new(setup.seed, cpu))
                .collect(),
            order: TurnOrder::new(count),
            lines: LineTable::new(),
            events: BinaryHeap::new(),
            waiting: WaitQueue::default(),
            sites: RequestSites::new(),
            counts: MachineCounts {
                cpus: alloc::vec![CpuCounts::default(); count],
                ..MachineCounts::default()
            },
            now: SimulatedTime::default(),
        }
    }

    /// Returns the time before which no CPU acts any more.
    pub fn now(&self) -> SimulatedTime {
        self.now
    }

    /// Starts an idle CPU that executes from a time on.
    pub fn start_cpu(&mut self, cpu: usize, at: SimulatedTime) {
        debug_assert_eq!(self.cpus[cpu].phase, CpuPhase::Idle);
        let at = at.max(self.now);
        self.set_phase(cpu, CpuPhase::Ready, at);
        self.cpus[cpu].last_ordered = at;
        self.order.set(cpu, at);
    }

    /// Ends the turn of a CPU that executed up to a time and wants to go on.
    pub fn end_turn(&mut self, cpu: usize, at: SimulatedTime) {
        debug_assert_eq!(self.cpus[cpu].phase, CpuPhase::Running);
        self.set_phase(cpu, CpuPhase::Ready, at);
        self.order.set(cpu, at);
    }

    /// Returns the CPU whose turn it is: that with the smallest time, and among equals that with the smallest number.
    /// Lines that come free before then go to those that wait for them. None: all CPUs are idle.
    ///
    /// A CPU that waited for a line executes the instruction first, without another request.
    pub fn next_turn(&mut self) -> Option<CpuTurn> {
        loop {
            let (at, cpu) = self.order.first();
            if let Some(&Reverse((free_at, line))) = self.events.peek()
                && free_at <= at
            {
                self.events.pop();
                self.now = self.now.max(free_at);
                self.serve(line as usize, free_at);
                continue;
            }
            if at == SimulatedTime::NEVER {
                return None;
            }
            self.now = self.now.max(at);
            self.order.set(cpu, SimulatedTime::NEVER);
            if self.begin_turn(cpu, at) {
                return Some(CpuTurn { cpu, at });
            }
        }
    }

    /// Lets a CPU go on whose time has come, and returns whether it executes.
    fn begin_turn(&mut self, cpu: usize, at: SimulatedTime) -> bool {
        let phase = self.cpus[cpu].phase;
        if let CpuPhase::Requesting(request) | CpuPhase::Storing(request) = phase {
            return self.perform(LineRequest { at, ..request });
        }
        self.set_phase(cpu, CpuPhase::Running, at);
        match phase {
            CpuPhase::Waiting(held) => self.execute_held(&held, at),
            CpuPhase::Pausing => self.end_pause(cpu, at),
            CpuPhase::Idle => self.cpus[cpu].last_ordered = at,
            _ => {}
        }
        true
    }

    /// Returns the time up to which a CPU may execute uncontended code in its turn: [`SimulatedTime::NEVER`] if all
    /// others are idle. An interrupt of another CPU makes it earlier.
    pub fn run_until(&self, cpu: usize) -> SimulatedTime {
        debug_assert_eq!(self.order.time_of(cpu), SimulatedTime::NEVER);
        let next = self.order.first().0.min(self.next_event());
        next.after(self.amounts.quantum_ps)
    }

    /// Returns the time at which a CPU or a line that is waited for acts next; NEVER if all CPUs are idle.
    pub fn next_time(&self) -> SimulatedTime {
        self.order.first().0.min(self.next_event())
    }

    /// Returns whether nobody else has something to do before the running CPU's time `at`.
    pub fn is_next(&self, cpu: usize, at: SimulatedTime) -> bool {
        (at, cpu) < self.order.first() && at < self.next_event()
    }

    /// Returns the time at which the next line comes free that somebody waits for.
    fn next_event(&self) -> SimulatedTime {
        let next = self.events.peek();
        next.map_or(SimulatedTime::NEVER, |&Reverse((at, _))| at)
    }

    /// Ends the turn of a CPU that has nothing to execute.
    pub fn go_idle(&mut self, cpu: usize, at: SimulatedTime) {
        debug_assert_eq!(self.cpus[cpu].phase, CpuPhase::Running);
        self.set_phase(cpu, CpuPhase::Idle, at);
    }

    /// Interrupts a CPU: an idle one executes after the time of a wake-up, a pausing one after that of an interrupt.
    /// Others see the interrupt when they go on.
    pub fn interrupt(&mut self, cpu: usize, at: SimulatedTime) {
        let from = at.max(self.now).max(self.counts.cpus[cpu].to);
        let until = match self.cpus[cpu].phase {
            CpuPhase::Idle => from.after(self.amounts.wake_up_ps),
            CpuPhase::Pausing => from.after(self.amounts.interrupt_ps),
            _ => return,
        };
        self.order.set(cpu, until.min(self.order.time_of(cpu)));
    }

    /// Returns numerator and denominator of the factor by which code of a CPU takes longer now, because another thread
    /// of its core executes.
    pub fn issue_factor(&self, cpu: usize) -> (u64, u64) {
        let threads = self.cores.cpus_of(self.cores.core_of(cpu)).without(cpu);
        let is_shared = threads
            .iter()
            .any(|other| self.cpus[other].phase.executes());
        match is_shared {
            true => (self.amounts.shared_issue, ISSUE_DENOMINATOR),
            false => (1, 1),
        }
    }

    /// Returns the counts. Time that a CPU waits is in them when it ends, or up to
    /// [`SimulatedMachine::bring_counts_to`].
    pub fn counts(&self) -> &MachineCounts {
        &self.counts
    }

    /// Adds the time up to `at` of CPUs that wait, pause or are idle.
    pub fn bring_counts_to(&mut self, at: SimulatedTime) {
        for cpu in 0..self.cpus.len() {
            if !self.cpus[cpu].phase.executes() {
                self.account(cpu, at.min(self.order.time_of(cpu)));
            }
        }
    }

    /// Sets all counts to 0. Those of a CPU begin now, or at its clock if that is ahead.
    pub fn reset_counts(&mut self) {
        self.bring_counts_to(self.now);
        self.counts.reset();
    }

    fn set_phase(&mut self, cpu: usize, phase: CpuPhase, at: SimulatedTime) {
        self.account(cpu, at);
        self.cpus[cpu].phase = phase;
    }

    /// Adds the time up to `at` to the CPU's activity, and to the line and site that it waits for.
    fn account(&mut self, cpu: usize, at: SimulatedTime) {
        let counts = &mut self.counts.cpus[cpu];
        let phase = &self.cpus[cpu].phase;
        let waited_ps = at.since(counts.to);
        match phase {
            CpuPhase::Waiting(held) => {
                self.counts.lines[held.line as usize].wait_ps += waited_ps;
                self.counts.sites[held.site as usize].wait_ps += waited_ps;
                self.counts.accesses[held.counted_access as usize].wait_ps += waited_ps;
            }
            CpuPhase::Storing(request) => {
                let site = self.sites.index(request.site, &mut self.counts.sites);
                self.counts.sites[site as usize].wait_ps += waited_ps;
            }
            _ => {}
        }
        counts.spend(phase.activity(), at);
    }
}

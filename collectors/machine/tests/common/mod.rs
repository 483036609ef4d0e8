//! A caller of the machine whose CPUs execute small programs.
#![allow(dead_code)]

use std::collections::{HashMap, VecDeque};

use relayout_machine::{
    CoherenceProtocol, CpuPlacement, DistanceTimes, LineAccess, LineAnswer, LineNumber,
    LineRequest, MachineRule, MachineRules, MachineSetup, MachineTopology, SimulatedMachine,
    SimulatedTime,
};

pub const NS: u64 = 1000;

/// Cores that are all 100 ns from each other.
pub fn flat(cores: u32) -> MachineTopology {
    MachineTopology {
        sockets: 1,
        cores,
        cluster_cores: cores,
        threads: 1,
        times: DistanceTimes {
            cluster: 100.0,
            socket: 100.0,
            other_socket: 100.0,
        },
        protocol: CoherenceProtocol::MESIF,
    }
}

/// Two sockets of four cores in clusters of two, with two threads each: CPUs 0 and 8 share a core, 0 and 1 a cluster, 0
/// and 2 a socket.
pub fn layered() -> MachineTopology {
    MachineTopology {
        sockets: 2,
        cores: 4,
        cluster_cores: 2,
        threads: 2,
        times: DistanceTimes {
            cluster: 40.0,
            socket: 100.0,
            other_socket: 200.0,
        },
        protocol: CoherenceProtocol::MESIF,
    }
}

/// Expected rules without anything random, and without CPUs that are ahead of others.
pub fn exact() -> MachineRules {
    let mut rules = MachineRules::default();
    rules.switch_off(MachineRule::TransferJitter);
    rules.switch_off(MachineRule::CodeJitter);
    rules.switch_off(MachineRule::PollPeriod);
    rules.switch_off(MachineRule::Quantum);
    rules
}

/// [`exact`], with some values changed.
pub fn exact_with(values: &[(MachineRule, f64)]) -> MachineRules {
    let mut rules = exact();
    for &(rule, value) in values {
        rules.set(rule, value);
    }
    rules
}

pub fn setup(topology: MachineTopology, rules: MachineRules, cpus: usize) -> MachineSetup {
    MachineSetup {
        cpus: CpuPlacement::Pack
            .places(cpus, &topology)
            .expect("there is room"),
        topology,
        rules,
        seed: 1,
    }
}

/// Step of a program.
#[derive(Clone, Copy, Debug)]
pub enum CpuStep {
    /// Code without contended accesses, in picoseconds.
    Code(u64),
    /// Access to a line, by a site.
    Access(u64, LineAccess, u32),
    Pause,
    Interrupt(usize),
    Halt,
}

/// An executed access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecutedAccess {
    pub at: SimulatedTime,
    pub cpu: usize,
    pub line: u64,
    pub access: LineAccess,
}

/// Memory of the guest: a word for each line.
pub type GuestMemory = HashMap<u64, u64>;

/// Executes programs until a time. `step` returns the next step of a CPU, given its time. It is called when the step
/// before was executed and before any other CPU executes, so what it does to memory is atomic.
pub struct GuestRun<F> {
    pub machine: SimulatedMachine,
    pub memory: GuestMemory,
    pub executed: Vec<ExecutedAccess>,
    pub turns: Vec<(usize, SimulatedTime)>,
    step: F,
    clocks: Vec<SimulatedTime>,
    waiting: Vec<Option<(u64, LineAccess)>>,
    end: SimulatedTime,
}

impl<F: FnMut(usize, SimulatedTime, &mut GuestMemory) -> CpuStep> GuestRun<F> {
    pub fn new(setup: MachineSetup, end_ns: u64, step: F) -> Self {
        let cpus = setup.cpus.len();
        let mut machine = SimulatedMachine::new(setup);
        for cpu in 0..cpus {
            machine.start_cpu(cpu, SimulatedTime(0));
        }
        Self {
            machine,
            memory: HashMap::new(),
            executed: Vec::new(),
            turns: Vec::new(),
            step,
            clocks: vec![SimulatedTime(0); cpus],
            waiting: vec![None; cpus],
            end: SimulatedTime(end_ns * NS),
        }
    }

    /// Runs until all CPUs are idle, which they are when they reach the end.
    pub fn run(mut self) -> Self {
        while let Some(turn) = self.machine.next_turn() {
            let before = self.turns.last().map_or(SimulatedTime(0), |last| last.1);
            assert!(before <= turn.at, "{before:?} before {turn:?}");
            assert!(self.machine.now() <= turn.at);
            self.turns.push((turn.cpu, turn.at));
            self.clocks[turn.cpu] = turn.at;
            if let Some((line, access)) = self.waiting[turn.cpu].take() {
                self.note(turn.cpu, line, access);
            }
            while self.step_once(turn.cpu) {}
        }
        assert!(
            self.waiting.iter().all(Option::is_none),
            "a CPU waits for ever"
        );
        self
    }

    fn note(&mut self, cpu: usize, line: u64, access: LineAccess) {
        self.executed.push(ExecutedAccess {
            at: self.clocks[cpu],
            cpu,
            line,
            access,
        });
    }

    /// Executes a step, and returns whether the CPU still has its turn.
    fn step_once(&mut self, cpu: usize) -> bool {
        let clock = self.clocks[cpu];
        if clock >= self.end {
            self.machine.go_idle(cpu, clock);
            return false;
        }
        if clock > self.machine.run_until(cpu) {
            self.machine.end_turn(cpu, clock);
            return false;
        }
        match (self.step)(cpu, clock, &mut self.memory) {
            CpuStep::Code(ps) => {
                let (numerator, denominator) = self.machine.issue_factor(cpu);
                self.clocks[cpu] = clock.after(ps * numerator / denominator);
                true
            }
            CpuStep::Access(line, access, site) => self.access(cpu, line, access, site),
            CpuStep::Pause => {
                self.machine.pause(cpu, clock);
                false
            }
            CpuStep::Interrupt(other) => {
                self.machine.interrupt(other, clock);
                true
            }
            CpuStep::Halt => {
                self.machine.go_idle(cpu, clock);
                false
            }
        }
    }

    fn access(&mut self, cpu: usize, line: u64, access: LineAccess, site: u32) -> bool {
        let (number, at) = (LineNumber(line), self.clocks[cpu]);
        if !self.machine.must_order(cpu, number, access, at) {
            self.machine.note_access(cpu, number, access, at);
            self.note(cpu, line, access);
            return true;
        }
        let request = LineRequest {
            cpu,
            line: number,
            address: line << 6,
            access,
            site,
            at,
        };
        match self.machine.request(request) {
            LineAnswer::Now(time) => {
                assert!(time >= at);
                self.clocks[cpu] = time;
                self.note(cpu, line, access);
                true
            }
            LineAnswer::Waits => {
                self.waiting[cpu] = Some((line, access));
                false
            }
        }
    }

    /// Times in nanoseconds at which a CPU executed accesses.
    pub fn times_ns(&self, cpu: usize) -> Vec<u64> {
        let own = self.executed.iter().filter(|access| access.cpu == cpu);
        own.map(|access| access.at.0 / NS).collect()
    }

    /// Accesses that were executed to a line.
    pub fn count(&self, line: u64) -> u64 {
        let same = self.executed.iter().filter(|access| access.line == line);
        same.count() as u64
    }
}

/// Access that a CPU executes at a time, or later if it is late.
#[derive(Clone, Copy, Debug)]
pub struct ScriptStep {
    pub cpu: usize,
    pub at_ns: u64,
    pub step: CpuStep,
}

pub fn at(at_ns: u64, cpu: usize, line: u64, access: LineAccess) -> ScriptStep {
    // The site of a load is that of loads.
    let step = CpuStep::Access(line, access, access.stores().into());
    ScriptStep { cpu, at_ns, step }
}

/// Executes a script, and returns the run.
pub fn run_script(
    setup: MachineSetup,
    script: &[ScriptStep],
) -> GuestRun<impl FnMut(usize, SimulatedTime, &mut GuestMemory) -> CpuStep> {
    let mut steps: Vec<VecDeque<ScriptStep>> = vec![VecDeque::new(); setup.cpus.len()];
    for step in script {
        steps[step.cpu].push_back(*step);
    }
    let next_step = move |cpu: usize, clock: SimulatedTime, _: &mut GuestMemory| {
        let Some(next) = steps[cpu].front() else {
            return CpuStep::Halt;
        };
        let wait = SimulatedTime(next.at_ns * NS).since(clock);
        if wait > 0 {
            return CpuStep::Code(wait);
        }
        steps[cpu].pop_front().expect("it is there").step
    };
    GuestRun::new(setup, u64::MAX / NS, next_step).run()
}

/// Time in nanoseconds of the last access of a CPU in a script.
pub fn last_ns(setup: MachineSetup, script: &[ScriptStep], cpu: usize) -> u64 {
    let run = run_script(setup, script);
    *run.times_ns(cpu).last().expect("it accessed something")
}

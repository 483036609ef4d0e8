//! Properties of all runs, and the machine against a slow reading of the rules.

mod common;

use common::{CpuStep, GuestRun, NS, at, exact_with, flat, layered, run_script, setup};
use proptest::prelude::*;
use relayout_machine::{
    CoherenceProtocol, LineAccess, MachineRule, MachineRules, MachineSetup, MachineTopology,
    SimulatedTime,
};

fn any_access() -> impl Strategy<Value = LineAccess> {
    prop_oneof![
        3 => Just(LineAccess::Load),
        2 => Just(LineAccess::Store),
        1 => Just(LineAccess::Update),
        2 => Just(LineAccess::Atomic),
    ]
}

fn any_step() -> impl Strategy<Value = CpuStep> {
    prop_oneof![
        3 => (0..3000_u64).prop_map(|ns| CpuStep::Code(ns * 100)),
        6 => (0..4_u64, any_access(), 0..6_u32)
            .prop_map(|(line, access, site)| CpuStep::Access(line, access, site)),
        1 => Just(CpuStep::Pause),
        1 => (0..12_usize).prop_map(CpuStep::Interrupt),
        1 => Just(CpuStep::Halt),
    ]
}

/// A value for each rule that is somewhere in its range, or off.
fn any_rules() -> impl Strategy<Value = MachineRules> {
    prop::collection::vec((0..4_u8, 0.0..1.0_f64), relayout_machine::RULES.len()).prop_map(
        |units| {
            let mut rules = MachineRules::default();
            for (facts, (choice, unit)) in relayout_machine::RULES.iter().zip(units) {
                match choice {
                    0 => rules.switch_off(facts.rule),
                    1 => rules.set(facts.rule, facts.low + (facts.high - facts.low) * unit),
                    _ => {}
                }
            }
            // A few stores fill the buffer.
            if units_are_even(&rules) {
                rules.set(MachineRule::StoresInFlight, 2.0);
            }
            rules
        },
    )
}

fn units_are_even(rules: &MachineRules) -> bool {
    (rules.value(MachineRule::LoadOverlap) as u64).is_multiple_of(2)
}

fn any_setup() -> impl Strategy<Value = MachineSetup> {
    (0..3_usize, any_rules(), any::<u64>()).prop_map(|(protocol, rules, seed)| {
        let topology = MachineTopology {
            protocol: CoherenceProtocol::ALL[protocol],
            ..layered()
        };
        MachineSetup {
            seed,
            ..setup(topology, rules, 12)
        }
    })
}

/// Runs programs that begin again at their end.
fn run_programs(setup: MachineSetup, programs: &[Vec<CpuStep>]) -> Vec<common::ExecutedAccess> {
    let mut next = vec![0; 12];
    let run = GuestRun::new(setup, 100_000, |cpu, _, _| {
        next[cpu] += 1;
        // No program goes on for ever without time.
        match next[cpu] % 4 {
            0 => CpuStep::Code(50 * NS),
            _ => programs[cpu][next[cpu] % programs[cpu].len()],
        }
    });
    let mut run = run.run();
    run.machine.bring_counts_to(SimulatedTime(1_000_000 * NS));
    for cpu in &run.machine.counts().cpus {
        assert_eq!(cpu.times_ps.iter().sum::<u64>(), cpu.to.since(cpu.from));
        assert!(cpu.to >= SimulatedTime(1_000_000 * NS));
    }
    let counts = run.machine.counts();
    let stall = |cpu: &relayout_machine::CpuCounts| cpu.times_ps[1..5].iter().sum::<u64>();
    let stalls: u64 = counts.cpus.iter().map(stall).sum();
    let by_site: u64 = counts.sites.iter().map(|site| site.wait_ps).sum();
    assert_eq!(stalls, by_site);
    run.executed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// [`GuestRun::run`] checks that time does not go back, and that no CPU waits for ever.
    #[test]
    fn time_goes_on_and_adds_up(
        setup in any_setup(),
        programs in prop::collection::vec(prop::collection::vec(any_step(), 1..12), 12),
    ) {
        let first = run_programs(setup.clone(), &programs);
        prop_assert_eq!(first, run_programs(setup, &programs));
    }

    #[test]
    fn first_come_lines_are_as_the_reference(
        accesses in prop::collection::vec((0..6_usize, 1..400_u64, 0..3_u64, any::<bool>()), 1..80),
    ) {
        let mut clock = 1000;
        let script: Vec<_> = accesses
            .iter()
            .map(|&(cpu, ns, line, loads)| {
                clock += ns;
                let access = if loads { LineAccess::Load } else { LineAccess::Atomic };
                (clock, cpu, line, access)
            })
            .collect();
        let mut steps: Vec<_> = (0..3).map(|line| at(0, 0, line, LineAccess::Store)).collect();
        // All lines are known to all, so that everything is ordered.
        steps.extend((1..6).flat_map(|cpu| {
            (0..3).map(move |line| at(100 * cpu as u64, cpu, line, LineAccess::Atomic))
        }));
        let known = steps.len();
        steps.extend(script.iter().map(|&(ns, cpu, line, access)| at(ns + 1000, cpu, line, access)));
        let rules = exact_with(&[
            (MachineRule::LoadOverlap, 0.0),
            (MachineRule::LoadBeforeStore, 0.0),
            (MachineRule::OrderedWithin, 1e9),
        ]);
        let run = run_script(setup(flat(6), rules, 6), &steps);
        let expected = reference::executed(&steps);
        prop_assert_eq!(expected.len(), known + script.len());
        let mut found: Vec<_> = run
            .executed
            .iter()
            .map(|access| (access.at.0, access.cpu, access.line))
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}

/// First-come lines, read from the rules: each request looks at all lines and CPUs.
mod reference {
    use relayout_machine::LineAccess;

    use super::common::{CpuStep, ScriptStep};

    const TRANSFER: u64 = 100_000;
    const OCCUPATION: u64 = 4_000;

    #[derive(Clone, Default)]
    struct Line {
        owner: Option<usize>,
        readers: Vec<usize>,
        free_at: u64,
        /// CPUs that use what they lost, whether they had it alone, and until when.
        kept: Vec<(usize, bool, u64)>,
    }

    impl Line {
        /// Returns when a request at `at` is done.
        fn access(&mut self, cpu: usize, stores: bool, at: u64) -> u64 {
            let has = self.owner == Some(cpu) || (!stores && self.readers.contains(&cpu));
            let keeps = self
                .kept
                .iter()
                .any(|&(other, alone, until)| other == cpu && at < until && (alone || !stores));
            if has || keeps {
                return at;
            }
            let start = at.max(self.free_at);
            let time = match (self.owner, stores) {
                (Some(_), _) => TRANSFER,
                (None, true) if self.readers.contains(&cpu) => TRANSFER * 3 / 4,
                (None, true) => TRANSFER,
                (None, false) => TRANSFER / 2,
            };
            let is_clean_read = self.owner.is_none() && !stores;
            let until = start + time * 4 / 10;
            if let Some(owner) = self.owner {
                self.kept.push((owner, true, until));
            }
            if stores {
                let readers = self.readers.iter().filter(|&&reader| reader != cpu);
                self.kept
                    .extend(readers.map(|&reader| (reader, false, until)));
                self.readers.clear();
                self.owner = Some(cpu);
            } else {
                self.readers.extend(self.owner.take());
                self.readers.push(cpu);
            }
            let hold = if is_clean_read { OCCUPATION } else { time };
            self.free_at = start + hold;
            start + time
        }
    }

    /// Executes a script of loads and atomics in the order of requests.
    pub fn executed(steps: &[ScriptStep]) -> Vec<(u64, usize, u64)> {
        let mut lines = vec![Line::default(); 3];
        let mut clocks = [0_u64; 6];
        let mut left: Vec<&ScriptStep> = steps.iter().collect();
        let mut executed = Vec::new();
        while !left.is_empty() {
            // The first step of each CPU; the earliest is next.
            let ready = |step: &&ScriptStep| (step.at_ns * 1000).max(clocks[step.cpu]);
            let first_of_cpu =
                |at: &usize| left[..*at].iter().all(|step| step.cpu != left[*at].cpu);
            let next = (0..left.len())
                .filter(first_of_cpu)
                .min_by_key(|&at| (ready(&left[at]), left[at].cpu))
                .expect("some are left");
            let at = ready(&left[next]);
            let step = left.remove(next);
            let CpuStep::Access(line, access, _) = step.step else {
                unreachable!("the script has accesses only");
            };
            let stores = access != LineAccess::Load;
            let done = match executed.is_empty()
                || lines[line as usize].owner.is_none() && lines[line as usize].readers.is_empty()
            {
                // Nobody has used the line.
                true => {
                    lines[line as usize].owner = Some(step.cpu);
                    at
                }
                false => lines[line as usize].access(step.cpu, stores, at),
            };
            clocks[step.cpu] = done;
            executed.push((done, step.cpu, line));
        }
        executed.sort_unstable();
        executed
    }
}

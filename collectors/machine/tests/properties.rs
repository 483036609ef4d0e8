//! Properties of all runs, and the machine against a slow reading of the rules.

use crate::common::{CpuStep, GuestRun, NS, at, exact_with, flat, layered, run_script, setup};
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
fn run_programs(
    setup: MachineSetup,
    programs: &[Vec<CpuStep>],
) -> Vec<crate::common::ExecutedAccess> {
    let mut next = [0; 12];
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
    let by_line: u64 = counts.lines.iter().map(|line| line.wait_ps).sum();
    let by_access: u64 = counts.accesses.iter().map(|access| access.wait_ps).sum();
    assert_eq!(by_line, by_access);
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
        accesses in prop::collection::vec((0..6_usize, 0..400_u64, 0..3_u64, any_access()), 1..80),
    ) {
        // All lines are known to all, so that everything is ordered.
        let mut steps: Vec<_> = (0..3).map(|line| at(0, 0, line, LineAccess::Store)).collect();
        steps.extend((1..6).flat_map(|cpu| {
            (0..3).map(move |line| at(1000 * cpu as u64, cpu, line, LineAccess::Atomic))
        }));
        let mut clock = 10_000;
        for &(cpu, ns, line, access) in &accesses {
            clock += ns;
            steps.push(at(clock, cpu, line, access));
        }
        let rules = exact_with(&[
            (MachineRule::LoadOverlap, 0.0),
            (MachineRule::LoadBeforeStore, 0.0),
            (MachineRule::OrderedWithin, 1e9),
        ]);
        let run = run_script(setup(flat(6), rules, 6), &steps);
        let mut found: Vec<_> = run
            .executed
            .iter()
            .map(|access| (access.at.0, access.cpu, access.line))
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, reference::executed(&steps));
    }
}

/// First-come lines, read from the rules: each access is done in the order in which the CPUs ask.
mod reference {
    use relayout_machine::LineAccess;

    use crate::common::{CpuStep, ScriptStep};

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
            if self.owner.is_none() && self.readers.is_empty() {
                // Nobody has used the line.
                self.owner = Some(cpu);
                return at;
            }
            let has = self.owner == Some(cpu) || (!stores && self.readers.contains(&cpu));
            let mut kept = self.kept.iter();
            if has
                || kept
                    .any(|&(other, alone, until)| other == cpu && at < until && (alone || !stores))
            {
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
            self.free_at = start + if is_clean_read { OCCUPATION } else { time };
            start + time
        }
    }

    /// Executes a script, and returns time, CPU and line of each access.
    pub fn executed(steps: &[ScriptStep]) -> Vec<(u64, usize, u64)> {
        let mut lines = vec![Line::default(); 3];
        let mut clocks = [0_u64; 6];
        // Line of each waiting store, and when it arrives.
        let mut stores: Vec<Vec<(u64, u64)>> = vec![Vec::new(); 6];
        let mut left: Vec<&ScriptStep> = steps.iter().collect();
        let mut executed = Vec::new();
        while !left.is_empty() {
            let asks_at = |step: &ScriptStep| {
                let at = (step.at_ns * 1000).max(clocks[step.cpu]);
                let drained_at = stores[step.cpu].iter().map(|store| store.1).max();
                match step.step {
                    CpuStep::Access(_, LineAccess::Atomic, _) => at.max(drained_at.unwrap_or(0)),
                    _ => at,
                }
            };
            // Of the first steps of all CPUs, the earliest.
            let is_first = |at: &usize| left[..*at].iter().all(|step| step.cpu != left[*at].cpu);
            let next = (0..left.len())
                .filter(is_first)
                .min_by_key(|&at| (asks_at(left[at]), left[at].cpu))
                .expect("some are left");
            let at = asks_at(left[next]);
            let step = left.remove(next);
            let CpuStep::Access(line, access, _) = step.step else {
                unreachable!("the script has accesses only");
            };
            let own_stores = &mut stores[step.cpu];
            let is_waiting = own_stores
                .iter()
                .any(|store| store.0 == line && store.1 > at);
            let done = if is_waiting {
                at
            } else {
                lines[line as usize].access(step.cpu, access != LineAccess::Load, at)
            };
            if access == LineAccess::Store {
                own_stores.push((line, done));
            }
            clocks[step.cpu] = if access == LineAccess::Store {
                at
            } else {
                done
            };
            executed.push((clocks[step.cpu], step.cpu, line));
        }
        executed.sort_unstable();
        executed
    }
}

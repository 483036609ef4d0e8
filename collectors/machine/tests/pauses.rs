//! Pauses, idle CPUs and locks.

use crate::common::{
    CpuStep, GuestRun, NS, ScriptStep, at, exact, exact_with, flat, run_script, setup,
};
use relayout_machine::LineAccess::{Atomic, Load, Store};
use relayout_machine::{CpuActivity, MachineRule, MachineRules, SimulatedTime};

const LINE: u64 = 64;

fn step(at_ns: u64, cpu: usize, step: CpuStep) -> ScriptStep {
    ScriptStep { cpu, at_ns, step }
}

#[test]
fn a_pause_ends_when_the_line_is_stored_to() {
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Load),
        step(1100, 1, CpuStep::Pause),
        at(0, 1, LINE, Load),
        at(3000, 0, LINE, Store),
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    // The store takes the line back from 3000 to 3075; CPU 1 uses its copy until 3030, and then moves the line again.
    assert_eq!(run.times_ns(1), [1050, 3125]);
    let cpu = &run.machine.counts().cpus[1];
    assert_eq!(cpu.time_ps(CpuActivity::Pausing), 1930 * NS);
    assert_eq!((cpu.pauses, cpu.sleeps), (1, 1));
}

#[test]
fn a_pause_ends_when_a_store_gets_the_line_for_which_it_waits() {
    // CPU 2 reads from 2000 to 2040, CPU 0 stores at 2002, and CPU 1 keeps its copy for 0.4 of the upgrade behind that.
    let mut rules = exact();
    rules.set(MachineRule::CleanReadOccupation, 40.0);
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Load),
        step(1100, 1, CpuStep::Pause),
        at(0, 1, LINE + 2, Load),
        at(2000, 2, LINE, Load),
        at(2002, 0, LINE, Store),
    ];
    let run = run_script(setup(flat(3), rules, 3), &script);
    assert_eq!(run.times_ns(1), [1050, 2070]);
}

#[test]
fn a_pause_ends_when_the_copy_arrives_that_was_stored_to_on_its_way() {
    // CPU 0 loses the line at 1000 and goes on using it until 1060; CPU 1 loads at 1050, ahead of its copy at 1100.
    let rules = exact_with(&[(MachineRule::HoldAfterLoss, 0.6)]);
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Load),
        step(1052, 1, CpuStep::Pause),
        at(0, 1, LINE, Load),
        at(1055, 0, LINE, Store),
    ];
    let run = run_script(setup(flat(2), rules, 2), &script);
    assert_eq!(run.times_ns(1), [1050, 1100]);
}

#[test]
fn a_pause_does_not_sleep_if_the_line_has_changed() {
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Load),
        at(1200, 0, LINE, Store),
        step(2000, 1, CpuStep::Pause),
        at(0, 1, LINE + 2, Load),
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(1), [1050, 2000]);
    assert_eq!(run.machine.counts().cpus[1].sleeps, 0);
}

#[test]
fn a_pause_without_loads_does_not_sleep() {
    let script = [step(1000, 0, CpuStep::Pause), at(0, 0, LINE, Load)];
    let run = run_script(setup(flat(1), exact(), 1), &script);
    assert_eq!(run.times_ns(0), [1000]);
}

#[test]
fn own_stores_do_not_end_a_pause() {
    // A spin on an exchange: both CPUs store, and each waits for the other.
    let script = [
        at(0, 0, LINE, Store),
        at(1000, 1, LINE, Atomic),
        step(1200, 1, CpuStep::Pause),
        at(0, 1, LINE, Atomic),
        at(2000, 0, LINE, Store),
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(1), [1100, 2200]);
}

#[test]
fn a_pause_waits_for_the_lines_loaded_since_the_last_one() {
    let script = [
        at(1000, 0, LINE, Load),
        step(1000, 0, CpuStep::Pause),
        at(0, 0, LINE + 2, Load),
        step(0, 0, CpuStep::Pause),
        at(0, 0, LINE + 2, Load),
        at(8000, 1, LINE, Store),
        at(9000, 1, LINE + 2, Store),
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(0)[..2], [1000, 6000]);
    // CPU 0 keeps its copy until 9040, and the store has the line at 9100.
    assert_eq!(run.times_ns(0)[2], 9150);
}

#[test]
fn sleep_is_no_code_that_jitters() {
    let mut rules = exact();
    let jitter = MachineRule::CodeJitter;
    rules.set(jitter, jitter.facts().expected);
    let script = [
        at(0, 1, LINE, Store),
        step(100, 0, CpuStep::Halt),
        step(0, 0, CpuStep::Code(10 * NS)),
        at(0, 0, LINE, Atomic),
        step(100_000, 1, CpuStep::Interrupt(0)),
    ];
    let run = run_script(setup(flat(2), rules, 2), &script);
    let executed_at = run.executed.last().expect("it added").at;
    let exactly = SimulatedTime((100_000 + 1500 + 10 + 100) * NS);
    assert!(executed_at.since(exactly) <= NS, "{executed_at:?}");
}

#[test]
fn an_idle_cpu_is_woken_by_an_interrupt() {
    let script = [
        at(100, 0, LINE, Load),
        step(200, 0, CpuStep::Halt),
        at(0, 0, LINE, Load),
        step(5000, 1, CpuStep::Interrupt(0)),
    ];
    let mut run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(0), [100, 6500]);
    run.machine.bring_counts_to(SimulatedTime(10_000 * NS));
    let cpu = &run.machine.counts().cpus[0];
    assert_eq!(cpu.time_ps(CpuActivity::Idle), (10_000 - 200) * NS);
    assert_eq!(cpu.to.since(cpu.from), 10_000 * NS);
}

#[test]
fn an_interrupt_ends_a_pause() {
    let script = [
        at(1000, 0, LINE, Load),
        step(1000, 0, CpuStep::Pause),
        at(0, 0, LINE, Load),
        step(2000, 1, CpuStep::Interrupt(0)),
    ];
    let run = run_script(setup(flat(2), exact(), 2), &script);
    assert_eq!(run.times_ns(0), [1000, 3500]);
}

/// A lock that CPUs take with an exchange, poll with pauses, and hold for 100 ns; returns acquisitions by CPU.
fn lock_runs(cpus: usize, rules: MachineRules, seed: u64) -> (Vec<u64>, u64) {
    #[derive(Clone, Copy)]
    enum Doing {
        Polling,
        Exchanging,
        Holding,
        Releasing,
        Elsewhere,
    }
    let mut doing = vec![Doing::Polling; cpus];
    let mut holders = 0;
    let mut taken = vec![0; cpus];
    let mut setup = setup(flat(cpus as u32), rules, cpus);
    setup.seed = seed;
    let run = GuestRun::new(setup, 200_000, |cpu, _, memory| {
        let lock = memory.entry(LINE).or_insert(0);
        match doing[cpu] {
            Doing::Polling => {
                doing[cpu] = Doing::Exchanging;
                CpuStep::Access(LINE, Load, 1)
            }
            Doing::Exchanging if *lock != 0 => {
                doing[cpu] = Doing::Polling;
                CpuStep::Pause
            }
            Doing::Exchanging => {
                doing[cpu] = Doing::Holding;
                CpuStep::Access(LINE, Atomic, 2)
            }
            Doing::Holding if *lock != 0 => {
                doing[cpu] = Doing::Polling;
                CpuStep::Code(NS)
            }
            Doing::Holding => {
                *lock = 1;
                holders += 1;
                assert_eq!(holders, 1, "mutual exclusion");
                taken[cpu] += 1;
                doing[cpu] = Doing::Releasing;
                CpuStep::Code(100 * NS)
            }
            Doing::Releasing => {
                doing[cpu] = Doing::Elsewhere;
                CpuStep::Access(LINE, Store, 3)
            }
            Doing::Elsewhere => {
                *lock = 0;
                holders -= 1;
                doing[cpu] = Doing::Polling;
                CpuStep::Code(500 * NS)
            }
        }
    });
    let run = run.run();
    let sleeps = run.machine.counts().cpus.iter().map(|cpu| cpu.sleeps).sum();
    (taken, sleeps)
}

#[test]
fn a_lock_is_held_by_one_cpu_and_all_get_it() {
    for cpus in [1, 2, 8, 32] {
        let (taken, sleeps) = lock_runs(cpus, MachineRules::default(), 1);
        // Of many CPUs that try again and again in turn, the same ones come behind each release.
        let is_fair = taken.iter().all(|&count| count > 0);
        assert!(is_fair || cpus > 8, "{cpus} CPUs: {taken:?}");
        let all: u64 = taken.iter().sum();
        assert!(all > 300, "{cpus} CPUs took it {all} times");
        assert_eq!(sleeps > 0, cpus > 1);
    }
}

#[test]
fn the_seed_decides() {
    let run = |seed| lock_runs(8, MachineRules::default(), seed);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

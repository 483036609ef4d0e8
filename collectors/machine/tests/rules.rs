//! Each rule, with its value and switched off.

use crate::common::{CpuStep, ScriptStep, at, exact, flat, last_ns, layered, run_script, setup};
use relayout_machine::LineAccess::{Atomic, Load, Store};
use relayout_machine::{
    LineNumber, MachineRule, MachineRules, RULES, SimulatedMachine, SimulatedTime, TransferKind,
};

const LINE: u64 = 64;

/// Runs what the rule changes, and returns the number that it changes: nanoseconds of the last access, unless said.
fn observe(rule: MachineRule, rules: MachineRules) -> u64 {
    use MachineRule as Rule;
    let two = |rules| setup(flat(2), rules, 2);
    let first = at(0, 0, LINE, Store);
    match rule {
        Rule::TransferTime | Rule::TransferJitter | Rule::CodeJitter => {
            last_ns(two(rules), &[first, at(1000, 1, LINE, Atomic)], 1)
        }
        Rule::Upgrade => {
            let load = at(1000, 1, LINE, Load);
            last_ns(two(rules), &[first, load, at(2000, 1, LINE, Atomic)], 1)
        }
        Rule::CleanRead => {
            let loads = [first, at(1000, 1, LINE, Load), at(2000, 2, LINE, Load)];
            last_ns(setup(flat(3), no_overlap(rules), 3), &loads, 2)
        }
        Rule::CleanReadOccupation => {
            let loads = [
                first,
                at(1000, 1, LINE, Load),
                at(2000, 2, LINE, Load),
                at(2000, 3, LINE, Load),
            ];
            last_ns(setup(flat(4), no_overlap(rules), 4), &loads, 3)
        }
        Rule::HoldAfterLoss => {
            let script = [first, at(1000, 1, LINE, Atomic), at(1030, 0, LINE, Load)];
            last_ns(two(rules), &script, 0)
        }
        Rule::StoresInFlight => {
            let lines = || 0..57;
            let mut script: Vec<_> = lines().map(|line| at(0, 0, line, Store)).collect();
            script.extend(lines().map(|line| at(1000, 1, line, Store)));
            last_ns(two(rules), &script, 1)
        }
        Rule::LoadOverlap => last_ns(two(rules), &[first, at(1000, 1, LINE, Load)], 1),
        Rule::SecondLoadWaits => {
            let loads = [at(1000, 1, LINE, Load), at(0, 1, LINE, Load)];
            last_ns(two(rules), &[&[first], &loads[..]].concat(), 1)
        }
        Rule::LoadBeforeStore => {
            let script = load_and_add(&[]);
            last_ns(two(rules), &script, 1) - 10_000
        }
        Rule::PollInterval => upgrades_of_polls(rules),
        Rule::NearFirst => {
            let script = [
                first,
                at(1000, 1, LINE, Atomic),
                at(1010, 4, LINE, Atomic),
                at(1020, 2, LINE, Atomic),
            ];
            last_ns(setup(layered(), rules, 8), &script, 4)
        }
        Rule::SocketQueues => {
            let script = [
                first,
                at(1000, 1, LINE, Atomic),
                at(1010, 2, LINE, Atomic),
                at(1020, 4, LINE, Atomic),
            ];
            last_ns(setup(layered(), rules, 8), &script, 4)
        }
        Rule::FarTenure => last_ns(
            setup(layered(), rules, 8),
            &[first, at(1000, 4, LINE, Atomic)],
            4,
        ),
        _ => observe_turns(rule, rules),
    }
}

/// As [`observe`], for rules that need not be about one line.
fn observe_turns(rule: MachineRule, rules: MachineRules) -> u64 {
    use MachineRule as Rule;
    let two = |rules| setup(flat(2), rules, 2);
    let first = at(0, 0, LINE, Store);
    match rule {
        Rule::AdjacentLine => {
            let pair = [first, at(0, 0, LINE + 1, Store)];
            let script = [
                pair[0],
                pair[1],
                at(1000, 1, LINE, Load),
                at(2000, 0, LINE + 1, Atomic),
            ];
            last_ns(two(rules), &script, 0)
        }
        Rule::PauseLimit => {
            let script = [at(1000, 0, LINE, Load), pause(1000, 0), first];
            last_ns(two(rules), &script, 0)
        }
        Rule::PollPeriod => {
            let script = [
                first,
                at(1000, 1, LINE, Load),
                pause(1100, 1),
                at(0, 1, LINE, Load),
                at(3000, 0, LINE, Atomic),
            ];
            last_ns(two(rules), &script, 1)
        }
        Rule::WakeUp => first_turn_after_interrupt(rules, false),
        Rule::InterruptLatency => first_turn_after_interrupt(rules, true),
        Rule::Quantum => {
            let mut machine = SimulatedMachine::new(two(rules));
            machine.start_cpu(0, SimulatedTime(0));
            machine.start_cpu(1, SimulatedTime(1_000_000));
            machine.next_turn();
            machine.run_until(0).0 / 1000
        }
        Rule::SharedIssue => {
            let code = |cpu| [at(0, cpu, 64 * cpu as u64, Load), code(0, cpu, 1000)];
            let end = at(0, 0, LINE, Load);
            let script = [&code(0)[..], &code(8)[..], &[end]].concat();
            last_ns(setup(layered(), rules, 9), &script, 0)
        }
        Rule::OrderedWithin => {
            let script = [first, at(1000, 1, LINE, Store)];
            let run = run_script(two(rules), &script);
            let late = SimulatedTime(30_000_000);
            u64::from(run.machine.must_order(1, LineNumber(LINE), Store, late))
        }
        _ => panic!("{rule:?} has no scenario"),
    }
}

fn no_overlap(mut rules: MachineRules) -> MachineRules {
    rules.switch_off(MachineRule::LoadOverlap);
    rules
}

fn pause(at_ns: u64, cpu: usize) -> ScriptStep {
    let step = CpuStep::Pause;
    ScriptStep { cpu, at_ns, step }
}

fn code(at_ns: u64, cpu: usize, ns: u64) -> ScriptStep {
    let step = CpuStep::Code(ns * 1000);
    ScriptStep { cpu, at_ns, step }
}

/// CPUs in turn load a word and add to it 5 ns later, CPU 1 last, at 10 us. `between` follows each.
fn load_and_add(between: &[CpuStep]) -> Vec<ScriptStep> {
    let mut script = Vec::new();
    for round in 1..=10 {
        let (cpu, at_ns) = (1 - round as usize % 2, round * 1000);
        let is_last = round == 10;
        script.push(at(at_ns, cpu, LINE, Load));
        script.push(code(0, cpu, 5));
        script.push(at(0, cpu, LINE, Atomic));
        let between = between.iter().filter(|_| !is_last);
        script.extend(between.map(|&step| ScriptStep {
            cpu,
            at_ns: 0,
            step,
        }));
    }
    script
}

/// Upgrades of CPUs that pause after they have loaded and added.
fn upgrades_of_polls(rules: MachineRules) -> u64 {
    let script = load_and_add(&[CpuStep::Pause]);
    let run = run_script(setup(flat(2), rules, 2), &script);
    run.machine.counts().lines[0].transfers_of(TransferKind::Upgrade)
}

/// Nanoseconds at which CPU 0 goes on, idle or pausing from 500 ns on and interrupted at 1000 ns.
fn first_turn_after_interrupt(rules: MachineRules, pauses: bool) -> u64 {
    let mut machine = SimulatedMachine::new(setup(flat(1), rules, 1));
    machine.start_cpu(0, SimulatedTime(0));
    machine.next_turn();
    let paused_at = SimulatedTime(500_000);
    if pauses {
        machine.note_access(0, LineNumber(LINE), Load, paused_at);
        machine.pause(0, paused_at);
    } else {
        machine.go_idle(0, paused_at);
        assert_eq!(machine.next_turn(), None);
    }
    machine.interrupt(0, SimulatedTime(1_000_000));
    machine.next_turn().expect("it was interrupted").at.0 / 1000
}

/// Checks the numbers with the rule, at its expected value or at its largest if it is not expected to hold, and without.
fn check(rule: MachineRule, with: u64, without: u64) {
    let facts = rule.facts();
    let mut on = exact();
    on.set(rule, facts.expected);
    if facts.expected == facts.off {
        on.set(rule, facts.high);
    }
    let mut off = on.clone();
    off.switch_off(rule);
    let found = [observe(rule, on), observe(rule, off)];
    assert_eq!(found, [with, without], "{}", facts.name);
}

#[test]
fn each_rule_holds_and_can_be_switched_off() {
    use MachineRule as Rule;
    for facts in &RULES {
        let [with, without] = match facts.rule {
            Rule::TransferTime => [1100, 1000],
            // Drawn.
            Rule::TransferJitter | Rule::CodeJitter | Rule::PollPeriod => continue,
            Rule::Upgrade => [2075, 2100],
            Rule::CleanRead => [2050, 2100],
            Rule::CleanReadOccupation => [2054, 2050],
            Rule::HoldAfterLoss => [1030, 1150],
            Rule::StoresInFlight => [1100, 1000],
            Rule::LoadOverlap => [1050, 1100],
            Rule::SecondLoadWaits => [1100, 1050],
            // The load has executed after 50 ns.
            Rule::LoadBeforeStore => [100, 175],
            Rule::PollInterval => [8, 1],
            // Socket 0 to 1 takes 200 ns: from CPU 1 at 1040, or from CPU 2 at 1140.
            Rule::NearFirst => [1340, 1240],
            // CPU 4 before CPU 2, which came first.
            Rule::SocketQueues => [1240, 1340],
            Rule::FarTenure => [1500, 1200],
            Rule::AdjacentLine => [2075, 2000],
            Rule::PauseLimit => [6000, 1000],
            Rule::WakeUp | Rule::InterruptLatency => [2500, 1000],
            Rule::Quantum => [3000, 1000],
            Rule::SharedIssue => [1600, 1000],
            Rule::OrderedWithin => [0, 1],
        };
        check(facts.rule, with, without);
    }
}

#[test]
fn what_is_drawn_stays_within_its_range() {
    for (rule, range, exactly) in [
        (MachineRule::TransferJitter, 1090..=1110, 1100),
        (MachineRule::CodeJitter, 1100..=1200, 1100),
        // The exchange is done at 3075, and the load overlaps with 50 ns.
        (MachineRule::PollPeriod, 3125..=3165, 3125),
    ] {
        let mut rules = exact();
        rules.set(rule, rule.facts().expected);
        let found = observe(rule, rules);
        assert!(range.contains(&found), "{found}");
        assert_ne!(found, exactly, "{rule:?} changes nothing");
        assert_eq!(observe(rule, exact()), exactly);
    }
}

//! Cost of the calls of a caller, by what they find.
//!
//! `cargo bench -p relayout-machine`: nanoseconds of a call, least of rounds, one thread.

use std::hint::black_box;
use std::time::Instant;

use relayout_machine::{
    CpuPlacement, LineAccess, LineAnswer, LineNumber, LineRequest, MachineRules, MachineSetup,
    SimulatedMachine, SimulatedTime, find_machine,
};

const ROUNDS: usize = 11;
const CALLS: u64 = 1_000_000;
const BASE: u64 = 0xffff_8880_0000_0000 / 64;

fn machine(cpus: usize) -> SimulatedMachine {
    let topology = find_machine("genoa-2s").expect("known").topology;
    let places = CpuPlacement::Pack.places(cpus, &topology);
    let mut machine = SimulatedMachine::new(MachineSetup {
        topology,
        rules: MachineRules::default(),
        cpus: places.expect("there is room"),
        seed: 1,
    });
    for cpu in 0..cpus {
        machine.start_cpu(cpu, SimulatedTime(0));
    }
    machine
}

/// Prints the nanoseconds of each of so many calls in the fastest round.
fn measure(name: &str, calls: u64, mut round: impl FnMut()) {
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed().as_nanos() as f64 / calls as f64
    });
    let least = times.fold(f64::INFINITY, f64::min);
    println!("{name:<48}{least:>8.1} ns");
}

fn notes_of_private_lines(lines: u64) {
    let mut machine = machine(64);
    measure(
        &format!("must_order and note_access, {lines} private lines"),
        CALLS,
        || {
            for call in 0..CALLS {
                let line = LineNumber(BASE + call * 7 % lines);
                let at = SimulatedTime(call);
                if !black_box(machine.must_order(0, line, LineAccess::Load, at)) {
                    machine.note_access(0, line, LineAccess::Load, at);
                }
            }
        },
    );
}

/// One CPU requests a line that it has, and that others load.
fn hits() {
    let mut machine = machine(64);
    let line = LineNumber(BASE);
    for cpu in 1..64 {
        machine.note_access(cpu, line, LineAccess::Atomic, SimulatedTime(0));
    }
    machine.note_access(0, line, LineAccess::Load, SimulatedTime(0));
    let first = machine.next_turn().expect("CPUs are ready");
    for _ in 1..64 {
        let turn = machine.next_turn().expect("CPUs are ready");
        machine.end_turn(turn.cpu, SimulatedTime(1 << 50));
    }
    let mut at = first.at;
    measure("must_order and request that hits", CALLS, || {
        for _ in 0..CALLS {
            at = at.after(5000);
            black_box(machine.must_order(0, line, LineAccess::Load, at));
            let request = LineRequest {
                cpu: first.cpu,
                line,
                address: line.0 << 6,
                access: LineAccess::Load,
                site: 1,
                at,
            };
            match machine.request(request) {
                LineAnswer::Now(time) => at = time,
                LineAnswer::Waits => unreachable!("all others are later"),
            }
        }
    });
}

/// All CPUs add to a line.
fn transfers(cpus: usize) {
    let mut machine = machine(cpus);
    let line = LineNumber(BASE);
    measure(
        &format!("request that waits, and the turn, {cpus} CPUs"),
        CALLS,
        || {
            for _ in 0..CALLS {
                let turn = machine.next_turn().expect("CPUs wait for the line");
                let request = LineRequest {
                    cpu: turn.cpu,
                    line,
                    address: line.0 << 6,
                    access: LineAccess::Atomic,
                    site: 1,
                    at: turn.at.after(20_000),
                };
                if let LineAnswer::Now(time) = machine.request(request) {
                    machine.end_turn(turn.cpu, time);
                }
            }
        },
    );
}

fn main() {
    notes_of_private_lines(1 << 10);
    notes_of_private_lines(1 << 20);
    hits();
    for cpus in [8, 64, 192] {
        transfers(cpus);
    }
}

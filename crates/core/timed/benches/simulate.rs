//! Speed of the simulation in accesses per second, by the number of CPUs that are simulated.
//! `cargo bench -p relayout-timed --bench simulate`.

use std::hint::black_box;
use std::time::Instant;

use relayout_timed::{
    ContendedLine, LineName, LineSharing, ModelRules, OperationPart, PlacedAccess, PlacedKind,
    PlacedOperation, PlacedOperations, ThroughputSimulation, find_machine,
};

/// Simulations of each size.
const RUNS: u64 = 20;

/// Operations like those of a path lookup: loads of one line, and two exchanges on another.
fn operations() -> PlacedOperations {
    let access = |ticks, line, kind| PlacedAccess {
        ticks,
        line,
        word: line,
        kind,
        locked_before: 0,
        stores_before: 0,
    };
    let mut accesses = vec![access(900, 0, PlacedKind::Load)];
    for index in [1u16, 4] {
        accesses.push(access(300, 1, PlacedKind::LoadBeforeStore { ticks: 15 }));
        accesses.push(access(15, 1, PlacedKind::CompareExchange { load: index }));
        accesses.push(access(100, 0, PlacedKind::Load));
    }
    accesses.push(access(50, 0, PlacedKind::Store));
    PlacedOperations {
        lines: (0..2)
            .map(|line| ContendedLine {
                name: LineName::Memory(line),
                sharing: LineSharing::All,
            })
            .collect(),
        words: vec![0, 1],
        locks: Vec::new(),
        operations: vec![PlacedOperation {
            accesses,
            ticks_behind: 3000,
            locked_behind: 2,
        }],
        parts: vec![OperationPart {
            context: None,
            operations: vec![0],
        }],
    }
}

fn main() {
    let placed = operations();
    let (machine, _) = find_machine("genoa-2s").expect("it is in the table");
    let rules = ModelRules::default();
    for cpus in [1, 8, 64, 192] {
        let begin = Instant::now();
        let simulated: u64 = (0..RUNS)
            .map(|seed| {
                let simulation = ThroughputSimulation {
                    machine: &machine,
                    rules: &rules,
                    cpus,
                    seed,
                };
                black_box(simulation.run(&placed)).accesses
            })
            .sum();
        let seconds = begin.elapsed().as_secs_f64();
        let million = simulated as f64 / seconds / 1e6;
        println!("{cpus:4} CPUs: {million:6.1} million accesses a second, {simulated} accesses");
    }
}

//! Machines and operations of the tests.

use relayout_timed::{
    ContendedLine, LineName, LineSharing, ModelRules, OperationPart, PlacedAccess, PlacedKind,
    PlacedOperation, PlacedOperations, SimulatedThroughput, ThroughputSimulation, TimedMachine,
    TransferTimes,
};

/// A machine on which a line takes the same time from any CPU to any other.
pub fn machine(move_ns: f64) -> TimedMachine {
    TimedMachine {
        name: "test".to_owned(),
        sockets: 1,
        cores: 64,
        cluster_cores: 64,
        transfer: TransferTimes {
            cluster: move_ns,
            socket: move_ns,
            other_socket: move_ns,
        },
    }
}

/// An access to a word that has a line of its own.
pub fn access(ticks: u32, line: u32, kind: PlacedKind) -> PlacedAccess {
    PlacedAccess {
        ticks,
        line,
        word: line,
        kind,
        locked_before: 0,
        stores_before: 0,
    }
}

/// One operation over and over, on lines that all CPUs share.
pub fn operations(accesses: Vec<PlacedAccess>, ticks_behind: u32, lines: u32) -> PlacedOperations {
    PlacedOperations {
        lines: (0..lines)
            .map(|line| ContendedLine {
                name: LineName::Memory(line.into()),
                sharing: LineSharing::All,
            })
            .collect(),
        words: (0..lines).collect(),
        locks: Vec::new(),
        operations: vec![PlacedOperation {
            accesses,
            ticks_behind,
            locked_behind: 0,
        }],
        parts: vec![OperationPart {
            context: None,
            operations: vec![0],
        }],
    }
}

/// Replaces the operations by others, of which all CPUs draw.
pub fn set_operations(placed: &mut PlacedOperations, operations: Vec<PlacedOperation>) {
    placed.parts[0].operations = (0..operations.len() as u32).collect();
    placed.operations = operations;
}

/// Executes operations with the expected rules.
pub fn simulate(placed: &PlacedOperations, cpus: u32) -> SimulatedThroughput {
    simulate_by(&ModelRules::default(), placed, cpus)
}

/// Executes operations with rules.
pub fn simulate_by(
    rules: &ModelRules,
    placed: &PlacedOperations,
    cpus: u32,
) -> SimulatedThroughput {
    let machine = machine(70.0);
    let simulation = ThroughputSimulation {
        machine: &machine,
        rules,
        cpus,
        seed: 3,
    };
    simulation.run(placed)
}

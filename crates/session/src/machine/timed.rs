//! A probed machine as the timed model takes it.

use relayout_probe::{CoreCounts, MachineFile};
use relayout_timed::{LineUse, MachineRules, ModelRule, TimedMachine, TransferTimes};

/// Stores that a CPU is expected to hold back while they wait for their lines, and stores of an update.
const STORES_BUFFERED: f64 = 64.0;
const UPDATE_STORES: f64 = 2.0;
/// Part of the time to move a line for which its owner uses it at least.
const KEPT_MIN: f64 = 0.05;
/// Instructions of an update in the probe's loop: two stores, a load, and the end of the loop.
const UPDATE_INSTRUCTIONS: f64 = 5.0;
/// Time of an instruction in other code, over that in the loop.
const INSTRUCTION_FACTORS: [f64; 2] = [0.6, 2.5];

/// Returns the machine of a file and what is known of its rules; `None` if the file has no time to move a line, or visits
/// did not move any: then the two probed CPUs were threads of one core.
pub(super) fn timed_machine(file: &MachineFile) -> Option<(TimedMachine, MachineRules)> {
    let times = file.move_times()?;
    let cluster = times.cluster_ns;
    let socket = times.socket_ns.unwrap_or(cluster);
    let cores = file.cores.unwrap_or(CoreCounts {
        nodes: 1,
        node_cores: file.machine.cpus.max(1),
        cache_cores: file.machine.cpus.max(1),
    });
    let machine = TimedMachine {
        name: format!("the probed {}", file.machine.cpu),
        sockets: cores.nodes,
        cores: cores.node_cores,
        cluster_cores: cores.cache_cores,
        transfer: TransferTimes {
            cluster,
            socket,
            other_socket: times.other_node_ns.unwrap_or(socket),
        },
    };
    let mut rules = MachineRules::default();
    if let Some([expected, low, high]) = times.nearest_interval {
        let transfer = [1.0, low / expected, high / expected];
        rules.note_measured(ModelRule::Transfer, transfer);
    }
    note_instructions(file, &mut rules);
    note_accesses(file, &mut rules, cluster);
    note_visits(file, &mut rules);
    Some((machine, rules))
}

/// Notes what the loops of accesses tell: the cost of an atomic instruction, and for how long a CPU keeps a line.
fn note_accesses(file: &MachineFile, rules: &mut MachineRules, move_ns: f64) {
    let cost = |own: &str, other: &str| {
        let mut costs = file.accesses.iter();
        let cost = costs.find(|cost| cost.kind == own && cost.against == other)?;
        Some((cost.alone_ns.interval()?, cost.contended_ns.interval()?))
    };
    if let Some((alone, _)) = cost("exchange", "exchange") {
        rules.note_measured(ModelRule::AtomicInstruction, alone);
    }
    let uses = [
        (LineUse::Load, "load"),
        (LineUse::Store, "update"),
        (LineUse::Locked, "exchange"),
    ];
    // Two CPUs move the line in turn. Each works for the time that it keeps the line, of every two moves. Of updates,
    // those that fill the buffer of stores go on without the line.
    let buffered = move |line_use: LineUse, alone_ns: f64| match line_use {
        LineUse::Store => STORES_BUFFERED / UPDATE_STORES * alone_ns / move_ns,
        LineUse::Load | LineUse::Locked => 0.0,
    };
    let mut is_whole = true;
    for (own_use, own) in uses {
        for (other_use, other) in uses {
            if (own_use, other_use) == (LineUse::Load, LineUse::Load) {
                continue;
            }
            let Some(([alone_ns, ..], [contended_ns, ..])) = cost(own, other) else {
                is_whole = false;
                continue;
            };
            let kept = 2.0 * alone_ns / contended_ns - buffered(own_use, alone_ns);
            rules.kept[own_use as usize][other_use as usize] = kept.clamp(KEPT_MIN, 1.0);
        }
    }
    if is_whole {
        rules.note_measured(ModelRule::Hold, [1.0, 0.8, 1.25]);
    }
}

/// Notes what the loop of updates tells of the time of an instruction. Code that computes more, misses caches, or
/// mispredicts branches takes longer.
fn note_instructions(file: &MachineFile, rules: &mut MachineRules) {
    let mut costs = file.accesses.iter();
    let alone = costs.find(|cost| cost.kind == "update");
    if let Some([loop_ns, ..]) = alone.and_then(|cost| cost.alone_ns.interval()) {
        let expected = loop_ns / UPDATE_INSTRUCTIONS;
        let [fast, slow] = INSTRUCTION_FACTORS;
        let range = [expected, expected * fast, expected * slow];
        rules.note_measured(ModelRule::Instruction, range);
    }
}

/// Notes what visits tell: the cost of an upgrade, and how far behind a load a store may be so that the load fetches the
/// line for both.
fn note_visits(file: &MachineFile, rules: &mut MachineRules) {
    let cost = |kind| file.visit_cost(kind, None);
    let Some(exchange) = cost("exchange") else {
        return;
    };
    let Some(separate) = cost("load-then-exchange").map(|both| both[0] / exchange[0]) else {
        return;
    };
    match file.loads_take_lines() {
        // Then an exchange finds the line after any load, however far ahead, and there are no upgrades.
        Some(true) => return rules.note_measured(ModelRule::MovedByLoad, [1.0; 3]),
        Some(false) => {}
        None => return,
    }
    rules.note_measured(ModelRule::MovedByLoad, [0.0; 3]);
    if let Some(upgrade) = cost("upgrade") {
        rules.note_measured(ModelRule::Upgrade, ratio(upgrade, exchange));
    }
    let ahead = { file.visits.iter() }.filter(|visit| visit.kind == "load-exchange");
    let is_merged = |ns: f64| ns / exchange[0] < (1.0 + separate) / 2.0;
    let mut merged = 0.0f64;
    for visit in ahead {
        match (visit.ns.value, visit.instructions) {
            (Some(ns), Some(instructions)) if is_merged(ns) => {
                merged = merged.max(f64::from(instructions) + 1.0);
            }
            (Some(_), _) => break,
            _ => return,
        }
    }
    rules.note_measured(ModelRule::MergedLoad, [merged; 3]);
}

/// Returns the ratio of two estimates, with the widest interval.
fn ratio(over: [f64; 3], under: [f64; 3]) -> [f64; 3] {
    [over[0] / under[0], over[1] / under[2], over[2] / under[1]]
}

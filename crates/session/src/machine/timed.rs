//! A probed machine as the timed model takes it.

use relayout_probe::{CoreCounts, CpuRelation, MachineFile, ProbeEstimate};
use relayout_timed::{LineUse, MachineRules, ModelRule, TimedMachine, TransferTimes};

/// Cost of a load and an exchange in turn over that of an exchange, up to which the load has taken the line away from
/// its owner, and from which on it has not.
const MOVED_BY_LOAD: [f64; 2] = [1.15, 1.3];

/// Stores that a CPU is expected to hold back while they wait for their lines, and stores of an update.
const STORES_BUFFERED: f64 = 64.0;
const UPDATE_STORES: f64 = 2.0;
/// Part of the time to move a line for which its owner uses it at least.
const KEPT_MIN: f64 = 0.05;
/// Instructions of an update in the probe's loop: two stores, a load, and the end of the loop.
const UPDATE_INSTRUCTIONS: f64 = 5.0;
/// Time of an instruction in other code, over that in the loop.
const INSTRUCTION_FACTORS: [f64; 2] = [0.6, 2.5];

/// Nanoseconds that a visit takes at least if its line moves.
const MOVED_NS_MIN: f64 = 8.0;

/// Returns the machine of a file and what is known of its rules; `None` if the file has no time to move a line, or visits
/// did not move any: then the two probed CPUs were threads of one core.
pub(super) fn timed_machine(file: &MachineFile) -> Option<(TimedMachine, MachineRules)> {
    let nearest = file
        .transfers
        .iter()
        .find(|transfer| transfer.ns.is_some())?;
    let nearest_ns = nearest.ns?;
    // A word that is handed over moves its line once or twice, as the protocol has it; a visit moves it once.
    let visit = visit_cost(file, "exchange", None);
    let is_moved = visit.is_some_and(|visit| visit[0] >= MOVED_NS_MIN);
    if !file.visits.is_empty() && !is_moved {
        return None;
    }
    let moves = visit.map_or(1.0, |visit| nearest_ns / visit[0]);
    let time = |relation: CpuRelation| {
        let own = file.transfers.iter();
        let own = own.filter(|transfer| transfer.relation == relation);
        let times: Vec<f64> = own.filter_map(|transfer| transfer.ns).collect();
        relayout_statistics::median(&times).map(|ns| ns / moves)
    };
    let cluster = time(CpuRelation::SameCache).unwrap_or(nearest_ns / moves);
    let socket = time(CpuRelation::SamePackage).unwrap_or(cluster);
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
            other_socket: time(CpuRelation::OtherNode).unwrap_or(socket),
        },
    };
    let mut rules = MachineRules::default();
    let handed_over = [Some(nearest_ns), nearest.ns_low, nearest.ns_high];
    let known = visit.or_else(|| all_known(handed_over));
    if let Some([expected, low, high]) = known {
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
        Some((values(&cost.alone_ns)?, values(&cost.contended_ns)?))
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
    if let Some([loop_ns, ..]) = alone.and_then(|cost| values(&cost.alone_ns)) {
        let expected = loop_ns / UPDATE_INSTRUCTIONS;
        let [fast, slow] = INSTRUCTION_FACTORS;
        let range = [expected, expected * fast, expected * slow];
        rules.note_measured(ModelRule::Instruction, range);
    }
}

/// Notes what visits tell: the cost of an upgrade, and how far behind a load a store may be so that the load fetches the
/// line for both.
fn note_visits(file: &MachineFile, rules: &mut MachineRules) {
    let cost = |kind| visit_cost(file, kind, None);
    let Some(exchange) = cost("exchange") else {
        return;
    };
    let Some(separate) = cost("load-then-exchange").map(|both| both[0] / exchange[0]) else {
        return;
    };
    let [moved_max, kept_min] = MOVED_BY_LOAD;
    if separate < moved_max {
        // Then an exchange finds the line after any load, however far ahead, and there are no upgrades.
        return rules.note_measured(ModelRule::MovedByLoad, [1.0; 3]);
    }
    if separate < kept_min {
        return;
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

/// Returns the cost of a visit with its interval.
fn visit_cost(file: &MachineFile, kind: &str, instructions: Option<u32>) -> Option<[f64; 3]> {
    let mut visits = file.visits.iter();
    let visit = visits.find(|visit| visit.kind == kind && visit.instructions == instructions)?;
    values(&visit.ns)
}

/// Returns the value of an estimate and the ends of its interval.
fn values(estimate: &ProbeEstimate) -> Option<[f64; 3]> {
    all_known([estimate.value, estimate.low, estimate.high])
}

/// Returns the three numbers if all are known and above 0.
fn all_known([value, low, high]: [Option<f64>; 3]) -> Option<[f64; 3]> {
    let all = [value?, low?, high?];
    all.iter().all(|number| *number > 0.0).then_some(all)
}

/// Returns the ratio of two estimates, with the widest interval.
fn ratio(over: [f64; 3], under: [f64; 3]) -> [f64; 3] {
    [over[0] / under[0], over[1] / under[2], over[2] / under[1]]
}

//! A probed machine as the timed model takes it.

use relayout_probe::{CoreCounts, CpuRelation, MachineFile, ProbeEstimate};
use relayout_timed::{MachineRules, ModelRule, TimedMachine, TransferTimes};

/// Cost of a load and an exchange in turn over that of an exchange, up to which the load has taken the line away from
/// its owner, and from which on it has not.
const MOVED_BY_LOAD: [f64; 2] = [1.15, 1.3];

/// Instructions of an update in the probe's loop: two stores, a load, and the end of the loop.
const UPDATE_INSTRUCTIONS: f64 = 5.0;
/// Time of an instruction in other code, over that in the loop.
const INSTRUCTION_FACTORS: [f64; 2] = [0.6, 2.5];

/// Returns the machine of a file and what is known of its rules; `None` if the file has no time to move a line.
pub(super) fn timed_machine(file: &MachineFile) -> Option<(TimedMachine, MachineRules)> {
    let nearest = file
        .transfers
        .iter()
        .find(|transfer| transfer.ns.is_some())?;
    let nearest_ns = nearest.ns?;
    // A word that is handed over moves its line once or twice, as the protocol has it; a visit moves it once.
    let visit = visit_cost(file, "exchange", None);
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
    note_exchanges(file, &mut rules);
    note_visits(file, &mut rules);
    Some((machine, rules))
}

/// Notes what the loops of exchanges tell: the cost of an atomic instruction, and for how long a CPU keeps a line.
fn note_exchanges(file: &MachineFile, rules: &mut MachineRules) {
    let is_exchange = |kind: &str, against: &str| kind == "exchange" && against == "exchange";
    let mut costs = file.accesses.iter();
    let Some(cost) = costs.find(|cost| is_exchange(&cost.kind, &cost.against)) else {
        return;
    };
    let Some(alone) = values(&cost.alone_ns) else {
        return;
    };
    rules.note_measured(ModelRule::AtomicInstruction, alone);
    // Two CPUs move the line in turn. Each works for the time that it keeps the line, of every two moves.
    if let Some(contended) = values(&cost.contended_ns) {
        let hold = ratio(alone, contended).map(|ratio| (2.0 * ratio).min(1.0));
        rules.note_measured(ModelRule::Hold, hold);
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

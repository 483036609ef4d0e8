//! The measurements of a machine, from windows to values of the machine file.

use relayout_files::InterruptFlag;
use relayout_messages::RecordingProgress;

use super::estimate::{self, ProbeEstimate};
use super::file::{
    AccessCost, MachineFile, PairTest, RatioIntervals, TransferCost, VisitCost, WindowSummary,
};
use super::loops::{HAS_SPLITS, ProbeLoop, WordDistance, WordUse};
use super::pair_windows::ProbeWindow;
use super::tally::{StealTicks, UnknownReason, WindowTally, estimate_windows};
use super::topology::{self, CpuPair, CpuTopology, PairLimits};
use super::visits::LineVisit;
use crate::Error;
use crate::contention::ContentionPlan;
use crate::schema::SCHEMA;

/// Rounds of the transfer between further pairs of CPUs.
const TRANSFER_ROUNDS: usize = 12;
/// Rounds of the accesses that take a line from each other.
const ACCESS_ROUNDS: usize = 12;
/// Rounds of visits.
const VISIT_ROUNDS: usize = 20;
/// Instructions between a load and an exchange of the same word.
const LOADS_AHEAD: [u32; 6] = [0, 16, 32, 64, 128, 256];
/// Uses of a word, with their names in the machine file.
const WORD_USES: [(WordUse, &str); 4] = [
    (WordUse::Load, "load"),
    (WordUse::Store, "store"),
    (WordUse::Update, "update"),
    (WordUse::Exchange, "exchange"),
];
/// Rounds of everything else.
const ROUNDS: usize = 20;

/// What is measured of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeDepth {
    /// Everything.
    Complete,
    /// What weighs findings: one pair of CPUs, without accesses and visits, and each window once. Takes four seconds.
    Quick,
}

/// Measures this machine, on the CPUs that this process may run on. A complete measurement takes twelve seconds, up to
/// three times as long where others disturb it, and an eighth of a second for each further pair of
/// CPUs.
///
/// # Errors
/// [`Error::Interrupted`]. A value that cannot be measured is null in the file, with the reason.
pub fn measure_machine(
    depth: ProbeDepth,
    progress: &dyn RecordingProgress,
    interrupt: InterruptFlag,
) -> Result<MachineFile, Error> {
    let steal = StealTicks::read();
    let mut tally = WindowTally::new(depth, progress, interrupt);
    let cpus = topology::read_cpus();
    let mut file = empty_file(&cpus);
    let sample = topology::choose_pairs(&cpus, PairLimits::COSTS);
    measure_costs(&sample.pairs, &mut file, &mut tally)?;
    tally.finish(&mut file, &steal);
    Ok(file)
}

/// Measures this machine as [`measure_machine`] does, and what happens to a line that several CPUs want at once
/// ([`ContentionTests`](crate::ContentionTests)). It takes one to three minutes. Two programs that are known to share
/// a line falsely come first: if that does not show, nothing else is measured.
///
/// # Errors
/// [`Error::Interrupted`]. A value that cannot be measured is null in the file, with the reason.
pub fn measure_contention(
    depth: ProbeDepth,
    progress: &dyn RecordingProgress,
    interrupt: InterruptFlag,
) -> Result<MachineFile, Error> {
    let steal = StealTicks::read();
    let mut tally = WindowTally::new(depth, progress, interrupt);
    let cpus = topology::read_cpus();
    let mut file = empty_file(&cpus);
    let tests = ContentionPlan::new(&cpus);
    let mut contention = tests.measure_known_positive(&mut tally)?;
    if contention.shows_false_sharing() {
        contention.pairs = tests.sampled_pairs();
        measure_costs(tests.map_pairs(), &mut file, &mut tally)?;
        tests.measure(&mut contention, &file, &mut tally)?;
    }
    file.contention = Some(contention);
    tally.finish(&mut file, &steal);
    Ok(file)
}

/// A file of this machine without measurements.
fn empty_file(cpus: &[CpuTopology]) -> MachineFile {
    MachineFile {
        schema: SCHEMA.to_owned(),
        machine: topology::identify_machine(),
        cores: Some(topology::count_cores(cpus)),
        line_bytes: topology::line_bytes(),
        pair_coefficient: ProbeEstimate::default(),
        pairs: Vec::new(),
        transfers: Vec::new(),
        accesses: Vec::new(),
        visits: Vec::new(),
        silent_store_ratio: None,
        split_ratio: None,
        split_local_ratio: None,
        split_atomic_ratio: None,
        intervals: RatioIntervals::default(),
        contention: None,
        noise: None,
        windows: WindowSummary::default(),
        unknown: Vec::new(),
    }
}

/// Measures the costs of moving and using lines, on the first pair of CPUs, and of moving a line between each other
/// one.
fn measure_costs(
    pairs: &[CpuPair],
    file: &mut MachineFile,
    tally: &mut WindowTally<'_>,
) -> Result<(), Error> {
    match pairs.split_first() {
        Some((nearest, others)) if tally.depth() == ProbeDepth::Quick => {
            measure_pair(*nearest, file, tally)?;
            tally.note_left_out(others);
        }
        Some((nearest, others)) => {
            measure_pair(*nearest, file, tally)?;
            measure_accesses(*nearest, file, tally)?;
            file.visits = measure_visits(*nearest, tally)?;
            measure_transfers(others, file, tally)?;
        }
        None => tally.note_single_cpu(),
    }
    measure_alone(file, tally)
}

/// Moving a line between each further pair of CPUs.
fn measure_transfers(
    pairs: &[CpuPair],
    file: &mut MachineFile,
    tally: &mut WindowTally<'_>,
) -> Result<(), Error> {
    for pair in pairs {
        tally.step(&format!(
            "moving a line between CPU {} and CPU {}",
            pair.cpu_a, pair.cpu_b
        ));
        let transfer_plan = tally.plan_rounds(vec![ProbeLoop::HandOver], TRANSFER_ROUNDS);
        let windows = tally.run_plan([pair.cpu_a, pair.cpu_b], &transfer_plan)?;
        file.transfers.push(transfer_cost(*pair, &windows, tally));
    }
    Ok(())
}

fn transfer_cost(
    pair: CpuPair,
    windows: &Result<Vec<ProbeWindow>, String>,
    tally: &mut WindowTally<'_>,
) -> TransferCost {
    let key = format!("transfers[{},{}].ns", pair.cpu_a, pair.cpu_b);
    let estimate = tally.value_or_unknown(
        &key,
        estimate_windows(windows, [ProbeLoop::HandOver], estimate::cost),
    );
    TransferCost {
        cpu_a: pair.cpu_a,
        cpu_b: pair.cpu_b,
        relation: pair.relation,
        ns: estimate.value,
        ns_low: estimate.low,
        ns_high: estimate.high,
    }
}

/// Measures everything that takes two CPUs, but for accesses.
fn measure_pair(
    pair: CpuPair,
    file: &mut MachineFile,
    tally: &mut WindowTally<'_>,
) -> Result<(), Error> {
    use WordDistance::{Apart, Buddy, Same};
    let (a, b) = (pair.cpu_a, pair.cpu_b);
    tally.step(&format!(
        "moving lines, pairs of lines, silent stores, words across lines, on CPU {a} and CPU {b}"
    ));
    let two_writers = [Same, Buddy, Apart].map(ProbeLoop::TwoWriters);
    let beside_shared = [Same, Buddy, Apart].map(ProbeLoop::BesideShared);
    let silent = [ProbeLoop::SilentStore, ProbeLoop::CheckedStore];
    let split = [ProbeLoop::HandOverSplit, ProbeLoop::HandOverWhole];
    let mut loops = [
        &[ProbeLoop::HandOver],
        &two_writers[..],
        &beside_shared,
        &silent,
    ]
    .concat();
    if HAS_SPLITS {
        loops.extend(split);
    }
    let windows = tally.run_plan([a, b], &tally.plan_rounds(loops, ROUNDS))?;
    file.transfers.push(transfer_cost(pair, &windows, tally));
    let pairs = [
        ("two-writers", two_writers),
        ("beside-shared", beside_shared),
    ];
    for (pattern, loops) in pairs {
        let estimate = estimate_windows(&windows, loops, estimate::coefficient);
        let coefficient = tally.value_or_unknown(&format!("pairs[{pattern}]"), estimate);
        let pattern = pattern.to_owned();
        file.pairs.push(PairTest {
            pattern,
            coefficient,
        });
    }
    file.pair_coefficient = largest_coefficient(&file.pairs);
    if file.pair_coefficient.value.is_none() {
        tally.note_unknown("pair_coefficient", "no pattern of use could be measured");
    }
    (file.silent_store_ratio, file.intervals.silent_store_ratio) = tally.ratio_and_interval(
        "silent_store_ratio",
        estimate_windows(&windows, silent, estimate::ratio),
    );
    let split_ratio = match HAS_SPLITS {
        true => estimate_windows(&windows, split, estimate::ratio),
        false => Err(UnknownReason::Architecture),
    };
    (file.split_ratio, file.intervals.split_ratio) =
        tally.ratio_and_interval("split_ratio", split_ratio);
    Ok(())
}

/// Measures the costs of accesses, alone and while the other CPU takes the line away.
fn measure_accesses(
    pair: CpuPair,
    file: &mut MachineFile,
    tally: &mut WindowTally<'_>,
) -> Result<(), Error> {
    let (a, b) = (pair.cpu_a, pair.cpu_b);
    tally.step(&format!(
        "loads, stores, updates and exchanges of one line, on CPU {a} and CPU {b}"
    ));
    let alone_loop = |kind| ProbeLoop::Compete(kind, WordUse::Store, WordDistance::Apart);
    let contended_loop = |kind, other| ProbeLoop::Compete(kind, other, WordDistance::Same);
    let use_pairs = || {
        let combinations = WORD_USES
            .iter()
            .flat_map(|use_a| WORD_USES.iter().map(move |use_b| (*use_a, *use_b)));
        // Two that load keep the line both.
        combinations.filter(|pair| *pair != (WORD_USES[0], WORD_USES[0]))
    };
    let loops = WORD_USES
        .map(|(kind, _)| alone_loop(kind))
        .into_iter()
        .chain(use_pairs().map(|((kind, _), (other, _))| contended_loop(kind, other)));
    let access_plan = tally.plan_rounds(loops.collect(), ACCESS_ROUNDS);
    let windows = tally.run_plan([a, b], &access_plan)?;
    for ((kind, name), (other, against_name)) in use_pairs() {
        let mut cost = |field: &str, kernel| {
            let estimate = estimate_windows(&windows, [kernel], estimate::cost);
            tally.value_or_unknown(
                &format!("accesses[{name},{against_name}].{field}"),
                estimate,
            )
        };
        file.accesses.push(AccessCost {
            kind: name.to_owned(),
            against: against_name.to_owned(),
            alone_ns: cost("alone_ns", alone_loop(kind)),
            contended_ns: cost("contended_ns", contended_loop(kind, other)),
        });
    }
    Ok(())
}

/// Measures the costs of visits to a line that the other CPU takes meanwhile.
fn measure_visits(pair: CpuPair, tally: &mut WindowTally<'_>) -> Result<Vec<VisitCost>, Error> {
    use LineVisit::{Exchange, Load, LoadExchange, LoadThenExchange};
    let (a, b) = (pair.cpu_a, pair.cpu_b);
    tally.step(&format!("visits of one line, on CPU {a} and CPU {b}"));
    let ahead = LOADS_AHEAD.map(|instructions| {
        let visit = LoadExchange(instructions);
        ("load-exchange", Some(instructions), visit, visit)
    });
    let kinds = [
        ("load", None, Load, Exchange),
        ("exchange", None, Exchange, Exchange),
        ("upgrade", None, Exchange, Load),
        (
            "load-then-exchange",
            None,
            LoadThenExchange,
            LoadThenExchange,
        ),
    ];
    let kinds: Vec<_> = kinds.into_iter().chain(ahead).collect();
    let loops_of = |own, other| {
        let alone = ProbeLoop::Visit(own, own, WordDistance::Apart);
        [ProbeLoop::Visit(own, other, WordDistance::Same), alone]
    };
    let mut loops: Vec<ProbeLoop> = { kinds.iter() }
        .flat_map(|(.., own, other)| loops_of(*own, *other))
        .collect();
    loops.sort_unstable();
    loops.dedup();
    let windows = tally.run_plan([a, b], &tally.plan_rounds(loops, VISIT_ROUNDS))?;
    let cost = |(kind, instructions, own, other): (&str, Option<u32>, LineVisit, LineVisit)| {
        let estimate = estimate_windows(&windows, loops_of(own, other), estimate::difference);
        let key = match instructions {
            Some(instructions) => format!("visits[{kind},{instructions}].ns"),
            None => format!("visits[{kind}].ns"),
        };
        VisitCost {
            kind: kind.to_owned(),
            instructions,
            ns: tally.value_or_unknown(&key, estimate),
        }
    };
    let costs = kinds.into_iter().map(cost).collect();
    for key in ["visits[clean-load].ns", "visits[clean-load].hold_ns"] {
        tally.note_unknown(key, "takes three CPUs, and two are measured");
    }
    Ok(costs)
}

/// Measures everything that one CPU can do.
fn measure_alone(file: &mut MachineFile, tally: &mut WindowTally<'_>) -> Result<(), Error> {
    let Some(cpu) = topology::read_cpus().first().map(|cpu| cpu.number) else {
        return Ok(());
    };
    tally.step(&format!("words across lines, on CPU {cpu}"));
    let local = [ProbeLoop::LocalSplit, ProbeLoop::LocalWhole];
    let atomic = [ProbeLoop::AtomicSplit, ProbeLoop::AtomicWhole];
    let trapped = topology::split_locks_are_trapped();
    let mut loops = Vec::new();
    if HAS_SPLITS {
        loops.extend(local);
        if !trapped {
            loops.extend(atomic);
        }
    }
    let windows = tally.run_plan([cpu, cpu], &tally.plan_rounds(loops, ROUNDS))?;
    let ratio = |loops, trapped| match (HAS_SPLITS, trapped) {
        (false, _) => Err(UnknownReason::Architecture),
        (true, true) => Err(UnknownReason::Trapped),
        (true, false) => estimate_windows(&windows, loops, estimate::ratio),
    };
    (file.split_local_ratio, file.intervals.split_local_ratio) =
        tally.ratio_and_interval("split_local_ratio", ratio(local, false));
    (file.split_atomic_ratio, file.intervals.split_atomic_ratio) =
        tally.ratio_and_interval("split_atomic_ratio", ratio(atomic, trapped));
    Ok(())
}

/// The one that disturbs most: which of them a program has is not known beforehand.
fn largest_coefficient(pairs: &[PairTest]) -> ProbeEstimate {
    let known = pairs
        .iter()
        .map(|pair| pair.coefficient)
        .filter(|coefficient| coefficient.value.is_some());
    let by_value = |a: &ProbeEstimate, b: &ProbeEstimate| {
        let key = |e: &ProbeEstimate| (e.value.unwrap_or(0.0), e.high.unwrap_or(0.0));
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    known.max_by(by_value).unwrap_or_default()
}

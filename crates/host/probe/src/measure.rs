//! The measurements of a machine, from windows to values of the machine file.

use std::collections::BTreeMap;
use std::fs;

use relayout_files::InterruptFlag;
use relayout_messages::RecordingProgress;

use super::crew::{self, MeasuredWindows, MeasurementPlan, ProbeWindow, REST, WINDOW};
use super::estimate::{self, ProbeEstimate, RoundCosts, TooNoisy};
use super::file::{
    AccessCost, MachineFile, PairTest, RatioInterval, RatioIntervals, TransferCost, UnknownValue,
    VisitCost, WindowSummary,
};
use super::loops::{HAS_SPLITS, ProbeLoop, WordDistance, WordUse};
use super::topology::{self, CpuPair};
use super::visits::LineVisit;
use crate::Error;
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
/// Rounds are repeated, where windows were disturbed, up to this many times as often; and until
/// they have taken this many times the time that they take undisturbed.
const REPEATS_MAX: u32 = 3;

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
    let pairs = topology::choose_pairs(&cpus);
    let mut file = MachineFile {
        schema: SCHEMA.to_owned(),
        machine: topology::identify_machine(),
        cores: Some(topology::count_cores(&cpus)),
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
        noise: None,
        windows: WindowSummary::default(),
        unknown: Vec::new(),
    };
    match pairs.split_first() {
        Some((nearest, others)) if depth == ProbeDepth::Quick => {
            measure_pair(*nearest, &mut file, &mut tally)?;
            tally.note_left_out(others);
        }
        Some((nearest, others)) => {
            measure_pair(*nearest, &mut file, &mut tally)?;
            measure_accesses(*nearest, &mut file, &mut tally)?;
            file.visits = measure_visits(*nearest, &mut tally)?;
            measure_transfers(others, &mut file, &mut tally)?;
        }
        None => tally.note_single_cpu(),
    }
    measure_alone(&mut file, &mut tally)?;
    file.noise = relayout_statistics::median(&tally.spreads).filter(|noise| noise.is_finite());
    file.unknown = tally.unknown;
    file.windows = WindowSummary {
        taken: tally.taken,
        kept: tally.kept,
        window_ms: WINDOW.as_millis() as u32,
        fifo: tally.fifo,
        steal_percent: steal.percent_since(),
    };
    Ok(file)
}

/// Moving a line between each further pair of CPUs.
fn measure_transfers(
    pairs: &[CpuPair],
    file: &mut MachineFile,
    tally: &mut WindowTally<'_>,
) -> Result<(), Error> {
    for pair in pairs {
        tally.progress.step(&format!(
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
    tally.progress.step(&format!(
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
    tally.progress.step(&format!(
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
    tally
        .progress
        .step(&format!("visits of one line, on CPU {a} and CPU {b}"));
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
    tally
        .progress
        .step(&format!("words across lines, on CPU {cpu}"));
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

/// Costs of `kernels` round by round; `None` for a round with a window that does not count.
fn costs_by_round<const N: usize>(
    windows: &[ProbeWindow],
    loops: [ProbeLoop; N],
) -> Vec<RoundCosts<N>> {
    let mut rounds: BTreeMap<usize, [Option<f64>; N]> = BTreeMap::new();
    for window in windows {
        let costs = rounds.entry(window.round).or_insert([None; N]);
        if let Some(index) = loops
            .iter()
            .position(|probe_loop| *probe_loop == window.probe_loop)
        {
            costs[index] = window.cost_ns;
        }
    }
    let complete_costs = |costs: [Option<f64>; N]| {
        costs
            .iter()
            .all(Option::is_some)
            .then(|| costs.map(|cost| cost.unwrap_or(f64::NAN)))
    };
    rounds.into_values().map(complete_costs).collect()
}

fn estimate_windows<const N: usize>(
    windows: &Result<Vec<ProbeWindow>, String>,
    loops: [ProbeLoop; N],
    estimator: impl Fn(&[RoundCosts<N>]) -> Result<ProbeEstimate, TooNoisy>,
) -> Result<ProbeEstimate, UnknownReason> {
    let windows = windows
        .as_ref()
        .map_err(|why| UnknownReason::System(why.clone()))?;
    Ok(estimator(&costs_by_round(windows, loops))?)
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

/// Why something is not known.
#[derive(Debug, thiserror::Error)]
enum UnknownReason {
    #[error(transparent)]
    Noise(#[from] TooNoisy),
    #[error("{0}")]
    System(String),
    #[error("this kernel slows down or kills programs that do this (split_lock_detect)")]
    Trapped,
    #[error("measured on x86-64 only")]
    Architecture,
}

/// Counts over all windows, and the values that they did not yield.
struct WindowTally<'w> {
    depth: ProbeDepth,
    progress: &'w dyn RecordingProgress,
    interrupt: InterruptFlag,
    taken: u64,
    kept: u64,
    fifo: bool,
    spreads: Vec<f64>,
    unknown: Vec<UnknownValue>,
}

impl<'w> WindowTally<'w> {
    fn new(
        depth: ProbeDepth,
        progress: &'w dyn RecordingProgress,
        interrupt: InterruptFlag,
    ) -> Self {
        Self {
            depth,
            progress,
            interrupt,
            taken: 0,
            kept: 0,
            fifo: false,
            spreads: Vec::new(),
            unknown: Vec::new(),
        }
    }

    fn plan_rounds(&self, loops: Vec<ProbeLoop>, rounds: usize) -> MeasurementPlan {
        let windows = (loops.len() * rounds) as u32;
        let repeats = match self.depth {
            ProbeDepth::Complete => REPEATS_MAX,
            ProbeDepth::Quick => 1,
        };
        MeasurementPlan {
            loops,
            rounds,
            rounds_max: repeats as usize * rounds,
            time_max: repeats * windows * (WINDOW + REST),
            line_bytes: topology::line_bytes() as usize,
        }
    }

    /// Runs a plan. The inner error tells why it could not run.
    fn run_plan(
        &mut self,
        cpus: [u32; 2],
        plan: &MeasurementPlan,
    ) -> Result<Result<Vec<ProbeWindow>, String>, Error> {
        if plan.loops.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let MeasuredWindows { windows, fifo } = match crew::run_plan(cpus, plan, self.interrupt) {
            Ok(measured) => measured,
            Err(error) => {
                return Ok(Err(format!(
                    "a thread cannot be pinned to its CPU: {error}"
                )));
            }
        };
        if self.interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        self.fifo |= fifo;
        self.taken += windows.len() as u64;
        for probe_loop in &plan.loops {
            let costs: Vec<f64> = windows
                .iter()
                .filter(|window| window.probe_loop == *probe_loop)
                .filter_map(|window| window.cost_ns)
                .collect();
            self.kept += costs.len() as u64;
            self.spreads.extend(estimate::spread(&costs));
        }
        Ok(Ok(windows))
    }

    fn value_or_unknown(
        &mut self,
        key: &str,
        estimate: Result<ProbeEstimate, UnknownReason>,
    ) -> ProbeEstimate {
        estimate.unwrap_or_else(|why| {
            self.note_unknown(key, &why.to_string());
            ProbeEstimate::default()
        })
    }

    /// Splits an estimate into its value and its interval.
    fn ratio_and_interval(
        &mut self,
        key: &str,
        estimate: Result<ProbeEstimate, UnknownReason>,
    ) -> (Option<f64>, Option<RatioInterval>) {
        let estimate = self.value_or_unknown(key, estimate);
        let interval = estimate.low.zip(estimate.high);
        (
            estimate.value,
            interval.map(|(low, high)| RatioInterval { low, high }),
        )
    }

    fn note_unknown(&mut self, key: &str, why: &str) {
        self.unknown.push(UnknownValue {
            what: key.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Notes what a quick measurement leaves out.
    fn note_left_out(&mut self, pairs: &[CpuPair]) {
        let transfers =
            { pairs.iter() }.map(|pair| format!("transfers[{},{}].ns", pair.cpu_a, pair.cpu_b));
        let keys = ["accesses".to_owned(), "visits".to_owned()];
        for key in keys.into_iter().chain(transfers) {
            self.note_unknown(&key, "a quick measurement leaves it out");
        }
    }

    /// Notes that one CPU alone shares no line.
    fn note_single_cpu(&mut self) {
        for key in [
            "transfers",
            "accesses",
            "pair_coefficient",
            "silent_store_ratio",
            "split_ratio",
        ] {
            self.note_unknown(key, "takes two CPUs, and this process may run on one");
        }
    }
}

/// Ticks of all CPUs so far, and those of them that the hypervisor took.
struct StealTicks(Option<[u64; 2]>);

impl StealTicks {
    fn read() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; the fields after these are part of user.
        Self(ticks.get(..8).map(|ticks| [ticks.iter().sum(), ticks[7]]))
    }

    fn percent_since(&self) -> Option<f64> {
        let [total, stolen] = self.0?;
        let [total_now, stolen_now] = Self::read().0?;
        let elapsed_ticks = total_now.checked_sub(total).filter(|ticks| *ticks > 0)?;
        Some(100.0 * stolen_now.checked_sub(stolen)? as f64 / elapsed_ticks as f64)
    }
}

//! What is measured, and what the windows come to.

use std::collections::BTreeMap;
use std::fs;

use super::crew::{self, Measured, Plan, REST, WINDOW, Window};
use super::estimate::{self, Estimate, Round, TooNoisy};
use super::file::{
    AccessCost, Interval, Intervals, MachineFile, PairTest, SCHEMA, Transfer, Unknown, Windows,
};
use super::kernels::{Distance, HAS_SPLITS, Kernel, Use};
use super::topology::{self, CpuPair};
use crate::{Error, Interrupt, Progress};

/// Rounds of the transfer between further pairs of CPUs.
const TRANSFER_ROUNDS: usize = 12;
/// Rounds of the accesses that take a line from each other.
const ACCESS_ROUNDS: usize = 12;
/// What those are, by their names in the file.
const USES: [(Use, &str); 4] = [
    (Use::Load, "load"),
    (Use::Store, "store"),
    (Use::Update, "update"),
    (Use::Exchange, "exchange"),
];
/// Rounds of everything else.
const ROUNDS: usize = 20;
/// Rounds are repeated, where windows were disturbed, up to this many times as often; and until they
/// have taken this many times the time that they take undisturbed.
const REPEATS_MAX: u32 = 3;

/// Measures this machine, on the CPUs that this process may run on. Takes eight seconds, up to three
/// times as long where others disturb it, and an eighth of a second for each further pair of CPUs.
///
/// # Errors
/// [`Error::Interrupted`]. What cannot be told is null in the file, with the reason.
pub fn measure(progress: &dyn Progress, interrupt: Interrupt) -> Result<MachineFile, Error> {
    let steal = Steal::now();
    let mut tally = Tally::default();
    let pairs = topology::pairs(&topology::allowed_cpus());
    let mut file = MachineFile {
        schema: SCHEMA.to_owned(),
        machine: topology::machine(),
        line_bytes: topology::line_bytes(),
        pair_coefficient: Estimate::default(),
        pairs: Vec::new(),
        transfers: Vec::new(),
        accesses: Vec::new(),
        silent_store_ratio: None,
        split_ratio: None,
        split_local_ratio: None,
        split_atomic_ratio: None,
        intervals: Intervals::default(),
        noise: None,
        windows: Windows::default(),
        unknown: Vec::new(),
    };
    match pairs.split_first() {
        Some((nearest, others)) => {
            together(*nearest, &mut file, &mut tally, progress, interrupt)?;
            accesses(*nearest, &mut file, &mut tally, progress, interrupt)?;
            transfers(others, &mut file, &mut tally, progress, interrupt)?;
        }
        None => unmeasured(&mut file),
    }
    alone(&mut file, &mut tally, progress, interrupt)?;
    file.noise = tally.noise();
    file.windows = Windows {
        taken: tally.taken,
        kept: tally.kept,
        window_ms: WINDOW.as_millis() as u32,
        fifo: tally.fifo,
        steal_percent: steal.percent_since(),
    };
    Ok(file)
}

/// Moving a line between each further pair of CPUs.
fn transfers(
    pairs: &[CpuPair],
    file: &mut MachineFile,
    tally: &mut Tally,
    progress: &dyn Progress,
    interrupt: Interrupt,
) -> Result<(), Error> {
    for pair in pairs {
        progress.step(&format!(
            "moving a line between CPU {} and CPU {}",
            pair.cpu_a, pair.cpu_b
        ));
        let plan = plan(vec![Kernel::HandOver], TRANSFER_ROUNDS);
        let windows = tally.run([pair.cpu_a, pair.cpu_b], &plan, interrupt)?;
        file.transfers.push(transfer(*pair, &windows, tally));
    }
    file.unknown.append(&mut tally.unknown);
    Ok(())
}

fn transfer(pair: CpuPair, windows: &Result<Vec<Window>, String>, tally: &mut Tally) -> Transfer {
    let what = format!("transfers[{},{}].ns", pair.cpu_a, pair.cpu_b);
    let found = tally.told(&what, judge(windows, [Kernel::HandOver], estimate::cost));
    Transfer {
        cpu_a: pair.cpu_a,
        cpu_b: pair.cpu_b,
        relation: pair.relation,
        ns: found.value,
        ns_low: found.low,
        ns_high: found.high,
    }
}

/// What takes two CPUs.
fn together(
    pair: CpuPair,
    file: &mut MachineFile,
    tally: &mut Tally,
    progress: &dyn Progress,
    interrupt: Interrupt,
) -> Result<(), Error> {
    use Distance::{Apart, Buddy, Same};
    let (a, b) = (pair.cpu_a, pair.cpu_b);
    progress.step(&format!(
        "moving lines, pairs of lines, silent stores, words across lines, on CPU {a} and CPU {b}"
    ));
    let two_writers = [Same, Buddy, Apart].map(Kernel::TwoWriters);
    let beside_shared = [Same, Buddy, Apart].map(Kernel::BesideShared);
    let silent = [Kernel::SilentStore, Kernel::CheckedStore];
    let split = [Kernel::HandOverSplit, Kernel::HandOverWhole];
    let mut kernels = [
        &[Kernel::HandOver],
        &two_writers[..],
        &beside_shared,
        &silent,
    ]
    .concat();
    if HAS_SPLITS {
        kernels.extend(split);
    }
    let windows = tally.run([a, b], &plan(kernels, ROUNDS), interrupt)?;
    file.transfers.push(transfer(pair, &windows, tally));
    let pairs = [
        ("two-writers", two_writers),
        ("beside-shared", beside_shared),
    ];
    for (pattern, kernels) in pairs {
        let found = judge(&windows, kernels, estimate::coefficient);
        let coefficient = tally.told(&format!("pairs[{pattern}]"), found);
        let pattern = pattern.to_owned();
        file.pairs.push(PairTest {
            pattern,
            coefficient,
        });
    }
    file.pair_coefficient = largest(&file.pairs);
    if file.pair_coefficient.value.is_none() {
        let why = "no pattern of use could be measured".to_owned();
        tally.unknown.push(Unknown {
            what: "pair_coefficient".into(),
            why,
        });
    }
    let found = tally.told(
        "silent_store_ratio",
        judge(&windows, silent, estimate::ratio),
    );
    (file.silent_store_ratio, file.intervals.silent_store_ratio) = parts(found);
    let found = match HAS_SPLITS {
        true => judge(&windows, split, estimate::ratio),
        false => Err(Reason::Architecture),
    };
    (file.split_ratio, file.intervals.split_ratio) = parts(tally.told("split_ratio", found));
    file.unknown.append(&mut tally.unknown);
    Ok(())
}

/// What accesses cost, alone and where the other CPU takes the line away.
fn accesses(
    pair: CpuPair,
    file: &mut MachineFile,
    tally: &mut Tally,
    progress: &dyn Progress,
    interrupt: Interrupt,
) -> Result<(), Error> {
    let (a, b) = (pair.cpu_a, pair.cpu_b);
    progress.step(&format!(
        "loads, stores, updates and exchanges of one line, on CPU {a} and CPU {b}"
    ));
    let alone = |kind| Kernel::Fight(kind, Use::Store, Distance::Apart);
    let against = |kind, other| Kernel::Fight(kind, other, Distance::Same);
    let fights = || {
        let all = USES
            .iter()
            .flat_map(|one| USES.iter().map(move |other| (*one, *other)));
        // Two that load keep the line both.
        all.filter(|fight| *fight != (USES[0], USES[0]))
    };
    let kernels = USES.map(|(kind, _)| alone(kind)).into_iter();
    let kernels = kernels.chain(fights().map(|((kind, _), (other, _))| against(kind, other)));
    let plan = plan(kernels.collect(), ACCESS_ROUNDS);
    let windows = tally.run([a, b], &plan, interrupt)?;
    for ((kind, name), (other, against_name)) in fights() {
        let mut cost = |what: &str, kernel| {
            let found = judge(&windows, [kernel], estimate::cost);
            tally.told(&format!("accesses[{name},{against_name}].{what}"), found)
        };
        file.accesses.push(AccessCost {
            kind: name.to_owned(),
            against: against_name.to_owned(),
            alone_ns: cost("alone_ns", alone(kind)),
            contended_ns: cost("contended_ns", against(kind, other)),
        });
    }
    file.unknown.append(&mut tally.unknown);
    Ok(())
}

/// What one CPU can do.
fn alone(
    file: &mut MachineFile,
    tally: &mut Tally,
    progress: &dyn Progress,
    interrupt: Interrupt,
) -> Result<(), Error> {
    let Some(cpu) = topology::allowed_cpus().first().map(|cpu| cpu.number) else {
        return Ok(());
    };
    progress.step(&format!("words across lines, on CPU {cpu}"));
    let local = [Kernel::LocalSplit, Kernel::LocalWhole];
    let atomic = [Kernel::AtomicSplit, Kernel::AtomicWhole];
    let trapped = topology::split_locks_are_trapped();
    let mut kernels = Vec::new();
    if HAS_SPLITS {
        kernels.extend(local);
        if !trapped {
            kernels.extend(atomic);
        }
    }
    let windows = tally.run([cpu, cpu], &plan(kernels, ROUNDS), interrupt)?;
    let of = |kernels, trapped| match (HAS_SPLITS, trapped) {
        (false, _) => Err(Reason::Architecture),
        (true, true) => Err(Reason::Trapped),
        (true, false) => judge(&windows, kernels, estimate::ratio),
    };
    let found = tally.told("split_local_ratio", of(local, false));
    (file.split_local_ratio, file.intervals.split_local_ratio) = parts(found);
    let found = tally.told("split_atomic_ratio", of(atomic, trapped));
    (file.split_atomic_ratio, file.intervals.split_atomic_ratio) = parts(found);
    file.unknown.append(&mut tally.unknown);
    Ok(())
}

/// With one CPU there is nobody to share a line with.
fn unmeasured(file: &mut MachineFile) {
    for what in [
        "transfers",
        "accesses",
        "pair_coefficient",
        "silent_store_ratio",
        "split_ratio",
    ] {
        file.unknown.push(Unknown {
            what: what.to_owned(),
            why: "takes two CPUs, and this process may run on one".to_owned(),
        });
    }
}

fn plan(kernels: Vec<Kernel>, rounds: usize) -> Plan {
    let windows = (kernels.len() * rounds) as u32;
    Plan {
        kernels,
        rounds,
        rounds_max: REPEATS_MAX as usize * rounds,
        time_max: REPEATS_MAX * windows * (WINDOW + REST),
        line_bytes: topology::line_bytes() as usize,
    }
}

/// Costs of `kernels` round by round; `None` for a round with a window that does not count.
fn rounds<const N: usize>(windows: &[Window], kernels: [Kernel; N]) -> Vec<Round<N>> {
    let mut rounds: BTreeMap<usize, [Option<f64>; N]> = BTreeMap::new();
    for window in windows {
        let costs = rounds.entry(window.round).or_insert([None; N]);
        if let Some(place) = kernels.iter().position(|kernel| *kernel == window.kernel) {
            costs[place] = window.cost_ns;
        }
    }
    let all = |costs: [Option<f64>; N]| {
        let all = costs.iter().all(Option::is_some);
        all.then(|| costs.map(|cost| cost.unwrap_or(f64::NAN)))
    };
    rounds.into_values().map(all).collect()
}

fn judge<const N: usize>(
    windows: &Result<Vec<Window>, String>,
    kernels: [Kernel; N],
    by: impl Fn(&[Round<N>]) -> Result<Estimate, TooNoisy>,
) -> Result<Estimate, Reason> {
    let windows = windows
        .as_ref()
        .map_err(|why| Reason::System(why.clone()))?;
    Ok(by(&rounds(windows, kernels))?)
}

/// The one that disturbs most: which of them a program has is not known beforehand.
fn largest(pairs: &[PairTest]) -> Estimate {
    let told = pairs.iter().map(|pair| pair.coefficient);
    let told = told.filter(|coefficient| coefficient.value.is_some());
    let by = |a: &Estimate, b: &Estimate| {
        let key = |e: &Estimate| (e.value.unwrap_or(0.0), e.high.unwrap_or(0.0));
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    told.max_by(by).unwrap_or_default()
}

fn parts(found: Estimate) -> (Option<f64>, Option<Interval>) {
    let interval = found.low.zip(found.high);
    (
        found.value,
        interval.map(|(low, high)| Interval { low, high }),
    )
}

/// Why something is not known.
#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Noise(#[from] TooNoisy),
    #[error("{0}")]
    System(String),
    #[error("this kernel slows down or kills programs that do this (split_lock_detect)")]
    Trapped,
    #[error("measured on x86-64 only")]
    Architecture,
}

/// What all windows together were like.
#[derive(Default)]
struct Tally {
    taken: u64,
    kept: u64,
    fifo: bool,
    spreads: Vec<f64>,
    unknown: Vec<Unknown>,
}

impl Tally {
    /// Runs a plan; the inner error says why it could not be.
    fn run(
        &mut self,
        cpus: [u32; 2],
        plan: &Plan,
        interrupt: Interrupt,
    ) -> Result<Result<Vec<Window>, String>, Error> {
        if plan.kernels.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let Measured { windows, fifo } = match crew::run(cpus, plan, interrupt) {
            Ok(measured) => measured,
            Err(error) => {
                return Ok(Err(format!(
                    "a thread cannot be pinned to its CPU: {error}"
                )));
            }
        };
        if interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        self.fifo |= fifo;
        self.taken += windows.len() as u64;
        for kernel in &plan.kernels {
            let of_it = windows.iter().filter(|window| window.kernel == *kernel);
            let costs: Vec<f64> = of_it.filter_map(|window| window.cost_ns).collect();
            self.kept += costs.len() as u64;
            self.spreads.extend(estimate::spread(&costs));
        }
        Ok(Ok(windows))
    }

    fn told(&mut self, what: &str, found: Result<Estimate, Reason>) -> Estimate {
        found.unwrap_or_else(|why| {
            self.note(what, &why);
            Estimate::default()
        })
    }

    fn note(&mut self, what: &str, why: &Reason) {
        self.unknown.push(Unknown {
            what: what.to_owned(),
            why: why.to_string(),
        });
    }

    fn noise(&mut self) -> Option<f64> {
        Some(estimate::median(&mut self.spreads)).filter(|noise| noise.is_finite())
    }
}

/// The CPUs' time so far, in ticks: all of it, and what the hypervisor took.
struct Steal(Option<[u64; 2]>);

impl Steal {
    fn now() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; what follows is contained in user.
        Self(ticks.get(..8).map(|ticks| [ticks.iter().sum(), ticks[7]]))
    }

    fn percent_since(&self) -> Option<f64> {
        let [all, stolen] = self.0?;
        let [all_now, stolen_now] = Self::now().0?;
        let all = all_now.checked_sub(all).filter(|ticks| *ticks > 0)?;
        Some(100.0 * stolen_now.checked_sub(stolen)? as f64 / all as f64)
    }
}

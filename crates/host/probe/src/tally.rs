//! Counts over all windows of a measurement, and the values that they did not yield.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use relayout_files::InterruptFlag;
use relayout_messages::RecordingProgress;

use crate::Error;
use crate::crew::{CrewPlan, CrewWindows, CrewWork, MeasuredWindow, REST, WINDOW, run_crew};
use crate::estimate::{self, ProbeEstimate, RoundCosts, TooNoisy};
use crate::file::{MachineFile, RatioInterval, UnknownValue, WindowSummary};
use crate::loops::ProbeLoop;
use crate::measure::ProbeDepth;
use crate::pair_windows::{ProbeWindow, run_pair_plan};
use crate::topology::{self, CpuPair};

/// Rounds are repeated, where windows were disturbed, up to this many times as often; and until
/// they have taken this many times the time that they take undisturbed.
const REPEATS_MAX: u32 = 3;
/// The same for a quick measurement of contention, which has hardly more rounds than are needed.
const QUICK_REPEATS: u32 = 2;
/// Rounds of a measurement of contention.
const CONTENTION_ROUNDS: usize = 16;
/// Length of a window in a quick measurement of contention.
const QUICK_WINDOW: Duration = Duration::from_millis(4);

/// Values of the file that take two CPUs.
const TWO_CPU_VALUES: [&str; 5] = [
    "transfers",
    "accesses",
    "pair_coefficient",
    "silent_store_ratio",
    "split_ratio",
];
/// Values of the file that take one.
const ONE_CPU_VALUES: [&str; 2] = ["split_local_ratio", "split_atomic_ratio"];

/// Windows of a [`CrewWork`], or the reason for having none.
pub type CrewResult<W> =
    Result<Vec<MeasuredWindow<<W as CrewWork>::Arrangement, <W as CrewWork>::Outcome>>, String>;

/// Why something is not known.
#[derive(Debug, thiserror::Error)]
pub enum UnknownReason {
    /// The windows say nothing.
    #[error(transparent)]
    Noise(#[from] TooNoisy),
    /// The system does not allow the measurement.
    #[error("{0}")]
    System(String),
    /// The kernel traps the instruction.
    #[error("this kernel slows down or kills programs that do this (split_lock_detect)")]
    Trapped,
    /// The processor does not have such accesses.
    #[error("measured on x86-64 only")]
    Architecture,
}

/// Counts over all windows, and the values that they did not yield.
pub struct WindowTally<'w> {
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
    /// A tally without windows.
    pub fn new(
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

    /// Plans rounds of the measurements that `relayout probe` always makes.
    pub fn plan_rounds<A>(&self, arrangements: Vec<A>, rounds: usize) -> CrewPlan<A> {
        let repeats = match self.depth {
            ProbeDepth::Complete => REPEATS_MAX,
            ProbeDepth::Quick => 1,
        };
        new_plan(arrangements, rounds, repeats, WINDOW)
    }

    /// Plans rounds of a measurement of contention.
    pub fn plan_contention<A>(&self, arrangements: Vec<A>) -> CrewPlan<A> {
        match self.depth {
            ProbeDepth::Complete => new_plan(arrangements, CONTENTION_ROUNDS, REPEATS_MAX, WINDOW),
            ProbeDepth::Quick => {
                let rounds = estimate::ROUNDS_MIN + 1;
                new_plan(arrangements, rounds, QUICK_REPEATS, QUICK_WINDOW)
            }
        }
    }

    /// Runs loops on two CPUs. The inner error tells why they could not run.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn run_plan(
        &mut self,
        cpus: [u32; 2],
        plan: &CrewPlan<ProbeLoop>,
    ) -> Result<Result<Vec<ProbeWindow>, String>, Error> {
        if plan.arrangements.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let line_bytes = topology::line_bytes() as usize;
        let measured = run_pair_plan(cpus, plan, line_bytes, self.interrupt);
        let windows = self.note_windows(measured)?;
        if let Ok(windows) = &windows {
            for probe_loop in &plan.arrangements {
                let costs: Vec<f64> = { windows.iter() }
                    .filter(|window| window.arrangement == *probe_loop)
                    .filter_map(|window| window.outcome)
                    .collect();
                self.spreads.extend(estimate::spread(&costs));
            }
        }
        Ok(windows)
    }

    /// Runs other work of a crew. The inner error tells why it could not run.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn run_work<W: CrewWork>(
        &mut self,
        cpus: &[u32],
        work: &W,
        arrangements: Vec<W::Arrangement>,
    ) -> Result<CrewResult<W>, Error> {
        let plan = self.plan_contention(arrangements);
        self.note_windows(run_crew(cpus, work, &plan, self.interrupt))
    }

    fn note_windows<A, O>(
        &mut self,
        measured: io::Result<CrewWindows<A, O>>,
    ) -> Result<Result<Vec<MeasuredWindow<A, O>>, String>, Error> {
        if self.interrupt.is_set() {
            return Err(Error::Interrupted);
        }
        let CrewWindows { windows, fifo } = match measured {
            Ok(measured) => measured,
            Err(error) => {
                return Ok(Err(format!(
                    "a thread cannot be started on its CPU: {error}"
                )));
            }
        };
        self.fifo |= fifo;
        self.taken += windows.len() as u64;
        let kept = windows.iter().filter(|window| window.outcome.is_some());
        self.kept += kept.count() as u64;
        Ok(Ok(windows))
    }

    /// Announces a step.
    pub fn step(&self, text: &str) {
        self.progress.step(text);
    }

    /// Returns how much is measured.
    pub fn depth(&self) -> ProbeDepth {
        self.depth
    }

    /// Returns the estimate; without one, notes the reason.
    pub fn value_or_unknown(
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
    pub fn ratio_and_interval(
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

    /// Notes why a value is null.
    pub fn note_unknown(&mut self, key: &str, why: &str) {
        self.unknown.push(UnknownValue {
            what: key.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Adds the counts, the noise and the unknown values to the file.
    pub fn finish(self, file: &mut MachineFile, steal: &StealTicks) {
        file.noise = relayout_statistics::median(&self.spreads).filter(|noise| noise.is_finite());
        file.unknown = self.unknown;
        file.windows = WindowSummary {
            taken: self.taken,
            kept: self.kept,
            window_ms: WINDOW.as_millis() as u32,
            fifo: self.fifo,
            steal_percent: steal.percent_since(),
        };
    }

    /// Notes what a quick measurement leaves out.
    pub fn note_left_out(&mut self, pairs: &[CpuPair]) {
        let transfers =
            { pairs.iter() }.map(|pair| format!("transfers[{},{}].ns", pair.cpu_a, pair.cpu_b));
        let keys = ["accesses".to_owned(), "visits".to_owned()];
        for key in keys.into_iter().chain(transfers) {
            self.note_unknown(&key, "a quick measurement leaves it out");
        }
    }

    /// Notes that nothing of a measurement of contention is known, and why.
    pub fn note_nothing_concluded(&mut self, why: &str) {
        self.note_unknown("contention", why);
        let values = TWO_CPU_VALUES.into_iter().chain(ONE_CPU_VALUES);
        values.for_each(|key| self.note_unknown(key, why));
    }

    /// Notes that one CPU alone shares no line.
    pub fn note_single_cpu(&mut self) {
        for key in TWO_CPU_VALUES {
            self.note_unknown(key, "takes two CPUs, and this process may run on one");
        }
    }
}

fn new_plan<A>(arrangements: Vec<A>, rounds: usize, repeats: u32, window: Duration) -> CrewPlan<A> {
    let windows = (arrangements.len() * rounds) as u32;
    CrewPlan {
        arrangements,
        rounds,
        rounds_max: repeats as usize * rounds,
        time_max: repeats * windows * (window + REST),
        window,
    }
}

/// Costs of `loops` round by round; `None` for a round with a window that does not count.
fn costs_by_round<const N: usize>(
    windows: &[ProbeWindow],
    loops: [ProbeLoop; N],
) -> Vec<RoundCosts<N>> {
    let mut rounds: BTreeMap<usize, [Option<f64>; N]> = BTreeMap::new();
    for window in windows {
        let costs = rounds.entry(window.round).or_insert([None; N]);
        if let Some(index) = loops
            .iter()
            .position(|probe_loop| *probe_loop == window.arrangement)
        {
            costs[index] = window.outcome;
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

/// Estimates from the costs of `loops`.
///
/// # Errors
/// There are no windows, or the estimator has nothing to tell.
pub fn estimate_windows<const N: usize>(
    windows: &Result<Vec<ProbeWindow>, String>,
    loops: [ProbeLoop; N],
    estimator: impl Fn(&[RoundCosts<N>]) -> Result<ProbeEstimate, TooNoisy>,
) -> Result<ProbeEstimate, UnknownReason> {
    let windows = windows
        .as_ref()
        .map_err(|why| UnknownReason::System(why.clone()))?;
    Ok(estimator(&costs_by_round(windows, loops))?)
}

/// Ticks of all CPUs so far, and those of them that the hypervisor took.
pub struct StealTicks(Option<[u64; 2]>);

impl StealTicks {
    /// Reads them.
    pub fn read() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; the fields after these are part of user.
        Self(ticks.get(..8).map(|ticks| [ticks.iter().sum(), ticks[7]]))
    }

    /// Returns the percentage that the hypervisor took since `self` was read.
    pub fn percent_since(&self) -> Option<f64> {
        let [total, stolen] = self.0?;
        let [total_now, stolen_now] = Self::read().0?;
        let elapsed_ticks = total_now.checked_sub(total).filter(|ticks| *ticks > 0)?;
        Some(100.0 * stolen_now.checked_sub(stolen)? as f64 / elapsed_ticks as f64)
    }
}

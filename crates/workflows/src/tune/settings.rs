//! Settings of a run.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use relayout_machine::MachineRule;
use relayout_messages::UserError;
use relayout_session::find_simulated_machine;

use crate::verify::kernel::SimulatedBoots;

/// First seed of all recordings and measurements of a run, so that the same run ends the same way.
const FIRST_SEED: u64 = 1;

/// Settings of a run that decide its results. A run with the same settings goes on where an earlier
/// one stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneSettings {
    /// Source: a git repository, a folder in one, or a plain folder.
    pub source: PathBuf,
    /// Branch for the changes that are kept.
    pub branch: String,
    /// Program or kernel.
    pub target: TuneTarget,
    /// Recordings of each benchmark.
    pub repeats: u16,
    /// Most pairs of starts, or boots, of a measurement.
    pub pairs: usize,
    /// Largest change that does not matter, as a fraction.
    pub margin: f64,
}

/// Thing that a run improves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TuneTarget {
    /// A program.
    Program(TunedProgram),
    /// A kernel.
    Kernel(TunedKernel),
}

/// A program with its commands, which run in its source folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedProgram {
    /// Command that builds it.
    pub build: String,
    /// Command that builds it for recording; `None` for `build` with relayout as its compiler.
    pub record_build: Option<String>,
    /// Benchmark that must gain.
    pub bench: String,
    /// Benchmarks that must not lose.
    pub also: Vec<String>,
    /// Command that tests it.
    pub test: Option<String>,
    /// Seconds after which the test, a build or a recording counts as failed.
    pub limit_s: u64,
    /// Metrics of the benchmarks, in the words of `relayout verify --metric`.
    pub metrics: Vec<String>,
    /// Runs benchmarks by `sh -c`.
    pub shell: bool,
}

/// A kernel with its workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedKernel {
    /// Workload that must gain.
    pub workload: String,
    /// Workloads that must not lose.
    pub also: Vec<String>,
    /// CPUs of the guests.
    pub cpus: u16,
    /// Machine in whose simulated time they execute; `None` for the order of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<TunedMachine>,
    /// Iterations of each thread; `None` for the workload's number.
    pub iterations: Option<u64>,
    /// Seconds that a boot with its workload may take.
    pub limit_s: u64,
    /// File with more options of the configuration.
    pub config: Option<PathBuf>,
}

/// A machine in whose simulated time kernels are recorded, as the user named it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedMachine {
    /// Its name or file.
    pub name: PathBuf,
    /// Rules with other values.
    pub rules: Vec<(String, f64)>,
    /// Place of the guest's CPUs.
    pub placement: String,
    /// Simulated time of a window, in nanoseconds; `None` for all of the work, if its end is given, else for the default.
    pub window_ns: Option<u64>,
}

impl TunedMachine {
    /// Finds the machine.
    ///
    /// # Errors
    /// There is no such machine, or its file is none.
    pub(super) fn find(&self) -> Result<SimulatedBoots, UserError> {
        let rules = self.rules.iter();
        let known = rules.filter_map(|(key, value)| Some((MachineRule::from_key(key)?, *value)));
        Ok(SimulatedBoots {
            machine: find_simulated_machine(&self.name, &known.collect::<Vec<_>>())?,
            placement: self.placement.clone(),
            length: self.window_ns.map(Duration::from_nanos),
        })
    }
}

/// Limits of a run, which may be changed when it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TuneLimits {
    /// Seconds of work after which no change is begun.
    pub time_s: Option<f64>,
    /// Changes that are kept at most.
    pub changes: Option<usize>,
}

impl TuneSettings {
    /// Returns the seeds of the recordings of a build.
    pub(super) fn seeds(&self) -> Range<u64> {
        FIRST_SEED..FIRST_SEED + u64::from(self.repeats)
    }

    /// Returns the benchmarks, the one that must gain first.
    pub fn benches(&self) -> Vec<&str> {
        let (main, also) = match &self.target {
            TuneTarget::Program(program) => (&program.bench, &program.also),
            TuneTarget::Kernel(kernel) => (&kernel.workload, &kernel.also),
        };
        std::iter::once(main)
            .chain(also)
            .map(String::as_str)
            .collect()
    }

    /// Returns the benchmark that must gain.
    pub fn main_bench(&self) -> &str {
        self.benches()[0]
    }

    /// Rejects a benchmark that is given twice.
    pub(super) fn verify_benches(&self) -> Result<(), UserError> {
        let benches = self.benches();
        for (index, bench) in benches.iter().enumerate() {
            if benches[..index].contains(bench) {
                let message = format!("{bench} is given twice");
                let remedy = "each benchmark or workload counts once";
                return Err(UserError::input(message).with_remedy(remedy));
            }
        }
        Ok(())
    }
}

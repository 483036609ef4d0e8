//! Options that several commands take: one definition for each, flattened into the arguments of the commands.
//!
//! A command that says more of such an option, or has another default, changes it by `mut_arg`.

mod simulated_machine;

use std::path::PathBuf;
use std::time::Duration;

use relayout_verify::judge::JudgingRules;

pub use self::simulated_machine::{RatesArgs, SimulatedMachineArgs};
use crate::arguments;

/// Place of a profile that is written.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    /// Write the profile to this folder
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace an existing profile
    #[arg(long)]
    pub force: bool,
}

/// Recordings that are made with several seeds.
#[derive(Debug, clap::Args)]
pub struct RepeatArgs {
    /// Seed what is left to chance with N; --repeat counts up from it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = arguments::whole::<u64>)]
    pub seed: u64,
    /// Record N times with other seeds, and keep how stable each finding was
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub repeat: u16,
    /// Keep N accesses in order, for replaying layouts, and a quarter as many with their time, for
    /// `advise --machine` [default: 4M]
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    pub bursts: Option<u64>,
}

/// Work of a workload of kernels.
#[derive(Debug, clap::Args)]
pub struct WorkArgs {
    /// Do N operations in each thread [default: the workload's]
    #[arg(long, value_name = "N", value_parser = arguments::positive_count)]
    pub iterations: Option<u64>,
}

/// Guests in which kernels are recorded.
#[derive(Debug, clap::Args)]
pub struct GuestArgs {
    /// Let the host run another CPU after about N accesses of one, in the host's order; 0: leave it to the host
    /// [default: 1000]
    #[arg(long = "yield", value_name = "N", value_parser = arguments::whole::<u32>)]
    pub yield_every: Option<u32>,
    /// Give the guest this much memory, in MiB or with a suffix: 2G
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = arguments::size)]
    pub memory: u64,
    /// Give up when booting, or a workload, takes longer than this (300, 300s, 5m)
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = arguments::time)]
    pub time_limit: Duration,
    /// Use this QEMU [default: $RELAYOUT_QEMU ($RELAYOUT_QEMU_AARCH64 for arm64), the cached one, or
    /// the one in $PATH]
    #[arg(long, value_name = "PROGRAM")]
    pub qemu: Option<PathBuf>,
}

impl GuestArgs {
    /// Returns the accesses of a CPU between yields of its host thread, on average.
    pub fn yield_every(&self) -> u32 {
        self.yield_every.unwrap_or(1000)
    }
}

/// Configuration of kernels that are built.
#[derive(Debug, clap::Args)]
pub struct KernelConfigArgs {
    /// Set these options of the kernel's configuration too: a file with lines as CONFIG_NUMA=y
    #[arg(long, alias = "config", value_name = "FILE")]
    pub kconfig: Option<PathBuf>,
}

/// Metrics of a benchmark.
#[derive(Debug, clap::Args)]
pub struct MetricArgs {
    /// Measure this: wall, cpu, NAME=regex:PATTERN or NAME=json:/POINTER (`relayout verify --metric list`
    /// explains them); may be given more than once [default: wall]
    #[arg(short, long, value_name = "METRIC")]
    pub metric: Vec<String>,
}

/// Pairs of starts or boots, and their end.
#[derive(Debug, clap::Args)]
pub struct PairArgs {
    /// Start each side at most N times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30, value_parser = arguments::pairs)]
    pub runs: usize,
    /// Make all N starts, also when it is decided before
    #[arg(long = "all-runs", alias = "all")]
    pub all_runs: bool,
    /// Measure no longer than this (90, 90s, 5m, 1h); building does not count
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub verdict: VerdictArgs,
}

/// Verdict on a change.
#[derive(Debug, clap::Args)]
pub struct VerdictArgs {
    /// Call it the same where the interval of the change lies within this many percent of none
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = arguments::margin)]
    pub margin: f64,
}

impl VerdictArgs {
    /// Returns the rules of the verdict.
    pub fn rules(&self) -> JudgingRules {
        JudgingRules {
            margin: self.margin,
        }
    }
}

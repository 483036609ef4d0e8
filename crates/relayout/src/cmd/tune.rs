//! `relayout tune`: the whole loop, unattended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_files::{InterruptFlag, cannot};
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::tune::tune_document;
use relayout_report::exports::commit::TuneWriter;
use relayout_report::text::tune::tune_text;
use relayout_verify::metric::Metric;
use relayout_workflows::tune::{
    TuneLimits, TuneRequest, TuneSettings, TuneTarget, TuneTools, TunedKernel, TunedProgram, tune,
};

use super::document_files::DocumentArgs;
use crate::arguments;
use crate::complete;
use crate::exit::ExitStatus;
use crate::option_groups::{
    KernelConfigArgs, MetricArgs, SimulatedMachineArgs, VerdictArgs, WorkArgs,
};
use crate::print::{print_note, print_text};
use crate::progress::TerminalProgress;

/// Pairs of starts of a program at most.
const PROGRAM_PAIRS: usize = 30;
/// Pairs of boots of a kernel at most.
const KERNEL_PAIRS: usize = 12;
/// Time that a boot, build, test or recording may take.
const TIME_LIMIT: Duration = Duration::from_secs(600);

const EXAMPLES: &str = "\
Examples:
  relayout tune --build make --bench './server exchange' --also './server migrate' --test './server test'
  relayout tune --build 'make -j4' --bench ./bench --metric 'rate=regex:rate: ([0-9.]+)' --time 2h
  relayout tune --kernel linux --workload mntns --also fcopy --also stat-one --time 75m
  relayout tune --kernel linux --workload stat-one --machine sapphire-rapids-2s --cpus 16

All work is done in a copy. Your source is only read; at the end it has one branch more (--branch), with a \
commit for each change that is kept. A change is kept if the main benchmark gains and none of the others \
loses: measured on this machine for a program, counted under QEMU for a kernel, or simulated with --machine. Programs are built for \
recording by the build command with CC=\"relayout cc\" and CXX=\"relayout c++\". They should mark operations \
with relayout_operation() (docs/programs.md); otherwise nothing is counted, and measuring alone decides.

A run that was stopped, by Ctrl-C, by a limit or by a power cut, goes on when the same command is given \
again. docs/tune.md describes the steps.

Exit code 0: the run is complete or a limit was reached; 2: bad input, such as changes that are not \
committed; 3: a tool is missing or the disk is full; 4: the build, test or a benchmark fails without any \
change; 130: interrupted.";

/// Try layouts until nothing is left that is worth it: record, patch, build, test, record again,
/// measure, and keep what gains, as commits of a branch
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("metric", |metric| metric.requires("build")),
    mut_arg("machine", |machine| machine.requires("kernel").help(
        "Execute the guests in the simulated time of this machine: a change is kept if operations a second gain with \
         all values of the rules that nobody measured; where these disagree, transfers decide. `relayout probe \
         --machines` lists names [default: the time of the host, and transfers decide]"
    )),
    mut_arg("rule", |rule| rule.requires("machine")),
    mut_arg("placement", |placement| placement.requires("machine")),
    mut_arg("simulate", |simulate| simulate.requires("machine").help(
        "Record for this long in simulated time: 5ms, 200us [default: 5ms; with --iterations, all of the work]"
    )),
    mut_arg("iterations", |iterations| iterations.requires("kernel")),
    mut_arg("kconfig", |kconfig| kconfig.requires("kernel"))
)]
pub struct Args {
    /// Build the program by this; `sh` runs it in the source folder
    #[arg(
        long,
        value_name = "CMD",
        requires = "bench",
        required_unless_present = "kernel"
    )]
    build: Option<String>,
    /// Build the program for recording by this [default: --build with relayout as the compiler]
    #[arg(long, value_name = "CMD", requires = "build")]
    record_build: Option<String>,
    /// Run this benchmark, which must gain
    #[arg(long, value_name = "CMD", requires = "build")]
    bench: Option<String>,
    /// Run this benchmark, or workload of a kernel, too, which must not lose; may be given more than
    /// once
    #[arg(long, value_name = "CMD|NAME")]
    also: Vec<String>,
    /// Test each change by this; `sh` runs it in the source folder
    #[arg(long, value_name = "CMD", requires = "build")]
    test: Option<String>,
    #[command(flatten)]
    metrics: MetricArgs,
    /// Let `sh` run the benchmarks, for pipes and the like; it is measured too
    #[arg(long, requires = "build")]
    shell: bool,
    /// The program's source [default: this folder]
    #[arg(long, value_name = "DIR", requires = "build")]
    source: Option<PathBuf>,
    /// Tune the kernel of this source tree instead
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with = "build",
        requires = "workload"
    )]
    kernel: Option<PathBuf>,
    /// Run this workload, which must gain; `relayout record kernel --workload list` names them
    #[arg(long, value_name = "NAME", requires = "kernel",
          add = ArgValueCandidates::new(complete::workloads))]
    workload: Option<String>,
    /// Give the guests N CPUs
    #[arg(long, value_name = "N", requires = "kernel", default_value_t = 4,
        value_parser = clap::value_parser!(u16).range(2..=1024))]
    cpus: u16,
    #[command(flatten)]
    machine: SimulatedMachineArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    configuration: KernelConfigArgs,
    /// Begin no change after this much work (90, 90s, 5m, 2h) [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    time: Option<Duration>,
    /// Keep at most N changes [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    changes: Option<u16>,
    /// Record each benchmark N times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(3..=64))]
    repeat: u16,
    /// Start each side at most N times, or boot it [default: 30 starts, 12 boots]
    #[arg(short = 'n', long, value_name = "N", value_parser = arguments::pairs)]
    runs: Option<usize>,
    #[command(flatten)]
    verdict: VerdictArgs,
    /// Kill a build, test, recording or start after this, which counts as its failure [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    time_limit: Option<Duration>,
    /// Put the changes that are kept on this branch
    #[arg(long, value_name = "NAME", default_value = "relayout-tune")]
    branch: String,
    /// Keep the state of the run in this folder [default: one in the cache folder, by the settings
    /// and the commit]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Forget what an earlier run with these settings did
    #[arg(long)]
    restart: bool,
    /// Print JSON (schema relayout/tune/2)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// Bad input, a command that fails without any change, a failed write, or Ctrl-C.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    args.files.verify_files()?;
    Metric::parse_all(&args.metrics.metric)?;
    let request = TuneRequest {
        settings: settings(args)?,
        limits: TuneLimits {
            time_s: args.time.map(|time| time.as_secs_f64()),
            changes: args.changes.map(usize::from),
        },
        state: args.state.clone(),
        restart: args.restart,
    };
    let interrupt = InterruptFlag::catch();
    let progress = TerminalProgress::new(String::new());
    let tools = TuneTools {
        relayout: std::env::current_exe()
            .map_err(UserError::wrap("cannot find the program of this process"))?,
        writer: &TuneWriter,
        progress: &progress,
        interrupt,
    };
    let outcome = progress.finish_after(tune(&request, &tools));
    if interrupt.is_set() {
        print_note("the same command goes on where this run stopped");
    }
    let outcome = outcome?;
    let document = tune_document(&outcome);
    (args.files).write_files("relayout tune", || Ok(document.to_json()?))?;
    print_text(&match args.json {
        true => document.to_json()?,
        false => tune_text(&document),
    })?;
    Ok(ExitStatus::Done)
}

fn settings(args: &Args) -> Result<TuneSettings, UserError> {
    let limit = args.time_limit.unwrap_or(TIME_LIMIT);
    let limit_s = limit.as_secs_f64().ceil() as u64;
    let (source, target, pairs) = match (&args.kernel, &args.workload) {
        (Some(source), Some(workload)) => (
            source.as_path(),
            TuneTarget::Kernel(tuned_kernel(args, workload, limit_s)?),
            KERNEL_PAIRS,
        ),
        _ => (
            args.source.as_deref().unwrap_or(Path::new(".")),
            TuneTarget::Program(tuned_program(args, limit_s)?),
            PROGRAM_PAIRS,
        ),
    };
    Ok(TuneSettings {
        source: full_path(source)?,
        branch: args.branch.clone(),
        target,
        repeats: args.repeat,
        pairs: args.runs.unwrap_or(pairs),
        margin: args.verdict.margin,
    })
}

fn tuned_program(args: &Args, limit_s: u64) -> Result<TunedProgram, UserError> {
    let (Some(build), Some(bench)) = (&args.build, &args.bench) else {
        return Err(UserError::input(
            "give --build CMD and --bench CMD, or --kernel DIR and --workload NAME",
        ));
    };
    Ok(TunedProgram {
        build: build.clone(),
        record_build: args.record_build.clone(),
        bench: bench.clone(),
        also: args.also.clone(),
        test: args.test.clone(),
        limit_s,
        metrics: args.metrics.metric.clone(),
        shell: args.shell,
    })
}

fn tuned_kernel(args: &Args, workload: &str, limit_s: u64) -> Result<TunedKernel, UserError> {
    for name in std::iter::once(workload).chain(args.also.iter().map(String::as_str)) {
        relayout_record::find_workload(name)?;
    }
    let config = args
        .configuration
        .kconfig
        .as_deref()
        .map(full_path)
        .transpose()?;
    Ok(TunedKernel {
        workload: workload.to_owned(),
        also: args.also.clone(),
        cpus: args.cpus,
        machine: args.machine.tuned_machine()?,
        iterations: args.work.iterations,
        limit_s,
        config,
    })
}

/// Returns the path without links, which a run that goes on from another folder finds again.
fn full_path(path: &Path) -> Result<PathBuf, UserError> {
    Ok(std::fs::canonicalize(path).map_err(cannot("find", path))?)
}

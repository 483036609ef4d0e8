//! `relayout verify kernel`: whether a patch saves a kernel transfers, by recording it without and
//! with.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_files::InterruptFlag;
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::kernel_verify::contents::KernelContents;
use relayout_report::documents::kernel_verify::kernel_document;
use relayout_report::text::verify::verify_text;
use relayout_workflows::verify::kernel::{KernelSettings, verify_kernel};

use super::super::kit::KernelKitArgs;
use crate::arguments;
use crate::complete;
use crate::exit::ExitStatus;
use crate::option_groups::{GuestArgs, KernelConfigArgs, PairArgs, SimulatedMachineArgs, WorkArgs};
use crate::print::print_text;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout verify kernel --source linux --patch fix.patch --workload mntns
  relayout verify kernel --source linux --patch fix.patch --workload mntns --cpus 2,4,8 \\
      --also execl --also page_fault2 --runs 12 --save result.json
  relayout verify kernel --source linux --patch fix.patch --workload stat-one --cpus 20 \
      --machine sapphire-rapids-2s
  relayout verify kernel --source linux --patch fix.patch --kconfig /boot/config-6.12 \
      --export kit --bench './stat-bench 8' --metric 'rate=regex:^([0-9]+)'
  relayout verify kernel --source linux-6.12 --patch merged-fix.patch --reverse --workload fcopy

Building runs `make` on the source, in a copy below the cache folder (~/.cache/relayout/built); the source \
itself is only read. What was built is kept, so that the same again needs no build. Needed: make, gcc, \
flex, bison, bc, git and libelf-dev. Transfers are counted, and with --machine operations a second are \
simulated: what hardware makes of both is for `relayout verify` there.

Exit code 0: better, same or unclear; 1: worse; 2: bad input, such as a patch that does not apply; 3: a tool \
is missing; 4: a kernel does not build, does not boot, or fails in the workload.";

/// Build a kernel without and with a patch, boot both under the collector in turn, and say whether
/// transfers per operation are fewer, or operations a second more
///
/// The kernel has a small configuration with what the workloads need. What the patch changes is
/// found by comparing the two kernels' types; of these, and of all of the kernel, transfers per
/// operation are compared, and what replaying the recordings of the first kernel predicts is set
/// beside.
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("machine", |machine| machine.conflicts_with_all(["export", "yield_every"]).help(
        "Execute both in the simulated time of this machine, each pair of boots with other values of the rules that \
         nobody measured; operations a second decide. `relayout probe --machines` lists names; a FILE is one that \
         `relayout probe -o` wrote. Line latencies only: no core, no caches' size [default: the time of the host, \
         and transfers decide]"
    )),
    mut_arg("rule", |rule| rule.requires("machine")),
    mut_arg("placement", |placement| placement.requires("machine")),
    mut_arg("simulate", |simulate| simulate.requires("machine").help(
        "Record each boot for this long in simulated time: 5ms, 200us [default: 5ms; with --iterations, all of the work]"
    )),
    mut_arg("runs", |runs| runs
        .default_value("10")
        .help("Boot each kernel at most N times for each workload and number of CPUs")),
    mut_arg("all_runs", |all_runs| all_runs.help("Boot them N times also when it is decided before")),
    mut_arg("budget", |budget| budget.help(
        "Begin no boots that would end later than this (90, 90s, 5m, 1h); building does not count"
    ))
)]
pub struct Args {
    /// The kernel's source, clean [default: the one that `relayout setup` fetched]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// The patch, with paths as `git format-patch` writes them
    #[arg(long, value_name = "PATCH")]
    patch: PathBuf,
    /// The source has the patch already: take it out for the first kernel
    #[arg(long)]
    reverse: bool,
    /// Run this workload in both; `relayout record kernel --workload list` names them
    #[arg(long, value_name = "NAME", required_unless_present = "export",
          add = ArgValueCandidates::new(complete::workloads))]
    workload: Option<String>,
    /// Run this one too, for what the patch does to others; may be given more than once
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::workloads))]
    also: Vec<String>,
    /// Give the guests N CPUs, and as many threads to the workload; several: one after the other
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "4",
          value_parser = clap::value_parser!(u16).range(2..=1024))]
    cpus: Vec<u16>,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    pairs: PairArgs,
    /// Count this type [default: those that the patch lays out differently]; may be given more than
    /// once
    #[arg(long = "type", value_name = "NAME")]
    types: Vec<String>,
    /// Order the boots, and seed the workloads, by this [default: another one each time]
    #[arg(long, value_name = "N", value_parser = arguments::whole::<u64>)]
    seed: Option<u64>,
    #[command(flatten)]
    machine: SimulatedMachineArgs,
    #[command(flatten)]
    guest: GuestArgs,
    #[command(flatten)]
    configuration: KernelConfigArgs,
    /// Compile N files at a time [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Write what each boot gave to this file, for `relayout verify --load`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Keep the recordings of the first boots in this folder, as before-WORKLOAD-CPUS and after-...
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    kit: KernelKitArgs,
    /// Print JSON (schema relayout/verify/1)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Bad input, a missing tool, or a kernel that does not build or boot.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    if let Some(folder) = &args.kit.export {
        return args.kit.export_to(folder, settings(args)?);
    }
    let interrupt = InterruptFlag::catch();
    let progress = TerminalProgress::new(String::new());
    let rules = args.pairs.verdict.rules();
    let verified = verify_kernel(&settings(args)?, &rules, &progress, interrupt);
    let verified = progress.finish_after(verified.map_err(|failed| failed.error))?;
    let document = kernel_document(&KernelContents {
        verification: &verified,
        reverse: args.reverse,
        yield_every: args.guest.yield_every(),
    });
    print_text(&match args.json {
        true => document.to_json()?,
        false => verify_text(&document),
    })?;
    let exit = super::exit_code(&verified.judged.outcome);
    verified.save_error.map_or(Ok(exit), Err)
}

fn settings(args: &Args) -> Result<KernelSettings, UserError> {
    let workloads = args.workload.iter().chain(&args.also);
    Ok(KernelSettings {
        source: args.source.clone(),
        patch: args.patch.clone(),
        reverse: args.reverse,
        workloads: workloads.cloned().collect(),
        cpus: args.cpus.clone(),
        iterations: args.work.iterations,
        pairs: args.pairs.runs,
        early_stop: !args.pairs.all_runs,
        budget: args.pairs.budget,
        types: args.types.clone(),
        seed: args.seed,
        simulated: args.machine.boots()?,
        yield_every: args.guest.yield_every(),
        memory_bytes: args.guest.memory,
        time_limit: args.guest.time_limit,
        config: args.configuration.kconfig.clone(),
        jobs: args.jobs.map(usize::from),
        qemu: args.guest.qemu.clone(),
        save: args.save.clone(),
        keep: args.keep.clone(),
        command: crate::cmd::record::command_line(),
    })
}

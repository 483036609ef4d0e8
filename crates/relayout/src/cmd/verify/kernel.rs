//! `relayout verify kernel`: whether a patch saves a kernel transfers, by recording it without and with.

mod boots;
mod changed;
mod counts;
mod experiment;
mod json;
mod predict;
mod samples;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use relayout_host::kernel_build::{BuildWatch, BuiltKernel, KernelBuilder, KernelPatch};
use relayout_host::{
    CacheFolder, Error, InterruptFlag, RecordingProgress as _, find_collector, find_workload,
    workloads,
};
use relayout_verify::judge::{ExperimentOutcome, judge_runs};

use self::boots::{BootSetting, PreparedKernels};
use self::changed::ChangedType;
use self::experiment::KernelExperiment;
use self::predict::ReplayPrediction;
use self::samples::{BootSamples, DetailSelection};
use super::arguments;
use crate::exit::ExitStatus;
use crate::print::print_text;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout verify kernel --source linux --patch fix.patch --workload mntns
  relayout verify kernel --source linux --patch fix.patch --workload mntns --cpus 2,4,8 \\
      --also execl --also page_fault2 --runs 12 --save result.json
  relayout verify kernel --source linux-6.12 --patch merged-fix.patch --reverse --workload fcopy

Building runs `make` on the source, in a copy below the cache folder (~/.cache/relayout/built); the source \
itself is only read. What was built is kept, so that the same again needs no build. Needed: make, gcc, \
flex, bison, bc, git and libelf-dev. Transfers are counted, not timed: what they cost on hardware is \
for `relayout verify` there.

Exit code 0: better, same or unclear; 1: worse; 2: bad input, such as a patch that does not apply; 3: a tool \
is missing; 4: a kernel does not build, does not boot, or fails in the workload.";

/// Build a kernel without and with a patch, boot both under the collector in turn, and say whether
/// transfers per operation are fewer
///
/// The kernel has a small configuration with what the workloads need. What the patch changes is found
/// by comparing the two kernels' types; of these, and of all of the kernel, transfers per operation are
/// compared, and what replaying the recordings of the first kernel predicts is set beside.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The kernel's source, clean [default: the one that scripts/setup.sh fetched]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// The patch, with paths as `git format-patch` writes them
    #[arg(long, value_name = "PATCH")]
    patch: PathBuf,
    /// The source has the patch already: take it out for the first kernel
    #[arg(long)]
    reverse: bool,
    /// Run this workload in both; `relayout record kernel --workload list` names them
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// Run this one too, for what the patch does to others; may be given more than once
    #[arg(long, value_name = "NAME")]
    also: Vec<String>,
    /// Give the guests N CPUs, and as many threads to the workload; several: one after the other
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "4",
          value_parser = clap::value_parser!(u16).range(2..=48))]
    cpus: Vec<u16>,
    /// Do N operations in each thread [default: the workload's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Boot each kernel at most N times for each workload and number of CPUs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = arguments::pairs)]
    runs: usize,
    /// Boot them N times also when it is decided before
    #[arg(long)]
    all: bool,
    /// Begin no boots that would end later than this (90, 90s, 5m, 1h); building does not count
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    budget: Option<Duration>,
    /// Changes up to this many percent do not matter [default: 1, or what the boots can tell]
    #[arg(long, value_name = "PERCENT", value_parser = arguments::margin)]
    margin: Option<f64>,
    /// Count this type [default: those that the patch lays out differently]; may be given more than once
    #[arg(long = "type", value_name = "NAME")]
    types: Vec<String>,
    /// Order the boots, and seed the workloads, by this [default: another one each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Let the host run another CPU after about N accesses of one; 0: leave it to the host
    #[arg(long = "yield", value_name = "N", default_value_t = 1000)]
    yield_every: u32,
    /// Give the guests this much memory, in MiB or with a suffix: 2G
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = crate::cmd::record::kernel::size)]
    memory: u64,
    /// Give up when booting, or a workload, takes longer than this
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = arguments::time)]
    time_limit: Duration,
    /// Set these options of the configuration too: a file with lines as CONFIG_NUMA=y
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Compile N files at a time [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Use this QEMU [default: $RELAYOUT_QEMU, the cached one, or the one in $PATH]
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// Write what each boot gave to this file, for `relayout verify --load`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Keep the recordings of the first boots in this folder, as before-WORKLOAD-CPUS and after-...
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print JSON (schema relayout/verify/1)
    #[arg(long)]
    json: bool,
    /// Say less
    #[arg(short, long)]
    quiet: bool,
}

/// Everything there is to tell.
struct KernelVerification<'a> {
    args: &'a Args,
    release: String,
    kernels: [BuiltKernel; 2],
    changed: Vec<ChangedType>,
    samples: BootSamples,
    /// Of the kernel and of the types, which is what the verdict is about.
    outcome: ExperimentOutcome,
    /// Of classes and members.
    details: ExperimentOutcome,
    predictions: Vec<ReplayPrediction>,
    notes: Vec<String>,
    /// As in [`super::Measured`].
    saved: anyhow::Result<()>,
}

/// Runs the command.
///
/// # Errors
/// Bad input, a missing tool, a kernel that does not build or boot.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let settings = boot_settings(args)?;
    let cache = CacheFolder::locate().context(
        "there is no folder for what is built: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME",
    )?;
    let interrupt = InterruptFlag::catch();
    let shown = TerminalProgress::new(String::new(), args.quiet);
    let result = verify(args, settings, &cache, interrupt, &shown);
    shown.finish();
    let verified = result?;
    let rendered = match args.json {
        true => json::render(&verified)?,
        false => text::render(&verified),
    };
    print_text(&rendered)?;
    verified.saved?;
    Ok(super::exit_code(&verified.outcome))
}

fn verify<'a>(
    args: &'a Args,
    settings: Vec<BootSetting>,
    cache: &CacheFolder,
    interrupt: InterruptFlag,
    shown: &TerminalProgress,
) -> anyhow::Result<KernelVerification<'a>> {
    let patch = KernelPatch::read(&args.patch, args.reverse).map_err(Error::KernelBuild)?;
    let (builder, files) = open_builder(args, cache, &patch, shown)?;
    let collector = find_collector(args.qemu.as_deref(), Some(cache))?;
    let kernels = build_kernels(args, &builder, &patch, interrupt, shown)?;
    let notes = [
        rejected_options_note(&builder, &kernels[0])?,
        code_changes_note(&files),
    ]
    .into_iter();
    shown.step("comparing the types of the two kernels");
    let [before, after] = &kernels;
    let changed = changed::changed_types(&before.debug, &after.debug, &args.types)?;
    let names: Vec<String> = changed
        .iter()
        .map(|changed_type| changed_type.name.clone())
        .collect();
    let mut experiment = KernelExperiment::new(args, settings, names);
    let ended = PreparedKernels::with(args, &kernels, &collector, interrupt, |boots| {
        experiment.run(boots, &super::judging_rules(args.margin), shown)?;
        shown.step("replaying the recordings of the first kernel");
        let kept = std::mem::take(&mut experiment.kept);
        let predictions = predict::predict_changes(&changed, kept, boots, shown);
        Ok((boots.release().to_owned(), predictions))
    });
    let samples = experiment.samples;
    let saved = super::save(args.save.as_deref(), &samples.runs(DetailSelection::Both));
    let (release, predictions) = match ended {
        Ok(done) => done,
        Err(why) => return Err(saved.err().unwrap_or(why)),
    };
    let rules = super::judging_rules(args.margin);
    Ok(KernelVerification {
        args,
        release,
        outcome: judge_runs(&samples.runs(DetailSelection::Without), &rules),
        details: judge_runs(&samples.runs(DetailSelection::Only), &rules),
        kernels,
        changed,
        samples,
        predictions,
        notes: notes.flatten().collect(),
        saved,
    })
}

/// Looks at the source, and whether the patch applies to it; gives the files that it changes, too.
fn open_builder(
    args: &Args,
    cache: &CacheFolder,
    patch: &KernelPatch,
    shown: &TerminalProgress,
) -> anyhow::Result<(KernelBuilder, Vec<String>)> {
    let source = args.source.clone().or_else(|| cache.kernel_source());
    let source = source.context(
        "say where the kernel's source is: --source DIR, or run scripts/setup.sh to fetch Debian's",
    )?;
    let jobs = match args.jobs {
        Some(jobs) => jobs.into(),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    shown.step("looking at the source");
    let builder = KernelBuilder::open(cache, &source, args.config.as_deref(), jobs);
    let builder = builder.map_err(Error::KernelBuild)?;
    let files = builder.patched_files(patch).map_err(Error::KernelBuild)?;
    Ok((builder, files))
}

/// Both kernels.
fn build_kernels(
    args: &Args,
    builder: &KernelBuilder,
    patch: &KernelPatch,
    interrupt: InterruptFlag,
    shown: &TerminalProgress,
) -> anyhow::Result<[BuiltKernel; 2]> {
    let watch = BuildWatch {
        progress: shown,
        update: &|text: &str| shown.update(text),
        interrupt,
    };
    let build = |patch: Option<&KernelPatch>, name: &str| {
        let built = builder.build(patch, name, &watch);
        built.map_err(Error::KernelBuild)
    };
    // The source as it is has the patch, or has it not.
    let [before, after] = match args.reverse {
        false => [None, Some(patch)],
        true => [Some(patch), None],
    };
    Ok([
        build(before, "the kernel without the patch")?,
        build(after, "the kernel with the patch")?,
    ])
}

/// What the configuration lacks, to be told.
fn rejected_options_note(
    builder: &KernelBuilder,
    kernel: &BuiltKernel,
) -> anyhow::Result<Option<String>> {
    let options = builder
        .options_not_taken(kernel)
        .map_err(Error::KernelBuild)?;
    let note = format!(
        "this source does not take these options of the configuration: {}",
        options.join(", ")
    );
    Ok((!options.is_empty()).then_some(note))
}

/// Replay knows of layouts only, not of code.
fn code_changes_note(files: &[String]) -> Option<String> {
    let code = files.iter().filter(|file| !file.ends_with(".h"));
    let code: Vec<&str> = code.map(String::as_str).collect();
    (!code.is_empty()).then(|| {
        format!(
            "the patch changes more than headers ({}): what was recorded is of all of it, replay of the layouts alone",
            code.join(", ")
        )
    })
}

/// What is run, by workload and number of CPUs.
fn boot_settings(args: &Args) -> anyhow::Result<Vec<BootSetting>> {
    if args.workload == "list" || args.also.iter().any(|name| name == "list") {
        let names: Vec<&str> = workloads().map(|workload| workload.name).collect();
        anyhow::bail!("the workloads are {}", names.join(", "));
    }
    let mut settings: Vec<BootSetting> = Vec::new();
    for name in std::iter::once(&args.workload).chain(&args.also) {
        find_workload(name)?;
        for &cpus in &args.cpus {
            let setting = BootSetting {
                workload: name.clone(),
                cpus,
            };
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
    }
    Ok(settings)
}

/// `struct NAME` as NAME.
fn bare_name(name: &str) -> &str {
    name.trim_start_matches("struct ").trim()
}

#[cfg(test)]
mod tests {
    use super::code_changes_note;

    #[test]
    fn code_beside_layouts_is_told() {
        let note = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            code_changes_note(&files)
        };
        assert_eq!(note(&["include/linux/osq_lock.h"]), None);
        let said = note(&["include/linux/osq_lock.h", "kernel/locking/osq_lock.c"]).unwrap();
        assert!(said.contains("(kernel/locking/osq_lock.c)"), "{said}");
    }
}

//! `relayout verify`: whether a change helps, by starting both sides many times.

mod kernel;

use std::path::PathBuf;
use std::time::Duration;

use relayout_files::InterruptFlag;
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::verify::contents::VerifyContents;
use relayout_report::documents::verify::verify_document;
use relayout_report::text::verify::verify_text;
use relayout_verify::judge::{ExperimentOutcome, JudgingRules};
use relayout_verify::judged_change::ChangeVerdict;
use relayout_verify::metric::{FORMS, Metric};
use relayout_workflows::verify::{
    ComparedPrograms, MeasuredRuns, PatchedBuild, ProgramSettings, judge, load_runs,
    measure_programs,
};

use super::document_files::DocumentArgs;
use super::kit::KitArgs;
use crate::arguments;
use crate::exit::ExitStatus;
use crate::option_groups::{MetricArgs, PairArgs};
use crate::print::print_text;
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout verify --before ./bench-old --after ./bench-new
  relayout verify --before './bench old' --after './bench new' --pin 0-3 \\
      --metric 'ops,unit=1/s=regex:^thread (?<thread>\\d+): ([0-9.]+) ops' --save result.json
  relayout verify --patch fix.patch --build 'make -j4' --bench './bench --seconds 1'
  relayout verify --load result.json --margin 0.5
  relayout verify --patch fix.patch --build 'make -j4' --bench ./bench --export kit
  relayout verify --import result.txt --ledger ledger.jsonl    what kit/run wrote elsewhere
  relayout verify kernel --source linux --patch fix.patch --workload mntns

better and worse: the change is there, at an error rate of 5 % over all metrics and all looks; same: \
its whole interval lies within --margin; unclear: the interval contains no change, and changes beyond \
--margin. docs/verify.md describes the method, docs/kit.md measuring on another machine.

Exit code 0: better, same or unclear; 1: worse; 2: bad input; 3: no permission, a tool is missing, or the \
machine is too busy for --disturbed; 4: a command failed.";

/// Start two versions of a program in turn, and say whether one is faster
///
/// The two sides start in pairs, in random order, until every metric is decided or --runs or
/// --budget is used up. Starts that lose too much CPU time to other programs are repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    target: Option<VerifyTarget>,
    /// Run this without the change: a program and its arguments, quoted as for a shell
    #[arg(long, value_name = "CMD", requires = "after")]
    before: Option<String>,
    /// Run this with the change
    #[arg(long, value_name = "CMD", requires = "before")]
    after: Option<String>,
    /// Make two copies of the source and apply this patch in one (of a git repository: two
    /// worktrees of what is committed)
    #[arg(long, value_name = "PATCH", conflicts_with = "before", requires_all = ["build", "bench"])]
    patch: Option<PathBuf>,
    /// Build each copy by this; `sh` runs it there
    #[arg(long, value_name = "CMD", requires = "patch")]
    build: Option<String>,
    /// Run this in each copy
    #[arg(long, value_name = "CMD", requires = "patch")]
    bench: Option<String>,
    /// The source [default: this folder]
    #[arg(long, value_name = "DIR", requires = "patch")]
    source: Option<PathBuf>,
    /// Judge what was saved, instead of starting anything
    #[arg(long, value_name = "FILE", conflicts_with_all = ["before", "patch", "save", "metric"])]
    load: Option<PathBuf>,
    #[command(flatten)]
    metrics: MetricArgs,
    #[command(flatten)]
    pairs: PairArgs,
    /// Discard the first N starts of each side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(..=100))]
    warmup: u16,
    /// Let both use only these CPUs (0-3,8) [default: all that relayout may use]
    #[arg(long, value_name = "CPUS")]
    pin: Option<String>,
    /// Run both under SCHED_FIFO, so that other programs do not interrupt them
    #[arg(long)]
    fifo: bool,
    /// Discard starts that lost more than this share of the CPU time they wanted to others, in
    /// percent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = crate::arguments::percent)]
    max_lost: f64,
    /// Repeat a start that ends with this exit code, by which the program reports that it was
    /// disturbed
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u8).range(1..=125))]
    disturbed: Option<u8>,
    /// Kill a start, and fail, after this time
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    time_limit: Option<Duration>,
    /// Let `sh` run the commands, for pipes and the like; it is measured too
    #[arg(long)]
    shell: bool,
    /// Order the starts by this seed [default: another one each time]
    #[arg(long, value_name = "N", value_parser = arguments::whole::<u64>)]
    seed: Option<u64>,
    /// Write what each start gave to this file, for --load
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    kit: KitArgs,
    /// Print JSON (schema relayout/verify/1)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: DocumentArgs,
}

/// Targets of a comparison other than programs.
#[derive(Debug, clap::Subcommand)]
enum VerifyTarget {
    Kernel(Box<kernel::Args>),
}

/// Runs the command.
///
/// # Errors
/// Bad input, a command that fails, a metric that does not appear, a failed write.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    if let Some(VerifyTarget::Kernel(args)) = &args.target {
        return kernel::run(args);
    }
    if args.metrics.metric.iter().any(|metric| metric == "list") {
        print_text(&format!("{FORMS}\n"))?;
        return Ok(ExitStatus::Done);
    }
    let rules = args.pairs.verdict.rules();
    args.files.verify_files()?;
    if args.kit.is_import() {
        return args.kit.import(&rules, args.json, &args.files);
    }
    if let Some(folder) = &args.kit.export {
        return args
            .kit
            .export_to(folder, settings(args)?, &args.metrics.metric);
    }
    let measured = match &args.load {
        Some(path) => MeasuredRuns {
            runs: load_runs(path)?,
            notes: Vec::new(),
            save_error: None,
        },
        None => measure(args, &rules)?,
    };
    let judged = judge(&measured.runs, &rules);
    let document = verify_document(&VerifyContents {
        runs: &measured.runs,
        judged: &judged,
        notes: &measured.notes,
    });
    (args.files).write_files("relayout verify", || Ok(document.to_json()?))?;
    print_text(&match args.json {
        true => document.to_json()?,
        false => verify_text(&document),
    })?;
    measured.save_error.map_or(Ok(()), Err)?;
    Ok(exit_code(&judged.outcome))
}

fn exit_code(outcome: &ExperimentOutcome) -> ExitStatus {
    ExitStatus::failed_if(outcome.verdict == ChangeVerdict::Worse)
}

fn measure(args: &Args, rules: &JudgingRules) -> Result<MeasuredRuns, UserError> {
    let settings = settings(args)?;
    let interrupt = InterruptFlag::catch();
    let progress = TerminalProgress::new(String::new());
    progress.finish_after(measure_programs(
        &settings,
        rules,
        args.save.as_deref(),
        &progress,
        interrupt,
    ))
}

fn settings(args: &Args) -> Result<ProgramSettings, UserError> {
    Ok(ProgramSettings {
        metrics: Metric::parse_all(&args.metrics.metric)?,
        programs: programs(args)?,
        shell: args.shell,
        pairs: args.pairs.runs,
        budget: args.pairs.budget,
        early_stop: !args.pairs.all_runs,
        warmups: args.warmup.into(),
        pin: args.pin.clone(),
        fifo: args.fifo,
        lost_max: args.max_lost / 100.0,
        disturbed_code: args.disturbed,
        time_limit: args.time_limit,
        seed: args.seed,
    })
}

fn programs(args: &Args) -> Result<ComparedPrograms, UserError> {
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        return Ok(ComparedPrograms::Commands {
            before: before.clone(),
            after: after.clone(),
        });
    }
    let (Some(patch), Some(build), Some(bench)) = (&args.patch, &args.build, &args.bench) else {
        return Err(UserError::input("there is nothing to compare").with_remedy(
            "give --before CMD and --after CMD, or --patch FILE, --build CMD and --bench CMD",
        ));
    };
    Ok(ComparedPrograms::Patch(PatchedBuild {
        patch: patch.clone(),
        build: build.clone(),
        bench: bench.clone(),
        source: args.source.clone().unwrap_or_else(|| PathBuf::from(".")),
    }))
}

//! `relayout compare`: what got worse or better between two sets of recordings.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_files::InterruptFlag;
use relayout_messages::{ErrorCategory, UserError};
use relayout_report::Document as _;
use relayout_report::documents::compare::compare_document;
use relayout_report::exports::mail::compare::compare_mail;
use relayout_report::text::compare::compare_text;
use relayout_session::verify_profile_path;
use relayout_workflows::compare::{
    BisectVerdict, CarrySettings, CompareSettings, ComparedSide, RecordingComparison, compare_sides,
};
use relayout_workflows::simulate::TimeBudget;

use super::document_files::DocumentArgs;
use super::machine_args::MachineArgs;
use super::simulated_change::SimulatedChangeArgs;
use crate::complete;
use crate::exit::ExitStatus;
use crate::print::{TextKind, print_failure, print_rendered};
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout record kernel --kernel 6.1 --workload stat-one --repeat 8 -o old.relayout
  relayout record kernel --kernel 6.12 --workload stat-one --repeat 8 -o new.relayout
  relayout compare old.relayout new.relayout             all types with 1% of the transfers
  relayout compare old.relayout new.relayout dentry      this one
  relayout compare old.relayout new.relayout --simulate  what the layouts alone bring
  relayout compare suite-v1/ suite-v2/ --mail            all workloads that both folders have
  git bisect run sh -c 'make bench && relayout record run --repeat 6 -o new.relayout ./bench;
                        relayout compare --bisect good.relayout new.relayout'

A change is told from the spread of the recordings: record 8 seeds on each side (--repeat 8). With \
fewer than 3 nothing can be told, with fewer than 6 only changes larger than the whole spread.

Exit code with --fail-on-worse: 1 if something got worse. With --bisect: 0 nothing got worse; 1 \
something did; 125 it cannot be told for NEW; 128 the setup is broken, such as a missing OLD.";

/// Compare recordings of two builds: what got worse or better per operation, and which layout change
/// did it
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("simulate", |simulate| simulate.help(
        "Execute the guest of OLD again in simulated time with the layouts that NEW has otherwise, of types that got better or \
         worse: what the layouts alone bring, because builds differ in more. A recorded program of OLD is given again behind \
         `--`. TIME is that of a window [default: as recorded]"
    )),
    mut_arg("budget", |budget| budget.help(
        "Begin no further draw after this time; what was executed is kept, and the same command goes on from there [default: \
         1m where CPUs wait for lines, 10m where they wait for locks]"
    ))
)]
pub struct Args {
    /// Profile of the earlier build, or a folder of profiles
    pub old: PathBuf,
    /// Profile of the build that is judged, or a folder of profiles
    pub new: PathBuf,
    /// Types and variables to compare [default: those with 1% of the transfers of a side]
    #[arg(value_name = "TYPE", add = ArgValueCandidates::new(complete::types))]
    pub types: Vec<String>,
    /// Take changes below this percentage to be none
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = crate::arguments::margin)]
    pub margin: f64,
    /// Read the profiles of OLD with this debug file [default: the one recorded with]; may be given
    /// more than once
    #[arg(long, value_name = "FILE")]
    pub old_debug: Vec<PathBuf>,
    /// Read the profiles of NEW with this debug file [default: the one recorded with]; may be given
    /// more than once
    #[arg(long, value_name = "FILE")]
    pub new_debug: Vec<PathBuf>,
    /// Exit with 1 if something got worse
    #[arg(long, conflicts_with = "bisect")]
    pub fail_on_worse: bool,
    /// Exit as `git bisect run` needs it: 0, 1, 125 or 128
    #[arg(long)]
    pub bisect: bool,
    #[command(flatten)]
    pub simulated: SimulatedChangeArgs,
    /// Print text for a mail or commit message; its first line says how the counts came about
    #[arg(long, conflicts_with = "json")]
    pub mail: bool,
    /// Print JSON (schema relayout/compare/1)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub files: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// A profile or debug file cannot be read, the sides cannot be compared, or standard output fails.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    match compare(args) {
        Ok((comparison, output)) => {
            print_rendered(&output, args.json || args.mail, TextKind::Differences)?;
            Ok(exit_status(args, &comparison))
        }
        Err(failed) if args.bisect => Ok(failed.bisect_status()),
        Err(failed) => Err(failed.error),
    }
}

/// A failed comparison.
struct FailedComparison {
    error: UserError,
    /// NEW is at fault, and so the commit that is tested.
    is_of_new: bool,
}

impl<E: Into<UserError>> From<E> for FailedComparison {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            is_of_new: false,
        }
    }
}

impl FailedComparison {
    fn of_new(error: UserError) -> Self {
        Self {
            error,
            is_of_new: true,
        }
    }

    fn bisect_status(&self) -> ExitStatus {
        let status = match (self.error.category(), self.is_of_new) {
            // Ctrl-C ends the bisection.
            (ErrorCategory::Interrupted, _) => ExitStatus::Interrupted,
            (ErrorCategory::Input, true) => ExitStatus::Untestable,
            _ => ExitStatus::BrokenSetup,
        };
        print_failure(&self.error, status as u8);
        status
    }
}

fn compare(args: &Args) -> Result<(RecordingComparison, String), FailedComparison> {
    args.files.verify_files()?;
    verify_profile_path("compare", &args.old, &args.types)?;
    let progress = TerminalProgress::when_slow();
    let old = ComparedSide::read(&args.old, &args.old_debug, &progress)?;
    let new = verify_profile_path("compare", &args.new, &args.types);
    let new = new
        .and_then(|()| ComparedSide::read(&args.new, &args.new_debug, &progress))
        .map_err(FailedComparison::of_new)?;
    let settings = CompareSettings {
        names: args.types.clone(),
        margin: args.margin,
    };
    let comparison = compare_sides(&old, &new, &settings, &progress).and_then(|mut comparison| {
        carry_layouts(args, &mut comparison, &progress)?;
        Ok(comparison)
    });
    let comparison = progress.finish_after(comparison)?;
    let title = format!("relayout compare {}", args.new.display());
    let document = compare_document(&comparison);
    (args.files).write_files(&title, || Ok(document.to_json()?))?;
    let output = match (args.json, args.mail) {
        (true, _) => document.to_json()?,
        (_, true) => compare_mail(&document),
        _ => compare_text(&document),
    };
    Ok((comparison, output))
}

/// Executes OLD with layouts of NEW, if that is asked for.
fn carry_layouts(
    args: &Args,
    comparison: &mut RecordingComparison,
    progress: &TerminalProgress,
) -> Result<(), UserError> {
    let machine = MachineArgs::default();
    let Some(request) = (args.simulated).request(&machine, TimeBudget::ByWaiting)? else {
        return Ok(());
    };
    comparison.carry_layouts(CarrySettings {
        debug: &args.old_debug,
        request: &request,
        choice: args.simulated.guest_choice(&machine),
        interrupt: InterruptFlag::catch(),
        progress,
    })
}

fn exit_status(args: &Args, comparison: &RecordingComparison) -> ExitStatus {
    if !args.bisect {
        return ExitStatus::failed_if(args.fail_on_worse && comparison.is_worse());
    }
    match comparison.bisect_verdict() {
        BisectVerdict::Good => ExitStatus::Done,
        BisectVerdict::Bad => ExitStatus::Failed,
        BisectVerdict::Untestable => ExitStatus::Untestable,
    }
}

//! `relayout suite`: many recordings, described by a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_files::InterruptFlag;
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::suite::suite_document;
use relayout_report::text::suite::{job_list, suite_text};
use relayout_workflows::suite::{
    JobShard, JobState, SuiteOutcome, SuiteRequest, SuiteTools, run_suite,
};

use crate::arguments;
use crate::complete;
use crate::exit::ExitStatus;
use crate::print::{print_note, print_text};
use crate::progress::TerminalProgress;

/// Ending of the folder for the results, in place of that of the file.
/// Extension of the folder of a file's results.
pub const FOLDER_EXTENSION: &str = "recordings";
/// File that is read if none is named.
pub const FILE_DEFAULT: &str = "relayout-suite.toml";

const EXAMPLES: &str = "\
Examples:
  relayout suite                                   all of relayout-suite.toml that is not done
  relayout suite --list | xargs -P 4 -n 1 relayout suite --job
  relayout suite --shard 3/8                       a part, for the third of eight machines
  relayout compare v1.recordings v2.recordings     what got worse

A file:
  [[kernel]]
  kernels = [\"6.1\", \"6.12\"]     # as `record kernel --kernel` takes them
  workloads = [\"mntns\", \"stat-one\"]
  cpus = [2, 4]                 # default 4
  seeds = 8                     # or a list: [1, 5]; default 1
  options = [\"--iterations\", \"50\"]
  time-limit = 600              # seconds

  [[program]]
  name = \"server\"
  command = [\"./server\", \"exchange\"]
  directory = \"build\"           # from the folder of this file
  seeds = 8

A job makes JOB.relayout, JOB.log and JOB.json in the folder of the results and shares nothing else, so that \
machines can share the work, and folders can be copied together. A recording that fails is kept as failed, \
and the next one begins. docs/suite.md has make, Slurm and Kubernetes.

Exit code 0: all asked recordings are done; 1: some are not run; 2: bad file; 3: something is missing here, \
or the disk is full; 4: a recording failed; 130: interrupted.";

/// Make many recordings, described by a file: kernels, workloads, CPUs, seeds, benchmarks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// File that describes the recordings
    #[arg(default_value = FILE_DEFAULT)]
    file: PathBuf,
    /// Folder for the results [default: the file's name, with .recordings]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the names of the jobs and run none; with --json their state too
    #[arg(long)]
    list: bool,
    /// Run this job; may be given more than once [default: all]
    #[arg(long, value_name = "JOB", add = ArgValueCandidates::new(complete::jobs))]
    job: Vec<String>,
    /// Run every N-th job from the K-th: the part of one of N machines
    #[arg(long, value_name = "K/N", conflicts_with = "job")]
    shard: Option<JobShard>,
    /// Begin no recording after this time (90, 90s, 5m, 2h) [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    time: Option<Duration>,
    /// Run failed jobs again
    #[arg(long)]
    retry_failed: bool,
    /// Print JSON (schema relayout/suite/1)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// Bad file, no such job, a failed write, or Ctrl-C.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    let default_folder = || args.file.with_extension(FOLDER_EXTENSION);
    let request = SuiteRequest {
        file: args.file.clone(),
        folder: args.output.clone().unwrap_or_else(default_folder),
        jobs: args.job.clone(),
        shard: args.shard,
        time: args.time,
        retry_failed: args.retry_failed,
        verify_words: verify_recording_words,
    };
    if args.list {
        let listed = suite_document(&request.list()?);
        print_text(&match args.json {
            true => listed.to_json()?,
            false => job_list(&listed),
        })?;
        return Ok(ExitStatus::Done);
    }
    let outcome = run_jobs(&request)?;
    let document = suite_document(&outcome);
    print_text(&match args.json {
        true => document.to_json()?,
        false => suite_text(&document),
    })?;
    Ok(exit_status(&outcome))
}

/// Parses the words of a recording as this command will, and returns the first line of its answer.
pub fn verify_recording_words(words: &[String]) -> Result<(), String> {
    let program = std::iter::once(OsString::from("relayout"));
    let words: Vec<OsString> = program.chain(words.iter().map(OsString::from)).collect();
    match crate::parse(&words) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Err("they print a text and record nothing".to_owned()),
        Err(error) => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            Err(line.trim_start_matches("error: ").to_owned())
        }
    }
}

fn run_jobs(request: &SuiteRequest) -> Result<SuiteOutcome, UserError> {
    let interrupt = InterruptFlag::catch();
    let progress = TerminalProgress::new(String::new());
    let tools = SuiteTools {
        relayout: std::env::current_exe()
            .map_err(UserError::wrap("cannot find the program of this process"))?,
        progress: &progress,
        interrupt,
    };
    let outcome = progress.finish_after(run_suite(request, &tools));
    if interrupt.is_set() {
        let file: &Path = &request.file;
        let words = format!("`relayout suite {}` goes on", file.display());
        print_note(&words);
    }
    outcome
}

fn exit_status(outcome: &SuiteOutcome) -> ExitStatus {
    let mut jobs = outcome.jobs.iter();
    let any_failed = jobs
        .clone()
        .any(|report| matches!(report.state, JobState::Failed(_)));
    if jobs.clone().any(|report| report.lacking.is_some()) {
        return ExitStatus::Environment;
    }
    if any_failed {
        return ExitStatus::Guest;
    }
    ExitStatus::failed_if(jobs.any(|report| report.state == JobState::Waiting))
}

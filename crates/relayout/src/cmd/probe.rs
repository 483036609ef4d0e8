//! `relayout probe`: what this machine's caches cost.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_files::{InterruptFlag, write_atomically};
use relayout_machine::find_machine;
use relayout_messages::{ErrorCategory, UserError};
use relayout_probe::{MachineFile, ProbeDepth, SimulatedMachineFile, UnknownValue};
use relayout_report::Document as _;
use relayout_report::documents::machines::machines_document;
use relayout_report::documents::rules::rules_document;
use relayout_report::text::machines::machines_text;
use relayout_report::text::probe::probe_text;
use relayout_report::text::rules::rules_text;
use relayout_session::unknown_machine;

use crate::complete;
use crate::exit::ExitStatus;
use crate::print::{print_failure, print_note, print_text};
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout probe
  relayout probe --quick --json
  relayout probe --contend -o contended.json
  taskset -c 0,64 relayout probe -o far-apart.json
  relayout probe --machines rome-2s -o my-machine.json

It measures on the CPUs that it may run on, and needs two of them for itself for a few seconds, with \
--contend all of them for one to three minutes: with real-time priority (as root, or with \
CAP_SYS_NICE) other programs do not disturb it. What it cannot tell is said with the reason, and is \
null in the file.

Exit code 0: measured; 3: moving a line or pairs of lines could not be measured here (one CPU only, \
or too noisy), or known false sharing does not show (--contend). The file is then written only if -o \
names it.";

/// Measure this machine: moving a line between CPUs, pairs of lines, silent stores, split accesses
///
/// Takes a few seconds. The results are kept in a file that other commands weigh findings with.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print JSON (schema relayout/probe/1), which is also what the file holds
    #[arg(long)]
    pub json: bool,
    /// Measure in 5 s what weighs findings, and leave out what only predictions need. Kept for other
    /// commands only if nothing more complete is
    #[arg(long, conflicts_with = "machines")]
    pub quick: bool,
    /// Also measure what happens to a line that several CPUs want at once: who gets it after whom, for how long a CPU
    /// goes on using it, what readers, copies and a load before a store cost. Known false sharing comes first: where it
    /// does not show, nothing else is measured. Takes all CPUs for one to three minutes, with --quick 10 s
    #[arg(long, conflicts_with = "machines")]
    pub contend: bool,
    /// List the machines that `advise --machine NAME` predicts for, and measure nothing; with --json, the source of
    /// each number too (schema relayout/machines/1). With a NAME, print that machine as a file for `record kernel
    /// --machine FILE` (schema relayout/simulated-machine/1), to be changed
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        default_missing_value = "",
        hide_default_value = true,
        add = ArgValueCandidates::new(complete::machines)
    )]
    pub machines: Option<String>,
    /// List the rules that `record kernel --rule` sets, with value, range and source, and measure nothing (with
    /// --json: schema relayout/rules/1)
    #[arg(long, conflicts_with_all = ["machines", "quick", "contend", "output"])]
    pub rules: bool,
    /// Write the results to FILE [default: machine.json in relayout's cache folder, where other
    /// commands find it]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Runs the command. Ends with 3 if what takes two CPUs could not be measured.
///
/// # Errors
/// It was interrupted, or the file or standard output cannot be written to.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    if let Some(name) = &args.machines {
        return print_machines(name, args);
    }
    if args.rules {
        let document = rules_document();
        print_text(&match args.json {
            true => document.to_json()?,
            false => rules_text(&document),
        })?;
        return Ok(ExitStatus::Done);
    }
    let depth = match args.quick {
        true => ProbeDepth::Quick,
        false => ProbeDepth::Complete,
    };
    let interrupt = InterruptFlag::catch();
    let progress = TerminalProgress::new(String::new());
    let measured = match args.contend {
        true => relayout_probe::measure_contention(depth, &progress, interrupt),
        false => relayout_probe::measure_machine(depth, &progress, interrupt),
    };
    let file = progress.finish_after(measured)?;
    let is_measured =
        file.pair_coefficient.value.is_some() && file.transfers.iter().any(|t| t.ns.is_some());
    let place = match &args.output {
        Some(path) => {
            file.write(path)?;
            Some(path.clone())
        }
        None if args.quick && is_more_kept() => None,
        None if is_measured => keep_for_commands(&file),
        None => None,
    };
    print_text(&match args.json {
        true => file.to_json(),
        false => probe_text(&file, place.as_deref()),
    })?;
    if is_measured {
        return Ok(ExitStatus::Done);
    }
    let category = ErrorCategory::Environment;
    let status = ExitStatus::from(category);
    print_failure(
        &UserError::new(category, unmeasured_reason(&file)),
        status as u8,
    );
    Ok(status)
}

/// Prints all machines of the table, or one as a file for simulated time.
fn print_machines(name: &str, args: &Args) -> Result<ExitStatus, UserError> {
    let text = match (name, args.json) {
        ("", _) if args.output.is_some() => {
            return Err(UserError::input(
                "-o needs the name of a machine: --machines NAME -o FILE",
            ));
        }
        ("", true) => machines_document().to_json()?,
        ("", false) => machines_text(),
        (name, _) => {
            let machine = find_machine(name);
            let no_name = || UserError::input(format!("{name} is no machine of the table"));
            let machine =
                machine.ok_or_else(|| unknown_machine(name.as_ref()).unwrap_or_else(no_name))?;
            SimulatedMachineFile::from_known(machine).to_json()
        }
    };
    match &args.output {
        Some(path) => write_atomically(path, text.as_bytes())?,
        None => print_text(&text)?,
    }
    Ok(ExitStatus::Done)
}

/// Why what takes two CPUs is not known, as far as the file tells.
fn unmeasured_reason(file: &MachineFile) -> String {
    let mut unknown = file.unknown.iter();
    if let Some(contention) = unknown.find(|unknown| unknown.what == "contention") {
        return format!("contention cannot be told here: {}", contention.why);
    }
    let needed = |unknown: &&UnknownValue| {
        let needed = ["transfers", "pair"];
        needed.iter().any(|prefix| unknown.what.starts_with(prefix))
    };
    let why: BTreeSet<&str> = file
        .unknown
        .iter()
        .filter(needed)
        .map(|unknown| unknown.why.as_str())
        .collect();
    let why: Vec<&str> = why.into_iter().collect();
    format!(
        "moving a line between CPUs, or pairs of lines, could not be measured: {}",
        why.join("; ")
    )
}

/// Returns true if a complete measurement of this machine is kept.
fn is_more_kept() -> bool {
    let path = MachineFile::default_path();
    let kept = path.and_then(|path| MachineFile::read(&path).ok());
    kept.is_some_and(|kept| !kept.visits.is_empty() || !kept.accesses.is_empty())
}

/// Writes the file where other commands look for it. That this cannot be done is no reason not to
/// show what was measured.
fn keep_for_commands(file: &MachineFile) -> Option<PathBuf> {
    let Some(path) = MachineFile::default_path() else {
        print_note("not kept for other commands: no $HOME; name a file with -o FILE");
        return None;
    };
    match file.write(&path) {
        Ok(()) => Some(path),
        Err(error) => {
            let error = UserError::from(error).chain_text();
            print_note(&format!(
                "not kept for other commands: {error}; name a file with -o FILE"
            ));
            None
        }
    }
}

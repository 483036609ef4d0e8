//! `relayout probe`: what this machine's caches cost.

mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use relayout_host::Interrupt;
use relayout_host::probe::{self, MachineFile, Unknown};

use crate::exit::Exit;
use crate::print::print;
use crate::progress::Shown;

const EXAMPLES: &str = "\
Examples:
  relayout probe
  relayout probe --json
  taskset -c 0,64 relayout probe -o far-apart.json

It measures on the CPUs that it may run on, and needs two of them for itself for a few seconds: with \
real-time priority (as root, or with CAP_SYS_NICE) other programs do not disturb it. What it cannot \
tell is said with the reason, and is null in the file.

Exit code 0: measured; 3: moving a line or pairs of lines could not be measured here (one CPU only, \
or too noisy), and the file is written only if -o names it.";

/// Measure this machine: moving a line between CPUs, pairs of lines, silent stores, split accesses
///
/// Takes a few seconds. The results are kept in a file that other commands weigh findings with.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print JSON (schema relayout/probe/1), which is also what the file holds
    #[arg(long)]
    pub json: bool,
    /// Write the results to FILE [default: machine.json in relayout's cache folder, where other
    /// commands find it]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Runs the command. Ends with 3 if what takes two CPUs could not be measured.
///
/// # Errors
/// It was interrupted, or the file or standard output cannot be written to.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let interrupt = Interrupt::catch();
    let progress = Shown::new(String::new(), false);
    let measured = probe::measure(&progress, interrupt);
    progress.done();
    let file = measured?;
    let told =
        file.pair_coefficient.value.is_some() && file.transfers.iter().any(|t| t.ns.is_some());
    let place = match &args.output {
        Some(path) => {
            file.write(path)?;
            Some(path.clone())
        }
        None if told => keep(&file),
        None => None,
    };
    print(&match args.json {
        true => file.text(),
        false => text::render(&file, place.as_deref()),
    })?;
    if told {
        return Ok(Exit::Done);
    }
    eprintln!("relayout: {}", not_told(&file));
    Ok(Exit::Environment)
}

/// Why what takes two CPUs is not known, as far as the file tells.
fn not_told(file: &MachineFile) -> String {
    let needed = |unknown: &&Unknown| {
        let needed = ["transfers", "pair"];
        needed.iter().any(|what| unknown.what.starts_with(what))
    };
    let why: BTreeSet<&str> = { file.unknown.iter().filter(needed) }
        .map(|unknown| unknown.why.as_str())
        .collect();
    let why: Vec<&str> = why.into_iter().collect();
    format!(
        "moving a line between CPUs, or pairs of lines, could not be measured: {}",
        why.join("; ")
    )
}

/// Writes the file where other commands look for it. That this cannot be done is no reason not to
/// show what was measured.
fn keep(file: &MachineFile) -> Option<PathBuf> {
    let Some(path) = MachineFile::default_path() else {
        eprintln!("relayout: not kept for other commands: no $HOME; name a file with -o FILE");
        return None;
    };
    match file.write(&path) {
        Ok(()) => Some(path),
        Err(error) => {
            let error = anyhow::Error::from(error);
            eprintln!("relayout: not kept for other commands: {error:#}; name a file with -o FILE");
            None
        }
    }
}

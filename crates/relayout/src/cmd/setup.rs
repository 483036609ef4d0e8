//! `relayout setup`: what recording needs and this machine lacks.

use std::ffi::OsString;
use std::process::Command;

use clap_complete::ArgValueCandidates;
use relayout_files::cannot;
use relayout_messages::UserError;
use relayout_record::SnapshotStore;
use relayout_toolchain::libraries::{build_missing_libraries, find_setup_script};

use crate::complete;
use crate::exit::ExitStatus;
use crate::print::{self, print_note};
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout setup                       QEMU, Debian's kernel 6.1, its debug information and source
  relayout setup --kernel newest       also Debian's newest kernel
  relayout setup --arm64               also what recording arm64 kernels needs

It says what it costs before it downloads: about 1 GB for a kernel. Files come from Debian's archive, with its signatures \
checked, into the cache folder ($RELAYOUT_CACHE, else ~/.cache/relayout). Nothing of it is needed to record programs, \
or kernels of yours with a QEMU of yours.";

/// Fetch what recording kernels needs: QEMU, a kernel with its debug information and source
///
/// Builds the recorder's libraries first, where they were not installed with the command, as after
/// `cargo install relayout`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Fetch the newest kernels and QEMU even if some are there
    #[arg(long)]
    update: bool,
    /// Fetch what recording arm64 kernels needs, too
    #[arg(long)]
    arm64: bool,
    /// Fetch Debian's newest kernel of this version (6.12, 6.12-arm64), or of all (newest), too; may
    /// be given more than once
    #[arg(long, value_name = "VERSION", add = ArgValueCandidates::new(complete::kernels))]
    kernel: Vec<String>,
    /// Fetch this module of the kernels, with its debug information, too; may be given more than
    /// once
    #[arg(long, value_name = "NAME")]
    module: Vec<String>,
    /// Build the recorder's libraries only, and fetch nothing
    #[arg(long)]
    libraries: bool,
    /// Remove the snapshots that `relayout record kernel` keeps of guests, and fetch nothing
    #[arg(long, conflicts_with_all = ["update", "arm64", "kernel", "module", "libraries"])]
    remove_snapshots: bool,
}

impl Args {
    fn script_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(self.update.then(|| "--update".into()));
        words.extend(self.arm64.then(|| "--arm64".into()));
        for (option, values) in [("--kernel", &self.kernel), ("--module", &self.module)] {
            for value in values {
                words.extend([option.into(), value.into()]);
            }
        }
        words
    }
}

/// Runs the command.
///
/// # Errors
/// The libraries cannot be built, or the script cannot be run.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    if args.remove_snapshots {
        return remove_snapshots();
    }
    let progress = TerminalProgress::new(String::new());
    let built = progress.finish_after(build_missing_libraries(&progress))?;
    if let Some(folder) = built {
        print_note(&format!(
            "the recorder's libraries and relayout.h are in {}",
            folder.display()
        ));
    }
    if args.libraries {
        return Ok(ExitStatus::Done);
    }
    let script = find_setup_script()?;
    let mut command = Command::new("bash");
    command.arg(script.path()).args(args.script_words());
    if print::is_quiet() {
        command.stdout(std::process::Stdio::null());
    }
    let status = command
        .status()
        .map_err(UserError::wrap("cannot run bash"))?;
    Ok(match status.code() {
        Some(0) => ExitStatus::Done,
        Some(2) => ExitStatus::Input,
        Some(3) => ExitStatus::Environment,
        Some(_) => ExitStatus::Failed,
        None => ExitStatus::Interrupted,
    })
}

fn remove_snapshots() -> Result<ExitStatus, UserError> {
    if let Some(store) = SnapshotStore::locate() {
        let removed = store.remove_all();
        let removed = removed.map_err(cannot("remove snapshots in", store.place()))?;
        let (count, mib) = (removed.count, removed.bytes >> 20);
        print_note(&format!("removed {count} snapshots of guests ({mib} MiB)"));
    }
    Ok(ExitStatus::Done)
}

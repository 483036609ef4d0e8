//! `relayout fleet`: a program of its own, which this one becomes.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::anyhow;
use relayout_files::find_sister_command;

use crate::exit::{self, ExitStatus};

const PROGRAM: &str = "relayout-fleet";

const USE: &str = "\
Commands: add, top, trend, where, pays, sql, tables, compact, forget. `relayout fleet --help` describes them.

It is the program relayout-fleet, beside relayout or in PATH; in relayout's source, 'cargo install --path fleet' builds \
it.";

/// Keep many recordings as one data set: members by cost over all of them, their trend, the gain of a layout
// The arguments are passed on unread.
#[derive(Debug, clap::Args)]
#[command(after_help = USE, disable_help_flag = true)]
pub struct Args {
    /// The command, with its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    arguments: Vec<OsString>,
}

/// Becomes `relayout-fleet` if the first word asks for it: all other words are its own.
pub fn intercept() -> Option<ExitStatus> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "fleet" {
        return None;
    }
    let error = become_fleet(&words.collect::<Vec<_>>());
    let status = exit::error_status(&error);
    exit::print_error(&error, status);
    Some(status)
}

/// Becomes `relayout-fleet`.
///
/// # Errors
/// It is not installed, or cannot be run.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    Err(become_fleet(&args.arguments))
}

/// Replaces this process; returns only if that fails.
fn become_fleet(arguments: &[OsString]) -> anyhow::Error {
    match find_sister_command(PROGRAM, "fleet") {
        Ok(program) => {
            let error = Command::new(&program).args(arguments).exec();
            anyhow!(error).context(format!("cannot run {}", program.display()))
        }
        Err(error) => error.into(),
    }
}

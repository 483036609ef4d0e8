//! `relayout fleet`: a program of its own, which this one becomes.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use relayout_files::find_sister_command;
use relayout_messages::UserError;

use crate::exit::ExitStatus;
use crate::print::print_failure;

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
    let status = ExitStatus::from(error.category());
    print_failure(&error, status as u8);
    Some(status)
}

/// Becomes `relayout-fleet`.
///
/// # Errors
/// It is not installed, or cannot be run.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    Err(become_fleet(&args.arguments))
}

/// Replaces this process; returns only if that fails.
fn become_fleet(arguments: &[OsString]) -> UserError {
    match find_sister_command(PROGRAM, "fleet") {
        Ok(program) => {
            let error = Command::new(&program).args(arguments).exec();
            UserError::input(format!("cannot run {}", program.display())).caused_by(error)
        }
        Err(error) => error.into(),
    }
}

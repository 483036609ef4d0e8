//! `relayout`: finds struct members that fight over cache lines, and lays them out better.
//!
//! Flags in, one call per step, exit code out. What each command does is in `cmd`; what it prints
//! is rendered by the libraries.

mod arguments;
mod cmd;
mod common_options;
mod complete;
mod exit;
mod kept_advice;
mod option_groups;
mod pager;
mod print;
mod progress;
mod rendered_report;
mod resolved;
mod shown_types;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches as _, Parser, Subcommand};
use relayout_messages::UserError;

use crate::common_options::{ColorWhen, CommonOptions};
use crate::exit::ExitStatus;
use crate::print::print_failure;

const EXAMPLES: &str = "\
Examples:
  relayout record kernel --workload mntns          boot a kernel under QEMU and record it
  make CC=\"relayout cc\" && relayout record run ./server
  relayout report mntns.relayout                   what CPUs fight over
  relayout advise mntns.relayout --source linux    a better layout, as a patch
  relayout show vmlinux mm_struct                  a layout, as pahole prints it

`relayout doctor` says what is missing here. `relayout help COMMAND` and `man relayout-COMMAND` describe a \
command. The documents are in docs/ of the source, or in /usr/share/doc/relayout.

Exit code 0: done; 1: the thing asked about failed; 2: bad usage or input; 3: something is missing here; \
4: the recorded program or guest failed; 101: a bug; 125 and 128: of `compare --bisect`; 130: interrupted.";

/// Find the struct members that CPUs fight over, and lay them out better
///
/// Record a kernel under QEMU (no hardware counters needed), see which members share a cache line
/// that they should not, and score other layouts by replaying the recording.
#[derive(Debug, Parser)]
#[command(name = "relayout", version = env!("RELAYOUT_VERSION"), propagate_version = true, max_term_width = 100,
          after_help = EXAMPLES)]
struct RelayoutCli {
    #[command(subcommand)]
    command: CliCommand,
    #[command(flatten)]
    common: CommonOptions,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    #[command(subcommand)]
    Record(cmd::record::RecordTarget),
    Report(cmd::report::Args),
    View(cmd::view::Args),
    Show(Box<cmd::show::Args>),
    Diff(cmd::diff::Args),
    Advise(Box<cmd::advise::Args>),
    WhatIf(cmd::what_if::Args),
    Check(cmd::check::Args),
    Compare(cmd::compare::Args),
    Tune(Box<cmd::tune::Args>),
    Suite(cmd::suite::Args),
    Fleet(cmd::fleet::Args),
    Verify(Box<cmd::verify::Args>),
    Probe(cmd::probe::Args),
    Doctor(cmd::doctor::Args),
    Setup(cmd::setup::Args),
    Completions(cmd::completions::Args),
    Man(cmd::man::Args),
    Cc(cmd::cc::Args),
    /// The same as cc, for C++
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(cmd::cc::Args),
}

impl CliCommand {
    /// Returns true for commands whose text may be longer than a screen.
    fn prints_long_text(&self) -> bool {
        matches!(
            self,
            Self::Report(_)
                | Self::Show(_)
                | Self::Diff(_)
                | Self::Advise(_)
                | Self::WhatIf(_)
                | Self::Check(_)
                | Self::Compare(_)
        )
    }

    fn run(&self) -> Result<ExitStatus, UserError> {
        match self {
            Self::Record(target) => cmd::record::run(target),
            Self::Show(args) => cmd::show::run(args).map(|()| ExitStatus::Done),
            Self::Diff(args) => cmd::diff::run(args),
            Self::Report(args) => cmd::report::run(args).map(|()| ExitStatus::Done),
            Self::View(args) => cmd::view::run(args),
            Self::Advise(args) => cmd::advise::run(args),
            Self::WhatIf(args) => cmd::what_if::run(args).map(|()| ExitStatus::Done),
            Self::Check(args) => cmd::check::run(args),
            Self::Compare(args) => cmd::compare::run(args),
            Self::Tune(args) => cmd::tune::run(args),
            Self::Suite(args) => cmd::suite::run(args),
            Self::Fleet(args) => cmd::fleet::run(args),
            Self::Verify(args) => cmd::verify::run(args),
            Self::Probe(args) => cmd::probe::run(args),
            Self::Cc(_) | Self::Cxx(_) => Err(UserError::input("cc and c++ come first")),
            Self::Doctor(args) => cmd::doctor::run(args),
            Self::Setup(args) => cmd::setup::run(args),
            Self::Completions(args) => cmd::completions::run(args, RelayoutCli::command()),
            Self::Man(args) => cmd::man::run(args, RelayoutCli::command()),
        }
    }
}

fn main() -> ExitCode {
    relayout_files::catch_truncation(ExitStatus::Input as u8);
    if let Some(exit) = cmd::cc::intercept::<RelayoutCli>() {
        return exit.into();
    }
    if let Some(exit) = cmd::fleet::intercept() {
        return exit.into();
    }
    cmd::completions::answer_shell(RelayoutCli::command);
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match parse(&words) {
        Ok(cli) => cli,
        Err(error) => return exit::end_with_usage_error(&error, has_word(&words, "--json")),
    };
    let settings = { cli.common }.output_settings(cli.command.prints_long_text());
    print::set_output(print::OutputSettings {
        error_documents: has_word(&words, "--json"),
        ..settings
    });
    relayout_files::remove_abandoned_files();
    let result = cli.command.run();
    print::finish_output();
    let status = result.unwrap_or_else(|error| {
        let status = ExitStatus::from(error.category());
        print_failure(&error, status as u8);
        status
    });
    status.into()
}

fn parse(words: &[OsString]) -> Result<RelayoutCli, clap::Error> {
    let color = ColorWhen::find(words).for_clap();
    let mut command = RelayoutCli::command().color(color);
    let matches = command.try_get_matches_from_mut(words)?;
    RelayoutCli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Returns true if an option is among the words before `--`.
fn has_word(words: &[OsString], option: &str) -> bool {
    let mut before = words.iter().take_while(|word| *word != "--");
    before.any(|word| word == option)
}

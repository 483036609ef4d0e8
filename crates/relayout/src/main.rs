//! `relayout`: finds struct members that fight over cache lines, and lays them out better.
//!
//! Flags in, one call per step, exit code out. What each command does is in `cmd`; what it prints
//! is rendered by the libraries.

mod arguments;
mod cmd;
mod exit;
mod print;
mod progress;
mod resolved;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::exit::ExitStatus;

/// Find the struct members that CPUs fight over, and lay them out better
///
/// Record a kernel under QEMU (no hardware counters needed), see which members share a cache line
/// that they should not, and score other layouts by replaying the recording.
#[derive(Debug, Parser)]
#[command(name = "relayout", version, max_term_width = 100)]
struct RelayoutCli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    #[command(subcommand)]
    Record(cmd::record::RecordTarget),
    Report(cmd::report::Args),
    View(cmd::view::Args),
    Show(cmd::show::Args),
    Diff(cmd::diff::Args),
    Advise(cmd::advise::Args),
    WhatIf(cmd::what_if::Args),
    Check(cmd::check::Args),
    Compare(cmd::compare::Args),
    Tune(Box<cmd::tune::Args>),
    Suite(cmd::suite::Args),
    Verify(Box<cmd::verify::Args>),
    Probe(cmd::probe::Args),
    Doctor(cmd::doctor::Args),
    Cc(cmd::cc::Args),
    /// The same as cc, for C++
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(cmd::cc::Args),
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    relayout_files::catch_truncation(ExitStatus::Input as u8);
    if let Some(exit) = cmd::cc::intercept::<RelayoutCli>() {
        return exit.into();
    }
    let cli = RelayoutCli::parse();
    relayout_files::remove_abandoned_files();
    let result = match cli.command {
        CliCommand::Record(target) => cmd::record::run(&target),
        CliCommand::Show(args) => cmd::show::run(&args).map(|()| ExitStatus::Done),
        CliCommand::Diff(args) => cmd::diff::run(&args),
        CliCommand::Report(args) => cmd::report::run(&args).map(|()| ExitStatus::Done),
        CliCommand::View(args) => cmd::view::run(&args),
        CliCommand::Advise(args) => cmd::advise::run(&args),
        CliCommand::WhatIf(args) => cmd::what_if::run(&args).map(|()| ExitStatus::Done),
        CliCommand::Check(args) => cmd::check::run(&args),
        CliCommand::Compare(args) => cmd::compare::run(&args),
        CliCommand::Tune(args) => cmd::tune::run(&args),
        CliCommand::Suite(args) => cmd::suite::run(&args),
        CliCommand::Verify(args) => cmd::verify::run(&args),
        CliCommand::Probe(args) => cmd::probe::run(&args),
        CliCommand::Cc(_) | CliCommand::Cxx(_) => Err(anyhow::anyhow!("cc and c++ come first")),
        CliCommand::Doctor(args) => cmd::doctor::run(&args),
        CliCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut RelayoutCli::command(), "relayout", &mut script);
            print::print_text(&String::from_utf8_lossy(&script)).map(|()| ExitStatus::Done)
        }
    };
    result
        .unwrap_or_else(|error| exit::print_error(&error))
        .into()
}

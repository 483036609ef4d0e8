//! `relayout`: finds struct members that fight over cache lines, and lays them out better.
//!
//! Flags in, one call per step, exit code out. What each command does is in `cmd`; what it prints
//! is rendered by the libraries.

mod catalog;
mod cmd;
mod exit;
mod identify;
mod input;
mod print;
mod progress;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::exit::Exit;

/// Find the struct members that CPUs fight over, and lay them out better
///
/// Record a kernel under QEMU (no hardware counters needed), see which members share a cache line
/// that they should not, and score other layouts by replaying the recording.
#[derive(Debug, Parser)]
#[command(name = "relayout", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(subcommand)]
    Record(cmd::record::Target),
    Report(cmd::report::Args),
    Show(cmd::show::Args),
    Diff(cmd::diff::Args),
    Advise(cmd::advise::Args),
    WhatIf(cmd::what_if::Args),
    Check(cmd::check::Args),
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
    if let Some(exit) = cmd::cc::intercept::<Cli>() {
        return exit.into();
    }
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Record(target) => cmd::record::run(&target),
        Command::Show(args) => cmd::show::run(&args).map(|()| Exit::Done),
        Command::Diff(args) => cmd::diff::run(&args),
        Command::Report(args) => cmd::report::run(&args).map(|()| Exit::Done),
        Command::Advise(args) => cmd::advise::run(&args),
        Command::WhatIf(args) => cmd::what_if::run(&args).map(|()| Exit::Done),
        Command::Check(args) => cmd::check::run(&args),
        Command::Verify(args) => cmd::verify::run(&args),
        Command::Probe(args) => cmd::probe::run(&args),
        Command::Cc(_) | Command::Cxx(_) => Err(anyhow::anyhow!("cc and c++ come first")),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "relayout", &mut script);
            print::print(&String::from_utf8_lossy(&script)).map(|()| Exit::Done)
        }
    };
    done.unwrap_or_else(|error| exit::explain(&error)).into()
}

//! `relayout-fleet`: many recordings as one data set. `relayout fleet` runs it.

mod cmd;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use relayout_fleet::FleetError;
use relayout_report::{Document as _, ErrorDocument, escape_text};

const EXAMPLES: &str = "\
Examples:
  relayout fleet add fleet/ nightly.recordings         all profiles below a folder
  relayout fleet top fleet/                            members by cost, over everything
  relayout fleet trend fleet/ dentry.d_lockref         a member over the releases
  relayout fleet where fleet/ lockref_put_return       what meets in a function
  relayout fleet pays fleet/ dentry --layout new.txt   a layout over all recordings
  relayout fleet sql fleet/ \"SELECT release, SUM(transfers) FROM members GROUP BY release\"

A data set is a folder, or an address such as s3://bucket/fleet, gs://bucket/fleet or az://container/fleet. docs/fleet.md \
describes its tables.

Exit code 0: done; 1: some profiles were not added; 2: bad usage or input; 3: a store or cluster failed; \
130: interrupted.";

/// Keep many recordings as one data set, and ask it
#[derive(Debug, Parser)]
#[command(name = "relayout-fleet", bin_name = "relayout fleet", version, propagate_version = true,
          max_term_width = 100, after_help = EXAMPLES)]
struct FleetCli {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    Add(cmd::add::Args),
    Top(cmd::top::Args),
    Trend(cmd::trend::Args),
    Where(cmd::where_used::Args),
    Pays(cmd::pays::Args),
    Sql(cmd::sql::Args),
    Tables(cmd::tables::Args),
    Compact(cmd::compact::Args),
    Forget(cmd::forget::Args),
}

impl FleetCommand {
    async fn run(&self) -> Result<u8, FleetError> {
        match self {
            Self::Add(args) => cmd::add::run(args).await,
            Self::Top(args) => cmd::top::run(args).await.map(|()| 0),
            Self::Trend(args) => cmd::trend::run(args).await.map(|()| 0),
            Self::Where(args) => cmd::where_used::run(args).await.map(|()| 0),
            Self::Pays(args) => cmd::pays::run(args).await.map(|()| 0),
            Self::Sql(args) => cmd::sql::run(args).await.map(|()| 0),
            Self::Tables(args) => cmd::tables::run(args).map(|()| 0),
            Self::Compact(args) => cmd::compact::run(args).await.map(|()| 0),
            Self::Forget(args) => cmd::forget::run(args).await.map(|()| 0),
        }
    }

    /// Returns true if errors are documents too.
    fn prints_documents(&self) -> bool {
        let question = match self {
            Self::Top(args) => &args.question,
            Self::Trend(args) => &args.question,
            Self::Where(args) => &args.question,
            Self::Pays(args) => &args.question,
            Self::Sql(args) => &args.question,
            _ => return false,
        };
        question.output.format == cmd::output::AnswerFormat::Json
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = FleetCli::parse().command;
    let ended = tokio::select! {
        ended = command.run() => ended,
        _ = tokio::signal::ctrl_c() => Err(FleetError::Interrupted),
    };
    let code = ended.unwrap_or_else(|error| {
        print_error(&error, command.prints_documents());
        error.exit_code()
    });
    // Work on other threads ends with the process: what it has not finished belongs to no entry.
    std::process::exit(code.into())
}

fn print_error(error: &FleetError, as_document: bool) {
    if as_document {
        let reason = error.full_reason();
        let document = ErrorDocument::new(reason.problem, reason.remedy, error.exit_code());
        if let Ok(json) = document.to_json() {
            eprint!("{json}");
            return;
        }
    }
    eprintln!("relayout: {}", escape_text(&error.full_text()));
}

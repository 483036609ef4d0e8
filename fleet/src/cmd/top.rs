//! `relayout fleet top`

use relayout_fleet::FleetError;
use relayout_fleet::questions::top_members;

use super::output::{QuestionArgs, SelectionArgs};

/// List the members that cost most over all recordings
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Number of members
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub limit: usize,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be read, or the query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let engine = args.question.open().await?;
    let answer = top_members(&engine, &args.selection.selection(), args.limit).await?;
    args.question.print(&engine, &answer)
}

//! `relayout fleet where`

use relayout_fleet::FleetError;
use relayout_fleet::questions::where_used;

use super::output::{QuestionArgs, SelectionArgs};

/// List the code that meets on a member, in a type or in a function, and the workloads in which it does
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Member, type, variable or function
    pub name: String,
    /// Rows of each table
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub limit: usize,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be read, the name is not known, or a query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let engine = args.question.open().await?;
    let selection = args.selection.selection();
    let answer = where_used(&engine, &args.name, &selection, args.limit).await?;
    args.question.print(&engine, &answer)
}

//! `relayout fleet trend`

use relayout_fleet::FleetError;
use relayout_fleet::questions::member_trend;

use super::output::{QuestionArgs, SelectionArgs};

/// Show the cost of a member in each release, with the changes of its layout
///
/// A member that was renamed, or that another struct took in, is followed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Member: TYPE.MEMBER, VARIABLE.MEMBER, or a name that only one member has
    pub member: String,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be read, the name is not known, or a query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let engine = args.question.open().await?;
    let answer = member_trend(&engine, &args.member, &args.selection.selection()).await?;
    args.question.print(&engine, &answer)
}

//! `relayout fleet trend`

use relayout_fleet::FleetError;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::engine::QueryEngine;
use relayout_fleet::questions::member_trend;

use super::output::{EngineArgs, OutputArgs, SelectionArgs};

/// Show the cost of a member in each release, with the changes of its layout
///
/// A member that was renamed, or that another struct took in, is followed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder or address of the data set
    pub dataset: String,
    /// Member: TYPE.MEMBER, VARIABLE.MEMBER, or a name that only one member has
    pub member: String,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be read, the name is not known, or a query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    args.output.verify()?;
    let set = DataSet::open(&args.dataset).await?;
    let engine = QueryEngine::open(&set, &args.engine.settings()).await?;
    let answer = member_trend(&engine, &args.member, &args.selection.selection()).await?;
    args.output.print(&set, &engine, &answer)
}

//! `relayout fleet top`

use relayout_fleet::FleetError;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::engine::QueryEngine;
use relayout_fleet::questions::top_members;

use super::output::{EngineArgs, OutputArgs, SelectionArgs};

/// List the members that cost most over all recordings
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder or address of the data set
    pub dataset: String,
    /// Number of members
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub limit: usize,
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
/// The data set cannot be read, or the query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    args.output.verify()?;
    let set = DataSet::open(&args.dataset).await?;
    let engine = QueryEngine::open(&set, &args.engine.settings()).await?;
    let answer = top_members(&engine, &args.selection.selection(), args.limit).await?;
    args.output.print(&set, &engine, &answer)
}

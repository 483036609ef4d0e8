//! `relayout fleet where`

use relayout_fleet::FleetError;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::engine::QueryEngine;
use relayout_fleet::questions::where_used;

use super::output::{EngineArgs, OutputArgs, SelectionArgs};

/// List the code that meets on a member, in a type or in a function, and the workloads in which it does
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder or address of the data set
    pub dataset: String,
    /// Member, type, variable or function
    pub name: String,
    /// Rows of each table
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
/// The data set cannot be read, the name is not known, or a query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    args.output.verify()?;
    let set = DataSet::open(&args.dataset).await?;
    let engine = QueryEngine::open(&set, &args.engine.settings()).await?;
    let selection = args.selection.selection();
    let answer = where_used(&engine, &args.name, &selection, args.limit).await?;
    args.output.print(&set, &engine, &answer)
}

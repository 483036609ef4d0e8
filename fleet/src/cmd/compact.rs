//! `relayout fleet compact`

use relayout_fleet::FleetError;
use relayout_fleet::compact::compact;
use relayout_fleet::data_set::DataSet;
use relayout_messages::ProblemReason;

use super::output::EngineArgs;

/// Join the files of each day, so that queries read few large ones
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder or address of the data set
    pub dataset: String,
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Runs the command.
///
/// # Errors
/// The data set is damaged, or its store fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let set = DataSet::open(&args.dataset).await?;
    let mut settings = args.engine.settings();
    if settings.cluster.take().is_some() {
        return Err(FleetError::Usage(
            ProblemReason::new("compact runs in this process").with_remedy("leave --cluster out"),
        ));
    }
    let done = compact(&set, &settings).await?;
    for (day, entries) in &done.days {
        println!("{day}: {entries} entries joined");
    }
    for path in &done.left_over {
        println!("removed what an interrupted command had left: {path}");
    }
    println!(
        "{}: {} files before, {} now",
        args.dataset, done.files_before, done.files_now
    );
    Ok(())
}

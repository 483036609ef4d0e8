//! `relayout fleet forget`

use relayout_fleet::FleetError;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::day::Day;
use relayout_fleet::forget::{ForgottenEntries, entries_answer, forget};
use relayout_report::escape_text;
use relayout_report::text::fleet::fleet_text;

/// Remove the recordings of the days before a date
///
/// Without --yes it lists what it would remove.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder or address of the data set
    pub dataset: String,
    /// Remove what was recorded before this day
    #[arg(long, value_name = "DATE", required_unless_present = "entry")]
    pub before: Option<Day>,
    /// Remove this entry; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub entry: Vec<String>,
    /// Remove what is listed
    #[arg(long)]
    pub yes: bool,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be read, an entry is not known, or the store fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let set = DataSet::open(&args.dataset).await?;
    let selected = ForgottenEntries {
        before: args.before,
        names: args.entry.iter().cloned().collect(),
    };
    let entries = selected.find(&set).await?;
    if entries.is_empty() {
        println!("nothing to remove");
        return Ok(());
    }
    let answer = entries_answer("forget", &entries)?;
    let document = answer.document(&args.dataset, 0)?;
    print!("{}", escape_text(&fleet_text(&document)));
    let recordings: usize = entries.iter().map(|entry| entry.recordings.len()).sum();
    if !args.yes {
        println!("\n{recordings} recordings would be removed; add --yes to remove them");
        return Ok(());
    }
    forget(&set, &entries).await?;
    println!("\n{recordings} recordings removed");
    Ok(())
}

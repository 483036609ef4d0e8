//! `relayout fleet add`

use std::path::PathBuf;

use relayout_fleet::FleetError;
use relayout_fleet::add::{AddedProfile, ProfileAdder};
use relayout_fleet::data_set::DataSet;
use relayout_fleet::day::Day;
use relayout_report::escape_text;
use relayout_workflows::compare::find_profiles;

use super::progress::LineProgress;

/// Add profiles to a data set, which is made if it is not there
///
/// A profile is added whole or not at all, and a recording that is there is not added again. The profiles are not kept:
/// only counts and layouts are.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder or address of the data set
    pub dataset: String,
    /// Profiles, or folders with profiles, such as those of `relayout suite`
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Date all profiles from this day [default: the day on which each was written]
    #[arg(long, value_name = "DATE")]
    pub date: Option<Day>,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
}

/// Runs the command. Profiles that cannot be added are named, and the others are added.
///
/// # Errors
/// The data set cannot be used, or a path holds no profile.
pub async fn run(args: &Args) -> Result<u8, FleetError> {
    let mut profiles = Vec::new();
    for path in &args.paths {
        profiles.extend(find_profiles(path)?);
    }
    let set = DataSet::open_or_create(&args.dataset).await?;
    let mut adder = ProfileAdder::new(&set).await?;
    adder.debug.clone_from(&args.debug);
    adder.day = args.date;
    let progress = LineProgress::start();
    let (mut added, mut known, mut failed) = (0, 0, 0);
    for (index, profile) in profiles.iter().enumerate() {
        let step = format!("{} of {}: {}", index + 1, profiles.len(), profile.display());
        relayout_messages::RecordingProgress::step(&progress, &step);
        match adder.add(profile, &progress).await {
            Ok(AddedProfile::Added {
                recordings,
                known: held,
            }) => {
                added += recordings;
                known += held;
            }
            Ok(AddedProfile::Known { recordings }) => known += recordings,
            // What the store cannot take now it cannot take for the next profile.
            Err(error @ FleetError::Store { .. }) => return Err(error),
            Err(error) => {
                progress.clear();
                eprintln!(
                    "relayout: {}: {}",
                    profile.display(),
                    escape_text(&error.full_text())
                );
                failed += 1;
            }
        }
    }
    progress.clear();
    println!(
        "{}: {added} recordings added, {known} were there, {failed} of {} profiles failed",
        escape_text(&args.dataset),
        profiles.len()
    );
    Ok(u8::from(failed > 0))
}

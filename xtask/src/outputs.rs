//! All outputs of the command on kept profiles, compared byte by byte with those of an earlier build.
//!
//! ```text
//! cargo run --release -p xtask -- outputs --keep target/outputs      # the outputs that later ones must equal
//! cargo run --release -p xtask -- outputs --compare target/outputs   # exit code 1 where an output differs
//! ```
//!
//! `--keep` records the profiles where they are missing, with `--relayout PATH` or the release build. Recordings are not
//! repeatable, so they are never made again: both builds read the same ones. `--only TEXT` runs the commands whose line
//! holds the text. `rows.rs` lists the commands, `masks.rs` the parts of outputs that are not compared.

mod coverage;
mod damaged_profiles;
mod differences;
mod execution;
mod folder_files;
mod kept_folder;
mod masks;
mod perf_samples;
mod recipes;
mod rows;
mod screens;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, bail};

use differences::OutputDifferences;
use execution::run_rows;
use kept_folder::KeptFolder;
use masks::OutputMasks;
use rows::OutputRow;

/// Command line of this check.
pub const USAGE: &str = "cargo run --release -p xtask -- outputs --keep|--compare FOLDER [--relayout PATH] [--only TEXT]";

/// Options on the command line.
struct OutputsOptions {
    folder: PathBuf,
    /// True if the outputs become those that later ones are compared with.
    is_keeping: bool,
    relayout: PathBuf,
    /// Text that the lines of all commands hold that are run.
    only: String,
}

impl OutputsOptions {
    fn parse(arguments: &[String]) -> anyhow::Result<Self> {
        let mut folders = Vec::new();
        let mut relayout = PathBuf::from("target/release/relayout");
        let mut only = String::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .with_context(|| format!("{word} lacks a value; usage: {USAGE}"))?;
            match word.as_str() {
                "--keep" => folders.push((value, true)),
                "--compare" => folders.push((value, false)),
                "--relayout" => relayout = value.into(),
                "--only" => only.clone_from(value),
                _ => bail!("{word} is no option; usage: {USAGE}"),
            }
        }
        let [(folder, is_keeping)] = folders[..] else {
            bail!("give --keep or --compare once; usage: {USAGE}");
        };
        let relayout = relayout
            .canonicalize()
            .with_context(|| format!("--relayout {}", relayout.display()))?;
        Ok(Self {
            folder: folder.into(),
            is_keeping,
            relayout,
            only,
        })
    }
}

/// Runs the check.
///
/// # Errors
/// Bad options, a profile that cannot be recorded, or a folder that cannot be written.
pub fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let options = OutputsOptions::parse(arguments)?;
    let begun = Instant::now();
    let folder = KeptFolder::open(&options.folder, &options.relayout)?;
    if options.is_keeping {
        recipes::make_missing_inputs(&folder)?;
    } else if !folder.outputs(true).is_dir() {
        bail!(
            "no outputs are in {}: keep some first; usage: {USAGE}",
            options.folder.display()
        );
    }
    let rows: Vec<OutputRow> = rows::all_rows()
        .into_iter()
        .filter(|row| row.line().contains(&options.only))
        .collect();
    let masks = OutputMasks::find(&options.relayout)?;
    let written = folder.outputs(options.is_keeping);
    if !options.is_keeping || options.only.is_empty() {
        // Outputs of commands that are no longer in the list go, too.
        folder_files::remove_folder(&written)?;
    }
    let count = run_rows(&folder, &rows, &masks, &written)?;
    println!(
        "{} commands, {count} outputs in {}, {:.0} s",
        rows.len(),
        written.display(),
        begun.elapsed().as_secs_f64()
    );
    if options.is_keeping {
        return Ok(ExitCode::SUCCESS);
    }
    let differences = OutputDifferences::find(
        &folder.outputs(true),
        &written,
        &rows,
        options.only.is_empty(),
    )?;
    print!("{}", differences.text());
    Ok(match differences.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

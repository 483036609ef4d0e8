//! `relayout report`: ranked findings of a profile.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use memmap2::Mmap;
use relayout_contend::find;
use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_profile::{Meta, Profile};
use relayout_report::{Report, Selection, json, text};
use relayout_resolve::{Options, resolve};

use crate::identify::Identified;

/// Rank the cache lines that contexts fight over, with type, members and source
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile written by `relayout record`
    pub profile: PathBuf,
    /// Debug file of what was recorded (vmlinux, or the program); default: the one recorded with
    #[arg(long, value_name = "FILE")]
    pub debug: Option<PathBuf>,
    /// Print JSON (schema relayout/report/1)
    #[arg(long)]
    pub json: bool,
    /// Show the first N findings; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Show only findings of this type or variable
    #[arg(long = "type", value_name = "NAME")]
    pub type_name: Option<String>,
    /// Show only findings with at least this share of all transfers, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    pub min_share: f64,
}

/// Input that does not go together; exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The profile names no debug file and none was given.
    #[error(
        "the profile does not say which debug file it was recorded with; give one with --debug FILE"
    )]
    NoDebugFile,
    /// The debug file cannot be read.
    #[error(
        "cannot read the debug file {}; give the {what} with build id {build_id} with --debug FILE",
        path.display()
    )]
    DebugFile {
        /// The file.
        path: PathBuf,
        /// `vmlinux` or `program`.
        what: &'static str,
        /// Of the recording.
        build_id: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The debug file is of another build.
    #[error(
        "{} is of another build than the recording: its build id is {found}, the recording's \
         {expected}; give the {what} of the recorded build with --debug FILE",
        path.display()
    )]
    BuildId {
        /// The file.
        path: PathBuf,
        /// `vmlinux` or `program`.
        what: &'static str,
        /// Of the file.
        found: String,
        /// Of the recording.
        expected: String,
    },
}

/// Runs the command.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together, or a failed write.
pub fn run(args: Args) -> anyhow::Result<()> {
    let profile = relayout_profile::read(&args.profile)?;
    let path = debug_path(&args, &profile.meta)?;
    let bytes = map(&path, &profile.meta)?;
    let store = SectionStore::default();
    let debug = DwarfFile::parse_in(&bytes, &store)
        .with_context(|| format!("cannot read the debug information of {}", path.display()))?;
    check_build_id(&path, &debug, &profile.meta)?;
    let rendered = render(&args, &profile, &debug)?;
    match io::stdout().lock().write_all(rendered.as_bytes()) {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write the report"),
    }
}

fn render(args: &Args, profile: &Profile, debug: &DwarfFile<'_>) -> anyhow::Result<String> {
    let resolution = resolve(profile, debug, Options::default())?;
    let findings = find(profile, &Identified::new(profile, &resolution, debug));
    let selection = Selection {
        top: args.top,
        type_name: args.type_name.clone(),
        share_min: args.min_share / 100.0,
    };
    let report = Report {
        meta: &profile.meta,
        findings: &findings,
        selection: &selection,
    };
    Ok(if args.json {
        json::render(&report)?
    } else {
        text::render(&report)
    })
}

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err("not between 0 and 100".to_owned())
    }
}

fn debug_path(args: &Args, meta: &Meta) -> Result<PathBuf, Error> {
    match (&args.debug, meta.debug_file.as_str()) {
        (Some(path), _) => Ok(path.clone()),
        (None, "") => Err(Error::NoDebugFile),
        (None, recorded) => Ok(PathBuf::from(recorded)),
    }
}

fn map(path: &Path, meta: &Meta) -> Result<Mmap, Error> {
    let failed = |source| Error::DebugFile {
        path: path.to_owned(),
        what: what(meta),
        build_id: meta.build_id.clone(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    // SAFETY: the map is only read; a file that is cut short meanwhile ends the process, as it
    // does for every tool that maps debug files.
    unsafe { Mmap::map(&file) }.map_err(failed)
}

fn what(meta: &Meta) -> &'static str {
    if meta.target == "kernel" {
        "vmlinux"
    } else {
        "program"
    }
}

fn check_build_id(path: &Path, debug: &DwarfFile<'_>, meta: &Meta) -> Result<(), Error> {
    if meta.build_id.is_empty() {
        return Ok(());
    }
    let id = debug.build_id().unwrap_or_default();
    let found: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    if found.eq_ignore_ascii_case(&meta.build_id) {
        return Ok(());
    }
    Err(Error::BuildId {
        path: path.to_owned(),
        what: what(meta),
        found: if found.is_empty() {
            "missing".to_owned()
        } else {
            found
        },
        expected: meta.build_id.clone(),
    })
}

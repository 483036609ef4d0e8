//! `relayout what-if`: the cost of a given layout beside today's.

use std::path::PathBuf;

use relayout_search::Options;

use super::advise::{advise_on, json, text};
use crate::input;
use crate::print::print;

/// Arguments of `relayout what-if`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profile, as `relayout record` wrote it.
    pub profile: PathBuf,
    /// The struct.
    #[arg(value_name = "TYPE")]
    pub type_name: String,
    /// The layout: one member per line, `name` or `name @64` to align it; may be given more than
    /// once.
    #[arg(long, value_name = "FILE", required = true)]
    pub layout: Vec<PathBuf>,
    /// File with the debug information of what was recorded [default: the one recorded with].
    #[arg(long, value_name = "FILE")]
    pub debug: Option<PathBuf>,
    /// JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input, a layout that does not fit the type.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let shown = input::with(&args.profile, args.debug.as_deref(), |input, _| {
        // Nothing is searched for: only the given layouts are replayed.
        let options = Options {
            budget_accesses: 0,
            intervals: 0,
            ..Options::default()
        };
        let one = advise_on(input, &args.type_name, &args.layout, &options)?;
        match args.json {
            true => json::what_if(input, &one),
            false => Ok(text::what_if(input, &one)),
        }
    })?;
    print(&shown)
}

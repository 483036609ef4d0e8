//! `relayout report`: ranked findings of a profile.

pub(crate) mod exports;

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_messages::UserError;
use relayout_session::verify_profile_path;

use super::document_files::DocumentArgs;
use super::repeated_guest::RepeatedGuestArgs;
use crate::arguments::{self, FindingOrder, TextForm};
use crate::complete;
use crate::print::{TextKind, print_rendered};
use crate::rendered_report::read_or_render;
use exports::ExportArgs;

const EXAMPLES: &str = "\
Examples:
  relayout report out.relayout --top 3
  relayout report out.relayout --explain 1
  relayout report out.relayout --type pcpu_chunk --min-share 1
  relayout report stat.relayout --if-free

What was found out about the debug files is kept for the next command, in `resolved` in the cache folder \
($RELAYOUT_CACHE, else ~/.cache/relayout), at most 256 MB. Set $RELAYOUT_NO_CACHE to keep and use nothing.";

/// Rank the cache lines that contexts fight over, with type, members and source
#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("budget", |budget| budget.requires("if_free")),
    mut_arg("kernel", |kernel| kernel.requires("if_free")),
    mut_arg("file", |file| file.requires("if_free")),
    mut_arg("program", |program| program.requires("if_free"))
)]
pub struct Args {
    /// Profile written by `relayout record`
    pub profile: PathBuf,
    /// Use this debug file (vmlinux, or the program) [default: the one recorded with]; may be given
    /// more than once, for shared libraries too, which are told by their build ids
    #[arg(long, value_name = "FILE")]
    pub debug: Vec<PathBuf>,
    /// Say which variables that share a line do so in this build too: the program without
    /// instrumentation
    #[arg(long, value_name = "FILE")]
    pub production: Option<PathBuf>,
    /// Print JSON (schema relayout/report/1)
    #[arg(long)]
    pub json: bool,
    /// Form of the text
    #[arg(long, value_enum, default_value_t = TextForm::Terminal, conflicts_with_all = ["json", "explain"])]
    pub format: TextForm,
    /// Put the lines around each access into the page and the JSON document, from this source tree
    #[arg(long, value_name = "DIR", conflicts_with = "explain")]
    pub source: Option<PathBuf>,
    /// Cost, in transfers, of another CPU's store to the other line of an aligned pair [default:
    /// what `relayout probe` measured on this machine]; above 0, adjacent lines are findings
    #[arg(long, value_name = "X", value_parser = arguments::coefficient)]
    pub pair_coefficient: Option<f64>,
    /// Print everything: how it was recorded, members and functions of the first ten findings, what has no name, and limits
    /// [default: one screen]
    #[arg(long, conflicts_with = "explain")]
    pub all: bool,
    /// Print everything, with the first N findings; 0 for all of them [default: 10; in files, 300]
    #[arg(long, value_name = "N", value_parser = arguments::whole::<usize>)]
    pub top: Option<usize>,
    /// Show only findings of this type or variable
    #[arg(long = "type", value_name = "NAME", add = ArgValueCandidates::new(complete::types))]
    pub type_name: Option<String>,
    /// Say of the finding of this rank why it is taken for that type: what names its memory, and
    /// what each instruction that accessed it says by itself
    #[arg(long, value_name = "RANK", conflicts_with_all = ["top", "type_name", "min_share", "production"])]
    pub explain: Option<u32>,
    /// Order of the findings. With `saving`, layouts of their types are searched, and what that
    /// finds is kept for the next command
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = FindingOrder::Rank)]
    pub by: FindingOrder,
    /// Widest line, in columns [default: the terminal's; any, where the output is none]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000))]
    pub width: Option<u16>,
    /// Show only findings with at least this share of all transfers, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = arguments::percent)]
    pub min_share: f64,
    /// Execute the recorded guest again in simulated time, once for each of the first N findings with a line that costs
    /// nothing, and print the operations over today's: the most that any change of that line can bring [default: 10]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10", value_parser = arguments::whole::<usize>, conflicts_with = "explain")]
    pub if_free: Option<usize>,
    #[command(flatten)]
    pub guest: RepeatedGuestArgs,
    #[command(flatten)]
    pub files: DocumentArgs,
    #[command(flatten)]
    pub exports: ExportArgs,
}

/// Runs the command.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together, or a failed write.
pub fn run(args: &Args) -> Result<(), UserError> {
    args.files.verify_files()?;
    args.exports.verify_files()?;
    verify_tree_use(args)?;
    verify_profile_path("report", &args.profile, &[])?;
    let is_document = args.json || args.format == TextForm::Svg;
    print_rendered(&read_or_render(args)?, is_document, TextKind::Findings)
}

/// Rejects a source tree that is no folder, or that nothing would be read from.
fn verify_tree_use(args: &Args) -> Result<(), UserError> {
    arguments::verify_source(args.source.as_deref())?;
    if args.source.is_some() && !args.json && args.files.html.is_none() {
        return Err(UserError::input("--source: the text has no source lines")
            .with_remedy("add --html FILE or --json"));
    }
    Ok(())
}

impl Args {
    /// Returns the options of a plain report.
    pub fn for_profile(profile: PathBuf) -> Self {
        Self {
            profile,
            debug: Vec::new(),
            production: None,
            json: false,
            format: TextForm::Terminal,
            source: None,
            pair_coefficient: None,
            all: false,
            top: None,
            type_name: None,
            explain: None,
            by: FindingOrder::Rank,
            width: None,
            min_share: 0.0,
            if_free: None,
            guest: RepeatedGuestArgs::default(),
            files: DocumentArgs::default(),
            exports: ExportArgs::default(),
        }
    }
}

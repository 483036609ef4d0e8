//! `relayout diff`: what moved between two builds or configurations.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_diff::DiffStatus;
use relayout_layout::catalog::DebugInfoFormat;
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::diff::contents::DiffContents;
use relayout_report::documents::diff::diff_document;
use relayout_report::text::diff::render_text;
use relayout_session::diff::{DiffRequest, DiffSelection, TypeOrder, compare_builds};
use relayout_session::verify_debug_path;

use super::document_files::DocumentArgs;
use crate::arguments;
use crate::complete;
use crate::exit::ExitStatus;
use crate::print::{TextKind, print_note, print_rendered};
use crate::progress::TerminalProgress;

const EXAMPLES: &str = "\
Examples:
  relayout diff vmlinux.old vmlinux                      every type that changed, and why
  relayout diff vmlinux.old vmlinux mm_struct 'sk_*'     these types, in full
  relayout diff vmlinux.old vmlinux --profile out.rlt    hot types first, and which hot members
                                                         share a line now
  relayout diff --exit-code build-a/x.o build-b/x.o      1 if a layout differs, as git diff

A type that changed only because it holds one that did is counted with that one; --affected \
shows it too. Lines are counted from 0 at the start of the type. Types are the same when the \
names, places and sizes of their members are, whatever their members' types are called.";

/// Compare the layouts of two builds: sizes, members that moved and what pushed them, holes, lines
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The build to compare with: any file that `show` reads
    pub old: PathBuf,
    /// The build that is compared
    pub new: PathBuf,
    /// Types to compare, with `*` and `?` for any characters; without any, all structs and unions
    #[arg(value_name = "TYPE", add = ArgValueCandidates::new(complete::types))]
    pub types: Vec<String>,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Compare the copies of C types too that Rust code has (`bindings::*`, `uapi::*`)
    #[arg(long)]
    pub bindings: bool,
    /// Leave nothing out: print types too that are the same
    #[arg(long)]
    pub all: bool,
    /// Print types too that changed only because of a type that they hold
    #[arg(long)]
    pub affected: bool,
    /// Print only types of this status
    #[arg(long, value_name = "STATUS,...", value_delimiter = ',')]
    pub status: Vec<WantedStatus>,
    /// Order of the types [default: as in NEW, those that are gone last]
    #[arg(long, value_name = "KEY")]
    pub sort: Option<DiffSort>,
    /// Print every member that was pushed, not only the first of a row
    #[arg(short, long)]
    pub verbose: bool,
    /// Take cache lines to have this many bytes
    #[arg(short = 'c', long, alias = "cacheline_size", value_name = "SIZE", default_value_t = 64,
          value_parser = arguments::line_size)]
    pub cacheline_size: u64,
    /// Put the types first that are hot in this profile of `relayout record`, and say which of
    /// their hot members came together on a line or went apart
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<PathBuf>,
    /// Read the profile with this debug file [default: the one recorded with]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub debug: Option<PathBuf>,
    /// Exit with 1 if a type differs
    #[arg(long)]
    pub exit_code: bool,
    /// Print JSON (schema relayout/diff/1)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub files: DocumentArgs,
    /// Use N threads [default: one per CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// A status, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum WantedStatus {
    /// In NEW only
    Added,
    /// In OLD only
    Removed,
    /// Laid out differently
    Changed,
    /// Laid out as before
    Same,
}

/// Key that types are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DiffSort {
    /// By name
    Name,
    /// Largest change of size first
    Size,
    /// Those first that most types hold
    Affects,
}

/// Runs the command.
///
/// # Errors
/// A file cannot be read or has no types, neither file has a named type, or standard output fails.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    arguments::limit_threads(args.jobs)?;
    let (rendered, differs) = compare(args)?;
    print_rendered(&rendered, args.json, TextKind::Differences)?;
    Ok(ExitStatus::failed_if(args.exit_code && differs))
}

fn compare(args: &Args) -> Result<(String, bool), UserError> {
    args.files.verify_files()?;
    for file in [&args.old, &args.new] {
        verify_debug_path("diff", file, &[])?;
    }
    let progress = TerminalProgress::when_slow();
    let comparison =
        progress.finish_after(compare_builds(&request(args), &progress, &print_note))?;
    let contents = DiffContents {
        comparison: &comparison,
        old: &args.old,
        new: &args.new,
        line_bytes: args.cacheline_size,
        is_partial: !args.types.is_empty(),
        verbose: args.verbose,
    };
    (args.files).write_files(&format!("relayout diff {}", args.new.display()), || {
        Ok(diff_document(&contents).to_json()?)
    })?;
    let rendered = if args.json {
        diff_document(&contents).to_json()?
    } else {
        render_text(&contents)
    };
    Ok((rendered, comparison.differs()))
}

fn request(args: &Args) -> DiffRequest {
    let statuses = args.status.iter().map(|status| match status {
        WantedStatus::Added => DiffStatus::Added,
        WantedStatus::Removed => DiffStatus::Removed,
        WantedStatus::Changed => DiffStatus::Changed,
        WantedStatus::Same => DiffStatus::Same,
    });
    DiffRequest {
        old: args.old.clone(),
        new: args.new.clone(),
        format: match args.btf {
            true => DebugInfoFormat::Btf,
            false => DebugInfoFormat::Any,
        },
        types: args.types.clone(),
        bindings: args.bindings,
        line_bytes: args.cacheline_size,
        profile: args.profile.clone(),
        debug: args.debug.clone(),
        selection: DiffSelection {
            unchanged: args.all,
            affected: args.affected || args.json || args.files.has_files(),
            statuses: statuses.collect(),
            order: args.sort.map(|sort| match sort {
                DiffSort::Name => TypeOrder::Name,
                DiffSort::Size => TypeOrder::Growth,
                DiffSort::Affects => TypeOrder::Holders,
            }),
        },
    }
}

//! `relayout diff`: what moved between two builds or configurations.

mod hot;
mod json;
mod select;
mod text;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_diff::{DiffSide, DiffStatus, LayoutDiff, TypeDiff};

use self::hot::HotDiff;
use crate::catalog;
use crate::exit::ExitStatus;
use crate::print::print_text;

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
    #[arg(value_name = "TYPE")]
    pub types: Vec<String>,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Print types too that are the same
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
    #[arg(short = 'c', long, alias = "cacheline_size", value_name = "BYTES", default_value_t = 64,
          value_parser = clap::value_parser!(u64).range(1..))]
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

/// What to sort types by.
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
/// A file that cannot be read or has no types, a type that neither has, a failed write.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let threads = rayon::ThreadPoolBuilder::new()
        .num_threads(args.jobs.map_or(0, usize::from))
        .build()
        .context("cannot start threads")?;
    threads.install(|| {
        let format = if args.btf {
            DebugInfoFormat::Btf
        } else {
            DebugInfoFormat::Any
        };
        catalog::with_both_types(&args.old, &args.new, format, |old, new| {
            compare_catalogs(args, old, new)
        })
    })
}

fn compare_catalogs(
    args: &Args,
    old: &TypeCatalog<'_>,
    new: &TypeCatalog<'_>,
) -> anyhow::Result<ExitStatus> {
    let (mut before, mut after) = (DiffSide::new(old), DiffSide::new(new));
    if args.types.is_empty() {
        let (old, new) = rayon::join(|| before.load_all(), || after.load_all());
        old.with_context(|| cannot_read(&args.old))?;
        new.with_context(|| cannot_read(&args.new))?;
    } else {
        select::load_named(args, &mut before, &mut after)?;
    }
    let (diff, asked) = relayout_diff::compare_sides(before, after)?;
    let hot_types = match &args.profile {
        Some(profile) => hot::read_hot_types(profile, args.debug.as_slice())?,
        None => Vec::new(),
    };
    let files = hot::ComparedFiles {
        old,
        new,
        line_bytes: args.cacheline_size,
    };
    let hot = hot::compare_hot_types(&files, &diff, &hot_types)?;
    let comparison = ShownDiff {
        args,
        shown: select::select_shown(args, &diff, &asked, &hot),
        diff: &diff,
        hot: &hot,
    };
    let rendered = if args.json {
        json::render(&comparison)?
    } else {
        text::render(&comparison)
    };
    print_text(&rendered)?;
    let differs = |type_diff: &TypeDiff| type_diff.status != DiffStatus::Same;
    Ok(if args.exit_code && diff.types.iter().any(differs) {
        ExitStatus::Failed
    } else {
        ExitStatus::Done
    })
}

/// What is rendered.
struct ShownDiff<'d> {
    args: &'d Args,
    diff: &'d LayoutDiff,
    /// Indices in the types of `diff`, in order.
    shown: Vec<usize>,
    /// Changed types that are hot, by index.
    hot: &'d BTreeMap<usize, HotDiff<'d>>,
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read the types of {}", path.display())
}

/// Bytes that a type grew by.
fn growth(diff: &LayoutDiff, index: usize) -> i128 {
    diff.both_layouts(&diff.types[index])
        .map_or(0, |(old, new)| i128::from(new.size) - i128::from(old.size))
}

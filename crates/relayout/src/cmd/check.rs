//! `relayout check`: asserts layouts.

mod emit;
mod input;
mod json;
mod source;
mod subjects;
mod text;
mod update;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use relayout_check::{Check, Date, Facts, Outcome, Settings};
use relayout_layout::catalog::{Catalog, Format};
use relayout_report::sarif;

use crate::catalog;
use crate::exit::{self, Exit};
use crate::print::print;
use input::Rules;
use subjects::Subject;

const EXAMPLES: &str = "\
relayout.toml:
  [[type]]
  name = \"mm_struct\"
  size_max = 1408
  same_line = [[\"mmap_lock.count\", \"mmap_lock.owner\"]]
  different_lines = [[\"mm_count\", \"mmap_lock.owner\"]]

docs/check.md describes all of it.

Examples:
  relayout check vmlinux
  relayout check --update --profile mmap1.relayout vmlinux
  relayout check --configuration rt --sarif vmlinux > check.sarif
  relayout check --source include/linux/mm_types.h
  relayout check --emit kernel vmlinux > layout_asserts.c
  git bisect run sh -c 'make -s vmlinux || exit 125; relayout check --bisect vmlinux'

Exit code 0: all assertions hold; 1: one does not; 2: it cannot be told.";

/// Assert layouts: exit 1 where a type is not as relayout.toml says, and tell what moved it
///
/// The rules are read from relayout.toml in this folder or the nearest above it that has one.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files to check, with DWARF or BTF: vmlinux, modules, programs, object files
    #[arg(required_unless_present = "headers", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read the rules from this file [default: relayout.toml here or above]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Take the files to be of this configuration of the rules; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub configuration: Vec<String>,
    /// Read the kernel's configuration from this file [default: .config beside FILE]
    #[arg(long, value_name = "FILE")]
    pub kconfig: Option<PathBuf>,
    /// Read what was recorded from this file [default: relayout.lock beside the rules]
    #[arg(long, value_name = "FILE")]
    pub lock: Option<PathBuf>,
    /// Tell who pushed a member from where it was in this file, an earlier build
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write down where the hot members are, in the lock file, instead of checking; without
    /// --profile those that are hot in it now
    #[arg(long)]
    pub update: bool,
    /// Take those members to be hot that this profile shows to be; may be given more than once
    #[arg(long, value_name = "PROFILE", requires = "update")]
    pub profile: Vec<PathBuf>,
    /// Use this debug file for the profile [default: the one recorded with]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub debug: Option<PathBuf>,
    /// Take lines to be hot that have at least this share of all transfers, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * relayout_check::hot::LINE_SHARE_MIN,
          value_parser = super::report::percent)]
    pub min_share: f64,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Types that the BTF of kernel modules is based on: the vmlinux of the same build, or its BTF
    #[arg(long, value_name = "FILE")]
    pub btf_base: Option<PathBuf>,
    /// How to print what was found
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    pub format: Output,
    /// Print JSON (schema relayout/check/1)
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print SARIF 2.1.0
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub sarif: bool,
    /// In SARIF, name files below this folder, as the compiler names it, relative to it
    /// [default: the folder of the rules]
    #[arg(long, value_name = "DIR")]
    pub source_root: Vec<String>,
    /// Print what is asserted as C for the compiler to check, instead of what was found; exit 1 all
    /// the same where it does not hold
    #[arg(long, value_name = "FORM", value_enum, conflicts_with_all = ["format", "json", "sarif", "update"])]
    pub emit: Option<emit::Form>,
    /// Exit 125 where it cannot be told whether the rules hold (a file that is missing or broken,
    /// rules that cannot be read), so that `git bisect run` passes the commit over
    #[arg(long)]
    pub bisect: bool,
    /// Judge waivers as of this day [default: today, or $SOURCE_DATE_EPOCH]
    #[arg(long, value_name = "DATE", hide = true, value_parser = input::date)]
    pub today: Option<Date>,
    #[command(flatten)]
    pub source: source::Args,
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// Schema relayout/check/1.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// Runs the command.
///
/// # Errors
/// Rules or files that cannot be read, conditions that cannot be told, a failed write.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match check(args) {
        Err(error) if args.bisect => Ok(match exit::explain(&error) {
            // Ctrl-C ends the bisection.
            Exit::Interrupted => Exit::Interrupted,
            _ => Exit::Untestable,
        }),
        result => result,
    }
}

fn check(args: &Args) -> anyhow::Result<Exit> {
    let rules = Rules::read(args)?;
    if args.update {
        return update::run(args, &rules).map(|()| Exit::Done);
    }
    let subjects = subjects::all(args, &rules.config)?;
    let outcome = judge(args, &rules, &subjects)?;
    for warning in &outcome.warnings {
        match warning.at {
            Some(at) => eprintln!(
                "relayout: {}:{at}: {}",
                rules.path.display(),
                warning.message
            ),
            None => eprintln!("relayout: {}", warning.message),
        }
    }
    if outcome.checked == 0 {
        return Err(input::Error::NothingChecked(rules.path).into());
    }
    if let Some(form) = args.emit {
        print(&emit::render(args, &rules, &subjects, form)?)?;
        if !outcome.violations.is_empty() {
            eprint!("{}", text::render(&outcome, &rules.path));
        }
        return Ok(exit(&outcome));
    }
    let format = match args.format {
        _ if args.json => Output::Json,
        _ if args.sarif => Output::Sarif,
        format => format,
    };
    let rendered = match format {
        Output::Text => text::render(&outcome, &rules.path),
        Output::Json => json::render(&outcome, &rules.path)?,
        Output::Sarif => sarif(args, &outcome, &rules)?,
    };
    print(&rendered)?;
    Ok(exit(&outcome))
}

fn exit(outcome: &Outcome) -> Exit {
    match outcome.violations.is_empty() {
        true => Exit::Done,
        false => Exit::Failed,
    }
}

fn sarif(args: &Args, outcome: &Outcome, rules: &Rules) -> anyhow::Result<String> {
    let config = input::absolute(&rules.path)?;
    let mut source_roots = args.source_root.clone();
    source_roots.extend(config.parent().map(|folder| folder.display().to_string()));
    let context = sarif::Context {
        version: env!("CARGO_PKG_VERSION"),
        config: &config.display().to_string(),
        source_roots: &source_roots,
    };
    Ok(sarif::render(outcome, &context)?)
}

fn judge(args: &Args, rules: &Rules, subjects: &[Subject]) -> anyhow::Result<Outcome> {
    let baseline = match &args.baseline {
        Some(path) => with_file(args, path, |catalog, facts| {
            Ok(relayout_check::baseline(&rules.config, facts, catalog)?)
        })?,
        None => Vec::new(),
    };
    let settings = Settings {
        today: args.today.unwrap_or_else(input::today),
        configurations: &args.configuration,
        lock: rules.lock.as_ref(),
        baseline: &baseline,
    };
    let mut check = Check::new(&rules.config, settings);
    for subject in subjects {
        subject.with(args, &rules.config, |catalog, facts, named, wanted| {
            Ok(check.file_where(catalog, facts, named, wanted)?)
        })?;
    }
    Ok(check.finish())
}

/// Opens a file for its types and for what conditions ask of it.
fn with_file<T>(
    args: &Args,
    path: &Path,
    then: impl FnOnce(&Catalog<'_>, &Facts) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let format = if args.btf { Format::Btf } else { Format::Any };
    catalog::with_base(path, format, args.btf_base.as_deref(), |catalog| {
        let facts = input::facts(path, args.kconfig.as_deref())?;
        then(catalog, &facts)
    })
}

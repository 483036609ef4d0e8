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
use relayout_check::{CheckOutcome, CheckSettings, Date, FileFacts, LayoutCheck};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_report::sarif;

use crate::catalog;
use crate::exit::{self, ExitStatus};
use crate::print::print_text;
use input::CheckRules;
use subjects::CheckedSubject;

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
          value_parser = super::report::parse_percent)]
    pub min_share: f64,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Types that the BTF of kernel modules is based on: the vmlinux of the same build, or its BTF
    #[arg(long, value_name = "FILE")]
    pub btf_base: Option<PathBuf>,
    /// How to print what was found
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = CheckFormat::Text)]
    pub format: CheckFormat,
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
    pub emit: Option<emit::EmitTarget>,
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
pub enum CheckFormat {
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
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    match check_layouts(args) {
        Err(error) if args.bisect => Ok(match exit::print_error(&error) {
            // Ctrl-C ends the bisection.
            ExitStatus::Interrupted => ExitStatus::Interrupted,
            _ => ExitStatus::Untestable,
        }),
        result => result,
    }
}

fn check_layouts(args: &Args) -> anyhow::Result<ExitStatus> {
    let rules = CheckRules::read(args)?;
    if args.update {
        return update::run(args, &rules).map(|()| ExitStatus::Done);
    }
    let subjects = subjects::checked_subjects(args, &rules.config)?;
    let outcome = judge_subjects(args, &rules, &subjects)?;
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
        print_text(&emit::render(args, &rules, &subjects, form)?)?;
        if !outcome.violations.is_empty() {
            eprint!("{}", text::render(&outcome, &rules.path));
        }
        return Ok(exit_code(&outcome));
    }
    let format = match args.format {
        _ if args.json => CheckFormat::Json,
        _ if args.sarif => CheckFormat::Sarif,
        format => format,
    };
    let rendered = match format {
        CheckFormat::Text => text::render(&outcome, &rules.path),
        CheckFormat::Json => json::render(&outcome, &rules.path)?,
        CheckFormat::Sarif => render_sarif(args, &outcome, &rules)?,
    };
    print_text(&rendered)?;
    Ok(exit_code(&outcome))
}

fn exit_code(outcome: &CheckOutcome) -> ExitStatus {
    match outcome.violations.is_empty() {
        true => ExitStatus::Done,
        false => ExitStatus::Failed,
    }
}

fn render_sarif(args: &Args, outcome: &CheckOutcome, rules: &CheckRules) -> anyhow::Result<String> {
    let config = input::absolute(&rules.path)?;
    let mut source_roots = args.source_root.clone();
    source_roots.extend(config.parent().map(|folder| folder.display().to_string()));
    let context = sarif::SarifContext {
        version: env!("CARGO_PKG_VERSION"),
        config: &config.display().to_string(),
        source_roots: &source_roots,
    };
    Ok(sarif::render(outcome, &context)?)
}

fn judge_subjects(
    args: &Args,
    rules: &CheckRules,
    subjects: &[CheckedSubject],
) -> anyhow::Result<CheckOutcome> {
    let baseline = match &args.baseline {
        Some(path) => with_file(args, path, |catalog, facts| {
            Ok(relayout_check::baseline_types(
                &rules.config,
                facts,
                catalog,
            )?)
        })?,
        None => Vec::new(),
    };
    let settings = CheckSettings {
        today: args.today.unwrap_or_else(input::today),
        configurations: &args.configuration,
        lock: rules.lock.as_ref(),
        baseline: &baseline,
    };
    let mut check = LayoutCheck::new(&rules.config, settings);
    for subject in subjects {
        subject.with(args, &rules.config, |catalog, facts, named, wanted| {
            Ok(check.judge_file_where(catalog, facts, named, wanted)?)
        })?;
    }
    Ok(check.finish())
}

/// Opens a file for its types and for what conditions ask of it.
fn with_file<T>(
    args: &Args,
    path: &Path,
    then: impl FnOnce(&TypeCatalog<'_>, &FileFacts) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let format = if args.btf {
        DebugInfoFormat::Btf
    } else {
        DebugInfoFormat::Any
    };
    catalog::with_types(path, format, args.btf_base.as_deref(), |catalog| {
        let facts = input::facts(path, args.kconfig.as_deref())?;
        then(catalog, &facts)
    })
}

//! `relayout check`: asserts layouts.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use relayout_check::emit::EmitForm;
use relayout_check::{CheckOutcome, Date};
use relayout_layout::catalog::DebugInfoFormat;
use relayout_messages::{ErrorCategory, UserError};
use relayout_report::Document as _;
use relayout_report::documents::check::check_document;
use relayout_report::exports::sarif;
use relayout_report::text::check::{check_text, warning_texts};
use relayout_report::text::lock::render_lock_update;
use relayout_session::check::{
    CheckRequest, CheckRules, CheckedSubject, HeaderSources, HotProfiles, NamedDatabase,
    check_subjects, emit_assertions, open_subjects, update_lock,
};

use crate::exit::ExitStatus;
use crate::print::{
    TextKind, print_failure, print_line, print_note, print_rendered, print_text, print_warning,
};
use crate::progress::TerminalProgress;

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
  relayout check --header include/linux/mm_types.h
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
          value_parser = crate::arguments::percent)]
    pub min_share: f64,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Types that the BTF of kernel modules is based on: the vmlinux of the same build, or its BTF
    #[arg(long, value_name = "FILE")]
    pub btf_base: Option<PathBuf>,
    /// Output format
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
    pub emit: Option<EmitTarget>,
    /// Exit 125 where it cannot be told whether the rules hold (a file that is missing or broken,
    /// rules that cannot be read), so that `git bisect run` passes the commit over
    #[arg(long)]
    pub bisect: bool,
    /// Judge waivers as of this day [default: today, or $SOURCE_DATE_EPOCH]
    #[arg(long, value_name = "DATE", hide = true, value_parser = parse_date)]
    pub today: Option<Date>,
    #[command(flatten)]
    pub source: HeaderArgs,
}

/// Output format of `relayout check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Text for people.
    Text,
    /// JSON with the schema relayout/check/1.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

/// Headers to compile, and the commands for it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Without a vmlinux")]
pub struct HeaderArgs {
    /// Check the types that this header or source file defines or includes: it is compiled as
    /// compile_commands.json says, and the debug information of that is checked. Runs the compiler
    /// that is named there. Can be given several times
    #[arg(
        long = "header",
        alias = "source",
        value_name = "FILE.h",
        conflicts_with = "update"
    )]
    pub headers: Vec<PathBuf>,
    /// Compilation database of the project; given once for each configuration, with the name of the
    /// configuration in relayout.toml [default: compile_commands.json in the folder of FILE.h or
    /// one above it]
    #[arg(
        long = "compile-commands",
        value_name = "[NAME=]FILE",
        requires = "headers",
        value_parser = NamedDatabase::parse
    )]
    pub databases: Vec<NamedDatabase>,
    /// Compile as this source file is compiled [default: one that includes FILE.h and is near it]
    #[arg(long, value_name = "FILE.c", requires = "headers")]
    pub like: Option<PathBuf>,
    /// Include this before FILE.h, if it needs that; found as by `#include "..."`. Can be given
    /// several times
    #[arg(long = "include", value_name = "HEADER", requires = "headers")]
    pub before: Vec<String>,
    /// Run this compiler instead of the one that compile_commands.json names
    #[arg(long, value_name = "COMMAND", requires = "headers")]
    pub compiler: Option<String>,
}

/// Form of the emitted C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmitTarget {
    /// C11 or C++11, with the standard headers.
    StaticAssert,
    /// A source file of the Linux kernel.
    Kernel,
}

/// Runs the command.
///
/// # Errors
/// Rules or files cannot be read, conditions cannot be told, or standard output fails.
pub fn run(args: &Args) -> Result<ExitStatus, UserError> {
    match check_layouts(args) {
        Err(error) if args.bisect => {
            let status = bisect_status(&error);
            print_failure(&error, status as u8);
            Ok(status)
        }
        result => result,
    }
}

/// Ctrl-C ends the bisection.
fn bisect_status(error: &UserError) -> ExitStatus {
    match error.category() {
        ErrorCategory::Interrupted => ExitStatus::Interrupted,
        _ => ExitStatus::Untestable,
    }
}

fn check_layouts(args: &Args) -> Result<ExitStatus, UserError> {
    let request = request(args);
    let rules = CheckRules::read(&request)?;
    let progress = TerminalProgress::when_slow();
    if args.update {
        let profiles = HotProfiles {
            paths: &args.profile,
            debug: args.debug.as_deref(),
            line_share_min: args.min_share / 100.0,
        };
        let update = progress.finish_after(update_lock(
            &request,
            &rules,
            profiles,
            &progress,
            &print_note,
        ))?;
        print_text(&render_lock_update(&update))?;
        return Ok(ExitStatus::Done);
    }
    let subjects = progress.finish_after(open_subjects(
        &request,
        &rules.config,
        &progress,
        &print_note,
    ))?;
    let outcome = check_subjects(&request, &rules, &subjects, &print_note)?;
    let document = check_document(&outcome, &rules.path);
    for warning in warning_texts(&document) {
        print_warning(&warning);
    }
    if outcome.checked == 0 {
        return Err(UserError::input(format!(
            "{}: no rule applies to any of the files, so nothing was checked",
            rules.path.display()
        )));
    }
    if let Some(target) = args.emit {
        print_text(&emit(&request, &rules, &subjects, target)?)?;
        if !outcome.violations.is_empty() {
            print_line(check_text(&document).trim_end_matches('\n'));
        }
        return Ok(exit_code(&outcome));
    }
    let format = match args.format {
        _ if args.json => CheckFormat::Json,
        _ if args.sarif => CheckFormat::Sarif,
        format => format,
    };
    let rendered = match format {
        CheckFormat::Text => check_text(&document),
        CheckFormat::Json => document.to_json()?,
        CheckFormat::Sarif => render_sarif(args, &outcome, &rules.path)?,
    };
    print_rendered(&rendered, format != CheckFormat::Text, TextKind::Findings)?;
    Ok(exit_code(&outcome))
}

fn request(args: &Args) -> CheckRequest {
    CheckRequest {
        files: args.files.clone(),
        sources: HeaderSources {
            headers: args.source.headers.clone(),
            databases: args.source.databases.clone(),
            like: args.source.like.clone(),
            included_before: args.source.before.clone(),
            compiler: args.source.compiler.clone(),
        },
        config: args.config.clone(),
        configurations: args.configuration.clone(),
        kconfig: args.kconfig.clone(),
        lock: args.lock.clone(),
        baseline: args.baseline.clone(),
        format: match args.btf {
            true => DebugInfoFormat::Btf,
            false => DebugInfoFormat::Any,
        },
        btf_base: args.btf_base.clone(),
        today: args.today,
    }
}

fn exit_code(outcome: &CheckOutcome) -> ExitStatus {
    ExitStatus::failed_if(!outcome.violations.is_empty())
}

fn emit(
    request: &CheckRequest,
    rules: &CheckRules,
    subjects: &[CheckedSubject],
    target: EmitTarget,
) -> Result<String, UserError> {
    let form = match target {
        EmitTarget::StaticAssert => EmitForm::StaticAssert,
        EmitTarget::Kernel => EmitForm::Kernel,
    };
    let emitted = emit_assertions(request, rules, subjects, form, &print_note)?;
    if emitted.note_count > 0 {
        print_note(&format!(
            "note: assertions: {}; comments on what is not asserted, and why: {}",
            emitted.assertion_count, emitted.note_count
        ));
    }
    Ok(emitted.text)
}

fn render_sarif(args: &Args, outcome: &CheckOutcome, rules: &Path) -> Result<String, UserError> {
    let config = std::path::absolute(rules).map_err(UserError::wrap(format!(
        "cannot tell where {} is",
        rules.display()
    )))?;
    let mut source_roots = args.source_root.clone();
    source_roots.extend(config.parent().map(|folder| folder.display().to_string()));
    let context = sarif::SarifContext {
        version: env!("CARGO_PKG_VERSION"),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
        source_roots: &source_roots,
    };
    let document = check_document(outcome, &config);
    Ok(sarif::render_check(&document, &context)?)
}

fn parse_date(text: &str) -> Result<Date, String> {
    Date::parse(text).ok_or_else(|| "not a date (2027-01-31)".to_owned())
}

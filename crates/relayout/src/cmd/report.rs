//! `relayout report`: ranked findings of a profile.

use std::path::PathBuf;

use relayout_report::{
    Document as _, FindingSelection, ReportContents, explain_document, explain_text, json, text,
};
use relayout_session::{
    ProductionBuild, ResolvedNames, ResolvedProfile, explain_finding, pair_coefficient_or_measured,
    rank_findings, verify_profile_path, verify_type_name,
};

use crate::print::print_text;
use crate::resolved;

const EXAMPLES: &str = "\
Examples:
  relayout report out.relayout --top 3
  relayout report out.relayout --explain 1
  relayout report out.relayout --type pcpu_chunk --min-share 1

What was found out about the debug files is kept for the next command, in `resolved` in the cache folder \
($RELAYOUT_CACHE, else ~/.cache/relayout), at most 256 MB. Set $RELAYOUT_NO_CACHE to keep and use nothing.";

/// Rank the cache lines that contexts fight over, with type, members and source
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
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
    /// Cost, in transfers, of another CPU's store to the other line of an aligned pair [default:
    /// what `relayout probe` measured on this machine]; above 0, adjacent lines are findings
    #[arg(long, value_name = "X", value_parser = parse_coefficient)]
    pub pair_coefficient: Option<f64>,
    /// Show the first N findings; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Show only findings of this type or variable
    #[arg(long = "type", value_name = "NAME")]
    pub type_name: Option<String>,
    /// Say of the finding of this rank why it is taken for that type: what names its memory, and
    /// what each instruction that accessed it says by itself
    #[arg(long, value_name = "RANK", conflicts_with_all = ["top", "type_name", "min_share", "production"])]
    pub explain: Option<u32>,
    /// Show only findings with at least this share of all transfers, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    pub min_share: f64,
}

/// Runs the command.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together, or a failed write.
pub fn run(args: &Args) -> anyhow::Result<()> {
    verify_profile_path("report", &args.profile, &[])?;
    let rendered = resolved::with_resolved_profile(&args.profile, &args.debug, |input, images| {
        render(args, input, &ResolvedNames::new(input, images))
    })?;
    print_text(&rendered)
}

fn render(
    args: &Args,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
) -> anyhow::Result<String> {
    let pair_coefficient = pair_coefficient_or_measured(args.pair_coefficient)?;
    let findings = rank_findings(resolved, names, pair_coefficient);
    if let Some(rank) = args.explain {
        let explained = explain_finding(rank, resolved, names, &findings)?;
        return match args.json {
            true => Ok(explain_document(&explained).to_json()?),
            false => Ok(explain_text(&explained)),
        };
    }
    if let Some(name) = &args.type_name {
        verify_type_name(name, resolved, &findings)?;
    }
    let read = |path: &PathBuf| ProductionBuild::read(path, &findings, resolved.progress);
    let production = args.production.as_ref().map(read).transpose()?;
    let report = ReportContents {
        meta: &resolved.profile.meta,
        findings: &findings,
        selection: &FindingSelection {
            top: args.top,
            type_name: args.type_name.clone(),
            share_min: args.min_share / 100.0,
        },
        production: production.as_ref(),
    };
    match args.json {
        true => Ok(json::render(&report)?),
        false => Ok(text::render(&report)),
    }
}

/// Parses the cost of a pair transfer, in transfers.
pub(super) fn parse_coefficient(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err("not between 0 and 1".to_owned())
    }
}

/// Parses a percentage from 0 to 100.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
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

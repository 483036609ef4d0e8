//! `relayout report`: ranked findings of a profile.

mod exports;
mod kept;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap_complete::ArgValueCandidates;
use relayout_report::{
    Document as _, FindingSelection, ReportContents, explain_document, explain_text, json, text,
};
use relayout_session::{
    JudgementCache, ProductionBuild, ResolvedNames, ResolvedProfile, explain_finding,
    judge_findings, pair_coefficient_or_measured, rank_findings, read_source_files,
    read_subject_layouts, recorded_name, sort_by_saving, verify_profile_path,
    with_resolved_profile,
};

use super::document_files::DocumentArgs;
use crate::arguments::{self, FindingOrder, TextForm};
use crate::complete;
use crate::print::{TextKind, print_rendered};
use crate::progress::TerminalProgress;
use exports::ExportArgs;
use kept::RenderedReport;

const EXAMPLES: &str = "\
Examples:
  relayout report out.relayout --top 3
  relayout report out.relayout --explain 1
  relayout report out.relayout --type pcpu_chunk --min-share 1

What was found out about the debug files is kept for the next command, in `resolved` in the cache folder \
($RELAYOUT_CACHE, else ~/.cache/relayout), at most 256 MB. Set $RELAYOUT_NO_CACHE to keep and use nothing.";

/// Findings that are shown.
const TOP_DEFAULT: usize = 10;
/// Findings of a page, about two megabytes, of tables and of SARIF.
const PAGE_TOP_DEFAULT: usize = 300;

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
    /// Show the first N findings; 0 for all [default: 10; in files, 300]
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
    #[arg(long, value_name = "ORDER", value_enum, default_value_t = FindingOrder::Transfers)]
    pub by: FindingOrder,
    /// Widest line, in columns [default: the terminal's; any, where the output is none]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..=1000))]
    pub width: Option<u16>,
    /// Show only findings with at least this share of all transfers, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = arguments::percent)]
    pub min_share: f64,
    #[command(flatten)]
    pub files: DocumentArgs,
    #[command(flatten)]
    pub exports: ExportArgs,
}

/// Runs the command.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together, or a failed write.
pub fn run(args: &Args) -> anyhow::Result<()> {
    args.files.verify_files()?;
    args.exports.verify_files()?;
    verify_tree_use(args)?;
    verify_profile_path("report", &args.profile, &[])?;
    let is_document = args.json || args.format == TextForm::Svg;
    print_rendered(&read_or_render(args)?, is_document, TextKind::Findings)
}

/// Returns the document of all findings, as `report --json --top 0` prints it.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together.
pub(super) fn report_json(profile: &Path, debug: &[PathBuf]) -> anyhow::Result<String> {
    read_or_render(&Args {
        debug: debug.to_owned(),
        json: true,
        top: Some(0),
        ..Args::for_profile(profile.to_owned())
    })
}

impl Args {
    /// Returns the options of a plain report.
    fn for_profile(profile: PathBuf) -> Self {
        Self {
            profile,
            debug: Vec::new(),
            production: None,
            json: false,
            format: TextForm::Terminal,
            source: None,
            pair_coefficient: None,
            top: None,
            type_name: None,
            explain: None,
            by: FindingOrder::Transfers,
            width: None,
            min_share: 0.0,
            files: DocumentArgs::default(),
            exports: ExportArgs::default(),
        }
    }
}

/// Returns the report, from the cache if it is there.
fn read_or_render(args: &Args) -> anyhow::Result<String> {
    let cache = JudgementCache::locate(&args.profile, &args.debug);
    let options = cached_options(args)?;
    if let Some(rendered) = options
        .as_ref()
        .and_then(|words| cache.read_rendering(words))
    {
        return Ok(rendered);
    }
    if let Some(rendered) = kept::render_kept(args, &cache)? {
        return Ok(rendered);
    }
    let progress = TerminalProgress::when_slow();
    let resolved = with_resolved_profile(&args.profile, &args.debug, &progress, |input, images| {
        render(args, input, &ResolvedNames::new(input, images), &cache)
    });
    let rendered = progress.finish_after(resolved)?;
    // A warning belongs to the report, and is not kept.
    if progress.has_warned() {
        return Ok(rendered.text);
    }
    if let Some(words) = options {
        cache.add_rendering(&words, &rendered.text);
    }
    rendered.keep(args, &cache)?;
    Ok(rendered.text)
}

/// Rejects a source tree that is no folder, or that nothing would be read from.
fn verify_tree_use(args: &Args) -> anyhow::Result<()> {
    arguments::verify_source(args.source.as_deref())?;
    if args.source.is_some() && !args.json && args.files.html.is_none() {
        bail!("--source: the text has no source lines; add --html FILE or --json");
    }
    Ok(())
}

/// Returns words that tell the output of one set of options from that of another; `None` where the
/// output depends on other files.
fn cached_options(args: &Args) -> anyhow::Result<Option<String>> {
    if args.production.is_some()
        || args.files.has_files()
        || args.exports.has_files()
        || args.source.is_some()
    {
        return Ok(None);
    }
    let pair_coefficient = pair_coefficient_or_measured(args.pair_coefficient)?;
    Ok(Some(format!(
        "json {} form {:?} top {} type {:?} explain {:?} share {} by {:?} width {:?} pairs {pair_coefficient:?}",
        args.json,
        args.format,
        args.top.unwrap_or(TOP_DEFAULT),
        args.type_name,
        args.explain,
        args.min_share,
        args.by,
        arguments::text_width(args.width).filter(|_| !args.json),
    )))
}

fn render(
    args: &Args,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    cache: &JudgementCache,
) -> anyhow::Result<RenderedReport> {
    let pair_coefficient = pair_coefficient_or_measured(args.pair_coefficient)?;
    let mut findings = rank_findings(resolved, names, pair_coefficient);
    if let Some(rank) = args.explain {
        let explained = explain_finding(rank, resolved, names, &findings)?;
        let text = match args.json {
            true => explain_document(&explained).to_json()?,
            false => explain_text(&explained),
        };
        return Ok(RenderedReport {
            text,
            ranked: kept::ranked_profile(resolved, findings),
            explanations: Vec::new(),
        });
    }
    let type_name = { args.type_name.as_ref() }
        .map(|name| recorded_name(name, resolved, &findings))
        .transpose()?;
    let kept = kept::ranked_profile(resolved, findings.clone());
    let explanations = kept::explain_first(args, resolved, names, &findings);
    let mut judgements = cache.read();
    if args.by == FindingOrder::Saving {
        judge_findings(resolved, &findings, &mut judgements);
        cache.add(&judgements);
        sort_by_saving(&mut findings, &judgements);
    }
    let read = |path: &PathBuf| ProductionBuild::read(path, &findings, resolved.progress);
    let production = args.production.as_ref().map(read).transpose()?;
    let report = ReportContents {
        meta: &resolved.profile.meta,
        findings: &findings,
        selection: &FindingSelection {
            top: args.top.unwrap_or(TOP_DEFAULT),
            type_name,
            share_min: args.min_share / 100.0,
        },
        production: production.as_ref(),
        judgements: Some(&judgements),
        sources: &[],
        layouts: &[],
    };
    write_files(args, &report, resolved, names)?;
    let text = match args.json {
        true => render_document(&report, resolved, args.source.as_deref())?,
        false => render_text(args, &report),
    };
    Ok(RenderedReport {
        text,
        ranked: kept,
        explanations,
    })
}

fn render_text(args: &Args, report: &ReportContents<'_>) -> String {
    match (args.format, arguments::text_width(args.width)) {
        (TextForm::Mail, _) => text::render_mail(report),
        (TextForm::Svg, _) => text::render_svg(report),
        (TextForm::Terminal, Some(width)) => text::render_within(report, width),
        (TextForm::Terminal, None) => text::render(report),
    }
}

/// Writes the files beside the text, with more findings than it has.
fn write_files(
    args: &Args,
    report: &ReportContents<'_>,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
) -> anyhow::Result<()> {
    let selection = FindingSelection {
        top: args.top.unwrap_or(PAGE_TOP_DEFAULT),
        ..report.selection.clone()
    };
    let selected = ReportContents {
        selection: &selection,
        ..*report
    };
    let title = format!("relayout report {}", report.meta.workload);
    let document = || render_document(&selected, resolved, args.source.as_deref());
    args.files.write_files(&title, document)?;
    args.exports.write_files(&selected, resolved, names)
}

/// Renders the JSON document, with source lines if there is a tree.
fn render_document(
    report: &ReportContents<'_>,
    resolved: &ResolvedProfile<'_>,
    tree: Option<&Path>,
) -> anyhow::Result<String> {
    let (shown, _) = report.selection.select_findings(report.findings);
    let sources = tree.map_or_else(Vec::new, |tree| read_source_files(&shown, tree));
    Ok(json::render(&ReportContents {
        sources: &sources,
        layouts: &read_subject_layouts(resolved, &shown),
        ..*report
    })?)
}

//! A report of a profile: from what an earlier one has kept, or anew.

mod kept;

use std::path::{Path, PathBuf};

use relayout_report::{
    Document as _, FindingSelection, ReportContents, explain_document, explain_text, json, text,
};
use relayout_session::{
    JudgementCache, ProductionBuild, ResolvedNames, ResolvedProfile, UserError, explain_finding,
    judge_findings, pair_coefficient_or_measured, rank_findings, read_source_files,
    read_subject_layouts, recorded_name, sort_by_saving, with_resolved_profile,
};

use crate::arguments::{self, FindingOrder, TextForm};
use crate::cmd::report::Args;
use crate::progress::TerminalProgress;
use kept::RenderedReport;

/// Findings that are shown.
const TOP_DEFAULT: usize = 10;
/// Findings of a page, about two megabytes, of tables and of SARIF.
const PAGE_TOP_DEFAULT: usize = 300;

/// Returns the document of all findings, as `report --json --top 0` prints it.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together.
pub fn report_json(profile: &Path, debug: &[PathBuf]) -> Result<String, UserError> {
    read_or_render(&Args {
        debug: debug.to_owned(),
        json: true,
        top: Some(0),
        ..Args::for_profile(profile.to_owned())
    })
}

/// Returns the report, from the cache if it is there.
///
/// # Errors
/// A profile or debug file that cannot be read or do not go together, or a failed write.
pub fn read_or_render(args: &Args) -> Result<String, UserError> {
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

/// Returns words that tell the output of one set of options from that of another; `None` where the
/// output depends on other files.
fn cached_options(args: &Args) -> Result<Option<String>, UserError> {
    if args.production.is_some()
        || args.files.has_files()
        || args.exports.has_files()
        || args.source.is_some()
    {
        return Ok(None);
    }
    let pair_coefficient = pair_coefficient_or_measured(args.pair_coefficient)?;
    Ok(Some(format!(
        "profile {} json {} form {:?} top {} type {:?} explain {:?} share {} by {:?} width {:?} pairs {pair_coefficient:?}",
        // Commands in sentences name it.
        args.profile.display(),
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
) -> Result<RenderedReport, UserError> {
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
        profile: &args.profile.display().to_string(),
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
) -> Result<(), UserError> {
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
) -> Result<String, UserError> {
    let (shown, _) = report.selection.select_findings(report.findings);
    let sources = tree.map_or_else(Vec::new, |tree| read_source_files(&shown, tree));
    Ok(json::render(&ReportContents {
        sources: &sources,
        layouts: &read_subject_layouts(resolved, &shown),
        ..*report
    })?)
}

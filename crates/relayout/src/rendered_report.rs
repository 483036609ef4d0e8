//! A report of a profile: from what an earlier one has kept, or anew.

mod kept;
mod question;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use relayout_advice::{
    FreedLine, ResolvedNames, ResolvedProfile, judge_findings, rank_findings, recorded_name,
    sort_by_saving,
};
use relayout_contend::{Finding, Findings};
use relayout_messages::UserError;
use relayout_report::documents::explain::explain_document;
use relayout_report::exports::mail::findings::render_mail;
use relayout_report::exports::svg::render_svg;
use relayout_report::text::explain::explain_text;
use relayout_report::{Document as _, FindingSelection, ReportContents, documents, text};
use relayout_session::{
    ProductionBuild, ProfileCache, explain_finding, read_source_files, read_subject_layouts,
    with_resolved_profile,
};
use relayout_workflows::simulate::{SimulationRequest, TimeBudget};

use crate::arguments::FindingOrder;
use crate::cmd::document_files::DocumentArgs;
use crate::cmd::repeated_guest::RepeatedGuestArgs;
use crate::cmd::report::Args;
use crate::cmd::report::exports::ExportArgs;
use crate::cmd::simulated_change::with_simulation;
use crate::progress::TerminalProgress;
use kept::RenderedReport;
use question::{ReportForm, ReportQuestion, ReportText};

/// Findings that are shown.
const TOP_DEFAULT: usize = 10;
/// Findings of a page, about two megabytes, of tables and of SARIF.
const PAGE_TOP_DEFAULT: usize = 300;

/// Files that a report reads or writes beside the profile.
#[derive(Clone, Copy)]
struct ReportFiles<'a> {
    production: Option<&'a Path>,
    source: Option<&'a Path>,
    documents: &'a DocumentArgs,
    exports: &'a ExportArgs,
    free_lines: Option<FreeLinesRequest<'a>>,
}

/// Findings whose lines are to be executed as if they cost nothing.
#[derive(Clone, Copy)]
struct FreeLinesRequest<'a> {
    /// Number of findings.
    count: usize,
    guest: &'a RepeatedGuestArgs,
}

impl<'a> ReportFiles<'a> {
    fn from_args(args: &'a Args) -> Self {
        Self {
            production: args.production.as_deref(),
            source: args.source.as_deref(),
            documents: &args.files,
            exports: &args.exports,
            free_lines: args.if_free.map(|count| FreeLinesRequest {
                count,
                guest: &args.guest,
            }),
        }
    }

    /// Returns true if there are none, and nothing is executed, so that the question and the profile decide about the text.
    fn is_empty(&self) -> bool {
        self.free_lines.is_none()
            && self.production.is_none()
            && self.source.is_none()
            && !self.documents.has_files()
            && !self.exports.has_files()
    }
}

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
    let cache = ProfileCache::locate(&args.profile, &args.debug);
    let question = ReportQuestion::from_args(args)?;
    let files = ReportFiles::from_args(args);
    if files.is_empty() {
        let kept = question.read_text(&cache);
        if let Some(text) = kept.or_else(|| kept::render_kept(&question, &cache)) {
            return Ok(text);
        }
    }
    let progress = TerminalProgress::when_slow();
    let resolved = with_resolved_profile(&args.profile, &args.debug, &progress, |input, images| {
        let names = ResolvedNames::new(input, images);
        render(&question, files, input, &names, &cache)
    });
    let rendered = progress.finish_after(resolved)?;
    // A warning belongs to the report, and is not kept.
    if progress.has_warned() {
        return Ok(rendered.text);
    }
    if files.is_empty() {
        question.keep_text(&cache, &rendered.text);
    }
    rendered.keep(&question, &cache);
    Ok(rendered.text)
}

fn render(
    question: &ReportQuestion,
    files: ReportFiles<'_>,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    cache: &ProfileCache,
) -> Result<RenderedReport, UserError> {
    let mut findings = rank_findings(resolved, names, question.pair_coefficient);
    if let Some(rank) = question.explained_rank {
        return Ok(RenderedReport {
            text: explain(question.form, rank, resolved, names, &findings)?,
            ranked: kept::ranked_profile(resolved, findings),
            explanations: Vec::new(),
        });
    }
    let type_name = { question.type_name.as_ref() }
        .map(|name| recorded_name(name, resolved, &findings))
        .transpose()?;
    let kept = kept::ranked_profile(resolved, findings.clone());
    let explanations = match files.is_empty() && question.needs_findings_only() {
        true => kept::explain_first(resolved, names, &findings),
        false => Vec::new(),
    };
    let mut judgements = cache.read_judgements();
    match question.order {
        FindingOrder::Rank => {}
        FindingOrder::Transfers => {
            let transfers = |finding: &Finding| Reverse(finding.tally.transfers());
            findings.findings.sort_by_key(transfers);
        }
        FindingOrder::Saving => {
            judge_findings(resolved, &findings, &mut judgements);
            cache.add_judgements(&judgements);
            sort_by_saving(&mut findings, &judgements);
        }
    }
    let freed = { files.free_lines }.map(|request| free_lines(request, resolved, &findings));
    let freed = freed.transpose()?.unwrap_or_default();
    let read = |path| ProductionBuild::read(path, &findings, resolved.progress);
    let production = files.production.map(read).transpose()?;
    let report = ReportContents {
        profile: &question.profile,
        meta: &resolved.profile.meta,
        findings: &findings,
        selection: &FindingSelection {
            top: question.top.unwrap_or(TOP_DEFAULT),
            type_name,
            share_min: question.share_min_percent / 100.0,
        },
        production: production.as_ref(),
        judgements: Some(&judgements),
        sources: &[],
        layouts: &[],
        freed: &freed,
    };
    write_files(question.top, files, &report, resolved, names)?;
    let text = match question.form {
        ReportForm::Json => render_document(&report, resolved, files.source)?,
        ReportForm::Text(form) => render_text(form, &report),
    };
    Ok(RenderedReport {
        text,
        ranked: kept,
        explanations,
    })
}

/// Executes the recorded guest with the lines of the first findings free.
///
/// # Errors
/// The recording has the order of the host, or the guest cannot execute.
fn free_lines(
    request: FreeLinesRequest<'_>,
    resolved: &ResolvedProfile<'_>,
    findings: &Findings,
) -> Result<Vec<FreedLine>, UserError> {
    if resolved.profile.meta.simulated_machine.is_none() {
        let text =
            "--if-free: the recording has the order of the host, in which nobody waits for lines";
        return Err(UserError::input(text)
            .with_remedy("record with --machine NAME (`relayout probe --machines` lists them)"));
    }
    let simulation = SimulationRequest {
        cpus: Vec::new(),
        length: None,
        draws: 0,
        budget: (request.guest.budget).map_or(TimeBudget::ByWaiting, TimeBudget::Given),
    };
    let first: Vec<&Finding> = { findings.findings.iter() }
        .filter(|finding| !finding.waited_lines.is_empty())
        .take(request.count)
        .collect();
    with_simulation(
        resolved,
        request.guest.guest_choice(),
        &simulation,
        |simulation| simulation.free_lines(resolved, &first),
    )
}

/// Says why the finding of a rank is taken for its type.
fn explain(
    form: ReportForm,
    rank: u32,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    findings: &Findings,
) -> Result<String, UserError> {
    let explained = explain_finding(rank, resolved, names, findings)?;
    match form {
        ReportForm::Json => Ok(explain_document(&explained).to_json()?),
        ReportForm::Text(_) => Ok(explain_text(&explained)),
    }
}

fn render_text(form: ReportText, report: &ReportContents<'_>) -> String {
    match form {
        ReportText::Mail => render_mail(report),
        ReportText::Svg => render_svg(report),
        ReportText::Screen(width) => text::report::screen::render_screen(report, width),
        ReportText::Terminal(Some(width)) => text::report::render_within(report, width),
        ReportText::Terminal(None) => text::report::render(report),
    }
}

/// Writes the files beside the text, with more findings than it has.
fn write_files(
    top: Option<usize>,
    files: ReportFiles<'_>,
    report: &ReportContents<'_>,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
) -> Result<(), UserError> {
    let selection = FindingSelection {
        top: top.unwrap_or(PAGE_TOP_DEFAULT),
        ..report.selection.clone()
    };
    let selected = ReportContents {
        selection: &selection,
        ..*report
    };
    let title = format!("relayout report {}", report.meta.workload);
    let document = || render_document(&selected, resolved, files.source);
    files.documents.write_files(&title, document)?;
    files.exports.write_files(&selected, resolved, names)
}

/// Renders the JSON document, with source lines if there is a tree.
fn render_document(
    report: &ReportContents<'_>,
    resolved: &ResolvedProfile<'_>,
    tree: Option<&Path>,
) -> Result<String, UserError> {
    let (shown, _) = report.selection.select_findings(report.findings);
    let sources = tree.map_or_else(Vec::new, |tree| read_source_files(&shown, tree));
    Ok(documents::report::render(&ReportContents {
        sources: &sources,
        layouts: &read_subject_layouts(resolved, &shown),
        ..*report
    })?)
}

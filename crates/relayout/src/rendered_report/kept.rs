//! A report from what an earlier one has kept: the findings, and why the first of them are taken for their types.

use relayout_advice::{ResolvedNames, ResolvedProfile};
use relayout_contend::Findings;
use relayout_report::text::explain::explain_text;
use relayout_report::{FindingSelection, ReportContents};
use relayout_session::{FindingsQuestion, ProfileCache, RankedProfile, explain_finding};

use super::question::{ReportForm, ReportQuestion};
use super::{TOP_DEFAULT, render_text};

/// Findings that are explained beforehand.
const EXPLAINED_MAX: usize = 10;

/// A report, and what is kept of it for the next one.
pub(super) struct RenderedReport {
    pub(super) text: String,
    pub(super) ranked: RankedProfile,
    /// Explanations of the first findings by their rank.
    pub(super) explanations: Vec<(u32, String)>,
}

impl RenderedReport {
    /// Keeps what the next report of the profile can use.
    pub(super) fn keep(&self, question: &ReportQuestion, cache: &ProfileCache) {
        cache.keep(&findings_question(question), &self.ranked);
        for (rank, text) in &self.explanations {
            question.explaining(*rank).keep_text(cache, text);
        }
    }
}

fn findings_question(question: &ReportQuestion) -> FindingsQuestion {
    FindingsQuestion {
        pair_coefficient: question.pair_coefficient,
    }
}

/// Returns what is to be kept of a profile.
pub(super) fn ranked_profile(resolved: &ResolvedProfile<'_>, findings: Findings) -> RankedProfile {
    RankedProfile {
        meta: resolved.profile.meta.clone(),
        findings,
    }
}

/// Explains the first findings, for the next command.
pub(super) fn explain_first(
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    findings: &Findings,
) -> Vec<(u32, String)> {
    let ranks = { findings.findings.iter() }
        .map(|finding| finding.rank)
        .take(EXPLAINED_MAX);
    let explain = |rank| {
        let explained = explain_finding(rank, resolved, names, findings).ok()?;
        Some((rank, explain_text(&explained)))
    };
    ranks.filter_map(explain).collect()
}

/// Renders a report from the kept findings; `None` if there are none, or if they do not decide what the user asks for.
pub(super) fn render_kept(question: &ReportQuestion, cache: &ProfileCache) -> Option<String> {
    let ReportForm::Text(form) = question.form else {
        return None;
    };
    if !question.needs_findings_only() {
        return None;
    }
    let RankedProfile { meta, findings } = cache.read(&findings_question(question))?;
    let is_about = |name: &String| { findings.findings.iter() }.any(|found| found.is_about(name));
    if !question.type_name.as_ref().is_none_or(is_about) {
        return None;
    }
    let type_name = question.type_name.as_deref();
    let report = ReportContents {
        profile: &question.profile,
        meta: &meta,
        findings: &findings,
        selection: &FindingSelection {
            top: question.top.unwrap_or(TOP_DEFAULT),
            type_name: type_name.map(|name| relayout_contend::strip_type_tag(name).to_owned()),
            share_min: question.share_min_percent / 100.0,
        },
        production: None,
        judgements: Some(&cache.read_judgements()),
        sources: &[],
        layouts: &[],
        freed: &[],
    };
    Some(render_text(form, &report))
}

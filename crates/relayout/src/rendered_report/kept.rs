//! A report from what an earlier one has kept: the findings, and why the first of them are taken for their types.

use relayout_contend::Findings;
use relayout_report::{FindingSelection, ReportContents, explain_text};
use relayout_session::{
    JudgementCache, RankedProfile, ResolvedNames, ResolvedProfile, UserError, explain_finding,
    pair_coefficient_or_measured,
};

use super::{TOP_DEFAULT, cached_options, render_text};
use crate::arguments::FindingOrder;
use crate::cmd::report::Args;

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
    pub(super) fn keep(&self, args: &Args, cache: &JudgementCache) -> Result<(), UserError> {
        let pair_coefficient = pair_coefficient_or_measured(args.pair_coefficient)?;
        cache.add_findings(pair_coefficient, self.ranked.clone());
        for (rank, text) in &self.explanations {
            if let Some(words) = cached_options(&args.explaining(*rank))? {
                cache.add_rendering(&words, text);
            }
        }
        Ok(())
    }
}

impl Args {
    /// Returns the options of the explanation of a finding, as the user would give them.
    fn explaining(&self, rank: u32) -> Self {
        Self {
            explain: Some(rank),
            debug: self.debug.clone(),
            pair_coefficient: self.pair_coefficient,
            width: self.width,
            ..Self::for_profile(self.profile.clone())
        }
    }

    /// Returns true for text that only the findings decide.
    fn needs_findings_only(&self) -> bool {
        !self.json
            && self.explain.is_none()
            && self.production.is_none()
            && self.source.is_none()
            && self.by == FindingOrder::Transfers
            && !self.files.has_files()
            && !self.exports.has_files()
    }
}

/// Returns what is to be kept of a profile.
pub(super) fn ranked_profile(resolved: &ResolvedProfile<'_>, findings: Findings) -> RankedProfile {
    RankedProfile {
        meta: resolved.profile.meta.clone(),
        findings,
    }
}

/// Explains the first findings for the next command; none where they were not asked for by a text.
pub(super) fn explain_first(
    args: &Args,
    resolved: &ResolvedProfile<'_>,
    names: &ResolvedNames<'_, '_>,
    findings: &Findings,
) -> Vec<(u32, String)> {
    if !args.needs_findings_only() {
        return Vec::new();
    }
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
pub(super) fn render_kept(
    args: &Args,
    cache: &JudgementCache,
) -> Result<Option<String>, UserError> {
    if !args.needs_findings_only() {
        return Ok(None);
    }
    let pair_coefficient = pair_coefficient_or_measured(args.pair_coefficient)?;
    let Some(RankedProfile { meta, findings }) = cache.read_findings(pair_coefficient) else {
        return Ok(None);
    };
    if let Some(name) = &args.type_name
        && !findings
            .findings
            .iter()
            .any(|finding| finding.is_about(name))
    {
        return Ok(None);
    }
    let type_name = args.type_name.as_deref();
    let report = ReportContents {
        profile: &args.profile.display().to_string(),
        meta: &meta,
        findings: &findings,
        selection: &FindingSelection {
            top: args.top.unwrap_or(TOP_DEFAULT),
            type_name: type_name.map(|name| relayout_contend::strip_type_tag(name).to_owned()),
            share_min: args.min_share / 100.0,
        },
        production: None,
        judgements: Some(&cache.read()),
        sources: &[],
        layouts: &[],
    };
    Ok(Some(render_text(args, &report)))
}

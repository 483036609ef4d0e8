//! The question that a report answers: all that decides about its text, beside the profile.

use relayout_advice::TypeJudgements;
use relayout_messages::UserError;
use relayout_report::text::report::screen::WIDTH_DEFAULT;
use relayout_session::{ProfileCache, ProfileQuestion, pair_coefficient_or_measured};
use serde::Serialize;

use crate::arguments::{self, FindingOrder, TextForm};
use crate::cmd::report::Args;

/// Question whose answer is the text of a report. A report is rendered from these fields, from the profile, and from
/// the files of a [`ReportFiles`](super::ReportFiles), without which it is kept.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReportQuestion {
    /// Profile as the user names it: commands in sentences name it, too.
    pub(super) profile: String,
    pub(super) form: ReportForm,
    /// Rank of the finding to explain, in place of a report.
    pub(super) explained_rank: Option<u32>,
    /// Findings to show; `None` for as many as the form has by default.
    pub(super) top: Option<usize>,
    /// Type or variable whose findings are shown.
    pub(super) type_name: Option<String>,
    /// Least share of the transfers of a finding, in percent.
    pub(super) share_min_percent: f64,
    pub(super) order: FindingOrder,
    /// Cost, in transfers, of another context's store to the other line of a pair.
    pub(super) pair_coefficient: Option<f64>,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum ReportForm {
    Json,
    Text(ReportText),
}

/// Form of a report that is text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum ReportText {
    /// The first screen, in so many columns.
    Screen(usize),
    /// All of it, in so many columns; `None` for any width.
    Terminal(Option<usize>),
    Mail,
    Svg,
}

/// Form of explanations: their lines have any width.
const EXPLANATION_FORM: ReportForm = ReportForm::Text(ReportText::Terminal(None));

/// Question for the kept text of a report: it shows what was known of layouts at the time.
#[derive(Serialize)]
struct TextQuestion<'a> {
    question: &'a ReportQuestion,
    judgements: TypeJudgements,
}

impl ProfileQuestion for TextQuestion<'_> {
    const KIND: &'static str = "report";
    type Answer = String;
}

impl ReportQuestion {
    /// Reads the question from options.
    pub(super) fn from_args(args: &Args) -> Result<Self, UserError> {
        let form = match (args.json, args.format) {
            (true, _) => ReportForm::Json,
            (false, _) if args.explain.is_some() => EXPLANATION_FORM,
            (false, TextForm::Terminal) => {
                let width = arguments::text_width(args.width);
                ReportForm::Text(match args.all || args.top.is_some() {
                    true => ReportText::Terminal(width),
                    false => ReportText::Screen(width.unwrap_or(WIDTH_DEFAULT)),
                })
            }
            (false, TextForm::Mail) => ReportForm::Text(ReportText::Mail),
            (false, TextForm::Svg) => ReportForm::Text(ReportText::Svg),
        };
        Ok(Self {
            profile: args.profile.display().to_string(),
            form,
            explained_rank: args.explain,
            top: args.top,
            type_name: args.type_name.clone(),
            share_min_percent: args.min_share,
            order: args.by,
            pair_coefficient: pair_coefficient_or_measured(args.pair_coefficient)?,
        })
    }

    /// Returns the question why a finding is taken for its type, as the same user would ask.
    pub(super) fn explaining(&self, rank: u32) -> Self {
        Self {
            form: EXPLANATION_FORM,
            explained_rank: Some(rank),
            top: None,
            type_name: None,
            share_min_percent: 0.0,
            order: FindingOrder::Rank,
            ..self.clone()
        }
    }

    /// Returns true for text that only the findings decide, and what is known of layouts.
    pub(super) fn needs_findings_only(&self) -> bool {
        matches!(self.form, ReportForm::Text(_))
            && self.explained_rank.is_none()
            && self.order == FindingOrder::Rank
    }

    /// Returns the kept text.
    pub(super) fn read_text(&self, cache: &ProfileCache) -> Option<String> {
        cache.read(&self.with_judgements(cache))
    }

    /// Keeps the text.
    pub(super) fn keep_text(&self, cache: &ProfileCache, text: &String) {
        cache.keep(&self.with_judgements(cache), text);
    }

    fn with_judgements(&self, cache: &ProfileCache) -> TextQuestion<'_> {
        TextQuestion {
            question: self,
            judgements: cache.read_judgements(),
        }
    }
}

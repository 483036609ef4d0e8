//! Text of `relayout doctor`.

use relayout_session::survey::{MachineSurvey, SurveyItem};

use crate::documents::doctor::RequirementState;

/// Renders the requirements and their states, a line each.
pub fn survey_text(survey: &MachineSurvey) -> String {
    let lines = |items: &[SurveyItem]| items.iter().map(item_line).collect::<String>();
    format!(
        "Recording kernels\n{}Recording kernels for arm64\n{}Recording and measuring programs\n{}",
        lines(&survey.kernels),
        lines(&survey.arm64_kernels),
        lines(&survey.programs)
    )
}

fn item_line(item: &SurveyItem) -> String {
    let state = RequirementState::from(item.state).word();
    format!("  {state:<8} {:<18} {}\n", item.subject, item.text)
}

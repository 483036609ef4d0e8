//! Document of `relayout doctor`.

use relayout_session::survey::{MachineSurvey, SurveyItem, SurveyState};
use schemars::JsonSchema;
use serde::Serialize;

use crate::documents::Document;

/// What `relayout doctor --json` prints.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DoctorDocument<'a> {
    /// Name and version of this document.
    schema: &'static str,
    /// True if kernels, or programs that `relayout cc` builds, can be recorded here.
    can_record: bool,
    /// Requirements of recording kernels.
    kernels: Vec<RequirementEntry<'a>>,
    /// Requirements of recording arm64 kernels, beside those.
    arm64_kernels: Vec<RequirementEntry<'a>>,
    /// Requirements of recording and measuring programs.
    programs: Vec<RequirementEntry<'a>>,
}

/// One requirement.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct RequirementEntry<'a> {
    /// Name of the requirement.
    subject: &'a str,
    /// Whether this machine meets it.
    state: RequirementState,
    /// What was found, or the remedy.
    text: &'a str,
}

/// State of a requirement.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RequirementState {
    /// It is met.
    Ok,
    /// It is not met; `text` has the remedy.
    Missing,
    /// This machine cannot meet it, or only in part.
    Limited,
}

impl RequirementState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Limited => "limited",
        }
    }
}

impl From<SurveyState> for RequirementState {
    fn from(state: SurveyState) -> Self {
        match state {
            SurveyState::Works => Self::Ok,
            SurveyState::Missing => Self::Missing,
            SurveyState::Limited => Self::Limited,
        }
    }
}

impl Document for DoctorDocument<'_> {
    const SCHEMA: &'static str = "relayout/doctor/1";
}

/// Makes the document of a survey.
pub fn survey_document(survey: &MachineSurvey) -> DoctorDocument<'_> {
    DoctorDocument {
        schema: DoctorDocument::SCHEMA,
        can_record: survey.can_record(),
        kernels: survey.kernels.iter().map(requirement_entry).collect(),
        arm64_kernels: survey.arm64_kernels.iter().map(requirement_entry).collect(),
        programs: survey.programs.iter().map(requirement_entry).collect(),
    }
}

fn requirement_entry(item: &SurveyItem) -> RequirementEntry<'_> {
    RequirementEntry {
        subject: item.subject,
        state: item.state.into(),
        text: &item.text,
    }
}

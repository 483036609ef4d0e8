//! Everything that a run tried, and how it ended.

use std::path::PathBuf;

use relayout_advice::{BenchEffect, ChangeRejection};
use relayout_probe::MachineIdentity;
use relayout_verify::judged_change::ChangeBasis;
use serde::{Deserialize, Serialize};

use super::predicted_effect::PredictedEffect;
use super::{TuneSettings, TuneTarget};

/// A run, complete or stopped by a limit.
#[derive(Clone, Debug)]
pub struct TuneOutcome {
    /// Settings.
    pub settings: TuneSettings,
    /// Machine that measured.
    pub machine: MachineIdentity,
    /// Commit that the run began with.
    pub first_commit: String,
    /// Changes in the order in which they were tried.
    pub changes: Vec<TriedChange>,
    /// Types with a saving at the end that were not tried.
    pub untried: Vec<RankedType>,
    /// Reason for the end.
    pub ending: TuneEnding,
    /// Branch with the kept changes; `None` if there are none.
    pub branch: Option<TunedBranch>,
    /// Seconds of work, in this process and earlier ones.
    pub seconds: f64,
    /// State folder, with profiles and logs.
    pub state: PathBuf,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

impl TuneOutcome {
    /// Returns the changes that are kept.
    pub fn kept(&self) -> impl Iterator<Item = &TriedChange> {
        let is_kept = |change: &&TriedChange| matches!(change.fate, ChangeFate::Kept { .. });
        self.changes.iter().filter(is_kept)
    }
}

/// Returns what the user should know besides the changes.
pub(super) fn outcome_notes(settings: &TuneSettings, changes: &[TriedChange]) -> Vec<String> {
    let is_uncounted = |change: &TriedChange| {
        let has = |basis| {
            change
                .effects
                .iter()
                .any(|effect| effect.judged.basis == basis)
        };
        has(ChangeBasis::Measured) && !has(ChangeBasis::Counted)
    };
    let mut notes = Vec::new();
    if changes.iter().any(is_uncounted) {
        notes.push(
            "The recordings have no operations, so nothing was counted per operation and measuring \
             alone decided. Mark operations with relayout_operation()."
                .to_owned(),
        );
    }
    if let (TuneTarget::Program(program), true) = (&settings.target, !changes.is_empty())
        && program.test.is_none()
    {
        notes.push("No test command was given, so no change was tested.".to_owned());
    }
    notes
}

/// A branch with kept changes.
#[derive(Clone, Debug)]
pub struct TunedBranch {
    /// Name.
    pub name: String,
    /// Last commit.
    pub commit: String,
    /// Repository that holds it: the user's, or the one in the state folder if the user has none.
    pub repository: PathBuf,
}

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneEnding {
    /// No type is left of which a layout saves enough.
    NothingLeft,
    /// The time is spent.
    Time,
    /// As many changes are kept as were asked for.
    Changes,
}

impl TuneEnding {
    /// Name of the ending in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NothingLeft => "nothing-left",
            Self::Time => "time",
            Self::Changes => "changes",
        }
    }
}

/// A type by what a layout of it can save in the main benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedType {
    /// Name without tag.
    pub name: String,
    /// Type whose transfers are counted: the same, or the one that holds it by value, of which the
    /// transfers are in a report.
    pub counted: String,
    /// Saved transfers as a fraction of all transfers.
    pub share: f64,
}

/// Description of a patch, made of the advice on its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeDescription {
    /// Subject of the commit: `server: fewer cache line transfers on struct session`.
    pub subject: String,
    /// Body of the commit's message, without the evidence of the run.
    pub body: String,
    /// Edit in words: `align 'emptied' to 64 bytes`.
    pub edit: String,
}

/// A layout as a patch, with what replay predicts of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeProposal {
    /// Message and edit.
    pub description: ChangeDescription,
    /// Unified diff, with paths relative to the source.
    pub diff: String,
    /// Replays of all recordings that hold the type, the main benchmark first.
    pub predicted: Vec<PredictedEffect>,
}

/// A change that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedChange {
    /// Number, from 1.
    pub number: usize,
    /// Type, with its share of the transfers that the layout was expected to save.
    pub ranked: RankedType,
    /// The patch; `None` if none could be proposed.
    pub proposal: Option<ChangeProposal>,
    /// Counts and measurements of both builds.
    pub effects: Vec<BenchEffect>,
    /// Decision.
    pub fate: ChangeFate,
}

/// Decision on a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeFate {
    /// It is a commit of the branch.
    Kept {
        /// Commit.
        commit: String,
    },
    /// It is not.
    Rejected(ChangeRejection),
}

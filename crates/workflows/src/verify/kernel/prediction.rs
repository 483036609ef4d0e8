//! Replays of the first kernel's recordings with the second kernel's layouts, to be compared with
//! the recordings of the second.

use std::collections::BTreeMap;

use relayout_advice::{ResolvedProfile, score_layouts};
use relayout_layout::abi::StructShape;
use relayout_messages::{RecordingProgress, UserError};
use relayout_profile::{Profile, merge};
use relayout_search::order::{self, MemberOrder};
use relayout_search::{ChangeInterval, Options, ScoredLayout, UserLayout};
use relayout_verify::plan::ExperimentSide;

use super::boots::PreparedKernels;
use super::changed::{ChangedType, PatchedLayout};
use crate::verify::ExperimentProgress;

/// Bytes of a cache line.
const LINE_BYTES: u32 = 64;

/// Replay of one type in one setting.
#[derive(Clone, Debug)]
pub struct ReplayPrediction {
    /// Name of the type.
    pub type_name: String,
    /// Workload and number of CPUs.
    pub setting: String,
    /// The replay, or the reason why there is none.
    pub replayed: Result<ReplayedChange, String>,
}

/// Transfers of a type with its old and its new layout.
#[derive(Clone, Debug)]
pub struct ReplayedChange {
    /// Transfers of the recorded objects with the old and with the new layout.
    pub transfers: [u64; 2],
    /// Those that are false by first touch.
    pub false_first_touch: [u64; 2],
    /// Change of the transfers, as a fraction.
    pub interval: Option<ChangeInterval>,
    /// Members come together of which not all was recorded.
    pub is_partial: bool,
}

impl ReplayedChange {
    /// Returns the change of the transfers, as a fraction; `None` if there were none.
    pub fn change(&self) -> Option<f64> {
        let [before, after] = self.transfers.map(|transfers| transfers as f64);
        (before > 0.0).then(|| after / before - 1.0)
    }
}

/// Replays all changed types in all settings.
pub(super) fn predict_changes(
    changed: &[ChangedType],
    kept: BTreeMap<String, Vec<Profile>>,
    boots: &PreparedKernels<'_>,
    progress: &dyn ExperimentProgress,
) -> Vec<ReplayPrediction> {
    let mut predictions = Vec::new();
    for (setting, profiles) in kept {
        let prediction = |changed_type: &ChangedType, replayed| ReplayPrediction {
            type_name: changed_type.name.clone(),
            setting: setting.clone(),
            replayed,
        };
        let predicted = merge(profiles)
            .map_err(|error| error.to_string())
            .and_then(|profile| {
                let resolved = boots.resolve(ExperimentSide::Before, &profile, |resolution| {
                    let progress: &dyn RecordingProgress = progress;
                    let resolved = ResolvedProfile {
                        profile: &profile,
                        resolution,
                        line_bytes: LINE_BYTES,
                        progress,
                    };
                    changed
                        .iter()
                        .map(|changed_type| replay_change(&resolved, changed_type))
                        .map(|result| result.map_err(|refusal| refusal.to_string()))
                        .collect::<Vec<_>>()
                });
                resolved.map_err(|error| error.to_string())
            });
        match predicted {
            Ok(replayed) => {
                let pairs = changed.iter().zip(replayed);
                predictions.extend(pairs.map(|(changed, replayed)| prediction(changed, replayed)));
            }
            Err(reason) => {
                let types = changed.iter();
                predictions.extend(types.map(|changed| prediction(changed, Err(reason.clone()))));
            }
        }
    }
    predictions
}

/// Replays the new layout of a changed type.
fn replay_change(
    resolved: &ResolvedProfile<'_>,
    changed_type: &ChangedType,
) -> Result<ReplayedChange, UserError> {
    let [old_size, new_size] = changed_type.size;
    if changed_type.moved.is_empty() && old_size == new_size {
        return Err(UserError::input("its members lie where they did"));
    }
    let after = changed_type
        .after
        .as_ref()
        .ok_or_else(|| UserError::input("its new layout cannot be told from debug information"))?;
    // Replays the new layout without a search.
    let options = Options {
        budget_accesses: 0,
        intervals: 0,
        ..Options::default()
    };
    let searched = score_layouts(resolved, &changed_type.name, &options, |shape| {
        Ok::<_, UserError>(vec![UserLayout {
            name: "after".to_owned(),
            order: order_in_shape(after, shape)?,
        }])
    })?;
    let outcome = searched
        .outcome
        .map_err(|refusal| UserError::input(refusal.to_string()))?;
    let scored = outcome
        .user_layouts
        .first()
        .ok_or_else(|| UserError::input("it was not replayed"))?;
    require_same_offsets(after, &searched.gathered.shape, scored, new_size)?;
    let both = |number: fn(&ScoredLayout) -> u64| [number(&outcome.current), number(scored)];
    Ok(ReplayedChange {
        transfers: both(|scored| scored.tally.transfers()),
        false_first_touch: both(|scored| scored.tally.false_first_touch),
        interval: scored.interval,
        is_partial: scored.unjudged,
    })
}

fn order_in_shape(after: &PatchedLayout, shape: &StructShape) -> Result<MemberOrder, UserError> {
    Ok(order::arrange_entries(
        &after.entries,
        after.type_align,
        shape,
    )?)
}

/// Requires that the replayed layout is the second kernel's. It differs where the patch takes an
/// alignment away or changes a member's type: replay knows only order and more alignment.
fn require_same_offsets(
    after: &PatchedLayout,
    shape: &StructShape,
    scored: &ScoredLayout,
    size: u64,
) -> Result<(), UserError> {
    if scored.layout.size != size {
        return Err(UserError::input(format!(
            "what can be replayed has {} bytes and the new layout {size}: only another order, padding and more \
             alignment can be replayed",
            scored.layout.size
        )));
    }
    for (atom, place) in shape.atoms.iter().zip(&scored.layout.places) {
        let new_place = after.offsets.iter().find(|(name, _)| *name == atom.name);
        if new_place.is_some_and(|(_, offset)| *offset != place.offset) {
            return Err(UserError::input(format!(
                "'{}' would be replayed at {}, and is elsewhere in the new layout",
                atom.name, place.offset
            )));
        }
    }
    Ok(())
}

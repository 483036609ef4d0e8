//! What replaying the first kernel's recordings says of the second kernel's layouts, to be set beside what
//! was recorded of the second.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use relayout_layout::abi::StructShape;
use relayout_profile::{Profile, merge};
use relayout_search::order::{self, MemberOrder};
use relayout_search::{ChangeInterval, Options, ScoredLayout, UserLayout};
use relayout_verify::plan::ExperimentSide;

use super::boots::PreparedKernels;
use super::changed::{ChangedType, PatchedLayout};
use crate::progress::TerminalProgress;
use relayout_session::ResolvedProfile;
use relayout_session::advise::score_layouts;

/// Bytes of a line.
const LINE_BYTES: u32 = 64;

/// Of one type in one setting.
pub(super) struct ReplayPrediction {
    pub type_name: String,
    pub setting: String,
    /// Or why there is none.
    pub replayed: Result<ReplayedChange, String>,
}

/// What a replay says.
#[derive(Clone, Debug)]
pub(super) struct ReplayedChange {
    /// Transfers of the recorded objects, as they were laid out and as they would be.
    pub transfers: [u64; 2],
    /// The same of those that are false by first touch.
    pub false_first_touch: [u64; 2],
    /// Change of the transfers, as a fraction.
    pub interval: Option<ChangeInterval>,
    /// Members come together of which not all was recorded.
    pub is_partial: bool,
}

impl ReplayedChange {
    /// Change of the transfers, as a fraction; `None` if there were none.
    pub fn change(&self) -> Option<f64> {
        let [before, after] = self.transfers.map(|transfers| transfers as f64);
        (before > 0.0).then(|| after / before - 1.0)
    }
}

/// Of all types that changed, in all settings.
pub(super) fn predict_changes(
    changed: &[ChangedType],
    kept: BTreeMap<String, Vec<Profile>>,
    boots: &PreparedKernels<'_>,
    progress: &TerminalProgress,
) -> Vec<ReplayPrediction> {
    let mut found = Vec::new();
    for (setting, profiles) in kept {
        let predicted = merge(profiles).map_err(anyhow::Error::from);
        let predicted = predicted.and_then(|profile| {
            boots.resolve(ExperimentSide::Before, &profile, |resolution| {
                let input = ResolvedProfile {
                    profile: &profile,
                    resolution,
                    line_bytes: LINE_BYTES,
                    progress,
                };
                let predict = |changed_type: &ChangedType| ReplayPrediction {
                    type_name: changed_type.name.clone(),
                    setting: setting.clone(),
                    replayed: replay_change(&input, changed_type).map_err(|why| format!("{why:#}")),
                };
                changed.iter().map(predict).collect::<Vec<_>>()
            })
        });
        match predicted {
            Ok(predictions) => found.extend(predictions),
            Err(why) => found.extend(changed.iter().map(|changed_type| ReplayPrediction {
                type_name: changed_type.name.clone(),
                setting: setting.clone(),
                replayed: Err(format!("{why:#}")),
            })),
        }
    }
    found
}

fn replay_change(
    input: &ResolvedProfile<'_>,
    changed_type: &ChangedType,
) -> anyhow::Result<ReplayedChange> {
    if changed_type.moved.is_empty() && changed_type.size[0] == changed_type.size[1] {
        bail!("its members lie where they did");
    }
    let after = changed_type
        .after
        .as_ref()
        .context("its new layout cannot be told from debug information")?;
    // Nothing is searched for: only the new layout is replayed.
    let options = Options {
        budget_accesses: 0,
        intervals: 0,
        ..Options::default()
    };
    let advice = score_layouts(input, &changed_type.name, &options, |shape| {
        anyhow::Ok(vec![UserLayout {
            name: "after".to_owned(),
            order: order_in_shape(after, shape)?,
        }])
    })?;
    let outcome = advice.outcome.map_err(|refusal| anyhow!("{refusal}"))?;
    let given = outcome
        .user_layouts
        .first()
        .context("it was not replayed")?;
    require_same_offsets(after, &advice.gathered.shape, given, changed_type.size[1])?;
    let both = |number: fn(&ScoredLayout) -> u64| [number(&outcome.current), number(given)];
    Ok(ReplayedChange {
        transfers: both(|scored| scored.tally.transfers()),
        false_first_touch: both(|scored| scored.tally.false_first_touch),
        interval: given.interval,
        is_partial: given.unjudged,
    })
}

fn order_in_shape(after: &PatchedLayout, shape: &StructShape) -> anyhow::Result<MemberOrder> {
    Ok(order::arrange_entries(
        &after.entries,
        after.type_align,
        shape,
    )?)
}

/// Whether what was replayed is the second kernel's layout. It is not where the patch takes an alignment
/// away, or changes a member's type: only order and more alignment can be replayed.
fn require_same_offsets(
    after: &PatchedLayout,
    shape: &StructShape,
    given: &ScoredLayout,
    size: u64,
) -> anyhow::Result<()> {
    if given.layout.size != size {
        bail!(
            "what can be replayed has {} bytes and the new layout {size}: only another order, padding and \
             more alignment can be replayed",
            given.layout.size
        );
    }
    for (atom, place) in shape.atoms.iter().zip(&given.layout.places) {
        let there = { after.offsets.iter() }.find(|(name, _)| *name == atom.name);
        if there.is_some_and(|(_, offset)| *offset != place.offset) {
            bail!(
                "'{}' would be replayed at {}, and is elsewhere in the new layout",
                atom.name,
                place.offset
            );
        }
    }
    Ok(())
}

//! What replaying the first kernel's recordings says of the second kernel's layouts, to be set beside what
//! was recorded of the second.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use relayout_layout::abi::Shape;
use relayout_profile::{Profile, merge};
use relayout_search::order::{self, Order};
use relayout_search::{Given, Interval, Options, Scored};
use relayout_verify::plan::Side;

use super::boots::Boots;
use super::changed::{After, Changed};
use crate::cmd::advise::advise_on;
use crate::input::Input;
use crate::progress::Shown;

/// Bytes of a line.
const LINE_BYTES: u32 = 64;

/// Of one type in one setting.
pub(super) struct Prediction {
    pub type_name: String,
    pub setting: String,
    /// Or why there is none.
    pub replayed: Result<Replayed, String>,
}

/// What a replay says.
#[derive(Clone, Debug)]
pub(super) struct Replayed {
    /// Transfers of the recorded objects, as they were laid out and as they would be.
    pub transfers: [u64; 2],
    /// The same of those that are false by first touch.
    pub false_first_touch: [u64; 2],
    /// Change of the transfers, as a fraction.
    pub interval: Option<Interval>,
    /// Members come together of which not all was recorded.
    pub is_partial: bool,
}

impl Replayed {
    /// Change of the transfers, as a fraction; `None` if there were none.
    pub fn change(&self) -> Option<f64> {
        let [before, after] = self.transfers.map(|transfers| transfers as f64);
        (before > 0.0).then(|| after / before - 1.0)
    }
}

/// Of all types that changed, in all settings.
pub(super) fn all(
    changed: &[Changed],
    kept: BTreeMap<String, Vec<Profile>>,
    boots: &Boots<'_>,
    progress: &Shown,
) -> Vec<Prediction> {
    let mut found = Vec::new();
    for (setting, profiles) in kept {
        let predicted = merge(profiles).map_err(anyhow::Error::from);
        let predicted = predicted.and_then(|profile| {
            boots.resolve(Side::Before, &profile, |resolution| {
                let input = Input {
                    profile: &profile,
                    resolution,
                    line_bytes: LINE_BYTES,
                    progress,
                };
                let of = |one: &Changed| Prediction {
                    type_name: one.name.clone(),
                    setting: setting.clone(),
                    replayed: replayed(&input, one).map_err(|why| format!("{why:#}")),
                };
                changed.iter().map(of).collect::<Vec<_>>()
            })
        });
        match predicted {
            Ok(predictions) => found.extend(predictions),
            Err(why) => found.extend(changed.iter().map(|one| Prediction {
                type_name: one.name.clone(),
                setting: setting.clone(),
                replayed: Err(format!("{why:#}")),
            })),
        }
    }
    found
}

fn replayed(input: &Input<'_>, one: &Changed) -> anyhow::Result<Replayed> {
    if one.moved.is_empty() && one.size[0] == one.size[1] {
        bail!("its members lie where they did");
    }
    let after = one
        .after
        .as_ref()
        .context("its new layout cannot be told from debug information")?;
    // Nothing is searched for: only the new layout is replayed.
    let options = Options {
        budget_accesses: 0,
        intervals: 0,
        ..Options::default()
    };
    let advice = advise_on(input, &one.name, &options, |shape| {
        Ok(vec![Given {
            name: "after".to_owned(),
            order: order_of(after, shape)?,
        }])
    })?;
    let outcome = advice.outcome.map_err(|why| anyhow!(why))?;
    let given = outcome.given.first().context("it was not replayed")?;
    agrees(after, &advice.shape, given, one.size[1])?;
    let of = |number: fn(&Scored) -> u64| [number(&outcome.current), number(given)];
    Ok(Replayed {
        transfers: of(|scored| scored.tally.transfers()),
        false_first_touch: of(|scored| scored.tally.false_first_touch),
        interval: given.interval,
        is_partial: given.unjudged,
    })
}

fn order_of(after: &After, shape: &Shape) -> anyhow::Result<Order> {
    Ok(order::arrange(&after.entries, after.type_align, shape)?)
}

/// Whether what was replayed is the second kernel's layout. It is not where the patch takes an alignment
/// away, or changes a member's type: only order and more alignment can be replayed.
fn agrees(after: &After, shape: &Shape, given: &Scored, size: u64) -> anyhow::Result<()> {
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

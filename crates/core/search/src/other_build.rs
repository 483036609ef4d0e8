//! The same change in another build of the type, where members are missing or more: another
//! configuration of a kernel.
//!
//! What was recorded stays the same but for accesses to members that the other build lacks; where the
//! others are follows from the other build's own members.

use relayout_contend::CoherenceTally;
use relayout_layout::abi::{AtomPlace, StructLayout, StructShape};

use crate::advise::ScoredLayout;
use crate::coverage::AtomCoverage;
use crate::interval::ChangeInterval;
use crate::order::{MemberOrder, atom_counterparts};
use crate::score::{COST_UNITS, LayoutScorer};
use crate::subject::{AccessingCode, AdviceSubject, RecordedInstance};

/// Stretches that the recording is cut into for an interval.
const STRETCHES: usize = 32;

/// Where the own layout costs next to nothing, a change of it has no interval: a layout with so many transfers more
/// hurts.
const FROM_NOTHING: u64 = 16 * COST_UNITS;

/// What a layout costs in another build, or another recording.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantScore {
    /// `sizeof` there in bytes.
    pub size: u64,
    /// Replayed events.
    pub tally: CoherenceTally,
    /// As [`Scored::pair_transfers`].
    pub pair_transfers: Option<u64>,
    /// As [`Scored::cost`].
    pub cost: u64,
    /// Change of the cost from the own layout there; `None` where that has none.
    pub interval: Option<ChangeInterval>,
}

impl VariantScore {
    /// Whether it clearly costs more than the own layout there.
    pub fn is_harmful(&self, own: &Self) -> bool {
        match self.interval {
            Some(interval) => interval.low > 0.0,
            None => self.cost >= own.cost.saturating_add(FROM_NOTHING),
        }
    }
}

impl From<&ScoredLayout> for VariantScore {
    fn from(scored: &ScoredLayout) -> Self {
        Self {
            size: scored.layout.size,
            tally: scored.tally,
            pair_transfers: scored.pair_transfers,
            cost: scored.cost,
            interval: scored.interval,
        }
    }
}

/// Scores the layouts that `orders` (of the shape of the code's type) lead to in the build whose type is
/// `other`. The first result is that build's own layout, without checks. A pair transfer costs `pair_coefficient`
/// transfers, as in [`Options`](crate::Options).
pub fn score_in_build<'a>(
    code: impl Into<AccessingCode<'a>>,
    other: &StructShape,
    orders: &[&MemberOrder],
    pair_coefficient: f64,
) -> Vec<VariantScore> {
    let code = code.into();
    let shape = code.recorded_subject().shape;
    let there = OtherBuild {
        current: shape.lay_out(&shape.current_arrangement()),
        atoms: atom_counterparts(shape, other),
        pair_coefficient,
    };
    let own = there.by_recorded_atoms(other.lay_out(&other.current_arrangement()));
    let carried: Vec<StructLayout> = { orders.iter() }
        .map(|recorded_order| {
            let order = recorded_order.carry_over(shape, other);
            there.by_recorded_atoms(other.lay_out_padded(&order.arrangement, &order.pads))
        })
        .collect();
    let mut scored = there.score(code.recorded_subject(), &[&own]);
    scored.extend(there.score(
        code.changed_subject(),
        &carried.iter().collect::<Vec<&StructLayout>>(),
    ));
    let before = scored.first().map(|(_, stretches)| stretches.clone());
    { scored.into_iter() }
        .map(|(there, stretches)| VariantScore {
            interval: { before.as_ref() }
                .and_then(|own| ChangeInterval::from_stretches(own, &stretches)),
            ..there
        })
        .collect()
}

/// Another build, as the recorded one sees it.
struct OtherBuild {
    /// The recorded build's own layout.
    current: StructLayout,
    /// By atom of the recorded build: which it is there.
    atoms: Vec<Option<usize>>,
    pair_coefficient: f64,
}

impl OtherBuild {
    /// By layout: what it costs, and that by stretch of the recording.
    fn score(
        &self,
        subject: AdviceSubject<'_>,
        layouts: &[&StructLayout],
    ) -> Vec<(VariantScore, Vec<u64>)> {
        let instances: Vec<RecordedInstance> = { subject.instances.iter() }
            .map(|instance| self.without_missing(instance))
            .collect();
        let subject = AdviceSubject {
            instances: &instances,
            ..subject
        };
        let coverage = AtomCoverage::new(&subject, &self.current);
        let scorer = LayoutScorer::new(subject, self.current.clone(), &coverage);
        let scorer = scorer.with_pairs(self.pair_coefficient);
        let tallies = scorer.tallies(layouts, u64::MAX).into_iter();
        let there = tallies.zip(layouts).map(|(tallies, layout)| {
            let tally: CoherenceTally = tallies.unwrap_or_default().into_iter().sum();
            let pair_transfers = scorer.pair_transfers(layout);
            VariantScore {
                size: layout.size,
                tally,
                pair_transfers,
                cost: scorer.cost(tally.transfers(), pair_transfers.unwrap_or(0)),
                interval: None,
            }
        });
        there
            .zip(scorer.costs_by_stretch(layouts, STRETCHES))
            .collect()
    }

    /// The instance without accesses to members that are not there.
    fn without_missing(&self, instance: &RecordedInstance) -> RecordedInstance {
        let missing = |offset: u32| {
            let (_, offset) = instance.locate(offset);
            let mut places = self.current.places.iter().zip(&self.atoms);
            places.any(|(place, there)| {
                there.is_none() && (place.offset..place.end).contains(&u64::from(offset))
            })
        };
        let mut kept = instance.clone();
        kept.trace.accesses.retain(|access| !missing(access.offset));
        kept
    }

    /// The other build's layout by the recorded one's atoms; those that are not there are behind it.
    fn by_recorded_atoms(&self, other: StructLayout) -> StructLayout {
        let place = |(own, there): (&AtomPlace, &Option<usize>)| match there {
            Some(atom) => other.places[*atom].clone(),
            None => AtomPlace {
                offset: other.size,
                end: other.size + (own.end - own.offset),
                bitfield_starts: Vec::new(),
            },
        };
        StructLayout {
            places: self
                .current
                .places
                .iter()
                .zip(&self.atoms)
                .map(place)
                .collect(),
            size: other.size,
            align: other.align,
            holes: Vec::new(),
            padding: other.padding,
        }
    }
}

//! Scores layouts in another build of the type, such as another configuration of a kernel, where
//! members are missing or added.
//!
//! The recording stays the same, without accesses to members that the other build lacks. Offsets
//! follow from the other build's own members.

use relayout_contend::CoherenceTally;
use relayout_layout::abi::{AtomPlace, StructLayout, StructShape};

use crate::advice::{RankedLayout, ScoredLayout};
use crate::coverage::AtomCoverage;
use crate::interval::ChangeInterval;
use crate::order::{MemberOrder, atom_counterparts};
use crate::score::{COST_UNITS, LayoutScorer};
use crate::subject::{AccessingCode, AdviceSubject, RecordedInstance};

/// Number of stretches that the recording is cut into for an interval.
const STRETCHES: usize = 32;

/// Additional cost from which on a layout is harmful where the change has no interval, because the
/// build's own layout costs next to nothing.
const FROM_NOTHING: u64 = 16 * COST_UNITS;

/// Cost of a layout in another build, or in another recording.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantScore {
    /// `sizeof` in that build, in bytes.
    pub size: u64,
    /// Replayed events.
    pub tally: CoherenceTally,
    /// Pair transfers, see [`ScoredLayout::pair_transfers`].
    pub pair_transfers: Option<u64>,
    /// Cost in units of [`ScoredLayout::cost`].
    pub cost: u64,
    /// Change of the cost from that build's own layout; `None` where there are too few transfers.
    pub interval: Option<ChangeInterval>,
}

impl VariantScore {
    /// Returns true if it clearly costs more than `own`, the build's own layout.
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
            interval: None,
        }
    }
}

impl From<&RankedLayout> for VariantScore {
    fn from(ranked: &RankedLayout) -> Self {
        Self {
            interval: ranked.interval,
            ..Self::from(&ranked.scored)
        }
    }
}

/// Scores layouts in the build whose type is `other`. `orders` are by the shape of the code's type.
///
/// The first result is the build's own layout, without store guards. A pair transfer costs
/// `pair_coefficient` transfers, as in [`Options`](crate::Options).
pub fn score_in_build<'a>(
    code: impl Into<AccessingCode<'a>>,
    other: &StructShape,
    orders: &[&MemberOrder],
    pair_coefficient: f64,
) -> Vec<VariantScore> {
    let code = code.into();
    let shape = code.recorded_subject().shape;
    let build = OtherBuild {
        current: shape.lay_out(&shape.current_arrangement()),
        counterparts: atom_counterparts(shape, other),
        pair_coefficient,
    };
    let own = build.by_recorded_atoms(other.lay_out(&other.current_arrangement()));
    let carried: Vec<StructLayout> = { orders.iter() }
        .map(|recorded_order| {
            let order = recorded_order.carry_over(shape, other);
            build.by_recorded_atoms(other.lay_out_padded(&order.arrangement, &order.pads))
        })
        .collect();
    let carried: Vec<&StructLayout> = carried.iter().collect();
    let mut costs = build.replay(code.recorded_subject(), &[&own]);
    costs.extend(build.replay(code.changed_subject(), &carried));
    let own_stretches = costs.first().map(|costs| costs.by_stretch.clone());
    { costs.into_iter() }
        .map(|costs| VariantScore {
            size: costs.size,
            tally: costs.tally,
            pair_transfers: costs.pair_transfers,
            cost: costs.cost,
            interval: { own_stretches.as_ref() }
                .and_then(|own| ChangeInterval::from_stretches(own, &costs.by_stretch)),
        })
        .collect()
}

/// Another build, seen from the recorded one.
struct OtherBuild {
    /// The recorded build's own layout.
    current: StructLayout,
    /// By atom of the recorded build: the atom of the other build.
    counterparts: Vec<Option<usize>>,
    pair_coefficient: f64,
}

/// Replayed costs of a layout in the other build.
struct VariantCosts {
    size: u64,
    tally: CoherenceTally,
    pair_transfers: Option<u64>,
    cost: u64,
    /// Cost by stretch of the recording.
    by_stretch: Vec<u64>,
}

impl OtherBuild {
    /// Replays `layouts`, which are by the recorded build's atoms.
    fn replay(&self, subject: AdviceSubject<'_>, layouts: &[&StructLayout]) -> Vec<VariantCosts> {
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
        let by_stretch = scorer.costs_by_stretch(layouts, STRETCHES);
        { tallies.zip(layouts).zip(by_stretch) }
            .map(|((tallies, layout), by_stretch)| {
                let tally = tallies.map_or(CoherenceTally::default(), |tallies| tallies.mean);
                let pair_transfers = scorer.pair_transfers(layout);
                VariantCosts {
                    size: layout.size,
                    tally,
                    pair_transfers,
                    cost: scorer.cost(tally.transfers(), pair_transfers.unwrap_or(0)),
                    by_stretch,
                }
            })
            .collect()
    }

    /// Returns the instance without accesses to members that the other build lacks.
    fn without_missing(&self, instance: &RecordedInstance) -> RecordedInstance {
        let missing = |offset: u32| {
            let (_, offset) = instance.locate(offset);
            let mut places = self.current.places.iter().zip(&self.counterparts);
            places.any(|(place, counterpart)| {
                counterpart.is_none() && (place.offset..place.end).contains(&u64::from(offset))
            })
        };
        let mut kept = instance.clone();
        kept.trace.accesses.retain(|access| !missing(access.offset));
        kept
    }

    /// Returns the other build's layout by the recorded build's atoms. Atoms that it lacks are put
    /// behind its end.
    fn by_recorded_atoms(&self, other: StructLayout) -> StructLayout {
        let place = |(own, counterpart): (&AtomPlace, &Option<usize>)| match counterpart {
            Some(atom) => other.places[*atom].clone(),
            None => AtomPlace {
                offset: other.size,
                end: other.size + (own.end - own.offset),
                ..AtomPlace::default()
            },
        };
        StructLayout {
            places: self
                .current
                .places
                .iter()
                .zip(&self.counterparts)
                .map(place)
                .collect(),
            size: other.size,
            align: other.align,
            holes: Vec::new(),
            padding: other.padding,
            run_align: other.run_align,
        }
    }
}

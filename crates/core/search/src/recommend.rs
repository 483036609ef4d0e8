//! The smallest edit that is worth it: the knee of gain against edits.
//!
//! Most of what a full rewrite saves is often saved by one or two of its moves, and a maintainer
//! takes those. So the recommended candidate is not the one with the fewest transfers. Each
//! candidate has a value: the part of the best gain that it keeps, less a charge for each of its
//! edits ([`EditSize::units`]). The candidate with the highest value is recommended, and among
//! those of few moves that keep most of the gain, if there are any.

use std::cmp::Ordering;

use relayout_statistics::RatioVerdict;

use crate::advice::{AdviceVerdict, LayoutAdvice, RankedLayout};
use crate::advise::is_worth_it;
use crate::change::LayoutChange;

/// Part of the best gain that each unit of an edit has to save.
const GAIN_PER_UNIT: f64 = 1.0 / 16.0;
/// Part of the best gain that a recommended layout keeps where a small edit does.
const GAIN_KEPT: f64 = 2.0 / 3.0;
/// Members that a small edit moves at most.
const MEMBERS_FEW: usize = 3;
/// Weight of growth by the whole size of an object. Memory of all objects is harder to justify than
/// a moved line.
const UNITS_PER_GROWTH: f64 = 20.0;
/// Weight of growth at most, so that it is recommended where nothing else helps.
const GROWTH_UNITS_MAX: f64 = 6.0;
/// Growth of a small edit at most, as a part of the object.
const GROWTH_FEW: f64 = 1.0 / 8.0;

/// Size of an edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EditSize {
    /// Members that move.
    pub members: usize,
    /// Alignments and paddings that are added.
    pub attributes: usize,
    /// Checks that are added before stores.
    pub guards: usize,
    /// Bytes by which an object grows, with the unused rest of its slab slot.
    pub grown_bytes: u64,
    /// Bytes of an object today.
    pub object_bytes: u64,
}

impl EditSize {
    /// Returns the size of the edit that leads from today's layout to `ranked`, without guards.
    pub fn new(advice: &LayoutAdvice, ranked: &RankedLayout) -> Self {
        let is_attribute = |change: &&LayoutChange| !matches!(change, LayoutChange::Move { .. });
        let today = &advice.current;
        let grown_slot =
            { ranked.memory.bytes_per_object }.saturating_sub(today.memory.bytes_per_object);
        Self {
            members: ranked.moved,
            attributes: ranked.changes.iter().filter(is_attribute).count(),
            guards: 0,
            grown_bytes: grown_slot.max(ranked.layout.size.saturating_sub(today.layout.size)),
            object_bytes: today.memory.bytes_per_object.max(today.layout.size),
        }
    }

    /// Returns the weight of the edit: one for each member that moves, for each alignment and for each
    /// guard. Growth weighs one, and one more for each 5% of the object, but at most six.
    ///
    /// ```
    /// use relayout_search::EditSize;
    ///
    /// let object_bytes = 640;
    /// let edit = EditSize { members: 2, attributes: 1, guards: 0, grown_bytes: 64, object_bytes };
    /// assert_eq!(edit.units(), 2.0 + 1.0 + 3.0);
    /// ```
    pub fn units(&self) -> f64 {
        let edits = (self.members + self.attributes + self.guards) as f64;
        let growth = match self.grown_bytes {
            0 => 0.0,
            _ => 1.0 + UNITS_PER_GROWTH * self.growth(),
        };
        edits + growth.min(GROWTH_UNITS_MAX)
    }

    /// Returns the growth as a part of the object.
    fn growth(&self) -> f64 {
        self.grown_bytes as f64 / self.object_bytes.max(1) as f64
    }
}

/// Rules for recommended candidates.
pub struct RecommendationRules<'a> {
    /// Members that may move at most; `None` for any number.
    pub moves_max: Option<usize>,
    /// Function that tells whether a candidate, by its index, may be recommended.
    pub is_allowed: &'a dyn Fn(usize) -> bool,
}

/// A candidate that is worth its edits.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// Index into [`LayoutAdvice::candidates`].
    pub index: usize,
    /// Size of its edit.
    pub edit: EditSize,
    /// Part of the best gain that it keeps, 1 for all.
    pub gain_kept: f64,
    /// The candidate with the most gain: index and size of its edit.
    pub most: (usize, EditSize),
    /// True if it is luck whether it saves anything, because the allocator decides. A candidate that
    /// saves without luck is recommended before it.
    pub is_lucky: bool,
}

/// Returns the candidates that are worth their edits, the recommended one first. The others follow
/// for the case that it cannot be written.
///
/// A candidate is worth its edits if its gain is clear, the same in all recordings, left on each
/// part that did not choose it, no loss of throughput, and not traded for upgrades. Where candidates were executed in
/// simulated time, only these are: those that are faster there, whatever their transfers are, else those of which that is
/// not known. Nothing is recommended if the whole search concludes
/// that the best may be better by chance.
pub fn recommend(advice: &LayoutAdvice, rules: &RecommendationRules<'_>) -> Vec<Recommendation> {
    let is_clear = matches!(
        advice.verdict,
        AdviceVerdict::Better
            | AdviceVerdict::Traded
            | AdviceVerdict::Slower
            | AdviceVerdict::NoFaster
            | AdviceVerdict::Uneven
    );
    let saved_by = |candidate: &RankedLayout| advice.saved_by(candidate);
    let most = { advice.candidates.iter().enumerate() }
        .rev()
        .max_by(|a, b| saved_by(a.1).total_cmp(&saved_by(b.1)));
    let Some((most_index, most)) = most.filter(|_| is_clear) else {
        return Vec::new();
    };
    let saved_most = saved_by(most);
    if saved_most <= 0.0 {
        return Vec::new();
    }
    let is_eligible = |(index, candidate): &(usize, &RankedLayout)| {
        is_better(advice, candidate)
            && saved_by(candidate) > 0.0
            && rules.moves_max.is_none_or(|most| candidate.moved <= most)
            && (rules.is_allowed)(*index)
    };
    let mut recommendations: Vec<Recommendation> = { advice.candidates.iter().enumerate() }
        .filter(is_eligible)
        .map(|(index, candidate)| Recommendation {
            index,
            edit: EditSize::new(advice, candidate),
            gain_kept: saved_by(candidate) / saved_most,
            most: (most_index, EditSize::new(advice, most)),
            is_lucky: { candidate.place_changes(&advice.current) }
                .is_some_and(|changes| changes.is_lucky()),
        })
        .collect();
    recommendations.sort_by(|a, b| a.preference(b).then(a.index.cmp(&b.index)));
    recommendations
}

/// Returns true if a candidate is clearly better than today's layout: in simulated time, else by transfers. Where others were
/// executed and it was not, nothing is known of it.
fn is_better(advice: &LayoutAdvice, candidate: &RankedLayout) -> bool {
    match { candidate.simulated.as_ref() }.map(|simulated| simulated.verdict) {
        Some(RatioVerdict::Better) => true,
        Some(RatioVerdict::Worse | RatioVerdict::Same) => false,
        Some(RatioVerdict::Unclear) => is_worth_it(&advice.current, candidate),
        None => !advice.is_simulated() && is_worth_it(&advice.current, candidate),
    }
}

impl Recommendation {
    /// Returns true if it moves few members, hardly grows the object, and keeps most of the gain.
    pub fn is_small_and_worth_it(&self) -> bool {
        self.edit.members <= MEMBERS_FEW
            && self.edit.growth() <= GROWTH_FEW
            && self.gain_kept >= GAIN_KEPT
    }

    /// Returns `Less` if this one is recommended rather than `other`. Both keep parts of one best gain.
    pub fn preference(&self, other: &Self) -> Ordering {
        let is_lucky = self.is_lucky.cmp(&other.is_lucky);
        let is_small = { other.is_small_and_worth_it() }.cmp(&self.is_small_and_worth_it());
        let values = other.value().total_cmp(&self.value());
        let grown = self.edit.grown_bytes.cmp(&other.edit.grown_bytes);
        is_lucky.then(is_small).then(values).then(grown)
    }

    /// Part of the best gain that is kept, less the charge for the edits.
    fn value(&self) -> f64 {
        self.gain_kept - GAIN_PER_UNIT * self.edit.units()
    }
}

//! Layouts at each stage after replay, and the advice that is made of them.

use relayout_profile::RunId;
use std::ops::Deref;

use relayout_contend::CoherenceTally;
use relayout_contend::throughput::ThroughputGain;
use relayout_layout::abi::{AtomArrangement, PaddingMember, StructLayout};
use relayout_statistics::RatioVerdict;
use rustc_hash::FxHashSet;

use crate::advise::is_slight;
use crate::change::LayoutChange;
use crate::interval::ChangeInterval;
use crate::judged_parts::JudgedParts;
use crate::order::MemberOrder;
use crate::places::{PlaceChanges, PlacedTallies};
use crate::rewrite::TransferBound;
use crate::score::{EventsPerOperation, MemoryCost};

/// A layout that the user wants to have scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLayout {
    /// Name to show.
    pub name: String,
    /// The layout, by the atoms of the subject's shape.
    pub order: MemberOrder,
}

/// A layout with its replayed cost in the recorded build.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredLayout {
    /// Name of a user layout; `None` for layouts that the search found.
    pub name: Option<String>,
    /// Order and alignments.
    pub arrangement: AtomArrangement,
    /// Offsets, size, holes.
    pub layout: StructLayout,
    /// Changes that lead from today's layout to this one; for user layouts, the members that move.
    pub changes: Vec<LayoutChange>,
    /// New members that nothing accesses.
    pub pads: Vec<PaddingMember>,
    /// True if it needs an alignment that the allocation of some recorded object does not give. The
    /// score holds for an allocation call that does.
    pub needs_allocation: bool,
    /// Number of atoms that move.
    pub moved: usize,
    /// Replayed events, over all recorded objects: the mean over the places where the allocator
    /// can put them.
    pub tally: CoherenceTally,
    /// The same where the objects began when they were recorded, and at each of these places.
    pub placed: PlacedTallies,
    /// The same per operation, where the workload marks operations.
    pub per_operation: Option<EventsPerOperation>,
    /// Memory per object.
    pub memory: MemoryCost,
    /// Phase of the object with the most accesses. It stands for all objects when a report lists
    /// the members that share a line.
    pub phase: u32,
    /// Accesses to lines whose buddy (the other line of an aligned pair) another context stored to
    /// in between; `None` where the pair coefficient is 0.
    pub pair_transfers: Option<u64>,
    /// Transfers, plus pair transfers times their coefficient, in thousandths of a transfer.
    pub cost: u64,
    /// Transfers by recording.
    pub transfers_by_run: Vec<(RunId, u64)>,
    /// Objects by which arrays of them grow at most if runs are rounded and each keeps its objects.
    pub run_growth: u64,
    /// True if the layout brings members together that were never recorded together. Only user
    /// layouts may; the tally lacks the transfers between these members.
    pub unjudged: bool,
    /// True if the layout was scored with store guards
    /// ([`advise_with_guards`](crate::advise_with_guards)).
    pub guarded: bool,
}

impl ScoredLayout {
    /// Compares with `today`, place by place; `None` where objects have no choice of places.
    pub fn place_changes(&self, today: &Self) -> Option<PlaceChanges> {
        self.placed.changes_from(&today.placed)
    }

    /// Returns true if it has fewer transfers than `today` in some recordings and more in others.
    pub fn is_unstable(&self, today: &Self) -> bool {
        let pairs = || self.transfers_by_run.iter().zip(&today.transfers_by_run);
        pairs().any(|(then, now)| then.1 < now.1) && pairs().any(|(then, now)| then.1 > now.1)
    }
}

/// A scored layout beside all others: its rank, its place on the Pareto front and its interval.
///
/// It dereferences to the [`ScoredLayout`], so that code which only needs the score takes both.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedLayout {
    /// The layout with its replayed cost.
    pub scored: ScoredLayout,
    /// Cost in the build where the layout does worst, in units of [`ScoredLayout::cost`], scaled as
    /// if that build's own layout cost as much as today's; `None` without other builds.
    pub worst_build_cost: Option<u64>,
    /// True if no other layout beats it in transfers, bytes per object and members moved.
    pub pareto: bool,
    /// Change of the transfers from today's layout; `None` for candidates that are not shown, and
    /// where there are too few transfers.
    pub interval: Option<ChangeInterval>,
    /// Changes on parts of the recording that did not choose the layout; the gain to promise is the
    /// worst of them. Empty for layouts without an interval, and for those of the user.
    pub parts: JudgedParts,
    /// Predicted change of the throughput; `None` where the machine was not probed, and for
    /// candidates that are not shown. See [`LayoutAdvice::set_gains`].
    pub gain: Option<ThroughputGain>,
    /// Rate in simulated time over today's; `None` for a layout that was not executed.
    pub simulated: Option<SimulatedRatio>,
}

/// Rate of the recorded workload with a layout over that of today's, on a machine in simulated time.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedRatio {
    /// CPUs.
    pub cpus: u32,
    /// Rate over today's with the expected rules of the machine.
    pub ratio: f64,
    /// Verdict of all draws of the rules.
    pub verdict: RatioVerdict,
}

impl SimulatedRatio {
    /// Returns the part of the time of an operation that the layout saves; 0 unless all draws agree that it saves any.
    pub fn time_saved(&self) -> f64 {
        match self.verdict {
            RatioVerdict::Better => 1.0 - 1.0 / self.ratio,
            RatioVerdict::Worse | RatioVerdict::Same | RatioVerdict::Unclear => 0.0,
        }
    }

    /// Returns true if all draws agree that the layout does not make the workload faster.
    pub fn is_no_faster(&self) -> bool {
        matches!(self.verdict, RatioVerdict::Worse | RatioVerdict::Same)
    }
}

impl RankedLayout {
    /// Returns the cost by which candidates are ranked.
    pub fn ranked_cost(&self) -> u64 {
        self.worst_build_cost.unwrap_or(self.scored.cost)
    }
}

impl Deref for RankedLayout {
    type Target = ScoredLayout;

    fn deref(&self) -> &ScoredLayout {
        &self.scored
    }
}

/// Numbers of candidates that the search did not try or does not show, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedCandidates {
    /// They would bring members together whose accesses were not all recorded.
    pub unrecorded: usize,
    /// They would move a member that has to stay.
    pub kept: usize,
    /// They would move a member into a cache line group or out of one: see
    /// [`LineGroups`](crate::LineGroups).
    pub grouped: usize,
    /// They would break a rule of [`Options::order_rules`](crate::Options::order_rules).
    pub order_rules: usize,
    /// The budget of replayed accesses was used up.
    pub budget: usize,
    /// Pairs of moves that were not estimated because the effort was used up.
    pub two_moves: usize,
    /// Scored in the recorded build only, because others were better there: see
    /// [`AdviceSubject::builds`](crate::AdviceSubject::builds).
    pub builds: usize,
}

/// Conclusion about the best candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum AdviceVerdict {
    /// Today's layout shows no transfers, so that there is nothing to gain.
    NoTransfers,
    /// No candidate has fewer transfers.
    NothingBetter {
        /// Index into [`LayoutAdvice::candidates`] of the candidate with the fewest transfers that
        /// are false by first touch, if it has fewer than today's layout: it only moves the misses.
        first_touch: Option<usize>,
    },
    /// The first candidate has fewer transfers, but its interval includes no change.
    Unclear,
    /// The first candidate has fewer transfers in some recordings and more in others.
    Unstable,
    /// The first candidate saves less than 1% of the transfers.
    Slight,
    /// The first candidate has fewer transfers, but no gain on a part of the recording that did not
    /// choose it: see [`JudgedParts`].
    Uneven,
    /// The first candidate has fewer transfers, but is predicted to be slower.
    Slower,
    /// The first candidate has fewer transfers, but all layouts that were executed in simulated time are no faster.
    NoFaster,
    /// The first candidate has fewer transfers, but more of transfers and upgrades together.
    Traded,
    /// The first candidate has fewer transfers, or a candidate is faster in simulated time.
    Better,
}

/// Measure by which layouts are compared when one is recommended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComparedBy {
    /// Replayed transfers.
    #[default]
    Transfers,
    /// Time of an operation on so many CPUs, in simulated time.
    SimulatedTime {
        /// CPUs.
        cpus: u32,
    },
}

/// Ranked candidates for a type, and the conclusion.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutAdvice {
    /// Today's layout.
    pub current: ScoredLayout,
    /// Candidates: first those that gain nearly as much as any, fewest edits first; then by
    /// transfers. Ties are broken by upgrades, bytes and members moved.
    pub candidates: Vec<RankedLayout>,
    /// The user's layouts, in their order.
    pub user_layouts: Vec<RankedLayout>,
    /// Candidates that were not tried or are not shown.
    pub left_out: SkippedCandidates,
    /// Conclusion about the first candidate.
    pub verdict: AdviceVerdict,
    /// Measure by which a layout is recommended.
    pub compared_by: ComparedBy,
    /// Number of other builds that the candidates are ranked by, beside the recorded one:
    /// [`AdviceSubject::builds`](crate::AdviceSubject::builds).
    pub builds: usize,
    /// Proven lower bound for the transfers of any layout; `None` where nothing was sought.
    pub bound: Option<TransferBound>,
    /// Gain on data that the choice did not use: on each half of the recording the best candidate
    /// is chosen, and its transfers are counted on the other half.
    pub held_out: Option<ChangeInterval>,
    /// Transfers of today's layout with every object at each phase that its alignment allows: the
    /// effect of padding in front of it where it is embedded. Empty for types of several lines and
    /// for slab objects.
    pub transfers_by_phase: Vec<(u32, u64)>,
    /// Members without recorded accesses because their memory was not recorded.
    pub unrecorded_members: Vec<String>,
}

impl LayoutAdvice {
    /// Returns the fewest transfers of today's layout and all candidates.
    pub fn fewest_transfers(&self) -> u64 {
        let candidates = self.candidates.iter().map(|candidate| &candidate.scored);
        candidates
            .chain([&self.current])
            .map(|candidate| candidate.tally.transfers())
            .min()
            .unwrap_or(0)
    }

    /// Returns true if no candidate saves at least 1% of the transfers: less is never recommended.
    /// Without transfers, nothing is known.
    pub fn saves_nothing(&self) -> bool {
        let today = self.current.cost;
        let is_slight = |candidate: &RankedLayout| is_slight(candidate.ranked_cost(), today);
        today > 0 && self.candidates.iter().all(is_slight)
    }

    /// Returns the indices of the candidates worth showing: the first `top` (at least one) by
    /// transfers, then those on the Pareto front. Of candidates with equal events, bytes and moves
    /// only the first is shown.
    pub fn shown_candidates(&self, top: usize) -> Vec<usize> {
        let candidates = self.candidates.iter();
        indices_to_show(
            candidates.map(|candidate| (&candidate.scored, candidate.pareto)),
            top,
        )
    }

    /// Sets the predicted gains of the candidates with these indices and of all user layouts. A
    /// first candidate that is predicted to lose throughput is no longer better, but slower.
    pub fn set_gains(
        &mut self,
        candidates: impl IntoIterator<Item = (usize, Option<ThroughputGain>)>,
        user_layouts: impl IntoIterator<Item = Option<ThroughputGain>>,
    ) {
        for (index, gain) in candidates {
            self.candidates[index].gain = gain;
        }
        for (user_layout, gain) in self.user_layouts.iter_mut().zip(user_layouts) {
            user_layout.gain = gain;
        }
        let best_gain = self.candidates.first().and_then(|best| best.gain.as_ref());
        if self.verdict == AdviceVerdict::Better && best_gain.is_some_and(ThroughputGain::is_loss) {
            self.verdict = AdviceVerdict::Slower;
        }
    }

    /// Returns what a candidate saves, in the unit of [`compared_by`](Self::compared_by).
    pub fn saved_by(&self, candidate: &RankedLayout) -> f64 {
        match self.compared_by {
            ComparedBy::Transfers => self.current.cost as f64 - candidate.ranked_cost() as f64,
            ComparedBy::SimulatedTime { .. } => {
                { candidate.simulated.as_ref() }.map_or(0.0, SimulatedRatio::time_saved)
            }
        }
    }

    /// Sets the ratios in simulated time of the candidates with these indices and of all user layouts. Only executed candidates are
    /// recommended from then on: by the time that they save if any of them is better by all draws, else by transfers those of
    /// which the draws disagree.
    pub fn set_simulated(
        &mut self,
        candidates: impl IntoIterator<Item = (usize, SimulatedRatio)>,
        user_layouts: impl IntoIterator<Item = Option<SimulatedRatio>>,
    ) {
        for (index, ratio) in candidates {
            self.candidates[index].simulated = Some(ratio);
        }
        for (user_layout, ratio) in self.user_layouts.iter_mut().zip(user_layouts) {
            user_layout.simulated = ratio;
        }
        let is_better = |ratio: &&SimulatedRatio| ratio.verdict == RatioVerdict::Better;
        let better = self.simulated_ratios().find(is_better);
        if let Some(cpus) = better.map(|ratio| ratio.cpus) {
            self.compared_by = ComparedBy::SimulatedTime { cpus };
            self.verdict = AdviceVerdict::Better;
            return;
        }
        self.compared_by = ComparedBy::Transfers;
        let is_no_faster =
            self.is_simulated() && self.simulated_ratios().all(SimulatedRatio::is_no_faster);
        if self.verdict == AdviceVerdict::Better && is_no_faster {
            self.verdict = AdviceVerdict::NoFaster;
        }
    }

    /// Returns true if some candidates were executed in simulated time.
    pub fn is_simulated(&self) -> bool {
        self.simulated_ratios().next().is_some()
    }

    /// Returns what the executed candidates bring.
    pub fn simulated_ratios(&self) -> impl Iterator<Item = &SimulatedRatio> + Clone {
        { self.candidates.iter() }.filter_map(|candidate| candidate.simulated.as_ref())
    }
}

/// The selection of [`LayoutAdvice::shown_candidates`], for ranked layouts and their places on the
/// Pareto front.
pub(crate) fn indices_to_show<'a>(
    candidates: impl Iterator<Item = (&'a ScoredLayout, bool)>,
    top: usize,
) -> Vec<usize> {
    let mut seen = FxHashSet::default();
    let mut shown = Vec::new();
    for (index, (candidate, pareto)) in candidates.enumerate() {
        let (tally, bytes) = (candidate.tally, candidate.memory.bytes_per_object);
        let is_new = seen.insert((tally, bytes, candidate.layout.size, candidate.moved));
        if is_new && (shown.len() < top.max(1) || pareto) {
            shown.push(index);
        }
    }
    shown
}

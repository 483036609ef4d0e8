//! What can be asked for, and what comes of it.

use relayout_contend::CoherenceTally;
use relayout_contend::throughput::ThroughputGain;
use relayout_layout::abi::{AtomArrangement, StructLayout};
use rustc_hash::FxHashSet;

use crate::change::LayoutChange;
use crate::interval::ChangeInterval;
use crate::order::MemberOrder;
use crate::rewrite::TransferBound;
use crate::score::{EventsPerOperation, MemoryCost};

/// What to try and how hard.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Members that have to stay at their offsets.
    pub keep: Vec<String>,
    /// Accesses to replay at most, over all candidates.
    pub budget_accesses: u64,
    /// Candidates of the ranking that get an interval, beside those on the front: those that
    /// [`Advice::shown`] names for this number.
    pub intervals: usize,
    /// How hard to look for rewrites and pairs of moves: rows of a table to go through, of which
    /// there are about a billion to a second.
    pub effort_rows: u64,
    /// Pairs of moves to estimate at most.
    pub two_moves_max: usize,
    /// What it costs, in transfers, when another stores to the other line of an aligned pair: see
    /// [`Scored::pair_transfers`]. 0 where the machine shows nothing.
    pub pair_coefficient: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep: Vec::new(),
            budget_accesses: 150_000_000,
            intervals: 5,
            effort_rows: 2_000_000_000,
            two_moves_max: 2_000_000,
            pair_coefficient: 0.0,
        }
    }
}

/// A layout of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLayout {
    /// Name to show.
    pub name: String,
    /// The layout, by the atoms of the subject's shape.
    pub order: MemberOrder,
}

/// A layout and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredLayout {
    /// Name of a given layout; `None` for those that were found.
    pub name: Option<String>,
    /// Order and alignments.
    pub arrangement: AtomArrangement,
    /// Offsets, size, holes.
    pub layout: StructLayout,
    /// What leads there from today's layout; for given ones, the members that move.
    pub changes: Vec<LayoutChange>,
    /// Atoms that move.
    pub moved: usize,
    /// Replayed events, over all recorded objects.
    pub tally: CoherenceTally,
    /// The same per operation, where the workload marks operations.
    pub per_operation: Option<EventsPerOperation>,
    /// Bytes.
    pub memory: MemoryCost,
    /// Phase of the object with the most accesses, which stands for the others when it is said
    /// which members share a line.
    pub phase: u32,
    /// Accesses to lines whose buddy (the other line of an aligned pair) another stored to in between;
    /// `None` where that costs nothing.
    pub pair_transfers: Option<u64>,
    /// Transfers, and pair transfers by what they cost, in thousandths of a transfer.
    pub cost: u64,
    /// The cost in the build where it does worst, in the same unit, that build's own layout taken to cost
    /// what today's does; `None` where no other builds were asked for.
    pub worst_build_cost: Option<u64>,
    /// Transfers by recording.
    pub transfers_by_run: Vec<(u16, u64)>,
    /// Change of the transfers from today's layout; not computed for all.
    pub interval: Option<ChangeInterval>,
    /// What it is predicted to gain in throughput; left to who knows the machine.
    pub gain: Option<ThroughputGain>,
    /// Nothing that was tried or given beats it in transfers, bytes per object and members moved.
    pub pareto: bool,
    /// Brings members together that were never recorded together (given layouts only): what that
    /// costs is not in the tally.
    pub unjudged: bool,
    /// Scored with the checks that [`with_checks`](crate::with_checks) was asked about.
    pub guarded: bool,
}

impl ScoredLayout {
    /// What it is ranked by.
    pub fn ranked_cost(&self) -> u64 {
        self.worst_build_cost.unwrap_or(self.cost)
    }

    /// Whether it has fewer transfers than `today` in some recordings and more in others.
    pub fn is_unstable(&self, today: &Self) -> bool {
        let pairs = || self.transfers_by_run.iter().zip(&today.transfers_by_run);
        pairs().any(|(then, now)| then.1 < now.1) && pairs().any(|(then, now)| then.1 > now.1)
    }
}

/// Candidates that are not among the results, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedCandidates {
    /// They would bring members together whose accesses were not all recorded.
    pub unrecorded: usize,
    /// They would move a member that has to stay.
    pub kept: usize,
    /// The budget of replayed accesses was used up.
    pub budget: usize,
    /// Pairs of moves that were not estimated, for the same reason.
    pub two_moves: usize,
    /// Scored in the recorded build only, and behind the others there: see [`Subject::builds`].
    pub builds: usize,
}

/// What can be said about the best candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum AdviceVerdict {
    /// Today's layout shows no transfers: nothing to gain.
    NoTransfers,
    /// No candidate has fewer transfers. `first_touch` is the one with the fewest transfers that
    /// are false by first touch, if it has fewer than today's: it moves the misses elsewhere.
    NothingBetter {
        /// Index into [`Advice::candidates`].
        first_touch: Option<usize>,
    },
    /// The first candidate has fewer transfers, but not evenly: an interval includes none.
    Unclear,
    /// The first candidate has fewer transfers in some recordings and more in others.
    Unstable,
    /// The first candidate has fewer transfers, but so few less that it is not worth a change.
    Slight,
    /// The first candidate has fewer transfers, but is predicted to be slower. Left to who knows the machine.
    Slower,
    /// The first candidate has fewer transfers, but more of transfers and upgrades together: it takes the line from
    /// others as often, by stores that have it.
    Traded,
    /// The first candidate has fewer transfers.
    Better,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutAdvice {
    /// Today's layout.
    pub current: ScoredLayout,
    /// What was tried: first those that gain nearly as much as any, fewest edits first; then by
    /// transfers. Ties by upgrades, bytes, members moved.
    pub candidates: Vec<ScoredLayout>,
    /// The user's layouts, in their order.
    pub user_layouts: Vec<ScoredLayout>,
    /// What was not tried or is not shown.
    pub left_out: SkippedCandidates,
    /// What can be said about the first candidate.
    pub verdict: AdviceVerdict,
    /// Other builds that the candidates are ranked by, beside the recorded one: [`Subject::builds`].
    pub builds: usize,
    /// How few transfers any layout can have; `None` where nothing was sought.
    pub bound: Option<TransferBound>,
    /// What the best gains where it was not chosen: on each half of the recording the best candidate
    /// is chosen, and counted on the other half.
    pub held_out: Option<ChangeInterval>,
    /// Today's layout with every object at each place of a line that its alignment allows, and the
    /// transfers then: what padding in front of it, where it is embedded, would do. Empty for types of
    /// several lines and for what slabs give.
    pub transfers_by_phase: Vec<(u32, u64)>,
    /// Members of which no access was recorded because their memory was not.
    pub unrecorded_members: Vec<String>,
}

impl LayoutAdvice {
    /// The fewest transfers of today's layout and all candidates.
    pub fn fewest_transfers(&self) -> u64 {
        let candidates = self.candidates.iter().chain([&self.current]);
        candidates
            .map(|candidate| candidate.tally.transfers())
            .min()
            .unwrap_or(0)
    }

    /// Candidates worth showing, by index: the first `top` (at least one) by transfers, then those
    /// on the front; of equals (in events, bytes and moves) only the first.
    pub fn shown_candidates(&self, top: usize) -> Vec<usize> {
        let mut seen = FxHashSet::default();
        let mut shown = Vec::new();
        for (index, candidate) in self.candidates.iter().enumerate() {
            let (tally, bytes) = (candidate.tally, candidate.memory.bytes_per_object);
            let new = seen.insert((tally, bytes, candidate.layout.size, candidate.moved));
            if new && (shown.len() < top.max(1) || candidate.pareto) {
                shown.push(index);
            }
        }
        shown
    }
}

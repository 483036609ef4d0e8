//! Tries layouts, ranks them, and tells how certain the best one is.

mod rank;

use relayout_layout::abi::{StructLayout, StructShape};

use crate::advice::{
    ComparedBy, LayoutAdvice, RankedLayout, ScoredLayout, SkippedCandidates, UserLayout,
    indices_to_show,
};
use crate::candidate::{CandidatePool, CandidateRules, LayoutCandidate};
use crate::constraint::{AdviceRefusal, refusal};
use crate::coverage::AtomCoverage;
use crate::held_out::held_out_change;
use crate::interval::ChangeInterval;
use crate::judged_parts::judge_candidates;
use crate::options::Options;
use crate::pareto_front::mark_unbeaten;
use crate::places::ScoredTallies;
use crate::rewrite::{RewriteModel, TransferBound};
use crate::score::LayoutScorer;
use crate::subject::{AccessingCode, AdviceSubject, ObjectHome};
use crate::worst_build::{WorstCosts, worst_build_costs};
use rank::{CostedLayout, rank_candidates, verdict};
pub(crate) use rank::{is_slight, is_worth_it};

/// Maximum number of stretches that a recording is cut into for an interval.
const STRETCHES_MAX: usize = 64;
/// Minimum number of stretches.
const STRETCHES_MIN: usize = 8;
/// Transfers that each stretch should have, since each loses some at its start.
const TRANSFERS_PER_STRETCH: u64 = 16;

/// Tries layouts of `subject` and scores `user_layouts` beside them.
///
/// # Errors
/// If the type must not be changed, or no accesses to it were recorded. User layouts are not scored
/// then either.
pub fn advise(
    subject: AdviceSubject<'_>,
    user_layouts: &[UserLayout],
    options: &Options,
) -> Result<LayoutAdvice, AdviceRefusal> {
    if let Some(refused) = refusal(&subject) {
        return Err(refused);
    }
    Ok(LayoutSearch::new(subject.into(), options).find_advice(user_layouts))
}

/// A search for layouts, with the prepared traces that it replays.
pub(crate) struct LayoutSearch<'a> {
    code: AccessingCode<'a>,
    options: &'a Options,
    /// Scorer of the code as recorded.
    recorded_scorer: LayoutScorer<'a>,
    /// Scorer of the candidates' code, where that has store guards.
    guarded_scorer: Option<LayoutScorer<'a>>,
}

/// Layouts that were scored, before they are ranked.
struct ScoredPool {
    candidates: Vec<ScoredLayout>,
    left_out: SkippedCandidates,
    bound: Option<TransferBound>,
}

impl<'a> LayoutSearch<'a> {
    pub fn new(code: AccessingCode<'a>, options: &'a Options) -> Self {
        Self {
            code,
            options,
            recorded_scorer: new_scorer(code.recorded_subject(), options),
            guarded_scorer: { code.is_guarded() }
                .then(|| new_scorer(code.changed_subject(), options)),
        }
    }

    /// Scorer of the candidates' code.
    pub fn candidate_scorer(&self) -> &LayoutScorer<'a> {
        self.guarded_scorer
            .as_ref()
            .unwrap_or(&self.recorded_scorer)
    }

    /// Tries layouts, scores `user_layouts` beside them, and draws the conclusion. All layouts but
    /// `current` are scored with the candidates' code. If that has store guards, today's layout
    /// with the guards is a candidate.
    pub fn find_advice(&self, user_layouts: &[UserLayout]) -> LayoutAdvice {
        let (subject, options) = (self.code.changed_subject(), self.options);
        let layout = subject.shape.lay_out(&subject.shape.current_arrangement());
        let coverage = AtomCoverage::new(&subject, &layout);
        let scorer = self.candidate_scorer();
        let rules = CandidateRules::new(subject, scorer, &coverage, &layout, options);
        let current = vec![rules.current_candidate()];
        let current = score_all(&self.recorded_scorer, current, u64::MAX, false);
        let current = { current.into_iter().next() }.expect("without a limit, all are scored");
        let user_candidates = { user_layouts.iter() }
            .map(|user_layout| rules.user_candidate(user_layout))
            .collect();
        let scored_user_layouts = self.score_with_guards(user_candidates, u64::MAX);
        let is_sought = options.budget_accesses > 0 && current.cost > 0;
        let mut pool = match is_sought {
            true => self.score_pool(&rules),
            false => ScoredPool {
                candidates: Vec::new(),
                left_out: SkippedCandidates::default(),
                bound: None,
            },
        };
        let mut candidates = CostedLayout::from_scored(pool.candidates);
        rank_candidates(&mut candidates, current.cost, &rules.blocks);
        let mut costed_user_layouts = CostedLayout::from_scored(scored_user_layouts);
        let mut builds = 0;
        if is_sought && !subject.builds.is_empty() {
            let scored = candidates.into_iter().map(|costed| costed.scored).collect();
            let worst = worst_build_costs(scored, current.cost, self.code, user_layouts, options);
            let WorstCosts {
                candidates: kept,
                candidate_costs,
                user_layout_costs,
                skipped,
            } = worst;
            pool.left_out.builds = skipped;
            builds = subject.builds.len();
            candidates = CostedLayout::from_worst_costs(kept, candidate_costs);
            rank_candidates(&mut candidates, current.cost, &rules.blocks);
            let user_layouts = costed_user_layouts.into_iter().map(|costed| costed.scored);
            costed_user_layouts =
                CostedLayout::from_worst_costs(user_layouts.collect(), user_layout_costs);
        }
        let (mut candidates, user_layouts) =
            self.compare(&current, candidates, costed_user_layouts);
        let held_out = self.held_out(&current, &candidates);
        judge_candidates(
            subject.instances,
            [&self.recorded_scorer, self.candidate_scorer()],
            &current,
            &mut candidates,
            stretch_count(&current),
        );
        LayoutAdvice {
            verdict: verdict(&current, &candidates, held_out),
            compared_by: ComparedBy::default(),
            transfers_by_phase: transfers_by_phase(subject, scorer, &layout),
            unrecorded_members: unrecorded_members(subject.shape, &coverage),
            left_out: pool.left_out,
            bound: pool.bound,
            current,
            candidates,
            user_layouts,
            builds,
            held_out,
        }
    }

    /// Scores candidates of all kinds of change until the budget is used up.
    fn score_pool(&self, rules: &CandidateRules<'_>) -> ScoredPool {
        let model = RewriteModel::new(self.code.changed_subject(), rules.current);
        let pool = CandidatePool::new(rules, &model, self.options);
        let count = pool.candidates.len();
        let mut candidates = self.score_with_guards(pool.candidates, self.options.budget_accesses);
        let mut left_out = pool.left_out;
        left_out.budget = count - candidates.len();
        if self.code.is_guarded() {
            candidates.extend(self.score_with_guards(vec![rules.current_candidate()], u64::MAX));
        }
        ScoredPool {
            candidates,
            left_out,
            bound: Some(pool.bound),
        }
    }

    fn score_with_guards(
        &self,
        candidates: Vec<LayoutCandidate>,
        budget_accesses: u64,
    ) -> Vec<ScoredLayout> {
        let is_guarded = self.code.is_guarded();
        score_all(
            self.candidate_scorer(),
            candidates,
            budget_accesses,
            is_guarded,
        )
    }

    /// Marks the Pareto front and adds intervals.
    fn compare(
        &self,
        current: &ScoredLayout,
        candidates: Vec<CostedLayout>,
        user_layouts: Vec<CostedLayout>,
    ) -> (Vec<RankedLayout>, Vec<RankedLayout>) {
        let front_costs = |layouts: &[CostedLayout]| -> Vec<_> {
            layouts.iter().map(CostedLayout::front_cost).collect()
        };
        let (candidate_costs, user_costs) = (front_costs(&candidates), front_costs(&user_layouts));
        let current_cost = [rank::front_cost(current, current.cost)];
        let candidate_front =
            mark_unbeaten(&candidate_costs, &[&user_costs[..], &current_cost].concat());
        let user_front =
            mark_unbeaten(&user_costs, &[&candidate_costs[..], &current_cost].concat());
        let on_front = candidates.iter().zip(&candidate_front);
        let shown = indices_to_show(
            on_front.map(|(costed, pareto)| (&costed.scored, *pareto)),
            self.options.intervals,
        );
        let compared: Vec<&ScoredLayout> = { shown.iter() }
            .map(|index| &candidates[*index].scored)
            .chain(user_layouts.iter().map(|costed| &costed.scored))
            .collect();
        let mut intervals = self.intervals(current, &compared);
        let user_intervals = intervals.split_off(shown.len());
        let mut candidate_intervals = vec![None; candidates.len()];
        for (index, interval) in shown.iter().zip(intervals) {
            candidate_intervals[*index] = interval;
        }
        (
            CostedLayout::into_ranked(candidates, candidate_front, candidate_intervals),
            CostedLayout::into_ranked(user_layouts, user_front, user_intervals),
        )
    }

    /// Change of the transfers from `current` to each of `layouts`.
    fn intervals(
        &self,
        current: &ScoredLayout,
        layouts: &[&ScoredLayout],
    ) -> Vec<Option<ChangeInterval>> {
        let count = stretch_count(current);
        let before = self
            .recorded_scorer
            .costs_by_stretch(&[&current.layout], count)
            .concat();
        let new_layouts: Vec<&StructLayout> = layouts.iter().map(|scored| &scored.layout).collect();
        let after = self
            .candidate_scorer()
            .costs_by_stretch(&new_layouts, count);
        { layouts.iter().zip(after) }
            .map(|(scored, after)| {
                let spread = ChangeInterval::from_stretches(&before, &after)?;
                Some(spread.centered_on(current.cost, scored.cost))
            })
            .collect()
    }

    fn held_out(
        &self,
        current: &ScoredLayout,
        candidates: &[RankedLayout],
    ) -> Option<ChangeInterval> {
        let best = candidates.first()?;
        if best.ranked_cost() >= current.cost {
            return None;
        }
        let scorers = [&self.recorded_scorer, self.candidate_scorer()];
        held_out_change(
            self.code.changed_subject(),
            scorers,
            current,
            candidates,
            stretch_count(current),
            self.options.budget_accesses / 2,
        )
    }
}

pub(crate) fn new_scorer<'a>(subject: AdviceSubject<'a>, options: &Options) -> LayoutScorer<'a> {
    let layout = subject.shape.lay_out(&subject.shape.current_arrangement());
    let coverage = AtomCoverage::new(&subject, &layout);
    LayoutScorer::new(subject, layout, &coverage).with_pairs(options.pair_coefficient)
}

/// Scores candidates until the budget is used up.
fn score_all(
    scorer: &LayoutScorer<'_>,
    candidates: Vec<LayoutCandidate>,
    budget_accesses: u64,
    is_guarded: bool,
) -> Vec<ScoredLayout> {
    let layouts: Vec<&StructLayout> = { candidates.iter() }
        .map(|candidate| &candidate.layout)
        .collect();
    let tallies = scorer.tallies(&layouts, budget_accesses);
    { candidates.into_iter().zip(tallies) }
        .filter_map(|(candidate, tallies)| {
            Some(into_scored(scorer, candidate, tallies?, is_guarded))
        })
        .collect()
}

fn into_scored(
    scorer: &LayoutScorer<'_>,
    candidate: LayoutCandidate,
    tallies: ScoredTallies,
    is_guarded: bool,
) -> ScoredLayout {
    let tally = tallies.mean;
    let by_instance = tallies.by_instance.as_slice();
    let pair_transfers = scorer.pair_transfers(&candidate.layout);
    ScoredLayout {
        name: candidate.name,
        cost: scorer.cost(tally.transfers(), pair_transfers.unwrap_or(0)),
        pair_transfers,
        moved: candidate.proposal.moved(),
        transfers_by_run: scorer.transfers_by_run(by_instance),
        arrangement: candidate.proposal.arrangement,
        changes: candidate.proposal.changes,
        pads: candidate.proposal.pads,
        needs_allocation: scorer.needs_allocation(&candidate.layout),
        tally,
        placed: tallies.placed,
        per_operation: scorer.per_operation(by_instance),
        memory: scorer.memory(&candidate.layout),
        phase: scorer.phase(&candidate.layout),
        run_growth: scorer.run_growth(&candidate.layout),
        layout: candidate.layout,
        unjudged: candidate.unjudged,
        guarded: is_guarded,
    }
}

/// Maximum size of a type, in lines, for which every phase is replayed.
const LINES_BY_PHASE_MAX: u64 = 2;

fn transfers_by_phase(
    subject: AdviceSubject<'_>,
    scorer: &LayoutScorer<'_>,
    layout: &StructLayout,
) -> Vec<(u32, u64)> {
    let line = u64::from(subject.line_bytes.max(1));
    let are_single_and_fixed = { subject.instances.iter() }
        .all(|instance| !matches!(instance.home, ObjectHome::Slab { .. }) && !instance.is_row());
    if !are_single_and_fixed || layout.size > LINES_BY_PHASE_MAX * line {
        return Vec::new();
    }
    let step = layout.align.clamp(1, line) as usize;
    let phases = (0..subject.line_bytes).step_by(step);
    phases
        .map(|phase| (phase, scorer.transfers_at_phase(layout, phase)))
        .collect()
}

/// Number of stretches to cut the recording into.
pub(crate) fn stretch_count(today: &ScoredLayout) -> usize {
    let count = today.tally.transfers() / TRANSFERS_PER_STRETCH;
    usize::try_from(count)
        .unwrap_or(STRETCHES_MAX)
        .clamp(STRETCHES_MIN, STRETCHES_MAX)
}

fn unrecorded_members(shape: &StructShape, coverage: &AtomCoverage) -> Vec<String> {
    let atoms = shape.atoms.iter().zip(&coverage.recorded);
    atoms
        .filter(|(atom, is_recorded)| !**is_recorded && atom.size > 0)
        .map(|(atom, _)| atom.name.clone())
        .collect()
}

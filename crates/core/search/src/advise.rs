//! Tries layouts, ranks them, and says how sure the best is.

mod advice;
mod rank;

use relayout_contend::CoherenceTally;
use relayout_layout::abi::{StructLayout, StructShape};
use rustc_hash::FxHashSet;

use crate::candidate::{CandidatePool, CandidateRules, LayoutCandidate};
use crate::constraint::{AdviceRefusal, refusal};
use crate::coverage::AtomCoverage;
use crate::held_out::held_out_change;
use crate::interval::ChangeInterval;
use crate::pareto_front::{self, LayoutCost};
use crate::rewrite::RewriteModel;
use crate::score::LayoutScorer;
use crate::subject::{AccessingCode, AdviceSubject, ObjectHome};
use crate::worst_build;

pub use advice::{
    AdviceVerdict, LayoutAdvice, Options, ScoredLayout, SkippedCandidates, UserLayout,
};
use rank::{front_cost, rank_candidates, verdict};

/// Stretches that a recording is cut into to see how even a change is over it: at most ...
const STRETCHES_MAX: usize = 64;
/// ... at least ...
const STRETCHES_MIN: usize = 8;
/// ... and no more than leave each this many transfers, as each loses some at its start.
const TRANSFERS_PER_STRETCH: u64 = 16;

/// Tries layouts of `subject` and scores `given` beside them.
///
/// # Errors
/// If the type must not be changed, or nothing was recorded of it. Given layouts are not scored
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

/// A search, and what it replays.
pub(crate) struct LayoutSearch<'a> {
    code: AccessingCode<'a>,
    options: &'a Options,
    /// Of the code as recorded.
    recorded_scorer: LayoutScorer<'a>,
    /// Of that of the candidates, where it is another.
    guarded_scorer: Option<LayoutScorer<'a>>,
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

    /// Scores the code of the candidates.
    pub fn candidate_scorer(&self) -> &LayoutScorer<'a> {
        self.guarded_scorer
            .as_ref()
            .unwrap_or(&self.recorded_scorer)
    }

    /// Tries layouts, scores `given` beside them, and draws the conclusion. All have the code of the
    /// candidates but `current`; where that has checks, today's layout with them is a candidate.
    pub fn find_advice(&self, user_layouts: &[UserLayout]) -> LayoutAdvice {
        let (subject, options) = (self.code.changed_subject(), self.options);
        let layout = subject.shape.lay_out(&subject.shape.current_arrangement());
        let coverage = AtomCoverage::new(&subject, &layout);
        let rules = CandidateRules::new(
            subject,
            self.candidate_scorer(),
            &coverage,
            &layout,
            &options.keep,
        );
        let today = score_candidates(
            &self.recorded_scorer,
            vec![rules.current_candidate()],
            u64::MAX,
        );
        let drafts = user_layouts
            .iter()
            .map(|user_layout| rules.user_candidate(user_layout))
            .collect();
        let mut advice = LayoutAdvice {
            current: { today.into_iter().next() }.expect("without a limit, all are scored"),
            candidates: Vec::new(),
            user_layouts: score_candidates(self.candidate_scorer(), drafts, u64::MAX),
            left_out: SkippedCandidates::default(),
            verdict: AdviceVerdict::NoTransfers,
            builds: 0,
            bound: None,
            held_out: None,
            transfers_by_phase: transfers_by_phase(subject, self.candidate_scorer(), &layout),
            unrecorded_members: unrecorded_members(subject.shape, &coverage),
        };
        if options.budget_accesses > 0 && advice.current.cost > 0 {
            self.add_candidates(&mut advice, &rules);
            if !subject.builds.is_empty() {
                // The first are scored in the other builds, and ranked anew.
                rank_candidates(&mut advice.candidates, &advice.current);
                worst_build::add_worst_build_costs(&mut advice, self.code, user_layouts, options);
            }
        }
        rank_and_conclude(&mut advice, self);
        advice
    }

    fn add_candidates(&self, advice: &mut LayoutAdvice, rules: &CandidateRules<'_>) {
        let model = RewriteModel::new(self.code.changed_subject(), rules.current);
        let drafts = CandidatePool::new(rules, &model, self.options);
        advice.bound = Some(drafts.bound);
        advice.left_out = drafts.left_out;
        let count = drafts.candidates.len();
        advice.candidates = score_candidates(
            self.candidate_scorer(),
            drafts.candidates,
            self.options.budget_accesses,
        );
        advice.left_out.budget = count - advice.candidates.len();
        if self.code.is_guarded() {
            let alone = score_candidates(
                self.candidate_scorer(),
                vec![rules.current_candidate()],
                u64::MAX,
            );
            advice.candidates.extend(alone);
        }
    }
}

pub(crate) fn new_scorer<'a>(subject: AdviceSubject<'a>, options: &Options) -> LayoutScorer<'a> {
    let layout = subject.shape.lay_out(&subject.shape.current_arrangement());
    let coverage = AtomCoverage::new(&subject, &layout);
    LayoutScorer::new(subject, layout, &coverage).with_pairs(options.pair_coefficient)
}

/// Scores layouts until the budget is used up.
fn score_candidates(
    scorer: &LayoutScorer<'_>,
    drafts: Vec<LayoutCandidate>,
    budget_accesses: u64,
) -> Vec<ScoredLayout> {
    let layouts: Vec<&StructLayout> = drafts.iter().map(|draft| &draft.layout).collect();
    let tallies = scorer.tallies(&layouts, budget_accesses);
    let scored = drafts.into_iter().zip(tallies);
    scored
        .filter_map(|(draft, tallies)| Some(score(scorer, draft, &tallies?)))
        .collect()
}

fn score(
    scorer: &LayoutScorer<'_>,
    draft: LayoutCandidate,
    tallies: &[CoherenceTally],
) -> ScoredLayout {
    let tally: CoherenceTally = tallies.iter().copied().sum();
    let pair_transfers = scorer.pair_transfers(&draft.layout);
    ScoredLayout {
        name: draft.name,
        cost: scorer.cost(tally.transfers(), pair_transfers.unwrap_or(0)),
        pair_transfers,
        worst_build_cost: None,
        moved: draft.proposal.moved(),
        transfers_by_run: scorer.transfers_by_run(tallies),
        arrangement: draft.proposal.arrangement,
        changes: draft.proposal.changes,
        tally,
        per_operation: scorer.per_operation(tallies),
        memory: scorer.memory(&draft.layout),
        phase: scorer.phase(&draft.layout),
        layout: draft.layout,
        interval: None,
        gain: None,
        pareto: false,
        unjudged: draft.unjudged,
        guarded: false,
    }
}

/// Ranks, marks the front, adds intervals, and draws the conclusion.
fn rank_and_conclude(advice: &mut LayoutAdvice, search: &LayoutSearch<'_>) {
    rank_candidates(&mut advice.candidates, &advice.current);
    let costs: Vec<LayoutCost> = advice.candidates.iter().map(front_cost).collect();
    let mut others: Vec<LayoutCost> = advice.user_layouts.iter().map(front_cost).collect();
    others.push(front_cost(&advice.current));
    for (candidate, pareto) in advice
        .candidates
        .iter_mut()
        .zip(pareto_front::mark_unbeaten(&costs, &others))
    {
        candidate.pareto = pareto;
    }
    let user_costs: Vec<LayoutCost> = advice.user_layouts.iter().map(front_cost).collect();
    let mut rest = costs;
    rest.push(front_cost(&advice.current));
    for (user_layout, pareto) in advice
        .user_layouts
        .iter_mut()
        .zip(pareto_front::mark_unbeaten(&user_costs, &rest))
    {
        user_layout.pareto = pareto;
    }
    add_intervals(advice, search);
    if let (Some(best), today) = (advice.candidates.first(), &advice.current)
        && best.ranked_cost() < today.cost
    {
        let count = stretch_count(today);
        let budget = search.options.budget_accesses / 2;
        let (subject, scorers) = (
            search.code.changed_subject(),
            [&search.recorded_scorer, search.candidate_scorer()],
        );
        advice.held_out =
            held_out_change(subject, scorers, today, &advice.candidates, count, budget);
    }
    advice.verdict = verdict(advice);
}

fn add_intervals(advice: &mut LayoutAdvice, search: &LayoutSearch<'_>) {
    let shown: FxHashSet<usize> = {
        advice
            .shown_candidates(search.options.intervals)
            .into_iter()
    }
    .collect();
    let candidates = advice.candidates.iter_mut().enumerate();
    let mut wanted: Vec<&mut ScoredLayout> = candidates
        .filter(|(index, _)| shown.contains(index))
        .map(|(_, candidate)| candidate)
        .collect();
    wanted.extend(advice.user_layouts.iter_mut());
    let copies: Vec<StructLayout> = wanted.iter().map(|scored| scored.layout.clone()).collect();
    let layouts: Vec<&StructLayout> = copies.iter().collect();
    let today = advice.current.cost;
    let count = stretch_count(&advice.current);
    let before = search
        .recorded_scorer
        .costs_by_stretch(&[&advice.current.layout], count);
    let (before, after) = (
        before.concat(),
        search.candidate_scorer().costs_by_stretch(&layouts, count),
    );
    for (scored, after) in wanted.into_iter().zip(after) {
        let spread = ChangeInterval::from_stretches(&before, &after);
        scored.interval = spread.map(|interval| interval.centered_on(today, scored.cost));
    }
}

/// Types larger than so many lines are not asked for each place of a line.
const LINES_BY_PHASE_MAX: u64 = 2;

fn transfers_by_phase(
    subject: AdviceSubject<'_>,
    scorer: &LayoutScorer<'_>,
    layout: &StructLayout,
) -> Vec<(u32, u64)> {
    let line = u64::from(subject.line_bytes.max(1));
    let fixed = { subject.instances.iter() }
        .all(|instance| instance.home == ObjectHome::Fixed && instance.elements <= 1);
    if !fixed || layout.size > LINES_BY_PHASE_MAX * line {
        return Vec::new();
    }
    let step = layout.align.clamp(1, line) as usize;
    let phases = (0..subject.line_bytes).step_by(step);
    phases
        .map(|phase| (phase, scorer.transfers_at_phase(layout, phase)))
        .collect()
}

/// Stretches to cut the recording into.
pub(crate) fn stretch_count(today: &ScoredLayout) -> usize {
    let count = today.tally.transfers() / TRANSFERS_PER_STRETCH;
    usize::try_from(count)
        .unwrap_or(STRETCHES_MAX)
        .clamp(STRETCHES_MIN, STRETCHES_MAX)
}

fn unrecorded_members(shape: &StructShape, coverage: &AtomCoverage) -> Vec<String> {
    let atoms = shape.atoms.iter().zip(&coverage.recorded);
    atoms
        .filter(|(atom, known)| !**known && atom.size > 0)
        .map(|(atom, _)| atom.name.clone())
        .collect()
}

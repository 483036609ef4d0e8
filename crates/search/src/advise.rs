//! Tries layouts, ranks them, and says how sure the best is.

mod advice;
mod rank;

use relayout_contend::Tally;
use relayout_layout::abi::{Layout, Shape};
use rustc_hash::FxHashSet;

use crate::constraint::{Refusal, refusal};
use crate::coverage::Coverage;
use crate::draft::{Draft, Drafts, Rules};
use crate::front::{self, Cost};
use crate::held_out::held_out;
use crate::interval::Interval;
use crate::rewrite::Model;
use crate::score::Scorer;
use crate::subject::{Code, Home, Subject};
use crate::worst;

pub use advice::{Advice, Given, LeftOut, Options, Scored, Verdict};
use rank::{cost, rank, verdict};

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
pub fn advise(subject: Subject<'_>, given: &[Given], options: &Options) -> Result<Advice, Refusal> {
    if let Some(refused) = refusal(&subject) {
        return Err(refused);
    }
    Ok(Search::new(subject.into(), options).advice(given))
}

/// A search, and what it replays.
pub(crate) struct Search<'a> {
    code: Code<'a>,
    options: &'a Options,
    /// Of the code as recorded.
    now: Scorer<'a>,
    /// Of that of the candidates, where it is another.
    checked: Option<Scorer<'a>>,
}

impl<'a> Search<'a> {
    pub fn new(code: Code<'a>, options: &'a Options) -> Self {
        Self {
            code,
            options,
            now: scorer_of(code.now(), options),
            checked: { code.is_checked() }.then(|| scorer_of(code.then(), options)),
        }
    }

    /// Scores the code of the candidates.
    pub fn then(&self) -> &Scorer<'a> {
        self.checked.as_ref().unwrap_or(&self.now)
    }

    /// Tries layouts, scores `given` beside them, and draws the conclusion. All have the code of the
    /// candidates but `current`; where that has checks, today's layout with them is a candidate.
    pub fn advice(&self, given: &[Given]) -> Advice {
        let (subject, options) = (self.code.then(), self.options);
        let layout = subject.shape.lay_out(&subject.shape.current());
        let coverage = Coverage::new(&subject, &layout);
        let rules = Rules::new(subject, self.then(), &coverage, &layout, &options.keep);
        let today = score_all(&self.now, vec![rules.today()], u64::MAX);
        let drafts = given.iter().map(|one| rules.given(one)).collect();
        let mut advice = Advice {
            current: { today.into_iter().next() }.expect("without a limit, all are scored"),
            candidates: Vec::new(),
            given: score_all(self.then(), drafts, u64::MAX),
            left_out: LeftOut::default(),
            verdict: Verdict::NoTransfers,
            builds: 0,
            bound: None,
            held_out: None,
            by_phase: by_phase(subject, self.then(), &layout),
            unrecorded_members: unrecorded(subject.shape, &coverage),
        };
        if options.budget_accesses > 0 && advice.current.cost > 0 {
            self.add_candidates(&mut advice, &rules);
            if !subject.builds.is_empty() {
                // The first are scored in the other builds, and ranked anew.
                rank(&mut advice.candidates, &advice.current);
                worst::add(&mut advice, self.code, given, options);
            }
        }
        finish(&mut advice, self);
        advice
    }

    fn add_candidates(&self, advice: &mut Advice, rules: &Rules<'_>) {
        let model = Model::new(self.code.then(), rules.current);
        let drafts = Drafts::new(rules, &model, self.options);
        advice.bound = Some(drafts.bound);
        advice.left_out = drafts.left_out;
        let count = drafts.list.len();
        advice.candidates = score_all(self.then(), drafts.list, self.options.budget_accesses);
        advice.left_out.budget = count - advice.candidates.len();
        if self.code.is_checked() {
            let alone = score_all(self.then(), vec![rules.today()], u64::MAX);
            advice.candidates.extend(alone);
        }
    }
}

pub(crate) fn scorer_of<'a>(subject: Subject<'a>, options: &Options) -> Scorer<'a> {
    let layout = subject.shape.lay_out(&subject.shape.current());
    let coverage = Coverage::new(&subject, &layout);
    Scorer::new(subject, layout, &coverage).with_pairs(options.pair_coefficient)
}

/// Scores layouts until the budget is used up.
fn score_all(scorer: &Scorer<'_>, drafts: Vec<Draft>, budget_accesses: u64) -> Vec<Scored> {
    let layouts: Vec<&Layout> = drafts.iter().map(|draft| &draft.layout).collect();
    let tallies = scorer.tallies(&layouts, budget_accesses);
    let scored = drafts.into_iter().zip(tallies);
    scored
        .filter_map(|(draft, tallies)| Some(score(scorer, draft, &tallies?)))
        .collect()
}

fn score(scorer: &Scorer<'_>, draft: Draft, tallies: &[Tally]) -> Scored {
    let tally: Tally = tallies.iter().copied().sum();
    let pair_transfers = scorer.pair_transfers(&draft.layout);
    Scored {
        name: draft.name,
        cost: scorer.cost(tally.transfers(), pair_transfers.unwrap_or(0)),
        pair_transfers,
        worst: None,
        moved: draft.proposal.moved(),
        runs: scorer.by_run(tallies),
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
        checked: false,
    }
}

/// Ranks, marks the front, adds intervals, and draws the conclusion.
fn finish(advice: &mut Advice, search: &Search<'_>) {
    rank(&mut advice.candidates, &advice.current);
    let costs: Vec<Cost> = advice.candidates.iter().map(cost).collect();
    let mut others: Vec<Cost> = advice.given.iter().map(cost).collect();
    others.push(cost(&advice.current));
    for (candidate, pareto) in advice
        .candidates
        .iter_mut()
        .zip(front::front(&costs, &others))
    {
        candidate.pareto = pareto;
    }
    let given: Vec<Cost> = advice.given.iter().map(cost).collect();
    let mut rest = costs;
    rest.push(cost(&advice.current));
    for (one, pareto) in advice.given.iter_mut().zip(front::front(&given, &rest)) {
        one.pareto = pareto;
    }
    add_intervals(advice, search);
    if let (Some(best), today) = (advice.candidates.first(), &advice.current)
        && best.ranked_cost() < today.cost
    {
        let count = stretch_count(today);
        let budget = search.options.budget_accesses / 2;
        let (subject, scorers) = (search.code.then(), [&search.now, search.then()]);
        advice.held_out = held_out(subject, scorers, today, &advice.candidates, count, budget);
    }
    advice.verdict = verdict(advice);
}

fn add_intervals(advice: &mut Advice, search: &Search<'_>) {
    let shown: FxHashSet<usize> = { advice.shown(search.options.intervals).into_iter() }.collect();
    let candidates = advice.candidates.iter_mut().enumerate();
    let mut wanted: Vec<&mut Scored> = candidates
        .filter(|(index, _)| shown.contains(index))
        .map(|(_, candidate)| candidate)
        .collect();
    wanted.extend(advice.given.iter_mut());
    let copies: Vec<Layout> = wanted.iter().map(|scored| scored.layout.clone()).collect();
    let layouts: Vec<&Layout> = copies.iter().collect();
    let today = advice.current.cost;
    let count = stretch_count(&advice.current);
    let before = search.now.by_stretch(&[&advice.current.layout], count);
    let (before, after) = (before.concat(), search.then().by_stretch(&layouts, count));
    for (scored, after) in wanted.into_iter().zip(after) {
        let spread = Interval::of(&before, &after);
        scored.interval = spread.map(|it| it.around(today, scored.cost));
    }
}

/// Types larger than so many lines are not asked for each place of a line.
const LINES_BY_PHASE_MAX: u64 = 2;

fn by_phase(subject: Subject<'_>, scorer: &Scorer<'_>, layout: &Layout) -> Vec<(u32, u64)> {
    let line = u64::from(subject.line_bytes.max(1));
    let fixed =
        { subject.instances.iter() }.all(|one| one.home == Home::Fixed && one.elements <= 1);
    if !fixed || layout.size > LINES_BY_PHASE_MAX * line {
        return Vec::new();
    }
    let step = layout.align.clamp(1, line) as usize;
    let phases = (0..subject.line_bytes).step_by(step);
    phases
        .map(|phase| (phase, scorer.at_phase(layout, phase)))
        .collect()
}

/// Stretches to cut the recording into.
pub(crate) fn stretch_count(today: &Scored) -> usize {
    let count = today.tally.transfers() / TRANSFERS_PER_STRETCH;
    usize::try_from(count)
        .unwrap_or(STRETCHES_MAX)
        .clamp(STRETCHES_MIN, STRETCHES_MAX)
}

fn unrecorded(shape: &Shape, coverage: &Coverage) -> Vec<String> {
    let atoms = shape.atoms.iter().zip(&coverage.recorded);
    atoms
        .filter(|(atom, known)| !**known && atom.size > 0)
        .map(|(atom, _)| atom.name.clone())
        .collect()
}

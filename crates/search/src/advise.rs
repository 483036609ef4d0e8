//! Tries layouts, ranks them, and says how sure the best is.

use std::cmp::Ordering;

use relayout_contend::Tally;
use relayout_contend::throughput::Gain;
use relayout_layout::abi::{Arrangement, Layout, Shape};
use rustc_hash::FxHashSet;

use crate::change::{Change, edit_count};
use crate::constraint::{Refusal, refusal};
use crate::coverage::Coverage;
use crate::draft::{Draft, Drafts, Rules};
use crate::front::{self, Cost};
use crate::held_out::held_out;
use crate::interval::Interval;
use crate::order::Order;
use crate::rewrite::{Bound, Model};
use crate::score::{Memory, PerOperation, Scorer};
use crate::subject::{Code, Home, Subject};
use crate::worst;

/// Stretches that a recording is cut into to see how even a change is over it: at most ...
const STRETCHES_MAX: usize = 64;
/// ... at least ...
const STRETCHES_MIN: usize = 8;
/// ... and no more than leave each this many transfers, as each loses some at its start.
const TRANSFERS_PER_STRETCH: u64 = 16;

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
pub struct Given {
    /// Name to show.
    pub name: String,
    /// The layout, by the atoms of the subject's shape.
    pub order: Order,
}

/// A layout and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Name of a given layout; `None` for those that were found.
    pub name: Option<String>,
    /// Order and alignments.
    pub arrangement: Arrangement,
    /// Offsets, size, holes.
    pub layout: Layout,
    /// What leads there from today's layout; for given ones, the members that move.
    pub changes: Vec<Change>,
    /// Atoms that move.
    pub moved: usize,
    /// Replayed events, over all recorded objects.
    pub tally: Tally,
    /// The same per operation, where the workload marks operations.
    pub per_operation: Option<PerOperation>,
    /// Bytes.
    pub memory: Memory,
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
    pub worst: Option<u64>,
    /// Transfers by recording.
    pub runs: Vec<(u16, u64)>,
    /// Change of the transfers from today's layout; not computed for all.
    pub interval: Option<Interval>,
    /// What it is predicted to gain in throughput; left to who knows the machine.
    pub gain: Option<Gain>,
    /// Nothing that was tried or given beats it in transfers, bytes per object and members moved.
    pub pareto: bool,
    /// Brings members together that were never recorded together (given layouts only): what that
    /// costs is not in the tally.
    pub unjudged: bool,
    /// Scored with the checks that [`with_checks`](crate::with_checks) was asked about.
    pub checked: bool,
}

impl Scored {
    /// What it is ranked by.
    pub fn ranked_cost(&self) -> u64 {
        self.worst.unwrap_or(self.cost)
    }

    /// Whether it has fewer transfers than `today` in some recordings and more in others.
    pub fn is_unstable(&self, today: &Self) -> bool {
        let pairs = || self.runs.iter().zip(&today.runs);
        pairs().any(|(then, now)| then.1 < now.1) && pairs().any(|(then, now)| then.1 > now.1)
    }
}

/// Candidates that are not among the results, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
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
pub enum Verdict {
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
    /// The first candidate has fewer transfers.
    Better,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Today's layout.
    pub current: Scored,
    /// What was tried: first those that gain nearly as much as any, fewest edits first; then by
    /// transfers. Ties by upgrades, bytes, members moved.
    pub candidates: Vec<Scored>,
    /// The user's layouts, in their order.
    pub given: Vec<Scored>,
    /// What was not tried or is not shown.
    pub left_out: LeftOut,
    /// What can be said about the first candidate.
    pub verdict: Verdict,
    /// Other builds that the candidates are ranked by, beside the recorded one: [`Subject::builds`].
    pub builds: usize,
    /// How few transfers any layout can have; `None` where nothing was sought.
    pub bound: Option<Bound>,
    /// What the best gains where it was not chosen: on each half of the recording the best candidate
    /// is chosen, and counted on the other half.
    pub held_out: Option<Interval>,
    /// Today's layout with every object at each place of a line that its alignment allows, and the
    /// transfers then: what padding in front of it, where it is embedded, would do. Empty for types of
    /// several lines and for what slabs give.
    pub by_phase: Vec<(u32, u64)>,
    /// Members of which no access was recorded because their memory was not.
    pub unrecorded_members: Vec<String>,
}

impl Advice {
    /// The fewest transfers of today's layout and all candidates.
    pub fn fewest_transfers(&self) -> u64 {
        let candidates = self.candidates.iter().chain([&self.current]);
        candidates
            .map(|one| one.tally.transfers())
            .min()
            .unwrap_or(0)
    }

    /// Candidates worth showing, by index: the first `top` (at least one) by transfers, then those
    /// on the front; of equals (in events, bytes and moves) only the first.
    pub fn shown(&self, top: usize) -> Vec<usize> {
        let mut seen = FxHashSet::default();
        let mut shown = Vec::new();
        for (index, one) in self.candidates.iter().enumerate() {
            let (tally, bytes) = (one.tally, one.memory.bytes_per_object);
            let new = seen.insert((tally, bytes, one.layout.size, one.moved));
            if new && (shown.len() < top.max(1) || one.pareto) {
                shown.push(index);
            }
        }
        shown
    }
}

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

/// Of what the best gains, the part that fewer changes may cost.
const NEARLY: f64 = 0.02;

/// Orders candidates: see [`Advice::candidates`].
fn rank(candidates: &mut [Scored], today: &Scored) {
    candidates.sort_by(by_rank);
    let Some(best) = candidates.first().map(Scored::ranked_cost) else {
        return;
    };
    let gain = today.cost.saturating_sub(best) as f64;
    let enough = best + (gain * NEARLY) as u64;
    let near = candidates.partition_point(|one| one.ranked_cost() <= enough);
    candidates[..near].sort_by_key(|one| {
        (
            edit_count(&one.changes),
            one.memory.bytes_per_object,
            one.ranked_cost(),
        )
    });
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

fn cost(scored: &Scored) -> Cost {
    Cost {
        transfers: scored.ranked_cost(),
        bytes: scored.memory.bytes_per_object,
        moved: scored.moved,
    }
}

fn by_rank(a: &Scored, b: &Scored) -> Ordering {
    let key = |scored: &Scored| {
        (
            scored.ranked_cost(),
            scored.cost,
            scored.tally.upgrades,
            scored.memory.bytes_per_object,
            scored.layout.size,
            edit_count(&scored.changes),
            scored.moved,
        )
    };
    key(a).cmp(&key(b))
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

fn verdict(advice: &Advice) -> Verdict {
    let today = &advice.current.tally;
    if advice.current.cost == 0 {
        return Verdict::NoTransfers;
    }
    match advice.candidates.first() {
        Some(best) if best.ranked_cost() < advice.current.cost => {
            let sure = |interval: Option<Interval>| interval.is_some_and(|it| it.is_less());
            match sure(best.interval) && sure(advice.held_out) {
                _ if best.is_unstable(&advice.current) => Verdict::Unstable,
                true => Verdict::Better,
                false => Verdict::Unclear,
            }
        }
        _ => {
            let least = (advice.candidates.iter().enumerate())
                .min_by_key(|(_, one)| (one.tally.false_first_touch, one.tally.transfers()));
            let first_touch = least
                .filter(|(_, one)| one.tally.false_first_touch < today.false_first_touch)
                .map(|(index, _)| index);
            Verdict::NothingBetter { first_touch }
        }
    }
}

fn unrecorded(shape: &Shape, coverage: &Coverage) -> Vec<String> {
    let atoms = shape.atoms.iter().zip(&coverage.recorded);
    atoms
        .filter(|(atom, known)| !**known && atom.size > 0)
        .map(|(atom, _)| atom.name.clone())
        .collect()
}

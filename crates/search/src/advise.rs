//! Tries layouts, ranks them, and says how sure the best is.

use std::cmp::Ordering;

use relayout_contend::Tally;
use relayout_layout::abi::{Arrangement, Layout, Shape};
use rustc_hash::FxHashSet;

use crate::change::{self, Change, Ground, Proposal};
use crate::constraint::{Refusal, refusal};
use crate::coverage::Coverage;
use crate::front::{self, Cost};
use crate::interval::Interval;
use crate::order;
use crate::score::{Memory, PerOperation, Scorer};
use crate::subject::Subject;

/// Stretches that a recording is cut into to see how even a change is over it: at most ...
const STRETCHES_MAX: usize = 64;
/// ... at least ...
const STRETCHES_MIN: usize = 8;
/// ... and no more than leave each this many transfers, as each loses some at its start.
const TRANSFERS_PER_STRETCH: u64 = 16;

/// What to try and how hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Members that have to stay at their offsets.
    pub keep: Vec<String>,
    /// Accesses to replay at most, over all candidates.
    pub budget_accesses: u64,
    /// Candidates of the ranking that get an interval, beside those on the front: those that
    /// [`Advice::shown`] names for this number.
    pub intervals: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep: Vec::new(),
            budget_accesses: 4_000_000_000,
            intervals: 5,
        }
    }
}

/// A layout of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Name to show.
    pub name: String,
    /// The layout, by the atoms of the subject's shape.
    pub arrangement: Arrangement,
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
    /// Change of the transfers from today's layout; not computed for all.
    pub interval: Option<Interval>,
    /// Nothing that was tried or given beats it in transfers, bytes per object and members moved.
    pub pareto: bool,
    /// Brings members together that were never recorded together (given layouts only): what that
    /// costs is not in the tally.
    pub unjudged: bool,
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
    /// The first candidate has fewer transfers, but not evenly: the interval includes none.
    Unclear,
    /// The first candidate has fewer transfers.
    Better,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Today's layout.
    pub current: Scored,
    /// What was tried, fewest transfers first; ties by upgrades, bytes, members moved.
    pub candidates: Vec<Scored>,
    /// The user's layouts, in their order.
    pub given: Vec<Scored>,
    /// What was not tried or is not shown.
    pub left_out: LeftOut,
    /// What can be said about the first candidate.
    pub verdict: Verdict,
    /// Members of which no access was recorded because their memory was not.
    pub unrecorded_members: Vec<String>,
}

impl Advice {
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

/// A layout before it is scored.
struct Draft {
    name: Option<String>,
    proposal: Proposal,
    layout: Layout,
    unjudged: bool,
}

/// Tries layouts of `subject` and scores `given` beside them.
///
/// # Errors
/// If the type must not be changed, or nothing was recorded of it. Given layouts are not scored
/// then either.
pub fn advise(subject: Subject<'_>, given: &[Given], options: &Options) -> Result<Advice, Refusal> {
    if let Some(refused) = refusal(subject.aggregate, subject.shape) {
        return Err(refused);
    }
    if subject
        .instances
        .iter()
        .all(|instance| instance.trace.accesses.is_empty())
    {
        return Err(Refusal::NoEvidence {
            name: subject.shape.name.clone(),
        });
    }
    let current = subject.shape.lay_out(&subject.shape.current());
    let coverage = Coverage::new(&subject, &current);
    let scorer = Scorer::new(subject, current.clone(), &coverage);
    let mut left_out = LeftOut::default();
    let mut drafts = vec![Draft {
        name: None,
        proposal: Proposal {
            arrangement: subject.shape.current(),
            changes: Vec::new(),
        },
        layout: current.clone(),
        unjudged: false,
    }];
    drafts.extend(
        given
            .iter()
            .map(|one| given_draft(subject, &scorer, &coverage, &current, one)),
    );
    let mut scored = score_all(&scorer, drafts, u64::MAX);
    let drafts = tried(
        subject,
        &scorer,
        &coverage,
        &current,
        options,
        &mut left_out,
    );
    let count = drafts.len();
    let candidates = score_all(&scorer, drafts, options.budget_accesses);
    left_out.budget = count - candidates.len();
    let given = scored.split_off(1);
    let current = scored.swap_remove(0);
    let mut advice = Advice {
        current,
        candidates,
        given,
        left_out,
        verdict: Verdict::NoTransfers,
        unrecorded_members: unrecorded(subject.shape, &coverage),
    };
    finish(&mut advice, &scorer, options);
    Ok(advice)
}

fn given_draft(
    subject: Subject<'_>,
    scorer: &Scorer<'_>,
    coverage: &Coverage,
    current: &Layout,
    given: &Given,
) -> Draft {
    let layout = subject.shape.lay_out(&given.arrangement);
    let phases = scorer.phases(&layout);
    let unjudged = !coverage.judges(current, &layout, &phases, subject.line_bytes);
    let changes = changes_to(subject.shape, &given.arrangement);
    let proposal = Proposal {
        arrangement: given.arrangement.clone(),
        changes,
    };
    Draft {
        name: Some(given.name.clone()),
        proposal,
        layout,
        unjudged,
    }
}

/// The changes that lead from today's layout to `to`.
fn changes_to(shape: &Shape, to: &Arrangement) -> Vec<Change> {
    let mut changes: Vec<Change> = order::moved(&shape.current().order, &to.order)
        .into_iter()
        .map(|atom| {
            let place = to
                .order
                .iter()
                .position(|other| *other == atom)
                .unwrap_or(0);
            Change::Move {
                atom,
                after: place.checked_sub(1).map(|before| to.order[before]),
            }
        })
        .collect();
    for (atom, &align) in to.align.iter().enumerate() {
        if align > shape.atoms[atom].align {
            changes.push(Change::AlignMember { atom, to: align });
        }
    }
    if to.type_align > 1 {
        changes.push(Change::AlignType { to: to.type_align });
    }
    changes
}

/// Every proposal that is allowed, can be judged, and is not another one again; those that move
/// or align what is accessed come first, so that a budget is spent on them.
fn tried(
    subject: Subject<'_>,
    scorer: &Scorer<'_>,
    coverage: &Coverage,
    current: &Layout,
    options: &Options,
    left_out: &mut LeftOut,
) -> Vec<Draft> {
    let ground = Ground {
        shape: subject.shape,
        line: u64::from(subject.line_bytes),
    };
    let stays = |name: &String| options.keep.contains(name);
    let kept: Vec<usize> = (subject.shape.atoms.iter().enumerate())
        .filter(|(_, atom)| atom.names.iter().any(stays))
        .map(|(index, _)| index)
        .collect();
    let mut seen: FxHashSet<Arrangement> = FxHashSet::default();
    let mut drafts = Vec::new();
    for proposal in change::propose(&ground) {
        let layout = subject.shape.lay_out(&proposal.arrangement);
        if layout == *current || !seen.insert(proposal.arrangement.clone()) {
            continue;
        }
        let same = |atom: &usize| layout.places[*atom].offset == current.places[*atom].offset;
        if !kept.iter().all(same) {
            left_out.kept += 1;
        } else if !coverage.judges(
            current,
            &layout,
            &scorer.phases(&layout),
            subject.line_bytes,
        ) {
            left_out.unrecorded += 1;
        } else {
            drafts.push(Draft {
                name: None,
                proposal,
                layout,
                unjudged: false,
            });
        }
    }
    let hot = |change: &Change| match *change {
        Change::Move { atom, .. } | Change::AlignMember { atom, .. } => coverage.accessed[atom],
        Change::AlignType { .. } => true,
    };
    drafts.sort_by_key(|draft| !draft.proposal.changes.iter().any(hot));
    drafts
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
    let moves = draft.proposal.changes.iter();
    Scored {
        name: draft.name,
        moved: moves
            .filter(|change| matches!(change, Change::Move { .. }))
            .count(),
        arrangement: draft.proposal.arrangement,
        changes: draft.proposal.changes,
        tally: tallies.iter().copied().sum(),
        per_operation: scorer.per_operation(tallies),
        memory: scorer.memory(&draft.layout),
        phase: scorer.phase(&draft.layout),
        layout: draft.layout,
        interval: None,
        pareto: false,
        unjudged: draft.unjudged,
    }
}

/// Ranks, marks the front, adds intervals, and draws the conclusion.
fn finish(advice: &mut Advice, scorer: &Scorer<'_>, options: &Options) {
    advice.candidates.sort_by(by_rank);
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
    add_intervals(advice, scorer, options.intervals);
    advice.verdict = verdict(advice);
}

fn cost(scored: &Scored) -> Cost {
    Cost {
        transfers: scored.tally.transfers(),
        bytes: scored.memory.bytes_per_object,
        moved: scored.moved,
    }
}

fn by_rank(a: &Scored, b: &Scored) -> Ordering {
    let key = |scored: &Scored| {
        (
            scored.tally.transfers(),
            scored.tally.upgrades,
            scored.memory.bytes_per_object,
            scored.layout.size,
            scored.changes.len(),
            scored.moved,
        )
    };
    key(a).cmp(&key(b))
}

fn add_intervals(advice: &mut Advice, scorer: &Scorer<'_>, first: usize) {
    let shown: FxHashSet<usize> = advice.shown(first).into_iter().collect();
    let candidates = advice.candidates.iter_mut().enumerate();
    let mut wanted: Vec<&mut Scored> = candidates
        .filter(|(index, _)| shown.contains(index))
        .map(|(_, candidate)| candidate)
        .collect();
    wanted.extend(advice.given.iter_mut());
    let mut layouts = vec![&advice.current.layout];
    let copies: Vec<Layout> = wanted.iter().map(|scored| scored.layout.clone()).collect();
    layouts.extend(&copies);
    let today = advice.current.tally.transfers();
    let count = usize::try_from(today / TRANSFERS_PER_STRETCH).unwrap_or(STRETCHES_MAX);
    let stretches = scorer.by_stretch(&layouts, count.clamp(STRETCHES_MIN, STRETCHES_MAX));
    if let Some((before, after)) = stretches.split_first() {
        for (scored, after) in wanted.into_iter().zip(after) {
            let spread = Interval::of(before, after);
            scored.interval = spread.map(|it| it.around(today, scored.tally.transfers()));
        }
    }
}

fn verdict(advice: &Advice) -> Verdict {
    let today = &advice.current.tally;
    if today.transfers() == 0 {
        return Verdict::NoTransfers;
    }
    match advice.candidates.first() {
        Some(best) if best.tally.transfers() < today.transfers() => {
            match best.interval.is_some_and(|interval| interval.is_less()) {
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

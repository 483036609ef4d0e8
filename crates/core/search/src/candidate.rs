//! Layouts to score: candidates of every kind of change, within the rules and what the recording
//! can judge.

use relayout_layout::abi::{AtomArrangement, PaddingMember, StructLayout};
use rustc_hash::FxHashSet;

use crate::advice::{SkippedCandidates, UserLayout};
use crate::array_uses;
use crate::change::small_edits::{EstimatedLayout, SmallEditSearch, undo_changes};
use crate::change::{
    self, LayoutChange, LayoutProposal, StartingShape, exchange_lines, two_moves, wrapped_fields,
};
use crate::coverage::AtomCoverage;
use crate::draft_estimates::DraftEstimates;
use crate::heap;
use crate::line_groups::LineGroups;
use crate::options::Options;
use crate::order_rules::OrderRules;
use crate::pareto_front::{self, LayoutCost};
use crate::rewrite::{RewriteModel, TransferBound};
use crate::rust_fields::RustFieldRules;
use crate::score::LayoutScorer;
use crate::source_blocks::SourceBlocks;
use crate::subject::AdviceSubject;

/// Rows of effort for each layout of one change that is laid out and replayed.
const ROWS_PER_SINGLE_CHANGE: u64 = 160_000;
/// Atoms of all layouts of one change that are laid out and replayed, at most.
const ATOMS_OF_SINGLE_CHANGES_MAX: usize = 800_000;
/// Members up to which all move in small edits.
const ALL_ATOMS_MAX: usize = 80;
/// Rewrites whose changes are taken back one by one.
const REWRITES_UNDONE: usize = 3;

/// A laid-out candidate, before it is scored.
pub(crate) struct LayoutCandidate {
    pub name: Option<String>,
    pub proposal: LayoutProposal,
    pub layout: StructLayout,
    pub unjudged: bool,
}

/// Rules that candidates have to obey.
pub(crate) struct CandidateRules<'a> {
    pub subject: AdviceSubject<'a>,
    pub scorer: &'a LayoutScorer<'a>,
    pub coverage: &'a AtomCoverage,
    pub current: &'a StructLayout,
    /// Members that belong together by the source.
    pub blocks: SourceBlocks,
    /// Atoms that stay at their offsets.
    pub kept: Vec<usize>,
    /// Groups that no member enters or leaves.
    pub groups: LineGroups,
    order_rules: &'a OrderRules,
    /// Rules of a Rust struct; `None` for other languages.
    rust_fields: Option<RustFieldRules>,
}

/// Answer to whether a layout may be a candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CandidateAdmission {
    Yes,
    /// The layout moves a member that has to stay.
    Kept,
    /// The layout moves a member into a cache line group or out of one.
    Grouped,
    /// The layout breaks a rule that other code makes about the order.
    OrderRule,
    /// The layout brings members together whose accesses were not all recorded.
    Unrecorded,
}

impl<'a> CandidateRules<'a> {
    /// Rules with the pinned members and the order rules of `options`.
    pub fn new(
        subject: AdviceSubject<'a>,
        scorer: &'a LayoutScorer<'a>,
        coverage: &'a AtomCoverage,
        current: &'a StructLayout,
        options: &'a Options,
    ) -> Self {
        let atoms = subject.shape.atoms.iter().enumerate();
        let kept = atoms
            .filter(|(_, atom)| options.keep.iter().any(|name| atom.is_called(name)))
            .map(|(index, _)| index)
            .collect();
        Self {
            subject,
            scorer,
            coverage,
            current,
            blocks: SourceBlocks::new(subject.aggregate, subject.shape),
            kept,
            groups: LineGroups::from_shape(subject.shape),
            order_rules: &options.order_rules,
            rust_fields: options.rust_fields,
        }
    }

    /// Returns a proposal as the language can express it; `None` if it cannot.
    fn express(&self, proposal: LayoutProposal) -> Option<LayoutProposal> {
        match self.rust_fields {
            Some(rules) => rules.express(self.subject.shape, proposal),
            None => Some(proposal),
        }
    }

    /// Returns the atoms that move in small edits: all, or in a struct of very many members those
    /// that are on a line with accessed ones.
    fn atoms_of_hot_lines(&self, line: u64) -> Vec<usize> {
        let atoms = &self.subject.shape.atoms;
        let moves = |atom: &usize| atoms[*atom].size > 0 && !atoms[*atom].flexible;
        let movable = (0..atoms.len()).filter(moves);
        if atoms.len() <= ALL_ATOMS_MAX {
            return movable.collect();
        }
        let first_line = |atom: usize| self.current.places[atom].offset / line.max(1);
        let hot_lines: FxHashSet<u64> = (0..atoms.len())
            .filter(|atom| self.coverage.accessed[*atom])
            .map(first_line)
            .collect();
        movable
            .filter(|atom| hot_lines.contains(&first_line(*atom)))
            .collect()
    }

    fn admit(&self, order: &[usize], layout: &StructLayout) -> CandidateAdmission {
        if !self.groups.are_kept(order) {
            return CandidateAdmission::Grouped;
        }
        let same = |atom: &usize| layout.places[*atom].offset == self.current.places[*atom].offset;
        if !self.kept.iter().all(same) {
            return CandidateAdmission::Kept;
        }
        if { self.order_rules.broken_by(order, layout, self.current) }.is_some() {
            return CandidateAdmission::OrderRule;
        }
        match self.is_judged(layout) {
            true => CandidateAdmission::Yes,
            false => CandidateAdmission::Unrecorded,
        }
    }

    fn is_judged(&self, layout: &StructLayout) -> bool {
        let line_bytes = self.subject.line_bytes;
        let phases = || self.scorer.phase_changes(layout);
        self.coverage
            .can_judge(self.current, layout, phases, line_bytes)
    }

    /// Returns the number of consecutive atoms at the start that stay.
    fn kept_at_start(&self) -> usize {
        (0..).take_while(|atom| self.kept.contains(atom)).count()
    }

    /// Lays out a layout of the user's.
    pub fn user_candidate(&self, user_layout: &UserLayout) -> LayoutCandidate {
        let (shape, order) = (self.subject.shape, &user_layout.order);
        let mut changes = LayoutChange::leading_to(shape, &order.arrangement);
        changes.extend(order.pads.iter().map(|pad| LayoutChange::Pad {
            before: order.arrangement.order.get(pad.position).copied(),
            bytes: pad.size,
        }));
        let given = LayoutProposal {
            arrangement: order.arrangement.clone(),
            pads: order.pads.clone(),
            changes,
        };
        // New fields are laid out as given: they make another struct.
        let proposal = self.express(given.clone()).unwrap_or(given);
        let layout = shape.lay_out_padded(&proposal.arrangement, &proposal.pads);
        LayoutCandidate {
            name: Some(user_layout.name.clone()),
            unjudged: !self.is_judged(&layout),
            proposal,
            layout,
        }
    }

    /// Returns today's layout as a candidate.
    pub fn current_candidate(&self) -> LayoutCandidate {
        LayoutCandidate {
            name: None,
            proposal: LayoutProposal {
                arrangement: self.subject.shape.current_arrangement(),
                pads: Vec::new(),
                changes: Vec::new(),
            },
            layout: self.current.clone(),
            unjudged: false,
        }
    }
}

/// Collected candidates, each layout once.
pub(crate) struct CandidatePool<'r, 'a> {
    rules: &'r CandidateRules<'a>,
    seen: FxHashSet<(AtomArrangement, Vec<PaddingMember>)>,
    pub candidates: Vec<LayoutCandidate>,
    pub left_out: SkippedCandidates,
    pub bound: TransferBound,
}

impl<'r, 'a> CandidatePool<'r, 'a> {
    /// Collects candidates of all kinds of change.
    pub fn new(rules: &'r CandidateRules<'a>, model: &RewriteModel<'_>, options: &Options) -> Self {
        let subject = rules.subject;
        let kept_first = rules.kept_at_start();
        let plan = model.plan_rewrites(rules.coverage, kept_first, options.effort_rows / 2);
        let mut drafts = Self {
            rules,
            seen: FxHashSet::default(),
            candidates: Vec::new(),
            left_out: SkippedCandidates::default(),
            bound: plan.bound,
        };
        let arrays = array_uses::used_arrays(&subject, rules.current);
        let ground = StartingShape {
            arrays: &arrays,
            has_runs: rules.scorer.has_runs(),
            shape: subject.shape,
            line: u64::from(subject.line_bytes),
            allocated: { subject.instances.iter() }
                .any(|instance| heap::needs_other_call(&instance.home, subject.line_bytes.into())),
            paired: options.pair_coefficient > 0.0,
        };
        let mut estimates = DraftEstimates::new(rules, model, options.effort_rows / 2);
        drafts.add_single_changes(&ground, &mut estimates, options.effort_rows);
        drafts.add_wrapped_fields(&mut estimates);
        let reaches_bound = drafts.reaches_bound(&mut estimates);
        let singles = drafts.estimated_candidates(&mut estimates);
        if options.pair_coefficient > 0.0 {
            let exchanges = exchange_lines::propose(&ground, &rules.coverage.accessed);
            exchanges
                .into_iter()
                .for_each(|proposal| drafts.add(proposal));
        }
        // A rewrite passes over the marks of groups. What it does between two of them is left.
        let confined = |mut arrangement: AtomArrangement| {
            if !rules.groups.is_empty() {
                arrangement.order = rules.groups.confine(&arrangement.order);
            }
            arrangement
        };
        let legal = |arrangement: AtomArrangement| AtomArrangement {
            order: { rules.order_rules }.legalized(&arrangement.order, subject.shape),
            ..arrangement
        };
        let arrangements = plan.arrangements.into_iter();
        let rewrites: Vec<AtomArrangement> = arrangements.map(confined).map(legal).collect();
        for arrangement in &rewrites {
            drafts.add_arrangement(arrangement.clone());
        }
        drafts.undo_rewrites(&rewrites, &mut estimates);
        if !reaches_bound {
            drafts.add_small_edits(&ground, singles, &mut estimates);
            drafts.add_two_moves(model, options);
        }
        drafts.sort(&mut estimates);
        drafts
    }

    /// Adds all layouts of one change; of very many, those with the best estimates.
    fn add_single_changes(
        &mut self,
        ground: &StartingShape<'_>,
        estimates: &mut DraftEstimates<'_>,
        effort_rows: u64,
    ) {
        let mut costs: Vec<Option<LayoutCost>> = Vec::new();
        let (mut kept, mut grouped) = (0, 0);
        let groups = &self.rules.groups;
        change::visit_proposals(ground, &mut |proposal| {
            let is_grouped = !groups.are_kept(&proposal.arrangement.order);
            let estimate = match is_grouped {
                true => None,
                false => estimates.estimate_proposal(&proposal),
            };
            // Estimates are by whole members.
            let estimate = estimate.map(|estimate| match proposal.is_of_elements() {
                true => estimate.as_best(),
                false => estimate,
            });
            grouped += usize::from(is_grouped);
            kept += usize::from(estimate.is_none() && !is_grouped);
            costs.push(estimate.map(|estimate| LayoutCost {
                transfers: estimate.transfers,
                bytes: estimate.size,
                moved: proposal.moved(),
            }));
        });
        self.left_out.kept += kept;
        self.left_out.grouped += grouped;
        let is_selected = select_promising(&costs, self.single_changes_max(effort_rows));
        let selected = is_selected
            .iter()
            .filter(|is_selected| **is_selected)
            .count();
        self.left_out.budget += costs.len() - kept - grouped - selected;
        let mut is_selected = is_selected.into_iter();
        change::visit_proposals(ground, &mut |proposal| {
            if is_selected.next().unwrap_or(false) {
                self.add(proposal);
            }
        });
    }

    /// Returns the number of layouts of one change that are laid out and replayed at most.
    fn single_changes_max(&self, effort_rows: u64) -> usize {
        let atoms = self.rules.subject.shape.atoms.len().max(1);
        let by_effort = usize::try_from(effort_rows / ROWS_PER_SINGLE_CHANGE);
        { by_effort.unwrap_or(usize::MAX) }.min(ATOMS_OF_SINGLE_CHANGES_MAX / atoms)
    }

    /// Adds layouts in which some accessed fields of a Rust struct are wrapped.
    fn add_wrapped_fields(&mut self, estimates: &mut DraftEstimates<'_>) {
        let rules = self.rules;
        let Some(rust_fields) = rules.rust_fields else {
            return;
        };
        let atoms = &rules.subject.shape.atoms;
        let is_wrappable = |atom: &usize| {
            let has_bytes = atoms[*atom].size > 0 && !atoms[*atom].flexible;
            has_bytes && rules.coverage.accessed[*atom]
        };
        let fields: Vec<usize> = (0..atoms.len()).filter(is_wrappable).collect();
        let bytes = rust_fields.wrapper_bytes;
        let proposals = wrapped_fields::propose(rules.subject.shape, &fields, bytes, |proposal| {
            let expressed = rules.express(proposal)?;
            let estimate = estimates.estimate_proposal(&expressed)?;
            Some((estimate.transfers, estimate.size))
        });
        proposals
            .into_iter()
            .for_each(|proposal| self.add(proposal));
    }

    fn add_arrangement(&mut self, arrangement: AtomArrangement) {
        let changes = LayoutChange::leading_to(self.rules.subject.shape, &arrangement);
        self.add(LayoutProposal {
            changes,
            arrangement,
            pads: Vec::new(),
        });
    }

    /// Adds the smaller edits on the way from the best rewrites back to today's layout.
    fn undo_rewrites(&mut self, rewrites: &[AtomArrangement], estimates: &mut DraftEstimates<'_>) {
        let shape = self.rules.subject.shape;
        let mut best: Vec<(u64, u64, &AtomArrangement)> = { rewrites.iter() }
            .filter_map(|rewrite| {
                let estimate = estimates.estimate_allowed(rewrite)?;
                Some((estimate.transfers, estimate.size, rewrite))
            })
            .collect();
        best.sort_by_key(|(transfers, size, _)| (*transfers, *size));
        for (_, _, rewrite) in best.into_iter().take(REWRITES_UNDONE) {
            let smaller = undo_changes(shape, rewrite, |arrangement| {
                let estimate = estimates.estimate(arrangement);
                (estimate.size, estimate.transfers)
            });
            for arrangement in smaller {
                self.add_arrangement(arrangement);
            }
        }
    }

    fn add_small_edits(
        &mut self,
        ground: &StartingShape<'_>,
        singles: Vec<EstimatedLayout>,
        estimates: &mut DraftEstimates<'_>,
    ) {
        let rules = self.rules;
        let movable = rules.atoms_of_hot_lines(ground.line);
        let search = SmallEditSearch {
            shape: rules.subject.shape,
            current: rules.current,
            line: ground.line,
            movable: &movable,
            stays: &rules.kept,
            blocks: &rules.blocks,
            phases: &|extent| rules.scorer.phases_of(extent),
            allowed: &|order, layout| rules.admit(order, layout) == CandidateAdmission::Yes,
        };
        let proposals = search.extend_singles(singles, &mut estimates.estimator);
        proposals
            .into_iter()
            .for_each(|proposal| self.add(proposal));
    }

    fn estimated_candidates(&self, estimates: &mut DraftEstimates<'_>) -> Vec<EstimatedLayout> {
        let drafts = self.candidates.iter();
        drafts
            .filter(|draft| draft.proposal.pads.is_empty() && !draft.proposal.is_of_elements())
            .map(|draft| {
                let estimate = estimates.estimate_layout(&draft.layout);
                EstimatedLayout {
                    arrangement: draft.proposal.arrangement.clone(),
                    transfers: estimate.transfers,
                    size: estimate.size,
                }
            })
            .collect()
    }

    /// Returns true if a single change reaches the lower bound of all layouts and makes the type no
    /// larger: more changes cannot have fewer transfers.
    fn reaches_bound(&self, estimates: &mut DraftEstimates<'_>) -> bool {
        let is_exact = estimates.estimator.is_exact();
        let mut drafts = self.candidates.iter();
        is_exact
            && drafts.any(|draft| {
                draft.proposal.changes.len() == 1
                    && !draft.proposal.is_of_elements()
                    && draft.layout.size <= self.rules.current.size
                    && estimates.estimate_layout(&draft.layout).transfers <= self.bound.transfers
            })
    }

    /// Sorts the candidates: first those on the estimated Pareto front, then by estimated
    /// transfers. So a budget of replays is spent on the most promising.
    fn sort(&mut self, estimates: &mut DraftEstimates<'_>) {
        let mut cost = |draft: &LayoutCandidate| {
            let estimate = match draft.proposal.is_of_elements() {
                true => estimates.estimate_layout(&draft.layout).as_best(),
                false => estimates.estimate_layout(&draft.layout),
            };
            LayoutCost {
                transfers: estimate.transfers,
                bytes: estimate.size,
                moved: draft.proposal.moved(),
            }
        };
        let costs: Vec<LayoutCost> = self.candidates.iter().map(&mut cost).collect();
        let front = pareto_front::mark_unbeaten(&costs, &[]);
        let keys = { costs.iter().zip(front) }
            .map(|(cost, front)| (!front, cost.transfers, cost.bytes, cost.moved));
        let mut keyed: Vec<_> = keys.zip(self.candidates.drain(..)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        self.candidates = keyed.into_iter().map(|(_, draft)| draft).collect();
    }

    fn add(&mut self, proposal: LayoutProposal) {
        let Some(proposal) = self.rules.express(proposal) else {
            return;
        };
        let shape = self.rules.subject.shape;
        let layout = shape.lay_out_padded(&proposal.arrangement, &proposal.pads);
        let key = (proposal.arrangement.clone(), proposal.pads.clone());
        if layout == *self.rules.current || !self.seen.insert(key) {
            return;
        }
        match self.rules.admit(&proposal.arrangement.order, &layout) {
            CandidateAdmission::Grouped => self.left_out.grouped += 1,
            CandidateAdmission::Kept => self.left_out.kept += 1,
            CandidateAdmission::OrderRule => self.left_out.order_rules += 1,
            CandidateAdmission::Unrecorded => self.left_out.unrecorded += 1,
            CandidateAdmission::Yes => self.candidates.push(LayoutCandidate {
                name: None,
                proposal,
                layout,
                unjudged: false,
            }),
        }
    }

    fn add_two_moves(&mut self, model: &RewriteModel<'_>, options: &Options) {
        let rules = self.rules;
        let mut estimator = model.estimator(options.effort_rows / 2);
        let search = two_moves::TwoMoveSearch {
            shape: rules.subject.shape,
            current: rules.current,
            hot: &rules.coverage.accessed,
            stays: &rules.kept,
            phases: &|extent| rules.scorer.phases_of(extent),
            allowed: &|order, layout| rules.admit(order, layout) == CandidateAdmission::Yes,
            layouts_max: options.two_moves_max,
        };
        let tried = search.try_pairs(&mut estimator);
        self.left_out.two_moves = tried.left_out;
        tried
            .proposals
            .into_iter()
            .for_each(|proposal| self.add(proposal));
    }
}

/// Selects at most `count_max` of the estimated layouts: first those that no other beats in
/// estimated transfers, size and members moved, then those with the fewest transfers.
fn select_promising(costs: &[Option<LayoutCost>], count_max: usize) -> Vec<bool> {
    let estimated: Vec<(usize, LayoutCost)> = { costs.iter().enumerate() }
        .filter_map(|(index, cost)| Some((index, (*cost)?)))
        .collect();
    let only_costs: Vec<LayoutCost> = estimated.iter().map(|(_, cost)| *cost).collect();
    let front = pareto_front::mark_unbeaten(&only_costs, &[]);
    let mut keyed: Vec<_> = { estimated.iter().zip(front) }
        .map(|((index, cost), front)| (!front, cost.transfers, cost.bytes, cost.moved, *index))
        .collect();
    keyed.sort_unstable();
    let mut is_selected = vec![false; costs.len()];
    for (.., index) in keyed.into_iter().take(count_max) {
        is_selected[index] = true;
    }
    is_selected
}

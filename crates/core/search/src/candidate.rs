//! Layouts to score: candidates of every kind of change, within the rules and what the recording
//! can judge.

use relayout_layout::abi::{AtomArrangement, PaddingMember, StructLayout};
use rustc_hash::FxHashSet;

use crate::advice::{SkippedCandidates, UserLayout};
use crate::change::{self, LayoutChange, LayoutProposal, StartingShape, exchange_lines, two_moves};
use crate::coverage::AtomCoverage;
use crate::heap;
use crate::line_groups::LineGroups;
use crate::options::Options;
use crate::order_rules::OrderRules;
use crate::pareto_front::{self, LayoutCost};
use crate::rewrite::{RewriteModel, TransferBound};
use crate::score::LayoutScorer;
use crate::subject::AdviceSubject;

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
    /// Atoms that stay at their offsets.
    kept: Vec<usize>,
    /// Groups that no member enters or leaves.
    groups: LineGroups,
    order_rules: &'a OrderRules,
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
            kept,
            groups: LineGroups::from_shape(subject.shape),
            order_rules: &options.order_rules,
        }
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
        let layout = shape.lay_out_padded(&order.arrangement, &order.pads);
        let mut changes = LayoutChange::leading_to(shape, &order.arrangement);
        changes.extend(order.pads.iter().map(|pad| LayoutChange::Pad {
            before: order.arrangement.order.get(pad.position).copied(),
            bytes: pad.size,
        }));
        LayoutCandidate {
            name: Some(user_layout.name.clone()),
            unjudged: !self.is_judged(&layout),
            proposal: LayoutProposal {
                arrangement: order.arrangement.clone(),
                pads: order.pads.clone(),
                changes,
            },
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
        let ground = StartingShape {
            shape: subject.shape,
            line: u64::from(subject.line_bytes),
            allocated: { subject.instances.iter() }
                .any(|instance| heap::needs_other_call(&instance.home, subject.line_bytes.into())),
            paired: options.pair_coefficient > 0.0,
        };
        // A rewrite passes over the marks of groups. What it does between two of them is left.
        let confined = |mut arrangement: AtomArrangement| {
            if !rules.groups.is_empty() {
                arrangement.order = rules.groups.confine(&arrangement.order);
            }
            arrangement
        };
        let rewrites = plan
            .arrangements
            .into_iter()
            .map(confined)
            .map(|arrangement| {
                let order = { rules.order_rules }.legalized(&arrangement.order, subject.shape);
                let arrangement = AtomArrangement {
                    order,
                    ..arrangement
                };
                LayoutProposal {
                    changes: LayoutChange::leading_to(subject.shape, &arrangement),
                    arrangement,
                    pads: Vec::new(),
                }
            });
        let exchanges = match options.pair_coefficient > 0.0 {
            true => exchange_lines::propose(&ground, &rules.coverage.accessed),
            false => Vec::new(),
        };
        let simple = change::propose_all(&ground).into_iter().chain(exchanges);
        simple
            .chain(rewrites)
            .for_each(|proposal| drafts.add(proposal));
        drafts.add_two_moves(model, options);
        drafts.sort(model, options);
        drafts
    }

    /// Sorts the candidates: first those on the estimated Pareto front, then by estimated
    /// transfers. So a budget of replays is spent on the most promising.
    fn sort(&mut self, model: &RewriteModel<'_>, options: &Options) {
        let scorer = self.rules.scorer;
        let mut estimator = model.estimator(options.effort_rows / 4);
        let costs: Vec<LayoutCost> = (self.candidates.iter())
            .map(|draft| LayoutCost {
                transfers: estimator
                    .transfers(&offsets(&draft.layout), scorer.phase(&draft.layout)),
                bytes: draft.layout.size,
                moved: draft.proposal.moved(),
            })
            .collect();
        let front = pareto_front::mark_unbeaten(&costs, &[]);
        let keys = { costs.iter().zip(front) }
            .map(|(cost, front)| (!front, cost.transfers, cost.bytes, cost.moved));
        let mut keyed: Vec<_> = keys.zip(self.candidates.drain(..)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        self.candidates = keyed.into_iter().map(|(_, draft)| draft).collect();
    }

    fn add(&mut self, proposal: LayoutProposal) {
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
        let reached = |draft: &LayoutCandidate| {
            let simple =
                draft.proposal.changes.len() == 1 && draft.layout.size <= rules.current.size;
            let phase = rules.scorer.phase(&draft.layout);
            simple && estimator.transfers(&offsets(&draft.layout), phase) <= self.bound.transfers
        };
        if self.candidates.iter().any(reached) {
            return;
        }
        let search = two_moves::TwoMoveSearch {
            shape: rules.subject.shape,
            current: rules.current,
            hot: &rules.coverage.accessed,
            stays: &rules.kept,
            phase: &|size, align| rules.scorer.phase_of(size, align),
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

/// Returns the offsets of all atoms.
fn offsets(layout: &StructLayout) -> Vec<u64> {
    layout.places.iter().map(|place| place.offset).collect()
}

//! Which layouts are scored: every kind of change, within what is allowed and can be judged.

use relayout_layout::abi::{Arrangement, Layout};
use rustc_hash::FxHashSet;

use crate::advise::{Given, LeftOut, Options};
use crate::change::{self, Change, Ground, Proposal, exchange_lines, two_moves};
use crate::coverage::Coverage;
use crate::front::{self, Cost};
use crate::rewrite::{Bound, Model};
use crate::score::Scorer;
use crate::subject::Subject;

/// A layout before it is scored.
pub(crate) struct Draft {
    pub name: Option<String>,
    pub proposal: Proposal,
    pub layout: Layout,
    pub unjudged: bool,
}

/// What candidates have to obey.
pub(crate) struct Rules<'a> {
    pub subject: Subject<'a>,
    pub scorer: &'a Scorer<'a>,
    pub coverage: &'a Coverage,
    pub current: &'a Layout,
    /// Atoms that stay at their offsets.
    kept: Vec<usize>,
}

/// Whether a layout may be a candidate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Yes,
    /// It moves a member that has to stay.
    Kept,
    /// It brings members together whose accesses were not all recorded.
    Unrecorded,
}

impl<'a> Rules<'a> {
    /// The members called `keep` stay.
    pub fn new(
        subject: Subject<'a>,
        scorer: &'a Scorer<'a>,
        coverage: &'a Coverage,
        current: &'a Layout,
        keep: &[String],
    ) -> Self {
        let atoms = subject.shape.atoms.iter().enumerate();
        let stays = |names: &[String]| names.iter().any(|name| keep.contains(name));
        let kept = atoms
            .filter(|(_, atom)| stays(&atom.names))
            .map(|(index, _)| index)
            .collect();
        Self {
            subject,
            scorer,
            coverage,
            current,
            kept,
        }
    }

    fn judge(&self, layout: &Layout) -> Allowed {
        let same = |atom: &usize| layout.places[*atom].offset == self.current.places[*atom].offset;
        if !self.kept.iter().all(same) {
            return Allowed::Kept;
        }
        match self.is_judged(layout) {
            true => Allowed::Yes,
            false => Allowed::Unrecorded,
        }
    }

    fn is_judged(&self, layout: &Layout) -> bool {
        let line_bytes = self.subject.line_bytes;
        let phases = || self.scorer.phases(layout);
        self.coverage
            .judges(self.current, layout, phases, line_bytes)
    }

    /// Atoms at the start that stay, one after the other.
    fn kept_first(&self) -> usize {
        (0..).take_while(|atom| self.kept.contains(atom)).count()
    }

    /// A layout of the user's.
    pub fn given(&self, given: &Given) -> Draft {
        let (shape, order) = (self.subject.shape, &given.order);
        let layout = shape.lay_out_padded(&order.arrangement, &order.pads);
        let mut changes = Change::all(shape, &order.arrangement);
        changes.extend(order.pads.iter().map(|pad| Change::Pad {
            before: order.arrangement.order.get(pad.at).copied(),
            bytes: pad.bytes,
        }));
        Draft {
            name: Some(given.name.clone()),
            unjudged: !self.is_judged(&layout),
            proposal: Proposal {
                arrangement: order.arrangement.clone(),
                changes,
            },
            layout,
        }
    }

    /// Today's layout.
    pub fn today(&self) -> Draft {
        Draft {
            name: None,
            proposal: Proposal {
                arrangement: self.subject.shape.current(),
                changes: Vec::new(),
            },
            layout: self.current.clone(),
            unjudged: false,
        }
    }
}

/// Candidates, each layout once.
pub(crate) struct Drafts<'r, 'a> {
    rules: &'r Rules<'a>,
    seen: FxHashSet<Arrangement>,
    pub list: Vec<Draft>,
    pub left_out: LeftOut,
    pub bound: Bound,
}

impl<'r, 'a> Drafts<'r, 'a> {
    /// All kinds of change.
    pub fn new(rules: &'r Rules<'a>, model: &Model<'_>, options: &Options) -> Self {
        let subject = rules.subject;
        let kept_first = rules.kept_first();
        let plan = model.plan(rules.coverage, kept_first, options.effort_rows / 2);
        let mut drafts = Self {
            rules,
            seen: FxHashSet::default(),
            list: Vec::new(),
            left_out: LeftOut::default(),
            bound: plan.bound,
        };
        let ground = Ground {
            shape: subject.shape,
            line: u64::from(subject.line_bytes),
        };
        let rewrites = plan.arrangements.into_iter().map(|arrangement| Proposal {
            changes: Change::all(subject.shape, &arrangement),
            arrangement,
        });
        let exchanges = match options.pair_coefficient > 0.0 {
            true => exchange_lines::propose(&ground, &rules.coverage.accessed),
            false => Vec::new(),
        };
        let simple = change::propose(&ground).into_iter().chain(exchanges);
        simple.chain(rewrites).for_each(|one| drafts.add(one));
        drafts.add_two_moves(model, options);
        drafts.sort(model, options);
        drafts
    }

    /// Brings what nothing else seems to beat to the front, then what seems to have few transfers, so that
    /// a budget of replays is spent on those.
    fn sort(&mut self, model: &Model<'_>, options: &Options) {
        let scorer = self.rules.scorer;
        let mut estimator = model.estimator(options.effort_rows / 4);
        let costs: Vec<Cost> = (self.list.iter())
            .map(|draft| Cost {
                transfers: estimator
                    .transfers(&offsets(&draft.layout), scorer.phase(&draft.layout)),
                bytes: draft.layout.size,
                moved: draft.proposal.moved(),
            })
            .collect();
        let front = front::front(&costs, &[]);
        let keys = { costs.iter().zip(front) }
            .map(|(cost, front)| (!front, cost.transfers, cost.bytes, cost.moved));
        let mut keyed: Vec<_> = keys.zip(self.list.drain(..)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        self.list = keyed.into_iter().map(|(_, draft)| draft).collect();
    }

    fn add(&mut self, proposal: Proposal) {
        let layout = self.rules.subject.shape.lay_out(&proposal.arrangement);
        if layout == *self.rules.current || !self.seen.insert(proposal.arrangement.clone()) {
            return;
        }
        match self.rules.judge(&layout) {
            Allowed::Kept => self.left_out.kept += 1,
            Allowed::Unrecorded => self.left_out.unrecorded += 1,
            Allowed::Yes => self.list.push(Draft {
                name: None,
                proposal,
                layout,
                unjudged: false,
            }),
        }
    }

    fn add_two_moves(&mut self, model: &Model<'_>, options: &Options) {
        let rules = self.rules;
        let mut estimator = model.estimator(options.effort_rows / 2);
        let reached = |draft: &Draft| {
            let simple =
                draft.proposal.changes.len() == 1 && draft.layout.size <= rules.current.size;
            let phase = rules.scorer.phase(&draft.layout);
            simple && estimator.transfers(&offsets(&draft.layout), phase) <= self.bound.transfers
        };
        if self.list.iter().any(reached) {
            return;
        }
        let search = two_moves::Search {
            shape: rules.subject.shape,
            current: rules.current,
            hot: &rules.coverage.accessed,
            stays: &rules.kept,
            phase: &|size, align| rules.scorer.phase_of(size, align),
            allowed: &|layout| rules.judge(layout) == Allowed::Yes,
            layouts_max: options.two_moves_max,
        };
        let tried = search.run(&mut estimator);
        self.left_out.two_moves = tried.left_out;
        tried.proposals.into_iter().for_each(|one| self.add(one));
    }
}

/// First bytes of all atoms.
fn offsets(layout: &Layout) -> Vec<u64> {
    layout.places.iter().map(|place| place.offset).collect()
}

//! Estimates of layouts before they are replayed.

use relayout_layout::abi::{AtomArrangement, StructLayout};

use crate::candidate::CandidateRules;
use crate::change::LayoutProposal;
use crate::change::atom_placer::{AtomPlacer, PlacedExtent};
use crate::rewrite::{RewriteModel, TransferEstimator};

/// Estimated transfers and size of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayoutEstimate {
    pub transfers: u64,
    /// Size of the type in bytes.
    pub size: u64,
}

impl LayoutEstimate {
    /// Returns the estimate of a layout that is to be replayed in any case.
    pub fn as_best(self) -> Self {
        Self {
            transfers: 0,
            ..self
        }
    }
}

/// Estimates layouts of a type; the costs of lines are kept from one to the next.
pub(crate) struct DraftEstimates<'m> {
    rules: &'m CandidateRules<'m>,
    placer: AtomPlacer<'m>,
    pub estimator: TransferEstimator<'m>,
}

impl<'m> DraftEstimates<'m> {
    /// Estimates with this effort, in rows of the table.
    pub fn new(
        rules: &'m CandidateRules<'m>,
        model: &'m RewriteModel<'m>,
        effort_rows: u64,
    ) -> Self {
        Self {
            rules,
            placer: AtomPlacer::new(rules.subject.shape, rules.current),
            estimator: model.estimator(effort_rows),
        }
    }

    /// Estimates an arrangement.
    pub fn estimate(&mut self, arrangement: &AtomArrangement) -> LayoutEstimate {
        let extent = self.placer.place_arrangement(arrangement);
        self.estimate_placed(extent)
    }

    /// Estimates a proposal, unless it moves an atom that has to stay, or one over the mark of a group.
    pub fn estimate_proposal(&mut self, proposal: &LayoutProposal) -> Option<LayoutEstimate> {
        if proposal.pads.is_empty() {
            return self.estimate_allowed(&proposal.arrangement);
        }
        let shape = self.rules.subject.shape;
        let layout = shape.lay_out_padded(&proposal.arrangement, &proposal.pads);
        Some(self.estimate_layout(&layout))
    }

    /// Estimates an arrangement, unless it moves an atom that has to stay, or one over the mark of a
    /// group.
    pub fn estimate_allowed(&mut self, arrangement: &AtomArrangement) -> Option<LayoutEstimate> {
        let extent = self.placer.place_arrangement(arrangement);
        let (offsets, rules) = (self.placer.offsets(), self.rules);
        let stays = |atom: &usize| offsets[*atom] == rules.current.places[*atom].offset;
        let is_allowed = rules.kept.iter().all(stays)
            && (rules.groups.is_empty() || rules.groups.are_kept(&arrangement.order));
        is_allowed.then(|| self.estimate_placed(extent))
    }

    fn estimate_placed(&mut self, extent: PlacedExtent) -> LayoutEstimate {
        let scorer = self.rules.scorer;
        let phases = self
            .placer
            .phases(extent, &|extent| scorer.phases_of(extent));
        LayoutEstimate {
            transfers: self.estimator.transfers(self.placer.offsets(), phases),
            size: extent.size,
        }
    }

    /// Estimates a layout.
    pub fn estimate_layout(&mut self, layout: &StructLayout) -> LayoutEstimate {
        let offsets: Vec<u64> = layout.places.iter().map(|place| place.offset).collect();
        let phases = self.rules.scorer.phases_of(layout.into());
        LayoutEstimate {
            transfers: self.estimator.transfers(&offsets, phases),
            size: layout.size,
        }
    }
}

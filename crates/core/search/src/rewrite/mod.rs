//! Full rewrites: decides for all accessed members at once which of them share a line, and how far
//! from the best possible that is.
//!
//! 1. [`pieces`]: the accessed bytes, cut where lines can cut them; [`recency_table`]: the cost of
//!    any set of pieces on a line, exactly as replay counts.
//! 2. [`partition`]: members on lines by annealing and descent, for any number of members.
//! 3. [`prices`]: a lower bound for all layouts, and branch and bound between the two.
//! 4. [`realise`]: the contents of lines as orders with alignments; members that are not accessed
//!    fill the rest. The ABI engine lays the orders out and replay scores them, as it does all
//!    candidates.

mod partition;
mod pieces;
mod prices;
mod realise;
mod recency_table;
mod set_search;
mod simplex;
mod stock;

use relayout_layout::abi::{AtomArrangement, StructLayout};

use crate::coverage::AtomCoverage;
use crate::places::PhaseSet;
use crate::subject::AdviceSubject;
use partition::SetCosts;
use pieces::AccessedPieces;
use prices::BoundProof;
use recency_table::PieceSet;
use stock::ItemStock;

/// Maximum number of rows that an estimate visits. Hundreds of thousands of layouts are estimated
/// where a struct has hundreds of members, and replay decides about those that come out.
const SAMPLED_ROWS_MAX: usize = 1 << 13;

/// Part of the effort that finds layouts; the rest proves how good they are.
const FINDING: u64 = 2;

/// A lower bound for the transfers of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferBound {
    /// Proven lower bound for layouts under which all objects start at one place of a line and
    /// share no line with each other: see `rewrite/prices.rs`.
    pub transfers: u64,
    /// Number of accessed members, or parts of them that a line can cut, that the bound takes into
    /// account.
    pub pieces: usize,
}

impl TransferBound {
    /// Returns the part of `transfers` that lies above the bound; 0 is proven to be the best.
    ///
    /// ```
    /// use relayout_search::TransferBound;
    ///
    /// let bound = TransferBound { transfers: 90, pieces: 4 };
    /// assert_eq!(bound.gap(100), 0.1);
    /// assert_eq!(bound.gap(90), 0.0);
    /// ```
    pub fn gap(&self, transfers: u64) -> f64 {
        match transfers {
            0 => 0.0,
            _ => transfers.saturating_sub(self.transfers) as f64 / transfers as f64,
        }
    }
}

/// Accessed pieces of a type, with the costs of layouts.
pub(crate) struct RewriteModel<'a> {
    subject: AdviceSubject<'a>,
    current: &'a StructLayout,
    pieces: AccessedPieces,
    /// The pieces with at most [`SAMPLED_ROWS_MAX`] rows; `None` if all rows are as few.
    sampled: Option<AccessedPieces>,
}

/// Rewrites to score, and the bound.
pub(crate) struct RewritePlan {
    pub arrangements: Vec<AtomArrangement>,
    pub bound: TransferBound,
}

impl<'a> RewriteModel<'a> {
    /// Reads all traces once; `current` is the compiled layout.
    pub fn new(subject: AdviceSubject<'a>, current: &'a StructLayout) -> Self {
        let pieces = AccessedPieces::new(&subject, current);
        Self {
            subject,
            current,
            sampled: pieces.sampled(SAMPLED_ROWS_MAX),
            pieces,
        }
    }

    /// Returns an estimator with its own effort, in rows of the table.
    pub fn estimator(&self, effort_rows: u64) -> TransferEstimator<'_> {
        let pieces = self.sampled.as_ref().unwrap_or(&self.pieces);
        TransferEstimator {
            model: self,
            costs: SetCosts::new(pieces, effort_rows),
            lines: Vec::new(),
        }
    }

    /// Returns rewrites that leave the first `kept` atoms in place, and the bound. `effort_rows` is
    /// the effort in rows of the table; a core visits about a billion in a second.
    pub fn plan_rewrites(
        &self,
        coverage: &AtomCoverage,
        kept: usize,
        effort_rows: u64,
    ) -> RewritePlan {
        let line = u64::from(self.subject.line_bytes.max(1));
        let stock = ItemStock::new(self.subject.shape, self.current, &self.pieces, kept, line);
        let mut costs = SetCosts::new(&self.pieces, effort_rows / FINDING);
        let start = stock.lines_of(self.current, line);
        let lines = partition::assign_lines(&stock.items, &start, line, &mut costs);
        let sets: Vec<PieceSet> = (lines.iter())
            .map(|on| partition::pieces_of_items(&stock.items, on))
            .chain(stock.fixed.iter().copied())
            .collect();
        let known = costs.total(&sets);
        let proving = effort_rows - effort_rows / FINDING;
        let BoundProof {
            bound,
            lines: better,
        } = prices::prove(&self.pieces, line as u32, known, &sets, proving);
        // Lines that the proof found and that are better than those of the search, if they cut no
        // member.
        let better = better.and_then(|sets| stock.lines_from(&sets, line));
        let mut plans: Vec<partition::ItemLines> = better.into_iter().collect();
        plans.extend(partition::join_lines(
            &stock.items,
            &lines,
            line,
            &mut costs,
        ));
        let ground = realise::OrderRealiser {
            shape: self.subject.shape,
            current: self.current,
            coverage,
            stock: &stock,
            kept,
            line,
        };
        RewritePlan {
            arrangements: ground.realise(&plans),
            bound: TransferBound {
                transfers: bound,
                pieces: self.pieces.pieces.len(),
            },
        }
    }
}

/// Estimates costs of layouts without replay.
pub(crate) struct TransferEstimator<'m> {
    model: &'m RewriteModel<'m>,
    costs: SetCosts<'m>,
    lines: Vec<PieceSet>,
}

impl TransferEstimator<'_> {
    /// Returns the mean transfers under a layout with the atoms at `offsets` and every object at
    /// one of `phases`. It is the number that replay counts, if all objects can be there, every
    /// accessed byte is in a piece, and [`is_exact`](Self::is_exact).
    pub fn transfers(&mut self, offsets: &[u64], phases: PhaseSet) -> u64 {
        phases.mean(|phase| self.transfers_at(offsets, phase))
    }

    fn transfers_at(&mut self, offsets: &[u64], phase: u32) -> u64 {
        let line = u64::from(self.model.subject.line_bytes.max(1));
        self.lines.clear();
        for (index, piece) in self.model.pieces.pieces.iter().enumerate() {
            let from = self.model.current.places[piece.atom].offset;
            let start = offsets[piece.atom] + (piece.bytes.start - from) + u64::from(phase);
            let last = start + (piece.bytes.end - piece.bytes.start) - 1;
            for number in start / line..=last / line {
                let number = number as usize;
                if self.lines.len() <= number {
                    self.lines.resize(number + 1, 0);
                }
                self.lines[number] |= 1 << index;
            }
        }
        self.costs.total(&self.lines)
    }

    /// Returns true if the estimate counts all recorded turns, not a sample of them.
    pub fn is_exact(&self) -> bool {
        self.model.sampled.is_none()
    }

    /// Returns true if the effort is used up. The estimator still answers, but slowly.
    pub fn is_spent(&self) -> bool {
        self.costs.is_spent()
    }
}

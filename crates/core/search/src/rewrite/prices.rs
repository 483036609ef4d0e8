//! A proven lower bound for the transfers of every layout.
//!
//! **Bound.** Give every piece a price of 0 or more, so that no set of pieces that fits on a line
//! is worth more than it costs: for all such `S`, the prices of `S` sum to at most `cost(S)`. Then
//! every layout has at least as many transfers as the sum of all prices.
//!
//! *Proof.* A layout puts the pieces on lines `S1, S2, ...`, each piece on at least one. Each `Si`
//! fits on a line, so `sum of cost(Si) >= sum over i of the prices of Si >= sum of all prices`; and
//! the sum of `cost(Si)` is the number that replay counts (see [`super::recency_table`]). A piece
//! that a line cuts counts on the line that holds most of it, which does not make the layout
//! costlier (see [`super::pieces::AccessedPiece`]). Holes, alignment, members that are never
//! accessed and members that stay only rule layouts out.
//!
//! The bound holds for layouts under which all objects start at the same place of a line and share
//! none with each other, as objects do that are aligned to the line.
//!
//! The best prices are those of the linear relaxation ([`super::simplex`]). That all sets are worth
//! no more than they cost is verified in whole numbers over all sets ([`super::set_search`]), so
//! that rounding in the relaxation can make the bound lower, but never wrong.

use super::pieces::AccessedPieces;
use super::recency_table::{LineRows, PieceSet, pieces_in};
use super::set_search::{CostedSet, PRICE_SHIFT, SetQuery, find_sets};
use super::simplex::CoverRelaxation;

/// Maximum number of sets that a search adds to the relaxation.
const SETS_PER_ROUND: usize = 400;
/// Maximum number of sets among which a better layout is sought.
const SETS_MAX: usize = 20_000;
/// Maximum number of steps in which sets are combined.
const STEPS_MAX: u64 = 2_000_000;
/// The first searches reduce prices by this part, which rules out nearly all sets at once.
const REDUCED: u64 = 64;

/// Result of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoundProof {
    /// Lower bound: no layout has fewer transfers.
    pub bound: u64,
    /// Lines that reach the bound, if it was found by combining sets.
    pub lines: Option<Vec<PieceSet>>,
}

/// Returns the best bound that `budget` (in rows of the table) allows. It ends early at `known`,
/// the transfers of a layout that was found. `sets` are good sets to begin with.
pub(super) fn prove(
    pieces: &AccessedPieces,
    line_bytes: u32,
    known: u64,
    sets: &[PieceSet],
    mut budget: u64,
) -> BoundProof {
    let mut line = LineRows::default();
    let count = pieces.pieces.len();
    let singles: Vec<u64> = (0..count)
        .map(|piece| pieces.table.cost(1 << piece, &mut line))
        .collect();
    let mut proof = BoundProof {
        bound: bound_by_room(pieces, line_bytes, &singles),
        lines: None,
    };
    let mut cover = CoverRelaxation::new(&singles);
    for set in sets {
        cover.add(*set, pieces.table.cost(*set, &mut line));
    }
    let mut reduced = true;
    while proof.bound < known {
        let mut prices = round_prices(&cover.prices());
        if reduced {
            prices
                .iter_mut()
                .for_each(|price| *price -= *price / REDUCED);
        }
        let wanted = SetQuery {
            pieces: &pieces.pieces,
            table: &pieces.table,
            line_bytes,
            prices: &prices,
            profit_min: 1,
            found_max: SETS_PER_ROUND,
        };
        let outcome = find_sets(&wanted, &mut budget);
        if outcome.found.is_empty() && !outcome.complete {
            break;
        }
        if outcome.found.is_empty() {
            proof.bound = proof
                .bound
                .max(price_sum(&prices).div_ceil(1 << PRICE_SHIFT));
            if !reduced {
                branch_and_bound(&mut proof, pieces, line_bytes, known, &prices, &mut budget);
                break;
            }
            reduced = false;
        }
        outcome
            .found
            .iter()
            .for_each(|(set, cost)| cover.add(*set, *cost));
    }
    proof.bound = proof.bound.min(known);
    proof
}

/// Bounds the cost by room: a set costs at least as much as its costliest piece, and that at least
/// as much as the mean of all pieces by room.
fn bound_by_room(pieces: &AccessedPieces, line_bytes: u32, singles: &[u64]) -> u64 {
    let line = u64::from(line_bytes.max(1));
    let parts = singles.iter().zip(&pieces.pieces);
    let sum: u64 = parts
        .map(|(cost, piece)| cost * u64::from(piece.room))
        .sum();
    sum.div_ceil(line)
}

/// Converts prices to whole numbers, rounded down by a little more than needed.
fn round_prices(prices: &[f64]) -> Vec<u64> {
    let scale = f64::from(1u32 << PRICE_SHIFT) * (1.0 - 1e-9);
    prices
        .iter()
        .map(|price| (price.max(0.0) * scale) as u64)
        .collect()
}

fn price_sum(prices: &[u64]) -> u64 {
    prices.iter().sum()
}

/// Branch and bound between the prices and `known`.
///
/// The transfers of a layout are the sum of all prices, plus the excess of its lines: their cost
/// minus their worth. So a layout with fewer than `known` transfers consists of sets whose excess
/// is less than `known` minus the sum of the prices. If those sets are few, all are listed, and
/// combined in every way that stays below.
fn branch_and_bound(
    proof: &mut BoundProof,
    pieces: &AccessedPieces,
    line_bytes: u32,
    known: u64,
    prices: &[u64],
    budget: &mut u64,
) {
    let Some(gap) = ((known.saturating_sub(1)) << PRICE_SHIFT).checked_sub(price_sum(prices))
    else {
        proof.bound = known;
        return;
    };
    let wanted = SetQuery {
        pieces: &pieces.pieces,
        table: &pieces.table,
        line_bytes,
        prices,
        profit_min: -(gap as i64),
        found_max: SETS_MAX,
    };
    let outcome = find_sets(&wanted, budget);
    if !outcome.complete {
        return;
    }
    let mut search = SetAssembly::new(&outcome.found, prices, pieces.pieces.len(), gap);
    search.extend(0, 0);
    if search.steps >= STEPS_MAX {
        return;
    }
    match search.best {
        Some((extra, lines)) => {
            proof.bound = (price_sum(prices) + extra).div_ceil(1 << PRICE_SHIFT);
            proof.lines = Some(lines);
        }
        None => proof.bound = known,
    }
}

/// Combines sets so that every piece is in one of them.
struct SetAssembly {
    /// By piece: the sets whose first piece in `order` it is, with their excess (cost minus worth),
    /// least first.
    starting: Vec<Vec<(PieceSet, u64)>>,
    order: Vec<usize>,
    /// Maximum excess of a solution.
    limit: u64,
    best: Option<(u64, Vec<PieceSet>)>,
    chosen: Vec<PieceSet>,
    steps: u64,
}

impl SetAssembly {
    fn new(found: &[CostedSet], prices: &[u64], pieces: usize, gap: u64) -> Self {
        let mut order: Vec<usize> = (0..pieces).collect();
        order.sort_by_key(|piece| std::cmp::Reverse(prices[*piece]));
        let mut starting = vec![Vec::new(); pieces];
        for (set, cost) in found {
            let worth: u64 = pieces_in(*set).map(|piece| prices[piece]).sum();
            let extra = (cost << PRICE_SHIFT).saturating_sub(worth);
            if let Some(first) = order.iter().find(|piece| set >> **piece & 1 == 1) {
                starting[*first].push((*set, extra));
            }
        }
        starting
            .iter_mut()
            .for_each(|sets| sets.sort_unstable_by_key(|(_, extra)| *extra));
        Self {
            starting,
            order,
            limit: gap,
            best: None,
            chosen: Vec::new(),
            steps: 0,
        }
    }

    /// Covers the pieces that `covered` lacks; the depth is at most the number of pieces.
    fn extend(&mut self, covered: PieceSet, extra: u64) {
        self.steps += 1;
        if self.steps >= STEPS_MAX {
            return;
        }
        let open = |piece: &&usize| covered >> **piece & 1 == 0;
        let Some(&piece) = self.order.iter().find(open) else {
            self.limit = extra.saturating_sub(1);
            self.best = Some((extra, self.chosen.clone()));
            return;
        };
        for index in 0..self.starting[piece].len() {
            let (set, more) = self.starting[piece][index];
            if extra + more > self.limit {
                return;
            }
            if set & covered == 0 {
                self.chosen.push(set);
                self.extend(covered | set, extra + more);
                self.chosen.pop();
                if self.best.as_ref().is_some_and(|(least, _)| *least == 0) {
                    return;
                }
            }
        }
    }
}

//! Finds the sets of pieces that fit on a line and are worth more than they cost.

use super::pieces::AccessedPiece;
use super::recency_table::{LineRows, PIECES_MAX, PieceSet, RecencyTable};

/// Binary digits of a transfer's part in which prices are counted.
pub(super) const PRICE_SHIFT: u32 = 16;

/// Sets to search for.
pub(super) struct SetQuery<'a> {
    pub pieces: &'a [AccessedPiece],
    pub table: &'a RecencyTable,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// Price by piece, in `1 << PRICE_SHIFT` parts of a transfer.
    pub prices: &'a [u64],
    /// Minimum profit of a set (the sum of its prices minus its cost), in the same parts.
    pub profit_min: i64,
    /// Maximum number of sets to find.
    pub found_max: usize,
}

/// A set and its cost.
pub(super) type CostedSet = (PieceSet, u64);

/// Result of a search.
pub(super) struct SetSearchOutcome {
    pub found: Vec<CostedSet>,
    /// True if there are no other sets: neither `found_max` nor the budget ended the search.
    pub complete: bool,
}

/// Searches all sets, but for those that cannot reach the profit. Costs only grow with the set, so
/// that a set can gain at most the worth of the pieces that still fit.
///
/// `budget` is in rows of the table, and is used up.
pub(super) fn find_sets(wanted: &SetQuery<'_>, budget: &mut u64) -> SetSearchOutcome {
    // Where a profit is wanted, a piece without a price only adds cost.
    let mut order: Vec<usize> = (0..wanted.pieces.len())
        .filter(|piece| wanted.profit_min <= 0 || wanted.prices[*piece] > 0)
        .collect();
    // By price per byte, so that filling up in this order gives the most.
    order.sort_by(|a, b| {
        let worth = |x: usize, y: usize| wanted.prices[x] * u64::from(wanted.pieces[y].room.max(1));
        worth(*b, *a).cmp(&worth(*a, *b)).then(a.cmp(b))
    });
    let mut search = SetSearch {
        wanted,
        lines: vec![LineRows::default(); PIECES_MAX + 1],
        budget,
        outcome: SetSearchOutcome {
            found: Vec::new(),
            complete: true,
        },
    };
    wanted.table.clear_line(&mut search.lines[0]);
    let start = SearchNode {
        set: 0,
        worth: 0,
        room: wanted.line_bytes,
        depth: 0,
    };
    search.grow(start, &order);
    search.outcome
}

#[derive(Clone, Copy)]
struct SearchNode {
    set: PieceSet,
    worth: u64,
    room: u32,
    depth: usize,
}

struct SetSearch<'a, 'b> {
    wanted: &'a SetQuery<'a>,
    /// Rows by depth.
    lines: Vec<LineRows>,
    budget: &'b mut u64,
    outcome: SetSearchOutcome,
}

impl SetSearch<'_, '_> {
    /// Searches all sets of `node` and some of `candidates`. The depth is at most the number of
    /// pieces.
    fn grow(&mut self, node: SearchNode, candidates: &[usize]) {
        let mut costs: Vec<(usize, u64)> = Vec::with_capacity(candidates.len());
        for &piece in candidates {
            if self.wanted.pieces[piece].room > node.room {
                continue;
            }
            let rows = self.wanted.table.rows() as u64 + 64;
            if *self.budget < rows || self.outcome.found.len() >= self.wanted.found_max {
                self.outcome.complete = false;
                return;
            }
            *self.budget -= rows;
            let cost = self.push(node.depth, piece);
            let profit = self.profit(node.worth + self.wanted.prices[piece], cost);
            if profit >= self.wanted.profit_min {
                self.outcome.found.push((node.set | 1 << piece, cost));
            }
            costs.push((piece, cost));
        }
        // A piece that no worthwhile set can contain together with this one is dropped.
        let fitting: Vec<usize> = costs.iter().map(|(piece, _)| *piece).collect();
        costs.retain(|(piece, cost)| {
            let room = node.room - self.wanted.pieces[*piece].room;
            let most = self.fill_worth(&fitting, Some(*piece), room);
            let worth = node.worth + self.wanted.prices[*piece] + most;
            self.profit(worth, *cost) >= self.wanted.profit_min
        });
        let kept: Vec<usize> = costs.iter().map(|(piece, _)| *piece).collect();
        for (nth, (piece, cost)) in costs.iter().enumerate() {
            let child = SearchNode {
                set: node.set | 1 << piece,
                worth: node.worth + self.wanted.prices[*piece],
                room: node.room - self.wanted.pieces[*piece].room,
                depth: node.depth + 1,
            };
            let rest = &kept[nth + 1..];
            let most = self.fill_worth(rest, None, child.room);
            if rest.is_empty() || self.profit(child.worth + most, *cost) < self.wanted.profit_min {
                continue;
            }
            self.push(node.depth, *piece);
            self.grow(child, rest);
        }
    }

    /// Makes the line of the next depth, and returns its cost.
    fn push(&mut self, depth: usize, piece: usize) -> u64 {
        let (here, below) = self.lines.split_at_mut(depth + 1);
        self.wanted
            .table
            .extend_line(&here[depth], piece, &mut below[0])
    }

    fn profit(&self, worth: u64, cost: u64) -> i64 {
        // Costs are counts of turns (32 bits), and prices at most costs.
        worth as i64 - (cost << PRICE_SHIFT) as i64
    }

    /// Returns the most that pieces of `list` (in the order of [`find_sets`]) are worth in `room`
    /// bytes, if pieces could be divided.
    fn fill_worth(&self, list: &[usize], without: Option<usize>, mut room: u32) -> u64 {
        let mut worth = 0;
        for &piece in list.iter().filter(|piece| Some(**piece) != without) {
            let (price, bytes) = (self.wanted.prices[piece], self.wanted.pieces[piece].room);
            if bytes > room {
                return worth + (price * u64::from(room)).div_ceil(u64::from(bytes));
            }
            worth += price;
            room -= bytes;
        }
        worth
    }
}

//! Costs of sets of pieces on a line, without replay: recency.
//!
//! Take one context `c` and the pieces `S` on a line. `c` has a valid copy exactly if the latest
//! event that concerns it was its own: an access of `c` to `S`, not another context's store to `S`.
//! So an access of `c` to `S` is a transfer exactly if the latest event before it was a store of
//! another context. For that it is enough to know, at each turn, the order in which the pieces had
//! their last event for `c`, and the kind of each event. That order, in runs of one kind, is a row;
//! equal rows are counted once.
//!
//! A *turn* is what one context does before another comes. No other context's copy can change
//! within it, so that a turn has at most one transfer on a line.
//!
//! The search rests on three facts:
//!
//! 1. **Exact.** For a layout that puts the pieces on lines `S1, S2, ...` the sum of `cost(Si)` is
//!    the number of transfers that replay counts (`tests/rewrite.rs` compares the two).
//! 2. **Monotone.** `cost(S) <= cost(S + p)`: for `c`, its accesses and the others' stores form a
//!    word, and the cost is the number of places where a store is followed by an access. Another
//!    letter in a word of two letters never removes such a place. Between two unequal letters it
//!    equals one of them, and the change stays; between two equal letters it adds nothing, or a
//!    change and its inverse.
//! 3. **Not additive.** `cost({p, q})` may be less than `cost({p}) + cost({q})`: a context that
//!    uses both fetches one line. Weights of pairs, as in Raman, Hundt and Mannarswamy (CGO 2007),
//!    neither give the cost nor bound it.

use relayout_profile::ContextId;
use rustc_hash::FxHashMap;

use crate::last_stores::LastStores;

/// Maximum number of pieces in a [`PieceSet`].
pub(super) const PIECES_MAX: usize = 64;

/// Maximum number of rows. Turns beyond those are not counted, so that costs are lower bounds.
const ROWS_MAX: usize = 1 << 19;

/// Marks a piece without an event that matters to the row.
const NEVER: u8 = u8::MAX;

/// Pieces on a line, one bit each.
pub(super) type PieceSet = u64;

/// Returns the pieces of `set`, ascending.
pub(super) fn pieces_in(mut set: PieceSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let piece = set.trailing_zeros() as usize;
        (piece < PIECES_MAX).then(|| {
            set &= set - 1;
            piece
        })
    })
}

/// Rows of all recorded turns.
#[derive(Clone, Debug, Default)]
pub(super) struct RecencyTable {
    /// By row: number of turns like it.
    weights: Vec<u32>,
    /// By piece and row: the run of events that its last event was in, from the latest; even for
    /// stores of others, odd for own accesses.
    runs: Vec<Vec<u8>>,
    /// By piece and row: 1 if the turn accesses it.
    used: Vec<Vec<u8>>,
}

/// Rows for a set of pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct LineRows {
    runs: Vec<u8>,
    used: Vec<u8>,
}

impl RecencyTable {
    /// Returns the number of pieces.
    pub fn pieces(&self) -> usize {
        self.runs.len()
    }

    /// Returns the number of rows, all of which [`cost`](Self::cost) visits.
    pub fn rows(&self) -> usize {
        self.weights.len()
    }

    /// Returns a table of at most `rows_max` rows that stand for all: the half with the most turns
    /// as they are, and of the others every n-th with its weight raised.
    pub fn sampled(&self, rows_max: usize) -> Self {
        let mut by_weight: Vec<usize> = (0..self.rows()).collect();
        by_weight.sort_by_key(|row| std::cmp::Reverse(self.weights[*row]));
        let (heavy, light) = by_weight.split_at((rows_max / 2).min(self.rows()));
        let step = light.len().div_ceil((rows_max - heavy.len()).max(1)).max(1);
        let sampled: Vec<usize> = light.iter().copied().step_by(step).collect();
        let sum =
            |rows: &[usize]| -> u64 { rows.iter().map(|row| u64::from(self.weights[*row])).sum() };
        let factor = sum(light) as f64 / sum(&sampled).max(1) as f64;
        let raised = |row: &usize| (f64::from(self.weights[*row]) * factor).round() as u32;
        let weights = { heavy.iter() }
            .map(|row| self.weights[*row])
            .chain(sampled.iter().map(raised));
        let rows = || heavy.iter().chain(&sampled);
        let column = |column: &Vec<u8>| rows().map(|row| column[*row]).collect();
        Self {
            weights: weights.collect(),
            runs: self.runs.iter().map(column).collect(),
            used: self.used.iter().map(column).collect(),
        }
    }

    /// Returns the transfers on a line that holds `set`.
    pub fn cost(&self, set: PieceSet, line: &mut LineRows) -> u64 {
        self.clear_line(line);
        for piece in pieces_in(set) {
            for (run, own) in line.runs.iter_mut().zip(&self.runs[piece]) {
                *run = (*run).min(*own);
            }
            for (used, own) in line.used.iter_mut().zip(&self.used[piece]) {
                *used |= *own;
            }
        }
        self.count(line)
    }

    /// Empties `line`.
    pub fn clear_line(&self, line: &mut LineRows) {
        line.runs.clear();
        line.runs.resize(self.rows(), NEVER);
        line.used.clear();
        line.used.resize(self.rows(), 0);
    }

    /// Makes `to` a copy of `from` with one more piece, and returns its transfers.
    pub fn extend_line(&self, from: &LineRows, piece: usize, to: &mut LineRows) -> u64 {
        to.runs.clear();
        let runs = from.runs.iter().zip(&self.runs[piece]);
        to.runs.extend(runs.map(|(run, own)| *run.min(own)));
        to.used.clear();
        let used = from.used.iter().zip(&self.used[piece]);
        to.used.extend(used.map(|(used, own)| used | own));
        self.count(to)
    }

    fn count(&self, line: &LineRows) -> u64 {
        let rows = line.runs.iter().zip(&line.used).zip(&self.weights);
        // The sum of all weights is at most the number of turns, which has room in 32 bits.
        let sum = rows.fold(0u32, |sum, ((run, used), weight)| {
            sum.wrapping_add(weight & 0u32.wrapping_sub(u32::from(used & !run & 1)))
        });
        sum.into()
    }
}

/// Collects turns.
pub(super) struct RecencyBuilder {
    pieces: usize,
    rows: FxHashMap<Vec<u8>, u32>,
    turns: u32,
    // Of the trace at hand; times are turns, from 1.
    now: u32,
    contexts: FxHashMap<ContextId, usize>,
    /// Last access by context and piece.
    accessed: Vec<u32>,
    /// Last stores by piece.
    stored: Vec<LastStores>,
}

impl RecencyBuilder {
    /// Builder for this number of pieces, at most [`PIECES_MAX`].
    pub fn new(pieces: usize) -> Self {
        Self {
            pieces: pieces.min(PIECES_MAX),
            rows: FxHashMap::default(),
            turns: 0,
            now: 0,
            contexts: FxHashMap::default(),
            accessed: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// Begins another trace, in which no context has a copy.
    pub fn begin_trace(&mut self) {
        self.now = 0;
        self.contexts.clear();
        self.accessed.clear();
        self.stored = vec![LastStores::default(); self.pieces];
    }

    /// Adds the next turn: the pieces that `context` accessed, and those that it stored to.
    pub fn add_turn(&mut self, context: ContextId, used: PieceSet, stored: PieceSet) {
        let next = self.contexts.len();
        let context = *self.contexts.entry(context).or_insert(next);
        if context == next {
            self.accessed.resize((next + 1) * self.pieces, 0);
        }
        if self.turns == u32::MAX {
            return;
        }
        self.turns += 1;
        self.now += 1;
        if let Some(row) = self.recency_row(context, used) {
            let full = self.rows.len() >= ROWS_MAX;
            match self.rows.get_mut(&row) {
                Some(weight) => *weight += 1,
                None if full => {}
                None => {
                    self.rows.insert(row, 1);
                }
            }
        }
        for piece in pieces_in(used) {
            self.accessed[context * self.pieces + piece] = self.now;
        }
        for piece in pieces_in(stored) {
            self.stored[piece].record(context, self.now);
        }
    }

    /// Returns the runs and then the uses of all pieces; `None` if no set of pieces has a transfer.
    fn recency_row(&self, context: usize, used: PieceSet) -> Option<Vec<u8>> {
        let mut events: Vec<(u32, bool, usize)> = Vec::with_capacity(self.pieces);
        for piece in 0..self.pieces {
            let own = self.accessed[context * self.pieces + piece];
            let foreign = self.stored[piece].by_others_than(context);
            if own.max(foreign) > 0 {
                events.push((own.max(foreign), own > foreign, piece));
            }
        }
        events.sort_unstable_by_key(|event| std::cmp::Reverse(event.0));
        let mut row = vec![NEVER; self.pieces];
        let mut run = 0u8;
        let mut oldest_used = if pieces_in(used).count() > 0 {
            0
        } else {
            return None;
        };
        let mut first_store = None;
        for (_, own, piece) in events {
            if (run % 2 == 1) != own {
                run += 1;
            }
            row[piece] = run;
            if !own && first_store.is_none() {
                first_store = Some(run);
            }
        }
        for piece in pieces_in(used) {
            oldest_used = oldest_used.max(row[piece]);
        }
        // The latest event of a set with a used piece is no later than that piece's own.
        if first_store.is_none_or(|first| first > oldest_used) {
            return None;
        }
        for run in &mut row {
            if *run > oldest_used {
                *run = NEVER;
            }
        }
        row.extend((0..self.pieces).map(|piece| (used >> piece & 1) as u8));
        Some(row)
    }

    /// Returns the table of all turns.
    pub fn finish(self) -> RecencyTable {
        let mut rows: Vec<(Vec<u8>, u32)> = self.rows.into_iter().collect();
        rows.sort_unstable();
        let column = |at: usize| rows.iter().map(|(row, _)| row[at]).collect();
        RecencyTable {
            weights: rows.iter().map(|(_, weight)| *weight).collect(),
            runs: (0..self.pieces).map(column).collect(),
            used: (self.pieces..2 * self.pieces).map(column).collect(),
        }
    }
}

//! The linear relaxation of covering pieces with lines, by columns (sets of pieces).
//!
//! Minimise the sum of `cost(S) x(S)` so that every piece is covered: for each piece, `x(S)` over
//! the known sets with it sums to 1 or more. The method is the revised simplex over an explicit
//! inverse. There are as many rows as pieces (at most 64), and any number of columns, which are
//! added as it runs. Its results are the prices (dual values). They need not be exact, because
//! their users round and verify them.

use super::recency_table::{PieceSet, pieces_in};

/// Number of pivots after which the inverse is computed afresh, because errors add up.
const REFRESH: usize = 100;
/// Maximum number of pivots for a solution.
const PIVOTS_MAX: usize = 20_000;
/// Threshold below which a reduced cost counts as negative.
const EPSILON: f64 = 1e-7;

/// A column: a set of pieces with its cost, or the surplus of one piece.
#[derive(Clone, Copy, Debug)]
struct CoverColumn {
    set: PieceSet,
    cost: f64,
    /// 1 for a set, -1 for a surplus.
    sign: f64,
}

/// The relaxation, with a basis that stays from one solution to the next.
pub(super) struct CoverRelaxation {
    rows: usize,
    columns: Vec<CoverColumn>,
    /// Column of each row.
    basis: Vec<usize>,
    /// Inverse by row of the basis, then by piece.
    inverse: Vec<Vec<f64>>,
    values: Vec<f64>,
    pivots: usize,
}

impl CoverRelaxation {
    /// Starts with every piece alone, which costs `singles`.
    pub fn new(singles: &[u64]) -> Self {
        let rows = singles.len();
        let alone = |(piece, cost): (usize, &u64)| CoverColumn {
            set: 1 << piece,
            cost: *cost as f64,
            sign: 1.0,
        };
        let mut columns: Vec<CoverColumn> = singles.iter().enumerate().map(alone).collect();
        columns.extend((0..rows).map(|piece| CoverColumn {
            set: 1 << piece,
            cost: 0.0,
            sign: -1.0,
        }));
        let mut inverse = vec![vec![0.0; rows]; rows];
        for (row, line) in inverse.iter_mut().enumerate() {
            line[row] = 1.0;
        }
        Self {
            rows,
            columns,
            basis: (0..rows).collect(),
            inverse,
            values: (0..rows).map(right_side).collect(),
            pivots: 0,
        }
    }

    /// Adds a set.
    pub fn add(&mut self, set: PieceSet, cost: u64) {
        self.columns.push(CoverColumn {
            set,
            cost: cost as f64,
            sign: 1.0,
        });
    }

    /// Returns the prices of the pieces at the optimum over the sets known so far.
    pub fn prices(&mut self) -> Vec<f64> {
        for _ in 0..PIVOTS_MAX {
            let prices = self.current_prices();
            let Some(entering) = self.entering_column(&prices) else {
                return prices;
            };
            if !self.pivot(entering) {
                return prices;
            }
        }
        self.current_prices()
    }

    fn current_prices(&self) -> Vec<f64> {
        let mut prices = vec![0.0; self.rows];
        for (row, column) in self.basis.iter().enumerate() {
            let cost = self.columns[*column].cost;
            for (price, part) in prices.iter_mut().zip(&self.inverse[row]) {
                *price += cost * part;
            }
        }
        prices
    }

    fn entering_column(&self, prices: &[f64]) -> Option<usize> {
        let reduced = |column: &CoverColumn| {
            let worth: f64 = pieces_in(column.set).map(|piece| prices[piece]).sum();
            column.cost - column.sign * worth
        };
        let reduced_costs = self.columns.iter().map(reduced).enumerate();
        let (best, least) = reduced_costs.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let scale = prices
            .iter()
            .fold(1.0f64, |most, price| most.max(price.abs()));
        (least < -EPSILON * scale).then_some(best)
    }

    /// Brings `entering` into the basis; `false` if nothing limits it, which only rounding can
    /// cause.
    fn pivot(&mut self, entering: usize) -> bool {
        let column = self.columns[entering];
        let direction: Vec<f64> = (self.inverse.iter())
            .map(|row| pieces_in(column.set).map(|piece| row[piece]).sum::<f64>() * column.sign)
            .collect();
        let ratios = (direction.iter().zip(&self.values).enumerate())
            .filter(|(_, (step, _))| **step > 1e-9)
            .map(|(row, (step, value))| (row, value / step));
        let Some((leaving, _)) = ratios.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return false;
        };
        self.basis[leaving] = entering;
        self.pivots += 1;
        if self.pivots.is_multiple_of(REFRESH) && self.refresh() {
            return true;
        }
        let step = direction[leaving];
        let pivot_row: Vec<f64> = self.inverse[leaving].iter().map(|x| x / step).collect();
        let pivot_value = self.values[leaving] / step;
        for (row, factor) in direction.iter().enumerate() {
            if row != leaving {
                for (x, y) in self.inverse[row].iter_mut().zip(&pivot_row) {
                    *x -= factor * y;
                }
                self.values[row] = (self.values[row] - factor * pivot_value).max(0.0);
            }
        }
        self.inverse[leaving] = pivot_row;
        self.values[leaving] = pivot_value;
        true
    }

    /// Inverts the basis by elimination; `false` if it looks singular.
    fn refresh(&mut self) -> bool {
        let rows = self.rows;
        let mut left = vec![vec![0.0; rows]; rows];
        for (at, column) in self.basis.iter().enumerate() {
            let column = self.columns[*column];
            pieces_in(column.set).for_each(|piece| left[piece][at] = column.sign);
        }
        let mut right = vec![vec![0.0; rows]; rows];
        (0..rows).for_each(|row| right[row][row] = 1.0);
        for at in 0..rows {
            let below = at..rows;
            let Some(best) = below.max_by(|a, b| left[*a][at].abs().total_cmp(&left[*b][at].abs()))
            else {
                return false;
            };
            if left[best][at].abs() < 1e-9 {
                return false;
            }
            left.swap(at, best);
            right.swap(at, best);
            let scale = left[at][at];
            left[at].iter_mut().for_each(|x| *x /= scale);
            right[at].iter_mut().for_each(|x| *x /= scale);
            let (own_left, own_right) = (left[at].clone(), right[at].clone());
            for row in (0..rows).filter(|row| *row != at) {
                let factor = left[row][at];
                if factor != 0.0 {
                    subtract(&mut left[row], &own_left, factor);
                    subtract(&mut right[row], &own_right, factor);
                }
            }
        }
        self.inverse = right;
        let value = |row: &Vec<f64>| {
            let parts = row.iter().enumerate();
            parts
                .map(|(piece, x)| x * right_side(piece))
                .sum::<f64>()
                .max(0.0)
        };
        self.values = self.inverse.iter().map(value).collect();
        true
    }
}

fn subtract(row: &mut [f64], other: &[f64], factor: f64) {
    for (x, y) in row.iter_mut().zip(other) {
        *x -= factor * y;
    }
}

/// Returns the right side of a row: slightly different for each, so that every step has a length
/// above 0 and the method cannot cycle.
fn right_side(piece: usize) -> f64 {
    1.0 + 1e-6 * ((piece * 7919 % 97) as f64 + 1.0) / 97.0
}

//! Limits and costs of a search.

use crate::order_rules::OrderRules;
use crate::rust_fields::RustFieldRules;

/// Limits of a search, and the cost of pair transfers on the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Members that have to stay at their offsets.
    pub keep: Vec<String>,
    /// Rules that other code makes about the order.
    pub order_rules: OrderRules,
    /// Rules of a Rust struct, which the compiler may order; `None` for other languages.
    pub rust_fields: Option<RustFieldRules>,
    /// Maximum number of accesses to replay, over all candidates.
    pub budget_accesses: u64,
    /// Number of top candidates that get an interval, beside those on the Pareto front:
    /// [`LayoutAdvice::shown_candidates`](crate::LayoutAdvice::shown_candidates) selects them.
    pub intervals: usize,
    /// Effort for rewrites and pairs of moves, in table rows to visit. A core visits about a
    /// billion rows in a second.
    pub effort_rows: u64,
    /// Maximum number of pairs of moves to estimate.
    pub two_moves_max: usize,
    /// Cost of a pair transfer, in transfers (see [`ScoredLayout::pair_transfers`]). 0 where the
    /// machine does not fetch pairs of lines.
    ///
    /// [`ScoredLayout::pair_transfers`]: crate::ScoredLayout::pair_transfers
    pub pair_coefficient: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep: Vec::new(),
            order_rules: OrderRules::default(),
            rust_fields: None,
            budget_accesses: 80_000_000,
            intervals: 5,
            effort_rows: 2_000_000_000,
            two_moves_max: 500_000,
            pair_coefficient: 0.0,
        }
    }
}

//! The Pareto front: layouts that no other layout beats in transfers, bytes and members moved.

/// Costs of a layout; smaller is better in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutCost {
    /// Transfers, plus pair transfers times their coefficient, in any unit.
    pub transfers: u64,
    /// Bytes per object.
    pub bytes: u64,
    /// Number of members that move.
    pub moved: usize,
}

impl LayoutCost {
    /// Returns true if `self` is no worse in any cost and better in one.
    pub fn beats(&self, other: &Self) -> bool {
        self != other
            && self.transfers <= other.transfers
            && self.bytes <= other.bytes
            && self.moved <= other.moved
    }
}

/// Tells for each of `costs` whether nothing in `costs` or `others` beats it.
pub fn mark_unbeaten(costs: &[LayoutCost], others: &[LayoutCost]) -> Vec<bool> {
    let mut by_cost: Vec<LayoutCost> = costs.iter().chain(others).copied().collect();
    by_cost.sort_unstable_by_key(|cost| (cost.transfers, cost.bytes, cost.moved));
    by_cost.dedup();
    // Few distinct costs are unbeaten, and each beaten cost is beaten by one of those.
    let mut unbeaten: Vec<LayoutCost> = Vec::new();
    for cost in by_cost {
        if !unbeaten.iter().any(|other| other.beats(&cost)) {
            unbeaten.push(cost);
        }
    }
    costs.iter().map(|cost| unbeaten.contains(cost)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_beats_the_front(
            raw in proptest::collection::vec((0u64..9, 0u64..5, 0usize..4), 0..40),
            given in proptest::collection::vec((0u64..9, 0u64..5, 0usize..4), 0..4),
        ) {
            let cost = |(transfers, bytes, moved)| LayoutCost { transfers, bytes, moved };
            let costs: Vec<LayoutCost> = raw.into_iter().map(cost).collect();
            let others: Vec<LayoutCost> = given.into_iter().map(cost).collect();
            for (candidate, on_front) in costs.iter().zip(mark_unbeaten(&costs, &others)) {
                let beaten = costs.iter().chain(&others).any(|other| other.beats(candidate));
                prop_assert_eq!(on_front, !beaten);
            }
        }
    }
}

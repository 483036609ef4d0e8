//! The Pareto front: what nothing beats in transfers, bytes and members moved at once.

/// What a layout costs; smaller is better in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutCost {
    /// Read and write transfers, and pair transfers by what they cost, in any unit.
    pub transfers: u64,
    /// Bytes per object.
    pub bytes: u64,
    /// Members moved.
    pub moved: usize,
}

impl LayoutCost {
    /// No worse in anything, and better in something.
    pub fn beats(&self, other: &Self) -> bool {
        self != other
            && self.transfers <= other.transfers
            && self.bytes <= other.bytes
            && self.moved <= other.moved
    }
}

/// By index: nothing in `costs` or `others` beats it.
pub fn mark_unbeaten(costs: &[LayoutCost], others: &[LayoutCost]) -> Vec<bool> {
    let mut by_cost: Vec<LayoutCost> = costs.iter().chain(others).copied().collect();
    by_cost.sort_unstable_by_key(|cost| (cost.transfers, cost.bytes, cost.moved));
    by_cost.dedup();
    // Few distinct costs are unbeaten, and whatever is beaten is beaten by one of those.
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

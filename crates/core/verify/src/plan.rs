//! Order in which the two sides start, and the numbers of pairs after which the results are judged.

use relayout_statistics::random::{RandomSequence, SplitMix64};

/// Share of experiments without a real difference that may report one, over all looks at one
/// metric.
///
/// A look judges the pairs that are complete so far.
pub const ALPHA: f64 = 0.05;
/// Part of [`ALPHA`] that each look before the last one spends.
pub const ALPHA_INTERIM: f64 = 0.002;
/// Least number of pairs for a look before the last one. Nine differences of the same sign have
/// p = 2 / 2^9, which is larger than [`ALPHA_INTERIM`], so an earlier look could not decide.
const PAIRS_INTERIM_MIN: usize = 10;

/// Side of an experiment.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentSide {
    /// Program or kernel without the change.
    Before,
    /// Program or kernel with the change.
    After,
}

impl ExperimentSide {
    /// Both sides, `Before` first.
    pub const ALL: [Self; 2] = [Self::Before, Self::After];

    /// Name of the side in documents and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// Largest number of pairs of starts, and the seed of their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimentPlan {
    /// Largest number of pairs. A pair is one start of each side.
    pub pairs: usize,
    /// Seed of the random order within the pairs.
    pub seed: u64,
}

impl ExperimentPlan {
    /// Returns the order of the two sides within the pair with index `pair`.
    ///
    /// A fair coin decides the order. Only neighbours in time are compared, so a slow drift affects
    /// both sides alike. The random order also spreads the effect of one start on the next over
    /// both sides equally.
    pub fn order(&self, pair: usize) -> [ExperimentSide; 2] {
        let mut random =
            SplitMix64::new(self.seed ^ (pair as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93));
        match random.bits() >> 63 {
            0 => [ExperimentSide::Before, ExperimentSide::After],
            _ => [ExperimentSide::After, ExperimentSide::Before],
        }
    }

    /// Returns the numbers of pairs after which the results are judged, in ascending order. The
    /// last one is the number of all pairs.
    pub fn looks(&self) -> Vec<usize> {
        let sixths = [2, 3, 4, 5].map(|sixths| self.pairs * sixths / 6);
        let mut looks: Vec<usize> = sixths.into_iter().chain([PAIRS_INTERIM_MIN]).collect();
        looks.retain(|&pairs| (PAIRS_INTERIM_MIN..self.pairs).contains(&pairs));
        looks.push(self.pairs);
        looks.sort_unstable();
        looks.dedup();
        looks
    }

    /// Returns the part of [`ALPHA`] that the look after `pairs` pairs spends.
    ///
    /// Each look before the last spends [`ALPHA_INTERIM`], and the last look spends the rest. The
    /// sum is [`ALPHA`], so all looks together have at most this error rate, even if they depend on
    /// each other. An experiment that runs out of time has its last look at that point.
    ///
    /// The method follows Haybittle (1971) and Peto et al. (1976), with Bonferroni's inequality
    /// instead of their approximation.
    pub fn alpha(&self, pairs: usize, is_last: bool) -> f64 {
        if !is_last {
            return ALPHA_INTERIM;
        }
        let earlier = self
            .looks()
            .into_iter()
            .filter(|&look| look < pairs)
            .count();
        ALPHA - ALPHA_INTERIM * earlier as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pairs: usize, expect: &[usize]) {
        let plan = ExperimentPlan { pairs, seed: 1 };
        assert_eq!(plan.looks(), expect);
        let mut spent = 0.0;
        for &look in expect {
            spent += plan.alpha(look, look == pairs);
        }
        assert!((spent - ALPHA).abs() < 1e-12, "{spent}");
    }

    #[test]
    fn looks() {
        check(1, &[1]);
        check(10, &[10]);
        check(12, &[10, 12]);
        check(30, &[10, 15, 20, 25, 30]);
        check(100, &[10, 33, 50, 66, 83, 100]);
    }

    #[test]
    fn cut_short() {
        let plan = ExperimentPlan { pairs: 30, seed: 1 };
        assert_eq!(plan.alpha(7, true), ALPHA);
        assert_eq!(plan.alpha(17, true), ALPHA - 2.0 * ALPHA_INTERIM);
    }

    /// Both orders occur about equally often, and a seed always gives the same orders.
    #[test]
    fn orders() {
        let firsts = |seed| {
            let plan = ExperimentPlan { pairs: 1000, seed };
            let pairs = 0..plan.pairs;
            pairs
                .map(move |pair| plan.order(pair)[0])
                .collect::<Vec<_>>()
        };
        let before = firsts(7)
            .iter()
            .filter(|&&side| side == ExperimentSide::Before)
            .count();
        assert!((430..570).contains(&before), "{before}");
        assert_eq!(firsts(7), firsts(7));
        assert_ne!(firsts(7), firsts(8));
    }
}

//! In which order the two sides are started, and when the results are looked at.

use relayout_statistics::random::SplitMix64;

/// Share of experiments without a difference that may end with one, over all looks of one metric.
pub const ALPHA: f64 = 0.05;
/// What of [`ALPHA`] each look before the last spends.
pub const ALPHA_INTERIM: f64 = 0.002;
/// Looks are not worth it with fewer pairs: the signs of nine equal differences do not reach
/// [`ALPHA_INTERIM`], since 2 / 2^9 > 0.002.
const PAIRS_INTERIM_MIN: usize = 10;

/// Which of the two.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentSide {
    /// Without the change.
    Before,
    /// With it.
    After,
}

impl ExperimentSide {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Before, Self::After];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// How many pairs of starts there will be at most, and the seed of their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimentPlan {
    /// Pairs, each a start of either side.
    pub pairs: usize,
    /// Decides the order within the pairs.
    pub seed: u64,
}

impl ExperimentPlan {
    /// The order within a pair, which is a fair coin's. The neighbours in time are compared, so that
    /// what drifts slowly falls on both; and since the order is random, also what a start leaves
    /// behind for the next one falls on both equally often.
    pub fn order(&self, pair: usize) -> [ExperimentSide; 2] {
        let mut random =
            SplitMix64::new(self.seed ^ (pair as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93));
        match random.bits() >> 63 {
            0 => [ExperimentSide::Before, ExperimentSide::After],
            _ => [ExperimentSide::After, ExperimentSide::Before],
        }
    }

    /// After how many pairs the results are looked at, ascending; the last is the number of pairs.
    pub fn looks(&self) -> Vec<usize> {
        let sixths = [2, 3, 4, 5].map(|sixths| self.pairs * sixths / 6);
        let mut looks: Vec<usize> = sixths.into_iter().chain([PAIRS_INTERIM_MIN]).collect();
        looks.retain(|&pairs| (PAIRS_INTERIM_MIN..self.pairs).contains(&pairs));
        looks.push(self.pairs);
        looks.sort_unstable();
        looks.dedup();
        looks
    }

    /// What the look after `pairs` pairs spends of [`ALPHA`]. The looks before the last spend
    /// [`ALPHA_INTERIM`] each, and the last what is left, so that the sum is [`ALPHA`] and all
    /// looks together err no more often, however they depend on each other.
    ///
    /// After Haybittle (1971) and Peto et al. (1976), with Bonferroni's inequality instead of their
    /// approximation. An experiment that ends early, for want of time, has its last look there.
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

    /// Both orders, about equally often, and the same ones for the same seed.
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

//! Rules of the machine, drawn from their ranges.

use relayout_machine::{MachineRule, RULES, RuleFacts, RuleUnit};
use relayout_statistics::random::{RandomSequence as _, SplitMix64};

/// Sets of values for all rules that nobody measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleDraws(Vec<Vec<(MachineRule, f64)>>);

impl RuleDraws {
    /// Draws `count` sets, always the same ones. The values of a rule are spread over its range: one in each of as many
    /// equal parts as there are sets (Latin hypercube: McKay, Beckman and Conover 1979). Rules in `known` keep their values.
    pub fn new(count: u16, known: &[MachineRule]) -> Self {
        let mut random = SplitMix64::new(1);
        let mut sets = vec![Vec::new(); count.into()];
        for facts in &RULES {
            let mut parts: Vec<u16> = (0..count).collect();
            random.shuffle(&mut parts);
            for (set, part) in sets.iter_mut().zip(parts) {
                let share = (f64::from(part) + random.unit()) / f64::from(count);
                if !known.contains(&facts.rule) {
                    set.push((facts.rule, value_at(facts, share)));
                }
            }
        }
        Self(sets)
    }

    /// Returns the values of each set.
    pub fn rules(&self) -> impl Iterator<Item = &[(MachineRule, f64)]> {
        self.0.iter().map(Vec::as_slice)
    }
}

/// Returns the value at a share of the range.
fn value_at(facts: &RuleFacts, share: f64) -> f64 {
    let value = facts.low + (facts.high - facts.low) * share;
    match facts.unit {
        RuleUnit::Count | RuleUnit::Switch => value.round(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spread_over_their_ranges() {
        let draws = RuleDraws::new(10, &[MachineRule::Upgrade]);
        for set in draws.rules() {
            assert!(set.iter().all(|(rule, value)| rule.facts().allows(*value)));
            assert!(set.iter().all(|(rule, _)| *rule != MachineRule::Upgrade));
        }
        let facts = MachineRule::TransferTime.facts();
        let tenth = (facts.high - facts.low) / 10.0;
        let mut parts: Vec<i64> = { draws.rules().flatten() }
            .filter(|(rule, _)| *rule == facts.rule)
            .map(|(_, value)| ((value - facts.low) / tenth) as i64)
            .collect();
        parts.sort_unstable();
        assert_eq!(parts, Vec::from_iter(0..10));
        assert_eq!(draws, RuleDraws::new(10, &[MachineRule::Upgrade]));
    }
}

//! Estimates over the windows of a crew: of one arrangement, and of several in the same round.

use std::collections::BTreeMap;

use crate::crew::MeasuredWindow;
use crate::estimate::{ProbeEstimate, estimate_values};
use crate::tally::UnknownReason;

/// Windows of a plan, or the reason for having none.
pub struct WindowSeries<A, O>(Result<Vec<MeasuredWindow<A, O>>, String>);

impl<A: Copy + PartialEq, O> WindowSeries<A, O> {
    pub fn new(windows: Result<Vec<MeasuredWindow<A, O>>, String>) -> Self {
        Self(windows)
    }

    /// Estimates one value of the windows of an arrangement.
    ///
    /// # Errors
    /// There are too few windows.
    pub fn estimate(
        &self,
        arrangement: A,
        value_of: impl Fn(&O) -> f64,
    ) -> Result<ProbeEstimate, UnknownReason> {
        let values = self.by_round(&[arrangement], |outcomes| Some(value_of(outcomes[0])))?;
        Ok(estimate_values(&values)?)
    }

    /// Returns a value for each round, from the outcomes of `arrangements` in their order; `None` for a round in
    /// which one was disturbed.
    ///
    /// # Errors
    /// There are no windows.
    pub fn by_round(
        &self,
        arrangements: &[A],
        value_of: impl Fn(Vec<&O>) -> Option<f64>,
    ) -> Result<Vec<Option<f64>>, UnknownReason> {
        let windows = { self.0.as_ref() }.map_err(|why| UnknownReason::System(why.clone()))?;
        let mut rounds: BTreeMap<usize, Vec<&MeasuredWindow<A, O>>> = BTreeMap::new();
        for window in windows {
            rounds.entry(window.round).or_default().push(window);
        }
        let value = |round: &Vec<&MeasuredWindow<A, O>>| {
            let outcome = |arrangement: &A| {
                let window = round
                    .iter()
                    .find(|window| window.arrangement == *arrangement);
                window?.outcome.as_ref()
            };
            let outcomes: Option<Vec<&O>> = arrangements.iter().map(outcome).collect();
            outcomes.and_then(&value_of)
        };
        Ok(rounds.values().map(value).collect())
    }

    /// Estimates the slope of a value over `places`, of which each has an arrangement.
    ///
    /// # Errors
    /// There are too few rounds, or less than two places.
    pub fn slope(
        &self,
        arrangements: &[A],
        places: &[f64],
        value_of: impl Fn(&O) -> f64,
    ) -> Result<ProbeEstimate, UnknownReason> {
        let slopes = self.by_round(arrangements, |outcomes| {
            let values: Vec<f64> = outcomes.into_iter().map(&value_of).collect();
            least_squares_slope(places, &values)
        })?;
        Ok(estimate_values(&slopes)?)
    }
}

/// Slope of the straight line through points; `None` if all have the same place.
pub fn least_squares_slope(places: &[f64], values: &[f64]) -> Option<f64> {
    let count = places.len() as f64;
    let (place_mean, value_mean) = (
        places.iter().sum::<f64>() / count,
        values.iter().sum::<f64>() / count,
    );
    let products = { places.iter().zip(values) }
        .map(|(place, value)| (place - place_mean) * (value - value_mean));
    let squares: f64 = places
        .iter()
        .map(|place| (place - place_mean).powi(2))
        .sum();
    Some(products.sum::<f64>() / squares).filter(|slope| slope.is_finite())
}

/// Place at which `values` first fall to `level`, between two of the ascending `places`; `None` if they never do, or
/// are there from the beginning.
pub fn crossing(places: &[f64], values: &[f64], level: f64) -> Option<f64> {
    let after = values
        .iter()
        .position(|value| *value <= level)
        .filter(|after| *after > 0)?;
    let (high, low) = (values[after - 1], values[after]);
    let (from, to) = (places[after - 1], places[after]);
    Some(from + (to - from) * (high - level) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ROUNDS_MIN;

    /// Rounds of windows `0` and `1` of which each has the value of `value_of`.
    fn series(
        rounds: usize,
        value_of: impl Fn(usize, u32) -> Option<f64>,
    ) -> WindowSeries<u32, f64> {
        let window = |round: usize, arrangement: u32| MeasuredWindow {
            round,
            arrangement,
            outcome: value_of(round, arrangement),
        };
        let windows = (0..rounds).flat_map(|round| [window(round, 1), window(round, 0)]);
        WindowSeries::new(Ok(windows.collect()))
    }

    #[test]
    fn values_are_of_one_arrangement() {
        let series = series(ROUNDS_MIN, |_, arrangement| {
            Some(10.0 + f64::from(arrangement))
        });
        let estimate = |arrangement| series.estimate(arrangement, |value| *value).unwrap();
        assert_eq!(estimate(0), ProbeEstimate::new(10.0, 10.0, 10.0));
        assert_eq!(estimate(1).value, Some(11.0));
        assert!(series.estimate(2, |value| *value).is_err());
    }

    #[test]
    fn disturbed_windows_take_their_rounds_with_them() {
        let disturbed = series(ROUNDS_MIN + 1, |round, arrangement| {
            (round > 0 || arrangement > 0).then_some(f64::from(arrangement) * 3.0)
        });
        let slope = disturbed
            .slope(&[0, 1], &[0.0, 1.0], |value| *value)
            .unwrap();
        assert_eq!(slope, ProbeEstimate::new(3.0, 3.0, 3.0));
        let values = disturbed.by_round(&[0, 1], |outcomes| Some(outcomes[1] - outcomes[0]));
        let values = values.unwrap();
        assert_eq!(
            (values.len(), values[0], values[1]),
            (ROUNDS_MIN + 1, None, Some(3.0))
        );
        let fewer = series(ROUNDS_MIN, |round, _| (round > 0).then_some(1.0));
        let why = fewer.estimate(0, |value| *value).unwrap_err().to_string();
        assert!(why.contains("only 7 of 8 rounds"), "{why}");
    }

    #[test]
    fn windows_that_could_not_be_taken_have_a_reason() {
        let series: WindowSeries<u32, f64> = WindowSeries::new(Err("no such CPU".to_owned()));
        let why = series.estimate(0, |value| *value).unwrap_err();
        assert_eq!(why.to_string(), "no such CPU");
    }

    #[test]
    fn slopes() {
        let places = [1.0, 2.0, 4.0];
        assert_eq!(least_squares_slope(&places, &[5.0, 7.0, 11.0]), Some(2.0));
        assert_eq!(least_squares_slope(&places, &[3.0; 3]), Some(0.0));
        assert_eq!(least_squares_slope(&[1.0], &[3.0]), None);
    }

    #[test]
    fn crossings() {
        let places = [0.0, 10.0, 20.0, 40.0];
        let check = |values: [f64; 4], expect| assert_eq!(crossing(&places, &values, 0.5), expect);
        check([1.0, 1.0, 0.0, 0.0], Some(15.0));
        check([1.0, 0.75, 0.25, 0.9], Some(15.0));
        check([1.0, 0.9, 0.8, 0.6], None);
        check([0.4, 0.3, 0.2, 0.1], None);
        check([1.0, 0.5, 0.5, 0.5], Some(10.0));
    }
}

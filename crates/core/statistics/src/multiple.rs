//! Tests of many hypotheses at once.

/// Tells for each hypothesis whether it is rejected, so that on average at most `rate` of the
/// rejected ones are true: the procedure of Benjamini and Hochberg (*Controlling the false
/// discovery rate*, 1995). It holds for independent and for positively dependent comparisons
/// (Benjamini and Yekutieli 2001); the threads of one program are the latter.
///
/// ```
/// use relayout_statistics::reject_hypotheses;
///
/// assert_eq!(reject_hypotheses(&[0.5, 0.02], 0.05), [false, true]);
/// ```
pub fn reject_hypotheses(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let passing = sorted
        .iter()
        .zip(1..)
        .filter(|&(&p, rank)| p <= rate * f64::from(rank) / count);
    match passing.map(|(&p, _)| p).last() {
        Some(largest) => p_values.iter().map(|&p| p <= largest).collect(),
        None => vec![false; p_values.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(p_values: &[f64], expect: &[bool]) {
        assert_eq!(reject_hypotheses(p_values, 0.05), expect);
    }

    #[test]
    fn by_hand() {
        check(&[], &[]);
        check(&[0.05], &[true]);
        check(&[0.051], &[false]);
        check(&[0.03, 0.5], &[false, false]);
        check(&[0.5, 0.02], &[false, true]);
        // The larger one passes at its rank and takes the smaller one along.
        check(&[0.04, 0.045], &[true, true]);
    }

    /// The example of the paper, section 3.2: 15 comparisons, of which it rejects 4.
    #[test]
    fn of_the_paper() {
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let found = reject_hypotheses(&p_values, 0.05);
        assert_eq!(found.iter().filter(|&&found| found).count(), 4);
    }
}

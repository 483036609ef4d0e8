//! Values of `verify`'s options.

use std::time::Duration;

use relayout_verify::runs::PAIRS_MAX;

/// Pairs of starts.
pub(super) fn pairs(text: &str) -> Result<usize, String> {
    let pairs = text.parse().ok();
    let pairs = pairs.filter(|pairs| (2..=PAIRS_MAX).contains(pairs));
    pairs.ok_or_else(|| format!("not a number from 2 to {PAIRS_MAX}"))
}

/// Seconds, or with a unit: 90, 1.5s, 200ms, 5m, 2h.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("'{unit}' is none of ms, s, m and h")),
    };
    let number: f64 = digits.parse().map_err(|_| "not a number".to_owned())?;
    let time = Duration::try_from_secs_f64(factor * number).ok();
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "not a time".to_owned())
}

/// Percent above 0, as a fraction.
pub(super) fn margin(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "not a number".to_owned())?;
    match number > 0.0 && number <= 100.0 {
        true => Ok(number / 100.0),
        false => Err("not above 0 and up to 100".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let check = |text, expect_ms| {
            assert_eq!(time(text), Ok(Duration::from_millis(expect_ms)), "{text}")
        };
        check("90", 90_000);
        check("1.5s", 1500);
        check("200ms", 200);
        check("5m", 300_000);
        check("2h", 7_200_000);
        for text in ["", "s", "-1", "0", "5x", "1e999", "nan"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn margins() {
        assert_eq!(margin("0.5%"), Ok(0.005));
        for text in ["0", "-1", "nan", "101", "x"] {
            assert!(margin(text).is_err(), "{text}");
        }
    }
}

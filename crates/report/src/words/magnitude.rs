//! Numbers with as many digits as their magnitude deserves, as LKP prints them.

/// Formats a number by its magnitude: with an exponent from 10^8 on and below 0.001, without
/// decimal places from 1000 on, and with four significant digits below 10, for which LKP has two
/// decimal places.
pub(crate) fn value(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "-".to_owned()
    } else if size >= 1e8 {
        exponent(value)
    } else if size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 10.0 || size == 0.0 {
        format!("{value:.2}")
    } else if size >= 0.001 {
        let places = (3 - size.log10().floor() as i32).clamp(2, 6) as usize;
        format!("{value:.places$}")
    } else {
        exponent(value)
    }
}

/// Formats a number with four digits and an exponent of at least two digits, as C's `%.3e` does.
fn exponent(value: f64) -> String {
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, power)) => {
            let (sign, power) = match power.strip_prefix('-') {
                Some(power) => ('-', power),
                None => ('+', power),
            };
            format!("{digits}e{sign}{power:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: f64, expect: &str) {
        assert_eq!(value(number), expect);
    }

    #[test]
    fn values() {
        check(15782.4, "15782");
        check(99_999_999.0, "99999999");
        check(312_800_000.0, "3.128e+08");
        check(346.0, "346.00");
        check(0.0, "0.00");
        check(1.5, "1.500");
        check(0.012_344, "0.01234");
        check(0.000_012_3, "1.230e-05");
        check(-15782.0, "-15782");
        check(1e300, "1.000e+300");
    }
}

//! Fractions as percentages: one function for each form.

/// `12.3%`
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// `0.013%`
pub(crate) fn percent_to_thousandths(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}

/// `12%`, or `-` where there is no whole.
pub(crate) fn percent_of(part: u64, whole: u64) -> String {
    if whole == 0 {
        "-".to_owned()
    } else {
        format!("{:.0}%", part as f64 * 100.0 / whole as f64)
    }
}

/// Formats a fraction in percent or points with one decimal place, or none if that is 0.
pub(crate) fn fraction_words(fraction: f64, is_points: bool) -> String {
    percent_words(100.0 * fraction, is_points)
}

/// Formats a number of percent or points with one decimal place, or none if that is 0.
pub(crate) fn percent_words(percent: f64, is_points: bool) -> String {
    let unit = if is_points { " points" } else { "%" };
    let text = format!("{percent:.1}");
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// `+12.3%`
pub(crate) fn signed_percent(change: f64) -> String {
    format!("{:+.1}%", 100.0 * change)
}

/// `12%`
pub(crate) fn whole_percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

//! Alternations of two random streams.

/// Returns how often, on average, an event of one stream of `a` events directly follows one of the
/// other stream of `b` events, if both come in random order.
pub(super) fn alternations(a: f64, b: f64) -> f64 {
    if a > 0.0 && b > 0.0 {
        a * b / (a + b)
    } else {
        0.0
    }
}

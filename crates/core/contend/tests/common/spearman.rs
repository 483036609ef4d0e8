//! Correlation of ranks.

/// Spearman's; equal values share the mean of their ranks.
pub fn spearman(pairs: &[[f64; 2]]) -> f64 {
    let ranks = |side: usize| -> Vec<f64> {
        let rank = |value: f64| {
            let less = pairs.iter().filter(|pair| pair[side] < value).count();
            let equal = pairs.iter().filter(|pair| pair[side] == value).count();
            less as f64 + (equal as f64 - 1.0) / 2.0
        };
        pairs.iter().map(|pair| rank(pair[side])).collect()
    };
    let (a, b) = (ranks(0), ranks(1));
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    product(&a, ma, &b, mb) / (product(&a, ma, &a, ma) * product(&b, mb, &b, mb)).sqrt()
}

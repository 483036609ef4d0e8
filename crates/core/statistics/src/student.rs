//! Student's t distribution.

/// Returns the probability of a value up to `t`, with `freedom` degrees of freedom (above 0).
pub fn t_cdf(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 1.0 } else { 0.0 };
    }
    // NIST Digital Library of Mathematical Functions, 8.17; Abramowitz and Stegun 26.7.1.
    let tail = 0.5 * incomplete_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the value up to which the probability is `probability`, which lies between 0 and 1.
pub fn t_quantile(probability: f64, freedom: f64) -> f64 {
    if probability < 0.5 {
        return -t_quantile(1.0 - probability, freedom);
    }
    let mut high = 1.0;
    while t_cdf(high, freedom) < probability && high < 1e12 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if t_cdf(middle, freedom) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22),
/// evaluated by Lentz's method.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // Where the fraction converges slowly, by I_x(a, b) = 1 - I_(1-x)(b, a) (DLMF 8.17.4).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    front.exp() / a * beta_fraction(x, a, b)
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + step * d);
            c = away_from_zero(1.0 + step / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function for positive arguments, by Stirling's series (DLMF 5.11.1)
/// above 10, and below by the recurrence.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse
        * (1.0 / 12.0
            - square
                * (1.0 / 360.0
                    - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the tables that every textbook has.
    #[test]
    fn quantiles() {
        for (probability, freedom, expect) in [
            (0.975, 1.0, 12.7062),
            (0.975, 5.0, 2.5706),
            (0.975, 9.0, 2.2622),
            (0.975, 30.0, 2.0423),
            (0.995, 10.0, 3.1693),
            (0.999, 9.0, 4.2968),
            (0.9995, 20.0, 3.8495),
            (0.95, 1e7, 1.6449),
            (0.025, 9.0, -2.2622),
        ] {
            let found = t_quantile(probability, freedom);
            assert!(
                (found - expect).abs() < 1e-4,
                "{probability} {freedom}: {found}"
            );
        }
    }

    /// With one degree of freedom it is Cauchy's distribution, with two it has a closed form.
    #[test]
    fn closed_forms() {
        for t in [-50.0, -1.5, -0.1, 0.0, 0.3, 2.0, 700.0] {
            let cauchy = 0.5 + f64::atan(t) / std::f64::consts::PI;
            assert!((t_cdf(t, 1.0) - cauchy).abs() < 1e-12, "{t}");
            let two = 0.5 + t / (2.0 * f64::sqrt(2.0 + t * t));
            assert!((t_cdf(t, 2.0) - two).abs() < 1e-12, "{t}");
        }
    }
}

//! The statistics behind relayout's intervals and verdicts, and the random numbers they are drawn
//! with.
//!
//! - [`median`] and [`hodges_lehmann`] locate values; a few wild ones do not move them;
//! - [`resample`] is the bootstrap, [`SortedSample`] reads the quantiles of resampled statistics, and
//!   [`estimate_location`] adds a standard error to a location;
//! - [`MeanDifference`] compares the means of two samples;
//! - [`DrawnRatio`] is a ratio of two rates by a model, with what its unknown parameters make of it;
//! - [`reject_hypotheses`] controls the false discovery rate of many comparisons;
//! - [`random`] holds the generators. Each seeded sequence is the same on every machine and in every
//!   version, so results can be repeated.
//!
//! ```
//! use relayout_statistics::{estimate_location, median};
//!
//! let times_ms = [20.1, 19.8, 20.4, 20.0, 93.0, 19.9, 20.2];
//! assert_eq!(median(&times_ms), Some(20.1));
//!
//! let estimate = estimate_location(&times_ms, 1).expect("two values at least");
//! assert!((estimate.location - 20.2).abs() < 0.2);
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

mod bootstrap;
mod drawn_ratio;
mod median;
mod multiple;
pub mod random;
mod resample;
mod sample;
mod student;
mod welch;

pub use bootstrap::{LocationEstimate, estimate_location};
pub use drawn_ratio::{DrawnRatio, RatePair, RatioVerdict};
pub use median::{hodges_lehmann, median};
pub use multiple::reject_hypotheses;
pub use resample::resample;
pub use sample::SortedSample;
pub use student::{t_cdf, t_quantile};
pub use welch::MeanDifference;

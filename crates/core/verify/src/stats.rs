//! The statistics that verdicts rest on. `docs/verify.md` says why these.

mod bootstrap;
mod median;
mod multiple;
mod student;

pub use bootstrap::{LocationEstimate, estimate_location};
pub use median::{hodges_lehmann, median};
pub use multiple::reject_hypotheses;
pub use student::{t_cdf, t_quantile};

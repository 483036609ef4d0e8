//! The statistics that verdicts rest on. `docs/verify.md` says why these.

mod bootstrap;
mod median;
mod multiple;
mod student;

pub use bootstrap::{Estimate, estimate};
pub use median::{hodges_lehmann, median};
pub use multiple::rejected;
pub use student::{t_cdf, t_quantile};

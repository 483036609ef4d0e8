//! Did it help? Statistics of interleaved A/B runs.
//!
//! - [`metric`] reads what is to be measured, and [`extract`] finds it in what a program wrote;
//! - [`plan`] says in which order the two sides are started, and when the results are looked at;
//! - [`runs`] holds what every start gave, and is what is saved;
//! - [`judge`](judge::judge) tells better, worse and same from what cannot be told;
//! - [`table`] shows it as the kernel's LKP robot does.
//!
//! `docs/verify.md` describes the method, with its sources.
//!
//! Values in, values out: no processes, no clock. Whoever starts the programs gives what they wrote.

pub mod extract;
pub mod judge;
pub mod metric;
pub mod plan;
pub mod runs;
pub mod table;

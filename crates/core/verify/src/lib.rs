//! Statistics of interleaved A/B runs: better, worse, same or unclear.
//!
//! - [`metric`] parses the text of `--metric`, and [`extract`] finds the metric's numbers in the
//!   output of a program.
//! - [`plan`] decides the order in which the two sides start, and the number of pairs after which
//!   the results are judged.
//! - [`runs`] holds the numbers of every start, and is the document that `--save` writes.
//! - [`judge`] gives each metric a verdict, as a [`judged_change`].
//!
//! `docs/verify.md` describes the method and its sources.
//!
//! This crate starts no process and reads no clock. The caller starts the programs and passes their
//! output and times.

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

pub mod extract;
mod json_steps;
pub mod judge;
pub mod judged_change;
pub mod kit_result;
pub mod metric;
pub mod plan;
pub mod runs;

//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

#[path = "find/main.rs"]
mod find;
mod line_moves;
mod rates;
mod rates_order;
mod recorded;
mod remedies;
mod replay;
mod throughput;
mod traces;

//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

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

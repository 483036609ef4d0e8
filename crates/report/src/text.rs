//! Texts for a terminal: one module for each command, and the colours of all.

pub mod advise;
pub mod check;
pub mod compare;
mod contention;
pub mod diff;
pub mod doctor;
pub mod explain;
pub mod fleet;
pub mod highlight;
pub mod kit;
pub mod lock;
pub mod machines;
pub mod probe;
pub mod rates;
pub mod record;
pub mod report;
pub mod rules;
pub mod show;
pub mod suite;
pub mod tune;
pub mod verify;

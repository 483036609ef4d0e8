//! One file per command: its arguments, and the call per step.

pub mod advise;
pub mod cc;
pub mod check;
pub mod compare;
pub mod completions;
pub mod diff;
pub mod doctor;
pub mod document_files;
pub mod fleet;
mod kit;
pub mod machine_args;
pub mod man;
pub mod probe;
pub mod record;
pub mod repeated_guest;
pub mod report;
pub mod setup;
pub mod show;
pub mod simulated_change;
pub mod suite;
pub mod tune;
pub mod verify;
pub mod view;
pub mod what_if;

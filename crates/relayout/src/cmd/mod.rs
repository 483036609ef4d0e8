//! One file per command: its arguments, and the call per step.

pub mod advise;
mod debug_file;
pub mod doctor;
pub mod record;
pub mod report;
pub mod show;
pub mod what_if;

//! One file for each command: it reads its arguments, asks, and prints.

pub mod add;
pub mod compact;
pub mod forget;
pub mod output;
pub mod pays;
mod progress;
pub mod sql;
pub mod tables;
pub mod top;
pub mod trend;
pub mod where_used;

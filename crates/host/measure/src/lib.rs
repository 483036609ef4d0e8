//! Starts programs to measure them, and tells how far the machine let them run.

mod command;
mod error;
mod group_watch;
mod schedule;
mod start;
mod trees;

pub use command::ProgramCommand;
pub use error::Error;
pub use error::output_below;
pub use schedule::CpuSchedule;
pub use start::{ProgramLaunch, ProgramOutcome, ProgramStarter};
pub use trees::SourceTrees;

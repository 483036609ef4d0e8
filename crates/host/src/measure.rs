//! Starts programs to measure them, and tells how far the machine let them run.

mod command;
mod error;
mod lost;
mod schedule;
mod start;
mod trees;

pub use command::Words;
pub use error::Error;
pub(crate) use error::tail;
pub use schedule::{Schedule, cpu_list};
pub use start::{Ended, Launch, Starter};
pub use trees::Trees;

//! QEMU: which one, whether it takes our plugin, and a machine that runs.

mod find;
mod machine;
mod qmp;

pub(crate) use self::find::comma_doubled;
pub use self::find::{QemuCollector, find_collector, find_program_collector};
pub(crate) use self::machine::{QemuConfig, QemuMachine};

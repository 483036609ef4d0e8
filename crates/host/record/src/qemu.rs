//! QEMU: which one, whether it takes our plugin, and a machine that runs.

mod find;
mod machine;
mod option;
mod qmp;

pub use self::find::{QemuCollector, find_collector, find_program_collector};
pub(crate) use self::machine::{QemuConfig, QemuMachine, cpu_model};
pub(crate) use self::option::path_option;

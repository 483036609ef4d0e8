//! QEMU: which one, whether it takes our plugin, and a machine that runs.

mod find;
mod machine;
mod migration;
mod option;
mod qmp;

pub use self::find::{QemuCollector, find_collector, find_program_collector};
pub(crate) use self::machine::{
    MachineOrigin, QemuConfig, QemuMachine, cpu_model, machine_arguments,
};
pub(crate) use self::option::path_option;

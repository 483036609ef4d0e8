//! Schema and limits of the machine file.

/// Kind and version of the document.
pub const SCHEMA: &str = "relayout/probe/1";
/// The schema without the version.
pub(crate) const SCHEMA_PREFIX: &str = "relayout/probe/";
/// Kind and version of a [`SimulatedMachineFile`](crate::SimulatedMachineFile).
pub const SIMULATED_MACHINE_SCHEMA: &str = "relayout/simulated-machine/1";
/// No machine file is nearly this long.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;

//! Documents of `relayout probe`: the machine file, and that of a machine for simulated time.

use relayout_probe::{MachineFile, SimulatedMachineFile};

use super::Document;

impl Document for MachineFile {
    const SCHEMA: &'static str = relayout_probe::SCHEMA;
}

impl Document for SimulatedMachineFile {
    const SCHEMA: &'static str = relayout_probe::SIMULATED_MACHINE_SCHEMA;
}

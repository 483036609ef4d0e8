//! Document of `relayout probe`: the machine file.

use relayout_probe::MachineFile;

use super::Document;

impl Document for MachineFile {
    const SCHEMA: &'static str = relayout_probe::SCHEMA;
}

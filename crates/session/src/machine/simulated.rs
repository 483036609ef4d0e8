//! Machines that guests run on in simulated time: of the table, or of a file.

use std::path::Path;

use relayout_files::fnv1a;
use relayout_machine::{MachineRule, find_machine};
use relayout_messages::UserError;
use relayout_probe::{Error, SimulatedMachineFile};
use relayout_record::NamedMachine;

use super::unknown_machine;

/// Finds the machine of the table with this name, or reads it from a file, and sets rules.
///
/// # Errors
/// There is neither, or the file is no machine; the error names the field.
pub fn find_simulated_machine(
    machine: &Path,
    rules: &[(MachineRule, f64)],
) -> Result<NamedMachine, UserError> {
    let known = machine.to_str().and_then(find_machine);
    let mut named = match known {
        Some(known) => known.into(),
        None => read_named_machine(machine)?,
    };
    for &(rule, value) in rules {
        named.description.rules.set(rule, value);
    }
    Ok(named)
}

fn read_named_machine(path: &Path) -> Result<NamedMachine, UserError> {
    if let Some(error) = unknown_machine(path) {
        return Err(error);
    }
    let file = SimulatedMachineFile::read(path)?;
    let description = file
        .description()
        .map_err(|problem| Error::SimulatedMachineFile {
            path: path.to_owned(),
            problem,
        })?;
    // What the simulation reads of the file: another source or form is no other machine.
    let digest = fnv1a(description.to_string().as_bytes());
    Ok(NamedMachine {
        name: file.name,
        processor: file.processor,
        digest: Some(format!("{digest:016x}")),
        description,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_another_machine_than_that_of_the_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.json");
        let known = find_machine("rome-2s").unwrap();
        let mut file = SimulatedMachineFile::from_known(known);
        let mut read = |change: fn(&mut SimulatedMachineFile)| {
            change(&mut file);
            fs::write(&path, file.to_json()).unwrap();
            find_simulated_machine(&path, &[]).unwrap()
        };
        let same = read(|_| ());
        assert_eq!(same.description.topology, known.topology);
        assert!(same.digest.is_some());
        let renamed = read(|file| file.source = "a guess".to_owned());
        assert_eq!(renamed.digest, same.digest);
        let slower = read(|file| file.cluster_ns = 40.0);
        assert_ne!(slower.digest, same.digest);
    }

    #[test]
    fn rules_are_set_and_unknown_names_are_refused() {
        let rules = [(MachineRule::Upgrade, 0.5)];
        let machine = find_simulated_machine("rome-2s".as_ref(), &rules).unwrap();
        assert_eq!(machine.digest, None);
        assert_eq!(machine.description.rules.value(MachineRule::Upgrade), 0.5);
        let error = find_simulated_machine("rom-2s".as_ref(), &[]).unwrap_err();
        assert!(
            error.chain_text().contains("rome-2s"),
            "{}",
            error.chain_text()
        );
        assert!(find_simulated_machine("./rome-2s".as_ref(), &[]).is_err());
    }
}

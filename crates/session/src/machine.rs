//! The machine that predictions are for: costs of accesses, as `relayout probe` measured them.

mod simulated;

use std::path::Path;

use relayout_advice::ProbedMachine;
use relayout_contend::throughput::{LineHabit, MachineCosts};
use relayout_machine::{MACHINES, find_machine};
use relayout_probe::{AccessCost, MachineFile, load_machine_file};

use relayout_layout::suggestions::similar_names;
use relayout_messages::UserError;

pub use self::simulated::find_simulated_machine;

/// Reads `machine_file`, or the file of this machine. `pair_coefficient` replaces the measured
/// one.
///
/// # Errors
/// The file cannot be read, or `machine_file` has no costs of accesses.
pub fn read_machine(
    machine_file: Option<&Path>,
    pair_coefficient: Option<f64>,
    cpus: Option<u32>,
) -> Result<ProbedMachine, UserError> {
    let file = match machine_file {
        Some(path) => Some(MachineFile::read(path).map_err(machine_file_error)?),
        None => load_machine_file()?,
    };
    let measured = file.as_ref().and_then(|file| file.pair_coefficient.value);
    let costs = file.as_ref().and_then(costs_from_file);
    let missing_costs = match machine_file {
        _ if file.is_none() || costs.is_some() => None,
        Some(path) => Some(missing_costs(path, "relayout probe -o FILE")),
        None => {
            let path = MachineFile::default_path().unwrap_or_default();
            Some(missing_costs(&path, "relayout probe"))
        }
    };
    Ok(ProbedMachine {
        pair_coefficient: pair_coefficient.or(measured).unwrap_or(0.0),
        costs,
        cpus,
        is_given: machine_file.is_some() || pair_coefficient.is_some() || cpus.is_some(),
        missing_costs_note: missing_costs
            .map(|error| format!("No throughput is predicted: {error}.")),
    })
}

/// Returns true for the name of a machine of the table.
pub fn is_known_machine(name: &Path) -> bool {
    name.to_str().and_then(find_machine).is_some()
}

/// Returns the error of what can be no file's path but only the name of a machine, and is none of the table.
pub fn unknown_machine(path: &Path) -> Option<UserError> {
    let name = path.to_str()?;
    if name.contains(['.', '/']) || path.exists() {
        return None;
    }
    let similar = similar_names(MACHINES.iter().map(|machine| machine.key), name);
    Some(UserError::unknown_name(
        format!("{name} is neither a file nor a machine of the table"),
        &similar,
        Some("`relayout probe --machines` lists them"),
    ))
}

/// Returns `given`, or else the pair coefficient that was measured on this machine.
///
/// # Errors
/// The file of this machine cannot be read.
pub fn pair_coefficient_or_measured(given: Option<f64>) -> Result<Option<f64>, UserError> {
    if given.is_some() {
        return Ok(given);
    }
    Ok(load_machine_file()?.and_then(|machine| machine.pair_coefficient.value))
}

/// Errors of the document itself name the remedy already.
fn machine_file_error(error: relayout_probe::Error) -> UserError {
    match error {
        relayout_probe::Error::MachineFile { .. } => error.into(),
        error => UserError::input("`relayout probe -o FILE` writes the file that --machine reads")
            .caused_by(error),
    }
}

fn missing_costs(path: &Path, command: &str) -> UserError {
    UserError::input(format!(
        "{}: it does not have the costs of all accesses: an earlier version wrote it, or the machine was too noisy",
        path.display()
    ))
    .with_remedy(format!("`{command}` measures again"))
}

fn costs_from_file(file: &MachineFile) -> Option<MachineCosts> {
    let mut costs = MachineCosts {
        // The first transfer is between the CPUs on which accesses were measured.
        transfer_ns: file.transfers.first()?.ns?,
        ..MachineCosts::default()
    };
    for own in LineHabit::ALL {
        for other in LineHabit::ALL {
            if (own, other) == (LineHabit::Load, LineHabit::Load) {
                continue;
            }
            let has_habits = |cost: &&AccessCost| {
                cost.kind == habit_name(own) && cost.against == habit_name(other)
            };
            let cost = file.accesses.iter().find(has_habits)?;
            costs.alone_ns[own as usize] = cost.alone_ns.value?;
            costs.contended_ns[own as usize][other as usize] = cost.contended_ns.value?;
        }
    }
    Some(costs)
}

/// Returns the name of a habit in the machine file.
fn habit_name(habit: LineHabit) -> &'static str {
    match habit {
        LineHabit::Load => "load",
        LineHabit::Store => "store",
        LineHabit::Update => "update",
        LineHabit::Exchange => "exchange",
    }
}

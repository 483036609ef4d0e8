//! Options for the machine that predictions are for.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_advice::ProbedMachine;
use relayout_messages::UserError;
use relayout_session::{is_known_machine, read_machine, unknown_machine};

use crate::complete;

/// Machine that predictions are for.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MachineArgs {
    /// Predict throughput, and weigh pairs of lines, by what is in this file [default: what
    /// `relayout probe` measured on this machine]. With --simulate: execute the recorded guest on this machine, of
    /// this name (`relayout probe --machines` lists them) or in a file [default: the recorded one]
    #[arg(long, value_name = "FILE|NAME", add = ArgValueCandidates::new(complete::machines))]
    pub machine: Option<PathBuf>,
    /// Predict it for so many CPUs that do what the recorded ones do [default: as many as were recorded]. With
    /// --simulate: execute the guest with so many CPUs, or with several numbers of them
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,
    /// Nanoseconds of the program's own code after each operation in simulated time
    #[arg(long, alias = "think", value_name = "NS", default_value_t = 0, requires = "simulate", value_parser = clap::value_parser!(u32).range(..=1_000_000_000))]
    pub user_time: u32,
}

impl MachineArgs {
    /// Reads the costs of the machine; `pair_coefficient` replaces the measured one.
    ///
    /// # Errors
    /// The file cannot be read, or the options ask for what only simulated time tells.
    pub(super) fn read_probed(
        &self,
        pair_coefficient: Option<f64>,
    ) -> Result<ProbedMachine, UserError> {
        let file = self.machine.as_deref();
        if file.is_some_and(is_known_machine) {
            return Err(UserError::input(
                "the recorded guest executes on a machine of the table only in simulated time",
            )
            .with_remedy("add --simulate"));
        }
        if let Some(error) = file.and_then(unknown_machine) {
            return Err(error);
        }
        let cpus = match self.cpus.as_slice() {
            [] => None,
            [only] if *only > 1 => Some(*only),
            _ => {
                return Err(UserError::input(
                    "the recorded guest executes with one CPU, or with several numbers of them, only in simulated time",
                )
                .with_remedy("add --simulate"));
            }
        };
        read_machine(file, pair_coefficient, cpus)
    }
}

//! Options for the machine that predictions are for.

use std::path::PathBuf;

use clap_complete::ArgValueCandidates;
use relayout_advice::{CurveRequest, ProbedMachine};
use relayout_messages::UserError;
use relayout_session::{read_machine, unknown_machine};
use relayout_timed::{MachineRules, TimedMachine, find_machine};

use crate::complete;

/// Machine that predictions are for.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MachineArgs {
    /// Predict throughput, and weigh pairs of lines, by what is in this file [default: what
    /// `relayout probe` measured on this machine]; or predict the gain over the number of CPUs of a machine of
    /// this name (`relayout probe --machines` lists them)
    #[arg(long, value_name = "FILE|NAME", add = ArgValueCandidates::new(complete::machines))]
    pub machine: Option<PathBuf>,
    /// Predict it for so many CPUs that do what the recorded ones do [default: as many as were recorded; on a
    /// machine with a name, powers of two up to all]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Vec<u32>,
    /// Nanoseconds of the program's own code between two operations, in predictions for several numbers of CPUs and in
    /// simulated time
    #[arg(long, alias = "think", value_name = "NS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000_000))]
    pub user_time: u32,
}

impl MachineArgs {
    /// Reads the costs of the machine; `pair_coefficient` replaces the measured one.
    pub(super) fn read_probed(
        &self,
        pair_coefficient: Option<f64>,
    ) -> Result<ProbedMachine, UserError> {
        let is_named = self.named().is_some();
        let file = self.machine.as_deref().filter(|_| !is_named);
        if let Some(error) = file.and_then(unknown_machine) {
            return Err(error);
        }
        let cpus = match self.cpus.as_slice() {
            [only] if *only > 1 => Some(*only),
            _ => None,
        };
        let probed = read_machine(file, pair_coefficient, cpus)?;
        let only_of_curves = self.cpus.len() > 1 || self.cpus == [1] || self.user_time > 0;
        if !is_named && probed.timed.is_none() && only_of_curves {
            return Err(UserError::input(
                "one CPU, several numbers of CPUs and --user-time need a probed machine (`relayout probe`), or the name of \
                 one (`relayout probe --machines` lists them)",
            ));
        }
        Ok(probed)
    }

    fn named(&self) -> Option<(TimedMachine, MachineRules)> {
        find_machine(self.machine.as_deref()?.to_str()?)
    }

    /// Returns what a curve over the number of CPUs is to be predicted for: the machine of the table that was named, or
    /// the probed one. `None` without both.
    pub(super) fn curve_request(&self, probed: &ProbedMachine) -> Option<CurveRequest> {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let (machine, rules) = match self.named() {
            Some(named) => named,
            None => probed.timed.clone()?,
        };
        Some(CurveRequest {
            machine,
            rules,
            is_asked_for: self.named().is_some(),
            cpus,
            think_ns: f64::from(self.user_time),
        })
    }
}

//! Boots whose windows execute on a machine in simulated time.

use std::time::Duration;

use relayout_machine::MachineRule;
use relayout_profile::SimulatedMachineName;
use relayout_record::{Error, NamedMachine, SimulationSettings};

use crate::simulate::RuleDraws;

/// Machine in whose simulated time both kernels execute a workload.
#[derive(Clone, Debug)]
pub struct SimulatedBoots {
    /// The machine.
    pub machine: NamedMachine,
    /// Place of the guest's CPUs on it.
    pub placement: String,
    /// Simulated time of a window; `None` for all of the work, if its end is given, else for the default.
    pub length: Option<Duration>,
}

impl SimulatedBoots {
    /// Returns the machine for documents.
    ///
    /// # Errors
    /// It has no room for so many CPUs, or no such placement.
    pub(super) fn name(&self, cpus: u16) -> Result<SimulatedMachineName, Error> {
        let settings = SimulationSettings::new(self.machine.clone(), &self.placement, cpus)?;
        Ok(settings.machine_name())
    }
}

/// Machine with the rules of each pair of boots.
///
/// The first pair has the expected rules. Each other one draws those that nobody measured, and both of its boots have the same. As each
/// pair boots otherwise, too, the rates say what neither the state after a boot nor an unknown rule decides.
pub(super) struct DrawnBoots<'b> {
    boots: &'b SimulatedBoots,
    draws: RuleDraws,
}

impl<'b> DrawnBoots<'b> {
    /// Draws the rules of so many pairs.
    pub fn new(boots: &'b SimulatedBoots, pairs: usize) -> Self {
        let rules = &boots.machine.description.rules;
        let known: Vec<MachineRule> = rules.changed().map(|(facts, _)| facts.rule).collect();
        let drawn = u16::try_from(pairs.saturating_sub(1)).unwrap_or(u16::MAX);
        Self {
            boots,
            draws: RuleDraws::new(drawn, &known),
        }
    }

    /// Returns the simulation of a pair's boots.
    ///
    /// # Errors
    /// The machine has no room for so many CPUs, or there is no such placement.
    pub fn simulation(
        &self,
        cpus: u16,
        pair: usize,
        has_end: bool,
    ) -> Result<SimulationSettings, Error> {
        let mut machine = self.boots.machine.clone();
        let drawn = pair
            .checked_sub(1)
            .and_then(|draw| self.draws.rules().nth(draw));
        for &(rule, value) in drawn.into_iter().flatten() {
            machine.description.rules.set(rule, value);
        }
        let mut settings = SimulationSettings::new(machine, &self.boots.placement, cpus)?;
        match self.boots.length {
            Some(length) => settings.length = length,
            None if has_end => settings.run_to_the_end(),
            None => {}
        }
        Ok(settings)
    }
}

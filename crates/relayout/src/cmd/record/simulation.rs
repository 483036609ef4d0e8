//! Options of `relayout record kernel` for guests in simulated time.

use std::path::PathBuf;
use std::time::Duration;

use clap_complete::ArgValueCandidates;
use relayout_layout::suggestions::similar_names;
use relayout_machine::{DescriptionProblem, MachineRule, RULES};
use relayout_messages::UserError;
use relayout_record::{RequestedMove, SimulationSettings};
use relayout_session::find_simulated_machine;

use crate::arguments;
use crate::complete;

/// Options of guests in simulated time.
#[derive(Debug, clap::Args)]
pub struct SimulationArgs {
    /// Execute the guest in the simulated time of this machine: its CPUs wait for cache lines as they would
    /// there. `relayout probe --machines` lists names; a FILE is one that `relayout probe -o` or `relayout probe
    /// --machines NAME -o` wrote. Line latencies only: no core, no caches' size
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCandidates::new(complete::machines))]
    machine: Option<PathBuf>,
    /// Give a rule of the machine another value; may be given more than once. `relayout probe --rules` lists them
    /// with their ranges
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_parser = parse_rule,
        requires = "machine",
        add = ArgValueCandidates::new(complete::rules)
    )]
    rule: Vec<(MachineRule, f64)>,
    /// Place the guest's CPUs on the machine: pack, spread, or threads as 0,1,56
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "pack",
        requires = "machine"
    )]
    placement: String,
    /// Record for this long in simulated time: 5ms, 200us
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = arguments::simulated_time, requires = "machine")]
    simulate: Duration,
    /// Write no profile, and print operations a second, and where CPUs stand still
    #[arg(long, requires = "machine", conflicts_with_all = ["output", "repeat", "idle"])]
    pub rates: bool,
    /// Execute as if members of all objects of a type in slabs lay elsewhere: TYPE.MEMBER,MEMBER=OFFSET or
    /// =own-line, TYPE@FROM..TO=own-line for bytes, CACHE:TYPE for those of a slab cache; may be given more
    /// than once
    #[arg(long = "move", value_name = "TYPE.MEMBER=OFFSET", requires = "rates")]
    moves: Vec<RequestedMove>,
    /// Print the rates as JSON
    #[arg(long, requires = "rates")]
    pub json: bool,
}

impl SimulationArgs {
    /// Returns the simulation that the options ask for, of a guest with `cpus` CPUs.
    ///
    /// # Errors
    /// There is no such machine, its file is none, or it has no room.
    pub fn settings(&self, cpus: u16) -> Result<Option<SimulationSettings>, UserError> {
        let Some(machine) = &self.machine else {
            return Ok(None);
        };
        let machine = find_simulated_machine(machine, &self.rule)?;
        let mut settings = SimulationSettings::new(machine, &self.placement, cpus)?;
        settings.length = self.simulate;
        settings.moves.clone_from(&self.moves);
        Ok(Some(settings))
    }
}

/// Parses a rule's value: `upgrade=0.5`.
fn parse_rule(text: &str) -> Result<(MachineRule, f64), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("write NAME=VALUE: upgrade=0.5")?;
    let Some(rule) = MachineRule::from_key(key) else {
        let similar = similar_names(RULES.iter().map(|facts| facts.key), key);
        let similar = { similar.first() }.map(|name| format!(" (did you mean '{name}'?)"));
        return Err(format!(
            "there is no rule '{key}'{}; `relayout probe --rules` lists them",
            similar.unwrap_or_default()
        ));
    };
    let found = { value.parse() }.map_err(|_| format!("'{value}' is no number"))?;
    match rule.facts().allows(found) {
        true => Ok((rule, found)),
        false => Err(DescriptionProblem::Rule { rule, found }.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_a_name_and_a_value_in_their_range() {
        assert_eq!(parse_rule("upgrade=0.5"), Ok((MachineRule::Upgrade, 0.5)));
        let check = |text: &str, expect: &str| {
            let error = parse_rule(text).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        check("upgrade", "write NAME=VALUE");
        check("upgrad=1", "did you mean 'upgrade'?");
        check("upgrade=x", "'x' is no number");
        check("upgrade=0.4", "upgrade is 0.4, not a factor from 0.5 to 1");
        check("near-first=1.5", "not a whole number from 0 to 8");
        check("quantum=inf", "not nanoseconds from 500 to 10000");
    }
}

//! Machines of the table, as the model takes them.

use relayout_machine::KnownMachine;

use crate::machine::{TimedMachine, TransferTimes};
use crate::rules::{MachineRules, ModelRule};

/// Returns the machine of the table with this name, and the ranges of the rules on it.
///
/// ```
/// let (machine, _) = relayout_timed::find_machine("genoa-2s").expect("it is in the table");
/// assert_eq!(machine.cpus(), 192);
/// ```
pub fn find_machine(key: &str) -> Option<(TimedMachine, MachineRules)> {
    let known = relayout_machine::find_machine(key)?;
    let [low, high] = known.time_factors();
    let mut rules = MachineRules::default();
    rules.widen(ModelRule::Transfer, low, high);
    Some((known.into(), rules))
}

impl From<&KnownMachine> for TimedMachine {
    fn from(known: &KnownMachine) -> Self {
        let topology = &known.topology;
        let (processor, sockets, cores) = (known.processor, topology.sockets, topology.cores);
        Self {
            name: format!("{processor} ({sockets} x {cores} cores)"),
            sockets,
            cores,
            cluster_cores: topology.cluster_cores,
            transfer: TransferTimes {
                cluster: topology.times.cluster,
                socket: topology.times.socket,
                other_socket: topology.times.other_socket,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use relayout_machine::MACHINES;

    use super::*;

    fn transfer_range(key: &str) -> [f64; 2] {
        let (_, rules) = find_machine(key).expect("it is in the table");
        let mut ranges = rules.ranges.iter();
        let range = ranges.find(|range| range.rule == ModelRule::Transfer);
        let range = range.expect("the rule has a range");
        [range.low, range.high]
    }

    #[test]
    fn unpublished_times_are_drawn_from_their_range() {
        assert_eq!(transfer_range("cascade-lake-2s"), [0.75, 1.33]);
        let [low, high] = transfer_range("haswell-4s");
        assert!(low < 0.75 && high > 1.7, "{low} to {high}");
    }

    #[test]
    fn machines_have_the_cores_and_times_of_the_table() {
        for known in &MACHINES {
            let (machine, _) = find_machine(known.key).expect("it is in the table");
            assert_eq!(machine.cpus(), known.topology.all_cores());
            let last = machine.cpus() - 1;
            let farthest = known.distances().last().expect("it has two cores").1;
            assert_eq!(machine.transfer_ns(0, last), farthest.expected_ns);
        }
    }
}

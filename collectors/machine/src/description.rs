//! A machine as text, for the process that simulates it: a line `name=value` for each fact.
//!
//! ```
//! use relayout_machine::{MachineDescription, MachineRule, find_machine};
//!
//! let topology = find_machine("rome-2s").expect("it is in the table").topology;
//! let mut machine = MachineDescription { topology, rules: Default::default() };
//! machine.rules.set(MachineRule::Upgrade, 0.5);
//! let text = machine.to_string();
//! assert!(text.contains("cluster_cores=4\n") && text.contains("upgrade=0.5\n"));
//! assert_eq!(MachineDescription::parse(&text), Ok(machine));
//! ```

use core::fmt;
use core::iter::Zip;
use core::ops::RangeFrom;
use core::str::{FromStr, Lines};

use crate::protocol::CoherenceProtocol;
use crate::rules::{MachineRule, MachineRules};
use crate::topology::{DistanceTimes, MachineTopology};

/// Cores, times, protocol and rules of a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineDescription {
    /// Cores, times to move a line, and protocol.
    pub topology: MachineTopology,
    /// Rules. Only those with another value than the expected one are in the text.
    pub rules: MachineRules,
}

/// Defect of a description.
#[derive(Clone, PartialEq, Debug)]
pub enum DescriptionProblem {
    /// A line of the text, counted from 1, is not the fact that comes next, or a line is missing (0).
    Line(usize),
    /// A number that no machine has.
    Field {
        /// Name of the field.
        name: &'static str,
        /// Its value.
        found: f64,
        /// Smallest value.
        low: f64,
        /// Largest value.
        high: f64,
    },
    /// A rule has a value outside of its range.
    Rule {
        /// The rule.
        rule: MachineRule,
        /// Its value.
        found: f64,
    },
}

/// Longest time to move a line, in nanoseconds.
const MOVE_NS_MAX: f64 = 100_000.0;

impl MachineDescription {
    /// Reads a description that [`fmt::Display`] wrote.
    ///
    /// # Errors
    /// Names the first line that is none, or the first number that no machine has.
    pub fn parse(text: &str) -> Result<Self, DescriptionProblem> {
        let mut lines = DescriptionLines(text.lines().zip(1..));
        let machine = Self {
            topology: MachineTopology {
                sockets: lines.fact("sockets")?,
                cores: lines.fact("cores")?,
                cluster_cores: lines.fact("cluster_cores")?,
                threads: lines.fact("threads")?,
                times: DistanceTimes {
                    cluster: lines.fact("cluster_ns")?,
                    socket: lines.fact("socket_ns")?,
                    other_socket: lines.fact("other_socket_ns")?,
                },
                protocol: lines.fact_by("protocol", CoherenceProtocol::from_name)?,
            },
            rules: lines.rules()?,
        };
        machine.validate()?;
        Ok(machine)
    }

    /// Verifies that all numbers are those of a machine.
    ///
    /// # Errors
    /// Names the first that is not.
    pub fn validate(&self) -> Result<(), DescriptionProblem> {
        let topology = &self.topology;
        let times = topology.times;
        let cores = f64::from(topology.cores);
        let fields = [
            ("sockets", topology.sockets.into(), 1.0, 32.0),
            ("cores", cores, 1.0, 1024.0),
            ("cluster_cores", topology.cluster_cores.into(), 1.0, cores),
            ("threads", topology.threads.into(), 1.0, 8.0),
            ("cluster_ns", times.cluster, 0.0, MOVE_NS_MAX),
            ("socket_ns", times.socket, 0.0, MOVE_NS_MAX),
            ("other_socket_ns", times.other_socket, 0.0, MOVE_NS_MAX),
        ];
        for (name, found, low, high) in fields {
            if !(low..=high).contains(&found) {
                return Err(DescriptionProblem::Field {
                    name,
                    found,
                    low,
                    high,
                });
            }
        }
        match { self.rules.changed() }.find(|(facts, value)| !facts.allows(*value)) {
            Some((facts, found)) => Err(DescriptionProblem::Rule {
                rule: facts.rule,
                found,
            }),
            None => Ok(()),
        }
    }
}

/// Lines of a description, with their numbers.
struct DescriptionLines<'t>(Zip<Lines<'t>, RangeFrom<usize>>);

impl DescriptionLines<'_> {
    fn fact<T: FromStr>(&mut self, name: &str) -> Result<T, DescriptionProblem> {
        self.fact_by(name, |value| value.parse().ok())
    }

    fn fact_by<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, DescriptionProblem> {
        let (line, number) = self.0.next().unwrap_or_default();
        let value = { line.split_once('=') }.filter(|(found, _)| *found == name);
        { value.and_then(|(_, value)| parse(value)) }.ok_or(DescriptionProblem::Line(number))
    }

    fn rules(&mut self) -> Result<MachineRules, DescriptionProblem> {
        let mut rules = MachineRules::default();
        for (line, number) in &mut self.0 {
            let rule = line
                .split_once('=')
                .and_then(|(key, value)| Some((MachineRule::from_key(key)?, value.parse().ok()?)));
            let (rule, value) = rule.ok_or(DescriptionProblem::Line(number))?;
            rules.set(rule, value);
        }
        Ok(rules)
    }
}

impl fmt::Display for MachineDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topology = &self.topology;
        writeln!(f, "sockets={}", topology.sockets)?;
        writeln!(f, "cores={}", topology.cores)?;
        writeln!(f, "cluster_cores={}", topology.cluster_cores)?;
        writeln!(f, "threads={}", topology.threads)?;
        writeln!(f, "cluster_ns={}", topology.times.cluster)?;
        writeln!(f, "socket_ns={}", topology.times.socket)?;
        writeln!(f, "other_socket_ns={}", topology.times.other_socket)?;
        writeln!(f, "protocol={}", topology.protocol.name)?;
        for (facts, value) in self.rules.changed() {
            writeln!(f, "{}={value}", facts.key)?;
        }
        Ok(())
    }
}

impl fmt::Display for DescriptionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line} is no fact about a machine"),
            Self::Field {
                name,
                found,
                low,
                high,
            } => write!(f, "{name} is {found}, not from {low} to {high}"),
            Self::Rule { rule, found } => {
                let facts = rule.facts();
                let (key, unit) = (facts.key, facts.unit.noun());
                write!(
                    f,
                    "{key} is {found}, not {unit} from {} to {}",
                    facts.low, facts.high
                )
            }
        }
    }
}

impl core::error::Error for DescriptionProblem {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::{DescriptionProblem, MachineDescription};
    use crate::machines::{MACHINES, find_machine};
    use crate::rules::{MachineRule, MachineRules};

    fn table() -> impl Iterator<Item = MachineDescription> {
        MACHINES.iter().map(|machine| MachineDescription {
            topology: machine.topology,
            rules: MachineRules::default(),
        })
    }

    #[test]
    fn machines_of_the_table_come_back() {
        for machine in table() {
            assert_eq!(MachineDescription::parse(&machine.to_string()), Ok(machine));
        }
    }

    #[test]
    fn refusals_name_line_field_or_rule() {
        let topology = find_machine("cascade-lake-2s").expect("known").topology;
        let rules = MachineRules::default();
        let text = MachineDescription { topology, rules }.to_string();
        let problem = |text: &str| MachineDescription::parse(text).unwrap_err().to_string();
        let check = |further: &str, expect: &str| {
            assert_eq!(problem(&(text.clone() + further)), expect);
        };
        let check_changed = |from: &str, to: &str, expect: &str| {
            assert!(text.contains(from));
            assert_eq!(problem(&text.replace(from, to)), expect);
        };
        check("what=1\n", "line 9 is no fact about a machine");
        check("upgrade\n", "line 9 is no fact about a machine");
        check("upgrade=2\n", "upgrade is 2, not a factor from 0.5 to 1");
        check_changed("=MESIF", "=MSI", "line 8 is no fact about a machine");
        check_changed("sockets=2\n", "", "line 1 is no fact about a machine");
        check_changed("cores=24", "cores=0", "cores is 0, not from 1 to 1024");
        check_changed(
            "\ncluster_cores=24",
            "\ncluster_cores=25",
            "cluster_cores is 25, not from 1 to 24",
        );
        check_changed(
            "=134",
            "=NaN",
            "other_socket_ns is NaN, not from 0 to 100000",
        );
        assert_eq!(problem(""), "line 0 is no fact about a machine");
        let rule = MachineRule::NearFirst;
        assert_eq!(
            MachineDescription::parse(&(text.clone() + "near-first=1.5")),
            Err(DescriptionProblem::Rule { rule, found: 1.5 })
        );
    }
}

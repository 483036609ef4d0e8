//! Files of machines that guests run on in simulated time.
//!
//! `relayout probe --machines NAME` writes one for a machine of the table, for users to change. A file of
//! `relayout probe` serves as well, if the measurements tell enough.

use std::collections::BTreeMap;
use std::path::Path;

use relayout_machine::{
    CoherenceProtocol, DistanceTimes, KnownMachine, MachineDescription, MachineRule, MachineRules,
    MachineTopology, RULES, RuleUnit, TimeOrigin,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Error;
use crate::error::SimulatedMachineProblem;
use crate::file::{MachineFile, read_bounded};
use crate::schema::{FILE_BYTES_MAX, SCHEMA, SIMULATED_MACHINE_SCHEMA};

/// Characters of a name, at most.
const NAME_CHARS_MAX: usize = 64;

/// Threads of a core, at most.
const CORE_THREADS_MAX: u32 = 8;

/// A machine for simulated time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SimulatedMachineFile {
    /// [`SIMULATED_MACHINE_SCHEMA`].
    pub schema: String,
    /// Name, which profiles and reports have.
    pub name: String,
    /// Processor.
    pub processor: String,
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// Cores of a cluster, which share a last-level cache.
    pub cluster_cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Nanoseconds to move a modified line within a cluster.
    pub cluster_ns: f64,
    /// The same between clusters of a socket.
    pub socket_ns: f64,
    /// The same between sockets.
    pub other_socket_ns: f64,
    /// Coherence protocol: `MESIF`, `MOESI` or `migratory`.
    pub protocol: String,
    /// Values of rules, by key; those that are missing have their expected values. `relayout probe --rules`
    /// lists them.
    pub rules: BTreeMap<String, f64>,
    /// Origin of the numbers, in words; may be missing.
    pub source: String,
}

impl SimulatedMachineFile {
    /// Returns the file of a machine of the table, with the expected value of each rule.
    pub fn from_known(machine: &KnownMachine) -> Self {
        let topology = &machine.topology;
        Self {
            schema: SIMULATED_MACHINE_SCHEMA.to_owned(),
            name: machine.key.to_owned(),
            processor: machine.processor.to_owned(),
            sockets: topology.sockets,
            cores: topology.cores,
            cluster_cores: topology.cluster_cores,
            threads: topology.threads,
            cluster_ns: topology.times.cluster,
            socket_ns: topology.times.socket,
            other_socket_ns: topology.times.other_socket,
            protocol: topology.protocol.name.to_owned(),
            rules: { RULES.iter() }
                .map(|facts| (facts.key.to_owned(), facts.expected))
                .collect(),
            source: source_text(machine),
        }
    }

    /// Reads a machine from its own file, or from one of `relayout probe`.
    ///
    /// # Errors
    /// The file cannot be read, is neither, or lacks something; the error names the field.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = read_bounded(path)?;
        Self::parse_any(&text).map_err(|problem| Error::SimulatedMachineFile {
            path: path.to_owned(),
            problem,
        })
    }

    fn parse_any(text: &[u8]) -> Result<Self, SimulatedMachineProblem> {
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(SimulatedMachineProblem::TooLong);
        }
        let fields: Map<String, Value> = serde_json::from_slice(text)
            .map_err(|error| SimulatedMachineProblem::Json(error.to_string()))?;
        match fields.get("schema").and_then(Value::as_str) {
            Some(SIMULATED_MACHINE_SCHEMA) => Self::from_fields(fields),
            Some(SCHEMA) => Self::from_probe(&MachineFile::parse(text)?),
            other => Err(SimulatedMachineProblem::Schema(
                other.unwrap_or_default().to_owned(),
            )),
        }
    }

    fn from_fields(fields: Map<String, Value>) -> Result<Self, SimulatedMachineProblem> {
        let mut fields = MachineFields(fields);
        let machine = Self {
            schema: fields.take_field("schema")?,
            name: fields.take_field("name")?,
            processor: fields.take_field("processor")?,
            sockets: fields.take_field("sockets")?,
            cores: fields.take_field("cores")?,
            cluster_cores: fields.take_field("cluster_cores")?,
            threads: fields.take_field("threads")?,
            cluster_ns: fields.take_field("cluster_ns")?,
            socket_ns: fields.take_field("socket_ns")?,
            other_socket_ns: fields.take_field("other_socket_ns")?,
            protocol: fields.take_field("protocol")?,
            rules: fields.take_optional("rules")?,
            source: fields.take_optional("source")?,
        };
        if let Some(name) = fields.0.keys().next() {
            return Err(SimulatedMachineProblem::UnknownField(name.clone()));
        }
        for (field, text) in [("name", &machine.name), ("processor", &machine.processor)] {
            let is_short = (1..=NAME_CHARS_MAX).contains(&text.chars().count());
            if !is_short || text.contains(char::is_control) {
                let why = format!("not 1 to {NAME_CHARS_MAX} printable characters");
                return Err(SimulatedMachineProblem::field(field, why));
            }
        }
        machine.description()?;
        Ok(machine)
    }

    /// Makes a machine of measurements. The protocol is the one of the processor's maker.
    fn from_probe(probed: &MachineFile) -> Result<Self, SimulatedMachineProblem> {
        let lacks = SimulatedMachineProblem::ProbeLacks;
        let times = probed.move_times().ok_or(lacks(
            "transfers",
            "it has no time to move a line between two cores",
        ))?;
        let cores = { probed.cores }.ok_or(lacks("cores", "an earlier version wrote it"))?;
        let is_split = cores.cache_cores < cores.node_cores;
        if is_split && times.socket_ns.is_none() {
            let why = "cores of one package with different caches were not measured (relation same-package)";
            return Err(lacks("transfers", why));
        }
        if cores.nodes > 1 && times.other_node_ns.is_none() {
            let why = "cores of two nodes were not measured (relation other-node)";
            return Err(lacks("transfers", why));
        }
        let cpu = &probed.machine.cpu;
        let protocol = match probed.loads_take_lines() {
            Some(true) => CoherenceProtocol::MIGRATORY,
            _ => maker_protocol(cpu).ok_or(lacks(
                "machine.cpu",
                "the protocol of this processor is not known",
            ))?,
        };
        let all_cores = cores.nodes.max(1).saturating_mul(cores.node_cores.max(1));
        let threads = probed.machine.cpus / all_cores;
        let socket_ns = times.socket_ns.unwrap_or(times.cluster_ns);
        let machine = Self {
            schema: SIMULATED_MACHINE_SCHEMA.to_owned(),
            name: "probed".to_owned(),
            processor: cpu.clone(),
            sockets: cores.nodes,
            cores: cores.node_cores,
            cluster_cores: cores.cache_cores,
            // Of CPUs that the probe might not use, the number of cores is not known.
            threads: if threads > CORE_THREADS_MAX {
                1
            } else {
                threads.max(1)
            },
            cluster_ns: times.cluster_ns,
            socket_ns,
            other_socket_ns: times.other_node_ns.unwrap_or(socket_ns),
            protocol: protocol.name.to_owned(),
            rules: measured_rules(probed)?,
            source: "relayout probe".to_owned(),
        };
        machine.description()?;
        Ok(machine)
    }

    /// Returns the machine for the simulation.
    ///
    /// # Errors
    /// Names a field or rule with a value that no machine has.
    pub fn description(&self) -> Result<MachineDescription, SimulatedMachineProblem> {
        let protocol = CoherenceProtocol::from_name(&self.protocol).ok_or_else(|| {
            let known = CoherenceProtocol::ALL.map(|protocol| protocol.name);
            let why = format!("'{}' is none of {}", self.protocol, known.join(", "));
            SimulatedMachineProblem::field("protocol", why)
        })?;
        let mut rules = MachineRules::default();
        for (key, &value) in &self.rules {
            let rule = MachineRule::from_key(key)
                .ok_or_else(|| SimulatedMachineProblem::UnknownRule(key.clone()))?;
            rules.set(rule, value);
        }
        let machine = MachineDescription {
            topology: MachineTopology {
                sockets: self.sockets,
                cores: self.cores,
                cluster_cores: self.cluster_cores,
                threads: self.threads,
                times: DistanceTimes {
                    cluster: self.cluster_ns,
                    socket: self.socket_ns,
                    other_socket: self.other_socket_ns,
                },
                protocol,
            },
            rules,
        };
        machine.validate()?;
        Ok(machine)
    }

    /// Returns the text of the file, ending in a newline.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("all keys are strings") + "\n"
    }
}

/// Returns the origin of the numbers of a machine of the table, with the ranges of times that are not published.
fn source_text(machine: &KnownMachine) -> String {
    let mut text = machine.source.to_owned();
    for (distance, time) in machine.distances() {
        if time.origin != TimeOrigin::Published {
            let (distance, origin) = (distance.name(), time.origin.name());
            let (low, high) = (time.low_ns, time.high_ns);
            text += &format!("; {distance}_ns ({origin}) lies from {low} to {high}");
        }
    }
    text + "; " + machine.protocol_source
}

/// Returns the rules that `relayout probe --contend` measured. A value that a rule does not allow becomes the nearest
/// one that it does.
fn measured_rules(probed: &MachineFile) -> Result<BTreeMap<String, f64>, SimulatedMachineProblem> {
    let measured = { probed.contention.iter() }.flat_map(|contention| &contention.rules);
    let allowed = measured.map(|measured| {
        let rule = MachineRule::from_key(&measured.rule)
            .ok_or_else(|| SimulatedMachineProblem::UnknownRule(measured.rule.clone()))?;
        let facts = rule.facts();
        let value = match facts.unit {
            RuleUnit::Count | RuleUnit::Switch => measured.value.round(),
            RuleUnit::Nanoseconds | RuleUnit::Microseconds | RuleUnit::Factor => measured.value,
        };
        let value = value.clamp(facts.low, facts.high);
        Ok::<_, SimulatedMachineProblem>((measured.rule.clone(), value))
    });
    allowed.collect()
}

/// Returns the protocol of the maker that a processor's name tells. An Arm processor has a number: `0x41 0xd40`.
fn maker_protocol(cpu: &str) -> Option<CoherenceProtocol> {
    if cpu.contains("Intel") {
        Some(CoherenceProtocol::MESIF)
    } else if cpu.contains("AMD") || cpu.starts_with("0x") {
        Some(CoherenceProtocol::MOESI)
    } else {
        None
    }
}

/// Fields of a file that are not read yet.
struct MachineFields(Map<String, Value>);

impl MachineFields {
    fn take_field<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
    ) -> Result<T, SimulatedMachineProblem> {
        let value = self.0.remove(name);
        let value = value.ok_or(SimulatedMachineProblem::Missing(name))?;
        serde_json::from_value(value)
            .map_err(|error| SimulatedMachineProblem::field(name, error.to_string()))
    }

    fn take_optional<T: DeserializeOwned + Default>(
        &mut self,
        name: &'static str,
    ) -> Result<T, SimulatedMachineProblem> {
        match self.0.contains_key(name) {
            true => self.take_field(name),
            false => Ok(T::default()),
        }
    }
}

#[cfg(test)]
mod tests;

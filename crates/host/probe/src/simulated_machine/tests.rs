use relayout_machine::{MACHINES, find_machine};
use serde_json::json;

use super::*;
use crate::contention::{ContentionTests, MeasuredRule};
use crate::estimate::ProbeEstimate;
use crate::file::{TransferCost, VisitCost};
use crate::topology::{CoreCounts, CpuRelation};

fn parse(value: &Value) -> Result<SimulatedMachineFile, String> {
    let text = value.to_string();
    SimulatedMachineFile::parse_any(text.as_bytes()).map_err(|problem| problem.to_string())
}

fn rome() -> Value {
    let rome = find_machine("rome-2s").expect("it is in the table");
    serde_json::to_value(SimulatedMachineFile::from_known(rome)).expect("it is JSON")
}

#[test]
fn machines_of_the_table_come_back() {
    for machine in &MACHINES {
        let file = SimulatedMachineFile::from_known(machine);
        let read = SimulatedMachineFile::parse_any(file.to_json().as_bytes()).unwrap();
        let description = read.description().unwrap();
        assert_eq!(description.topology, machine.topology);
        assert_eq!(description.rules, MachineRules::default());
        assert_eq!(read, file);
    }
}

#[test]
fn rules_and_source_may_be_missing() {
    let mut value = rome();
    let fields = value.as_object_mut().unwrap();
    fields.remove("rules");
    fields.remove("source");
    let read = parse(&value).unwrap();
    assert_eq!(read.description().unwrap().rules, MachineRules::default());
}

#[test]
fn refusals_name_the_field() {
    let check = |field: &str, content: Value, expect: &str| {
        let mut value = rome();
        value[field] = content;
        assert_eq!(parse(&value).unwrap_err(), expect);
    };
    check("cores", json!(0), "cores is 0, not from 1 to 1024");
    check(
        "cores",
        json!(-1),
        "cores: invalid value: integer `-1`, expected u32",
    );
    check(
        "cluster_ns",
        json!("fast"),
        "cluster_ns: invalid type: string \"fast\", expected f64",
    );
    check(
        "protocol",
        json!("MSI"),
        "protocol: 'MSI' is none of MESIF, MOESI, migratory",
    );
    check("name", json!(""), "name: not 1 to 64 printable characters");
    check("color", json!(1), "it has an unknown field 'color'");
    check(
        "rules",
        json!({"upgrades": 1}),
        "rules: there is no rule 'upgrades' (`relayout probe --rules` lists them)",
    );
    check(
        "rules",
        json!({"upgrade": 3}),
        "upgrade is 3, not a factor from 0.5 to 1",
    );
    check(
        "schema",
        json!("relayout/report/1"),
        "its schema is 'relayout/report/1', neither 'relayout/simulated-machine/1' nor 'relayout/probe/1'",
    );
    let mut value = rome();
    value.as_object_mut().unwrap().remove("threads");
    assert_eq!(parse(&value).unwrap_err(), "it has no field 'threads'");
    assert!(parse(&json!([])).unwrap_err().contains("invalid type"));
}

/// Measurements of two nodes of two caches of two cores of two threads.
fn probed() -> MachineFile {
    let transfer = |relation, ns| TransferCost {
        cpu_a: 0,
        cpu_b: 1,
        relation,
        ns: Some(ns),
        ns_low: Some(ns),
        ns_high: Some(ns),
    };
    let visit = |kind: &str, ns| VisitCost {
        kind: kind.to_owned(),
        instructions: None,
        ns: ProbeEstimate::new(ns, ns, ns),
    };
    let mut file = crate::file::tests::sample();
    file.machine.cpus = 16;
    file.cores = Some(CoreCounts {
        nodes: 2,
        node_cores: 4,
        cache_cores: 2,
    });
    file.transfers = vec![
        transfer(CpuRelation::SameCache, 60.0),
        transfer(CpuRelation::SamePackage, 120.0),
        transfer(CpuRelation::OtherNode, 240.0),
    ];
    file.visits = vec![visit("exchange", 30.0), visit("load-then-exchange", 60.0)];
    file
}

#[test]
fn measurements_make_a_machine() {
    let machine = SimulatedMachineFile::from_probe(&probed()).unwrap();
    let topology = machine.description().unwrap().topology;
    let counts = [
        topology.sockets,
        topology.cores,
        topology.cluster_cores,
        topology.threads,
    ];
    assert_eq!(counts, [2, 4, 2, 2]);
    let times = topology.times;
    assert_eq!(
        [times.cluster, times.socket, times.other_socket],
        [30.0, 60.0, 120.0]
    );
    assert_eq!(topology.protocol, CoherenceProtocol::MOESI);
    let mut migratory = probed();
    migratory.visits[1].ns = ProbeEstimate::new(31.0, 31.0, 31.0);
    assert_eq!(
        SimulatedMachineFile::from_probe(&migratory)
            .unwrap()
            .protocol,
        "migratory"
    );
}

#[test]
fn measurements_that_do_not_suffice_are_named() {
    let check = |change: fn(&mut MachineFile), expect: &str| {
        let mut file = probed();
        change(&mut file);
        let problem = SimulatedMachineFile::from_probe(&file).unwrap_err();
        assert!(problem.to_string().contains(expect), "{problem}");
    };
    check(
        |file| file.cores = None,
        "its 'cores' do not suffice: an earlier version",
    );
    check(|file| file.transfers.clear(), "no time to move a line");
    check(|file| file.transfers.truncate(1), "relation same-package");
    check(|file| file.transfers.truncate(2), "relation other-node");
    check(
        |file| file.machine.cpu = "unknown".into(),
        "its 'machine.cpu' do not suffice",
    );
    // Then they were threads of one core.
    check(
        |file| file.visits[0].ns = ProbeEstimate::new(1.0, 1.0, 1.0),
        "'transfers'",
    );
}

#[test]
fn files_say_which_times_are_not_published() {
    let source = |name| {
        let machine = find_machine(name).expect("it is in the table");
        SimulatedMachineFile::from_known(machine).source
    };
    let assumed = "other_socket_ns (assumed) lies from 110 to 260";
    assert!(source("haswell-4s").contains(assumed));
    assert!(!source("rome-2s").contains("lies from"));
}

/// Values that a rule does not allow become the nearest that it does.
#[test]
fn measured_rules_are_those_of_the_machine() {
    let mut file = probed();
    let rule = |rule: &str, value| MeasuredRule {
        rule: rule.to_owned(),
        value,
        low: value,
        high: value,
    };
    file.contention = Some(ContentionTests {
        rules: vec![
            rule("upgrade", 0.6),
            rule("hold-after-loss", 1.7),
            rule("near-first", 3.2),
        ],
        ..ContentionTests::default()
    });
    let rules = |file: &MachineFile| {
        let machine = SimulatedMachineFile::from_probe(file)?;
        Ok::<_, SimulatedMachineProblem>(machine.description()?.rules)
    };
    let read = rules(&file).unwrap();
    let values = [
        "upgrade",
        "hold-after-loss",
        "near-first",
        "load-before-store",
    ]
    .map(|key| read.value(MachineRule::from_key(key).unwrap()));
    let expected = MachineRule::LoadBeforeStore.facts().expected;
    assert_eq!(values, [0.6, 0.8, 3.0, expected]);
    let text = file.to_json();
    assert_eq!(MachineFile::parse(text.as_bytes()), Ok(file.clone()));
    let contention = file.contention.as_mut().unwrap();
    contention.rules[0].rule = "upgrades".to_owned();
    let problem = rules(&file).unwrap_err().to_string();
    assert!(problem.contains("there is no rule 'upgrades'"), "{problem}");
}

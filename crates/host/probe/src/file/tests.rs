use super::*;

pub(crate) fn sample() -> MachineFile {
    MachineFile {
        schema: SCHEMA.into(),
        machine: MachineIdentity {
            cpu: "AMD EPYC".into(),
            cpus: 2,
            virtual_machine: true,
        },
        cores: Some(CoreCounts {
            nodes: 1,
            node_cores: 2,
            cache_cores: 2,
        }),
        line_bytes: 64,
        pair_coefficient: ProbeEstimate::new(0.0, -0.01, 0.02),
        pairs: vec![PairTest {
            pattern: "two-writers".into(),
            coefficient: ProbeEstimate::new(0.0, -0.01, 0.02),
        }],
        transfers: vec![TransferCost {
            cpu_a: 0,
            cpu_b: 1,
            relation: CpuRelation::SameCache,
            ns: Some(55.5),
            ns_low: Some(50.25),
            ns_high: Some(60.0),
        }],
        accesses: vec![AccessCost {
            kind: "store".into(),
            against: "load".into(),
            alone_ns: ProbeEstimate::new(0.5, 0.4, 0.6),
            contended_ns: ProbeEstimate::new(5.0, 4.5, 5.5),
        }],
        visits: vec![VisitCost {
            kind: "load-exchange".into(),
            instructions: Some(16),
            ns: ProbeEstimate::new(60.0, 55.0, 65.0),
        }],
        silent_store_ratio: Some(4.5),
        split_ratio: None,
        split_local_ratio: Some(2.0),
        split_atomic_ratio: None,
        intervals: RatioIntervals {
            silent_store_ratio: Some(RatioInterval {
                low: 4.0,
                high: 5.0,
            }),
            ..RatioIntervals::default()
        },
        contention: None,
        noise: Some(0.03),
        windows: WindowSummary {
            taken: 300,
            kept: 280,
            window_ms: 10,
            fifo: false,
            steal_percent: None,
        },
        unknown: vec![UnknownValue {
            what: "split_ratio".into(),
            why: "too noisy".into(),
        }],
    }
}

#[test]
fn a_file_survives_writing_and_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made/as/needed/machine.json");
    let file = sample();
    file.write(&path).unwrap();
    assert_eq!(MachineFile::read(&path).unwrap(), file);
    let other = MachineFile {
        line_bytes: 128,
        ..file
    };
    other.write(&path).unwrap();
    assert_eq!(MachineFile::read(&path).unwrap(), other);
    assert_eq!(
        std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1
    );
}

#[test]
fn keys_are_those_that_scripts_use() {
    let value: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
    assert_eq!(value["schema"], "relayout/probe/1");
    assert_eq!(value["line_bytes"], 64);
    assert_eq!(value["pair_coefficient"]["value"], 0.0);
    assert_eq!(value["pair_coefficient"]["low"], -0.01);
    assert_eq!(value["pairs"][0]["high"], 0.02);
    assert_eq!(value["transfers"][0]["cpu_b"], 1);
    assert_eq!(value["transfers"][0]["ns"], 55.5);
    assert_eq!(value["transfers"][0]["relation"], "same-cache");
    assert_eq!(value["silent_store_ratio"], 4.5);
    assert!(value["split_ratio"].is_null());
    assert_eq!(value["noise"], 0.03);
}

#[track_caller]
fn check(edit: impl FnOnce(&mut serde_json::Value), expect: &str) {
    let mut value = serde_json::to_value(sample()).unwrap();
    edit(&mut value);
    let error = MachineFile::parse(value.to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with(expect), "{error}");
}

#[test]
fn bad_files_are_refused() {
    check(
        |v| v["schema"] = "relayout/probe/2".into(),
        "it was written by a newer relayout (schema relayout/probe/2, this one reads relayout/probe/1)",
    );
    check(
        |v| v["schema"] = "relayout/report/1".into(),
        "its schema is 'relayout/report/1', not 'relayout/probe/1'",
    );
    check(
        |v| v["line_bytes"] = 48.into(),
        "line_bytes is 48; a power of two from 16 to 4096 is expected",
    );
    check(
        |v| v["pair_coefficient"]["value"] = (-0.5).into(),
        "pair_coefficient.value is -0.5; a cost is finite and not negative",
    );
    check(
        |v| v["transfers"][0]["ns"] = (-1).into(),
        "transfers[].ns is -1; a cost is finite and not negative",
    );
    check(
        |v| v["accesses"][0]["contended_ns"]["value"] = (-1).into(),
        "accesses[].contended_ns.value is -1; a cost is finite and not negative",
    );
    check(
        |v| {
            v.as_object_mut().unwrap().remove("line_bytes");
        },
        "missing field `line_bytes`",
    );
}

#[test]
fn a_file_from_before_accesses_were_measured_is_read() {
    let mut value = serde_json::to_value(sample()).unwrap();
    value.as_object_mut().unwrap().remove("accesses");
    let file = MachineFile::parse(value.to_string().as_bytes()).unwrap();
    assert_eq!(file.accesses, []);
}

#[test]
fn text_that_is_no_file_is_refused() {
    for text in ["", "{", "[]", "null", "{\"schema\": 1}"] {
        let error = MachineFile::parse(text.as_bytes()).unwrap_err();
        assert!(
            matches!(error, MachineFileProblem::Json(_)),
            "{text}: {error}"
        );
    }
    let long = vec![b' '; FILE_BYTES_MAX as usize + 1];
    assert_eq!(MachineFile::parse(&long), Err(MachineFileProblem::TooLong));
    let mut cut = sample().to_json();
    cut.truncate(cut.len() / 2);
    assert!(MachineFile::parse(cut.as_bytes()).is_err());
    let text = sample().to_json().replace("55.5", "1e999");
    assert!(MachineFile::parse(text.as_bytes()).is_err());
}

#[test]
fn a_missing_file_is_named() {
    let error = MachineFile::read(Path::new("/nowhere/machine.json")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /nowhere/machine.json");
}

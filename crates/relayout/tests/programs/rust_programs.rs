//! Rust programs with false sharing: it is found, the patch applies and builds without warnings, and
//! a second recording has less than a tenth of the transfers. Nothing is advised on programs without.

use std::path::Path;

use crate::common::Place;
use crate::common::programs::{data, recording_place, transfers_about};
use relayout_testkit::require_programs;
use serde_json::Value;

/// Rounds of each thread.
const ROUNDS: u32 = 60_000;
/// Words of rustc: without debug information a type has no members.
const FLAGS: &str = "-Cdebuginfo=2 --edition 2021 -Dwarnings --check-cfg cfg(repaired)";

/// A program of `tests/data/rust`, the type with the fault, and the text that its patch adds.
struct FaultyProgram {
    name: &'static str,
    advised: &'static str,
    added: &'static str,
}

/// Returns a folder with the sources of all programs, none of which is built.
fn source_place() -> Place {
    require_programs(&["patch"]);
    let place = recording_place();
    for file in crate::common::names(&data("rust")) {
        std::fs::copy(data("rust").join(&file), place.path(&file)).expect("the source");
    }
    place
}

/// Builds the program with optimization and records it; `configuration` is words of rustc.
fn record(place: &Place, program: &str, configuration: &str, output: &str) {
    record_built(place, program, &format!("-O {configuration}"), output);
}

/// Builds and records the program; `configuration` is words of rustc.
fn record_built(place: &Place, program: &str, configuration: &str, output: &str) {
    let flags = crate::common::text(place, "cc --relayout-rustflags");
    let words = format!("{flags} {FLAGS} {configuration} {program}.rs -o {program}");
    let words: Vec<&str> = words.split_whitespace().collect();
    let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
    let mut rustc = place.command(&rustc, &words);
    place.with_system(&mut rustc);
    // What nightly permits without asking.
    let built = place.ended(rustc.env("RUSTC_BOOTSTRAP", "1"));
    assert_eq!(built.code, Some(0), "{program}: {}", built.stderr);
    crate::common::text(
        place,
        &format!("record run --yield 50 -o {output} -- ./{program} {ROUNDS}"),
    );
}

/// Returns the transfers of findings whose type is, or holds, the type.
fn transfers(place: &Place, profile: &str, name: &str) -> u64 {
    transfers_about(place, profile, |found| found.contains(name))
}

fn check(program: &FaultyProgram) {
    let FaultyProgram {
        name,
        advised,
        added,
    } = program;
    let plain = advised.split('<').next().unwrap_or(advised);
    let place = source_place();
    record(&place, name, "", "out");
    let before = transfers(&place, "out", plain);
    assert!(before > 1000, "{name}: {before} transfers");
    let report = crate::common::text(&place, "report out --all");
    let is_named = |line: &str| line.contains("false-sharing") && line.contains(plain);
    assert!(report.lines().any(is_named), "{name}: {report}");
    // The machine may be busy with other tests, which is a doubt.
    let words = [
        "advise", "out", advised, "--source", ".", "--patch", "p.patch", "--force",
    ];
    let mut command = place.relayout(&words);
    place.with_system(&mut command);
    let said = place.ended(&mut command);
    assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
    assert!(
        !said.stdout.contains("stays first: it is a struct"),
        "{}",
        said.stdout
    );
    assert!(place.path("p.patch").exists(), "{name}: {}", said.stdout);
    let applied = place.other("/usr/bin/patch", "-p1 -i p.patch");
    assert_eq!(applied.code, Some(0), "{name}: {}", applied.stdout);
    let text = std::fs::read_to_string(place.path(&format!("{name}.rs"))).expect("the source");
    assert!(text.contains(added), "{name}: {text}");
    record(&place, name, "", "then");
    let after = transfers(&place, "then", plain);
    assert!(
        after * 10 < before,
        "{name}: {before} before, {after} after"
    );

    // The repaired twin: few transfers, and no patch.
    let place = source_place();
    record(&place, name, "--cfg repaired", "out");
    let repaired = transfers(&place, "out", plain);
    assert!(
        repaired * 20 < before,
        "{name}: {before} before, {repaired} repaired"
    );
    let mut command = place.relayout(&words[..words.len() - 1]);
    place.with_system(&mut command);
    let said = place.ended(&mut command);
    assert!(!place.path("p.patch").exists(), "{name}: {}", said.stdout);
}

#[test]
fn a_struct_in_an_arc() {
    check(&FaultyProgram {
        name: "traffic",
        advised: "Traffic",
        added: "#[repr(align(64))]\nstruct OwnLine<T>(T);",
    });
}

#[test]
fn a_generic_struct() {
    check(&FaultyProgram {
        name: "stats",
        advised: "Stats<[u32; 3]>",
        added: "#[derive(Debug, Default)]\n#[repr(align(64))]\nstruct OwnLine<T>(T);",
    });
}

#[test]
fn elements_of_a_vector() {
    check(&FaultyProgram {
        name: "workers",
        advised: "Worker",
        added: "#[repr(align(64))]\nstruct Worker {",
    });
}

#[test]
fn a_counter_beside_a_mutex_and_an_enum() {
    check(&FaultyProgram {
        name: "pool",
        advised: "Pool",
        added: "OwnLine(",
    });
}

#[test]
fn a_static_struct_of_repr_c() {
    check(&FaultyProgram {
        name: "ring",
        advised: "Ring",
        added: "OwnLine<AtomicU64>,",
    });
}

/// The struct is in a module, and the file of `main` builds it.
#[test]
fn a_struct_of_another_file() {
    check(&FaultyProgram {
        name: "modules",
        advised: "Meter",
        added: "meter::OwnLine(AtomicU64::new(0))",
    });
}

/// A project that uses `crossbeam-utils` gets its type, which is aligned to two lines.
#[test]
fn the_wrapper_of_the_project() {
    let place = source_place();
    place.write("Cargo.toml", "[dependencies]\ncrossbeam-utils = \"0.8\"\n");
    record(&place, "traffic", "", "out");
    let said = crate::common::text(&place, "advise out Traffic --source . --all --force");
    assert!(said.contains("align 'received' to 128 bytes"), "{said}");
    let wrapped = "+    received: crossbeam_utils::CachePadded<AtomicU64>,";
    assert!(said.contains(wrapped), "{said}");
    let built = "+            received: crossbeam_utils::CachePadded::new(received),";
    assert!(said.contains(built), "{said}");
}

/// Accesses by plain addresses tell no type; the functions of the standard library that allocated the memory
/// do, also where a closure's type has two spellings.
#[test]
fn types_that_the_allocating_function_states() {
    let place = source_place();
    record(&place, "stated", "", "out");
    for (name, is_certain) in [("Job<", true), ("(u64, stated::Entry)", false)] {
        let found = transfers_about(&place, "out", |found| found.contains(name));
        assert!(found > 1000, "{name}: {found} transfers");
        let report = crate::common::json(&place, "report out --top 0");
        let findings = report["findings"].as_array().expect("findings");
        let is_named = |finding: &&Value| {
            finding["type"]
                .as_str()
                .is_some_and(|found| found.contains(name))
        };
        let finding = findings.iter().find(is_named).expect("a finding");
        let rank = &finding["rank"];
        let explained = crate::common::text(&place, &format!("report out --explain {rank}"));
        let words = "this alone tells the type";
        assert_eq!(explained.contains(words), is_certain, "{name}: {explained}");
    }
    // The wrapper holds a pointer to a trait's object, whose name is a part of the wrapper's.
    let report = crate::common::json(&place, "report out --top 0");
    let findings = report["findings"].as_array().expect("findings");
    let types = findings
        .iter()
        .filter_map(|finding| finding["type"].as_str());
    let slot = { types }
        .find(|name| name.starts_with("Option<Box<"))
        .expect("the slot");
    let advised = place.ended(&mut place.relayout(&["advise", "out", slot]));
    assert_eq!(advised.code, Some(2), "{}", advised.stdout);
    assert!(
        advised.stderr.contains("standard library"),
        "{}",
        advised.stderr
    );
}

/// Threads that use runs of a slice are told to round them.
#[test]
fn runs_of_a_slice_are_rounded() {
    let place = source_place();
    record(&place, "chunks", "", "out");
    let report = crate::common::json(&place, "report out --top 0");
    let findings = report["findings"].as_array().expect("findings");
    let is_rounded = |finding: &&Value| {
        let runs = finding["elements"]["runs"].as_array();
        finding["advice"][0]["action"] == "round-runs"
            && runs.is_some_and(|runs| runs.len() == 4 && runs[1]["first"] == 25)
    };
    let found = findings.iter().find(is_rounded);
    assert!(found.is_some(), "{report:#}");
    let advice = crate::common::text(&place, "advise out --source . --force");
    let mut lines = advice.lines();
    let is_recommended =
        |line: &str| line.starts_with("Recommended (") && line.contains("round the runs");
    assert!(lines.any(is_recommended), "{advice}");
    let place = source_place();
    record(&place, "chunks", "--cfg repaired", "out");
    let advice = crate::common::text(&place, "advise out --source . --force");
    assert!(!advice.contains("Recommended ("), "{advice}");
}

/// Without optimization, relayout sees the counts of an `Arc` and not what they count for. The numbers are
/// where it says, but the program allocated no lone number.
#[test]
fn parts_of_the_standard_library_are_hardly_trusted() {
    let place = source_place();
    record_built(&place, "joined", "-Copt-level=0", "out");
    let report = crate::common::json(&place, "report out --top 0");
    for part in ["Packet<()>", "UnsafeCell<usize>"] {
        let findings = report["findings"].as_array().expect("findings");
        let certainty: Vec<Option<u64>> = { findings.iter() }
            .filter(|finding| finding["type"] == part)
            .map(|finding| finding["type_confidence_percent"].as_u64())
            .collect();
        assert!(!certainty.is_empty(), "{part}: {report:#}");
        let is_doubted = |percent: &Option<u64>| *percent < Some(10);
        assert!(certainty.iter().all(is_doubted), "{part}: {certainty:?}");
    }
}

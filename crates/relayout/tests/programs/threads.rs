//! What the threads of a program share: named by a report, advised on by the names that it prints,
//! patched so that nothing needs an alignment which its memory does not have, and recorded again with
//! the patch. `benches/predictions.py` prints a table for all programs of `tests/data/threads`.

use std::fs;

use crate::common::programs::{data, recording_place};
use crate::common::{Ended, Place, flowing};
use relayout_testkit::require_programs;
use serde_json::Value;

/// Rounds of each thread in a recording.
const ROUNDS: u32 = 60_000;
/// Largest distance between the predicted and the recorded change of the transfers, as a fraction.
const PREDICTION_ERROR_MAX: f64 = 0.10;

/// Returns a folder with a program of `tests/data/threads`, and its recording `now`.
fn recorded(program: &str) -> Place {
    recorded_with(program, "")
}

/// Returns a folder with a program of `tests/data/threads`, recorded with more options.
fn recorded_with(program: &str, options: &str) -> Place {
    require_programs(&["gcc", "patch"]);
    let place = recording_place();
    for file in ["threads.h", &format!("{program}.c")] {
        let source = fs::read(data("threads").join(file)).expect("a file of tests/data");
        place.write(file, source);
    }
    record_with(&place, program, "now", options);
    place
}

/// Builds and records the program.
fn record(place: &Place, program: &str, output: &str) {
    record_with(place, program, output, "");
}

fn record_with(place: &Place, program: &str, output: &str, options: &str) {
    succeed(
        place,
        &format!("cc -- gcc -g -O1 -Wall -pthread -o {program} {program}.c"),
    );
    succeed(
        place,
        &format!("record run --yield 50 {options} -o {output} -- ./{program} {ROUNDS}"),
    );
}

fn succeed(place: &Place, words: &str) -> Ended {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    ended
}

fn document(place: &Place, words: &[&str]) -> Value {
    let mut command = place.relayout(words);
    place.with_system(&mut command);
    let ended = place.ended(&mut command);
    assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

/// Returns the finding about a type or variable, and whether there is one.
fn finding<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    let findings = report["findings"].as_array().expect("findings");
    { findings.iter() }.find(|finding| finding["type"] == name || finding["variable"] == name)
}

/// Returns the transfers of all findings about a type or variable.
fn transfers_of(report: &Value, name: &str) -> u64 {
    let findings = report["findings"].as_array().expect("findings");
    let about = findings
        .iter()
        .filter(|finding| finding["type"] == name || finding["variable"] == name);
    about
        .filter_map(|finding| finding["transfers"].as_u64())
        .sum()
}

/// An array in a program, as the report and the search name it.
struct ExpectedArray<'a> {
    program: &'a str,
    /// Type or variable in the report.
    reported: &'a str,
    /// Number of elements and bytes of each.
    elements: [u64; 2],
    /// Names that lead to it.
    names: &'a [&'a str],
    /// Name in the document of `advise`.
    advised: &'a str,
    /// Line of the patch.
    edit: &'a str,
}

/// Checks the names of an array, and its patch: it applies, the program with it is free of unaligned
/// accesses, and a new recording has the predicted transfers.
fn check(array: &ExpectedArray<'_>) {
    let place = recorded(array.program);
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    let found = finding(&report, array.reported).unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(found["kind"], "false-sharing", "{found:#}");
    let elements = &found["elements"];
    assert_eq!(
        [&elements["count"], &elements["stride"]],
        [array.elements[0], array.elements[1]],
        "{found:#}"
    );
    // One thread uses each element.
    let users = elements["users"].as_array().expect("users");
    for element in users {
        let contexts = element["contexts"].as_array().expect("contexts");
        assert_eq!(contexts.len(), 1, "{elements:#}");
    }
    assert!(users.len() > 1, "{elements:#}");
    assert_eq!(found["advice"][0]["action"], "pad-elements", "{found:#}");
    for name in array.names {
        let advice = document(&place, &["advise", "now", name, "--json"]);
        assert_eq!(advice["types"][0]["name"], array.advised, "{name}");
    }
    let advice = document(
        &place,
        &[
            "advise",
            "now",
            array.names[0],
            "--json",
            "--source",
            ".",
            "--patch",
            "fix.patch",
            // The machine may be busy with other tests, which is a doubt.
            "--force",
        ],
    );
    let advised = &advice["types"][0];
    let doubts = advised["doubts"].as_array().expect("doubts");
    // All elements were replayed, though one stands for the line.
    let is_few = |doubt: &Value| doubt["kind"] == "few-objects";
    assert!(!doubts.iter().any(is_few), "{doubts:#?}");
    let patched = advised["candidates"].as_array().expect("candidates");
    let patched = patched
        .iter()
        .find(|candidate| candidate["patch"].is_string());
    let patched = patched.unwrap_or_else(|| panic!("{advised:#}"));
    assert_eq!(patched["needs_allocation"], Value::Array(Vec::new()));
    let diff = patched["patch"].as_str().expect("a diff");
    assert!(diff.lines().any(|line| line == array.edit), "{diff}");
    check_patched(&place, array, [&report, &advised["current"], patched]);
}

/// Applies the patch, and compares a recording of the patched program with the prediction.
fn check_patched(
    place: &Place,
    array: &ExpectedArray<'_>,
    [report, current, patched]: [&Value; 3],
) {
    let program = array.program;
    let applied = place.other("/usr/bin/patch", "-p1 -i fix.patch");
    assert_eq!(applied.code, Some(0), "{}", applied.stdout);
    assert_aligned(place, program);
    record(place, program, "then");
    let report_then = document(place, &["report", "then", "--json", "--top", "0"]);
    let transfers = |document: &Value| transfers_of(document, array.reported) as f64;
    let recorded = transfers(&report_then) / transfers(report) - 1.0;
    let replayed = |layout: &Value| layout["transfers"].as_f64().expect("transfers");
    let predicted = replayed(patched) / replayed(current) - 1.0;
    assert!(
        (recorded - predicted).abs() <= PREDICTION_ERROR_MAX && recorded < 0.0,
        "{}: {recorded} recorded, {predicted} predicted",
        array.reported
    );
}

/// Fails if the program as it is makes an access that the type's alignment forbids.
#[track_caller]
fn assert_aligned(place: &Place, program: &str) {
    let (code, errors) = run_with_alignment_checks(place, program);
    assert_eq!(code, Some(0), "{program}: {errors}");
}

/// Runs the program with accesses checked for the alignment of their types.
fn run_with_alignment_checks(place: &Place, program: &str) -> (Option<i32>, String) {
    let sanitized = format!(
        "-g -O1 -pthread -fsanitize=alignment -fno-sanitize-recover=alignment -o checked {program}.c"
    );
    let built = place.other("/usr/bin/gcc", &sanitized);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let path = place.path("checked");
    let ended = place.other(path.to_str().expect("a path"), "1000");
    (ended.code, ended.stderr)
}

#[test]
fn a_static_array_of_structs() {
    check(&ExpectedArray {
        program: "workers",
        reported: "w",
        elements: [4, 24],
        names: &["w", "work"],
        advised: "worker",
        edit: "+} __attribute__((aligned(64)));",
    });
}

#[test]
fn arrays_of_types_without_a_tag() {
    check(&ExpectedArray {
        program: "stats",
        reported: "cache_stats",
        elements: [64, 16],
        names: &["cache_stats", "stats"],
        advised: "cache_stats",
        edit: "+} __attribute__((aligned(64))) cache_stats;",
    });
    check(&ExpectedArray {
        program: "stats",
        reported: "ports",
        elements: [4, 16],
        names: &["typeof(ports)"],
        advised: "ports",
        edit: "+} __attribute__((aligned(64))) ports[THREADS];",
    });
}

/// The others reach the array of one thread by a pointer.
#[test]
fn what_a_thread_owns_is_an_array_too() {
    check(&ExpectedArray {
        program: "mailboxes",
        reported: "boxes",
        elements: [4, 16],
        names: &["boxes", "box"],
        advised: "box",
        edit: "+} __attribute__((aligned(64)));",
    });
}

/// The limit is hardly ever stored to, but the other side is a neighbour's count.
#[test]
fn read_mostly_members_of_elements_are_shared_falsely() {
    check(&ExpectedArray {
        program: "mostly",
        reported: "budgets",
        elements: [4, 16],
        names: &["budgets"],
        advised: "budget",
        edit: "+} __attribute__((aligned(64)));",
    });
}

#[test]
fn an_array_that_calloc_returns_is_padded() {
    check(&ExpectedArray {
        program: "queues",
        reported: "queue [4]",
        elements: [4, 16],
        names: &["queue [4]"],
        advised: "queue",
        edit: "+\tunsigned char _pad1_[48];",
    });
}

#[test]
fn unions_and_structs_with_one_member() {
    check(&ExpectedArray {
        program: "slots",
        reported: "slots",
        elements: [4, 8],
        names: &["slots", "union slot"],
        advised: "slot",
        edit: "+} __attribute__((aligned(64)));",
    });
    check(&ExpectedArray {
        program: "slots",
        reported: "tally [4]",
        elements: [4, 8],
        names: &["tally [4]"],
        advised: "tally",
        edit: "+\tunsigned char _pad1_[56];",
    });
}

/// Members that all read leave the line of those that one thread stores to: one patch for each of
/// three objects, which are a static variable of a tagged struct, one of a typedef without a tag, and
/// memory of aligned_alloc.
#[test]
fn members_that_all_read_leave_the_line_of_counts() {
    let place = recorded("server");
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    let names = ["listener", "reclaim", "route_cache"];
    let mut predicted = Vec::new();
    for name in names {
        let patch = format!("{name}.patch");
        let words = ["advise", "now", name, "--json", "--source", ".", "--force"];
        let advice = document(&place, &[&words[..], &["--patch", &patch]].concat());
        let advised = &advice["types"][0];
        let candidates = advised["candidates"].as_array().expect("candidates");
        let patched = { candidates.iter() }.find(|candidate| candidate["patch"].is_string());
        let patched = patched.unwrap_or_else(|| panic!("{advised:#}"));
        let replayed = |layout: &Value| layout["transfers"].as_f64().expect("transfers");
        predicted.push(replayed(patched) / replayed(&advised["current"]) - 1.0);
    }
    for name in names {
        let applied = place.other("/usr/bin/patch", &format!("-p1 -i {name}.patch"));
        assert_eq!(applied.code, Some(0), "{}", applied.stdout);
    }
    assert_aligned(&place, "server");
    record(&place, "server", "then");
    let report_then = document(&place, &["report", "then", "--json", "--top", "0"]);
    for (name, predicted) in names.into_iter().zip(predicted) {
        let transfers = |document: &Value| transfers_of(document, name) as f64;
        let recorded = transfers(&report_then) / transfers(&report) - 1.0;
        assert!(
            (recorded - predicted).abs() <= PREDICTION_ERROR_MAX && recorded < 0.0,
            "{name}: {recorded} recorded, {predicted} predicted"
        );
    }
}

/// The mask that two threads set is at the end of its struct in the layout with the least memory, on
/// the line of a variable that all threads read: its transfers would only get another name.
#[test]
fn no_member_moves_to_the_line_of_another_variable() {
    let place = recorded("rings");
    let words = [
        "advise", "now", "bell", "--json", "--source", ".", "--force",
    ];
    let advice = document(&place, &[&words[..], &["--patch", "fix.patch"]].concat());
    let advised = &advice["types"][0];
    let why = advised["recommended_why"].as_str().expect("a reason");
    assert!(why.contains("onto a line with 'rounds'"), "{why}");
    let recommended = advised["recommended"].as_u64().expect("a layout") as usize;
    let chosen = &advised["candidates"][recommended];
    assert!(chosen["size"].as_u64() > Some(128), "{chosen:#}");
    let current = advised["current"]["transfers"].as_u64();
    assert!(chosen["transfers"].as_u64() < current, "{chosen:#}");
    let transfers = |place: &Place, profile: &str| {
        let report = document(place, &["report", profile, "--json", "--top", "0"]);
        [
            transfers_of(&report, "bell"),
            transfers_of(&report, "rounds"),
        ]
    };
    let before = transfers(&place, "now");
    let applied = place.other("/usr/bin/patch", "-p1 -i fix.patch");
    assert_eq!(applied.code, Some(0), "{}", applied.stdout);
    record(&place, "rings", "then");
    let after = transfers(&place, "then");
    // How often the threads meet, and so what the bell keeps, depends on how busy the machine is.
    assert!(
        after[1] < before[0] / 10,
        "bell and rounds: {before:?} before, {after:?} after"
    );
}

#[test]
fn arrays_of_numbers_are_judged_by_the_names_of_the_report() {
    let place = recorded("counters");
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    let calls = "have calloc in main (counters.c:19)";
    let element = "make its elements `struct { long unsigned int value; }";
    let allocated = "give 512 bytes for the 8 elements, 64 to each instead of 8, and use element \
                     8 * i in place of element i";
    for (name, expect) in [
        ("counters", [element, element]),
        ("long unsigned int [8]", [calls, allocated]),
    ] {
        let found = finding(&report, name).unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!(found["elements"]["count"], 8, "{found:#}");
        let advice = document(&place, &["advise", "now", name, "--json", "--source", "."]);
        let advised = &advice["types"][0];
        assert_eq!(advised["name"], name);
        let best = &advised["candidates"][0];
        let transfers = |layout: &Value| layout["transfers"].as_u64().expect("transfers");
        assert!(
            transfers(best) * 10 < transfers(&advised["current"]),
            "{advised:#}"
        );
        assert_eq!(best["size"], 64, "{advised:#}");
        let refused = advised["patch_refused"].as_str().expect("a reason");
        assert!(refused.contains("every use of"), "{refused}");
        let is_said = expect.iter().all(|words| refused.contains(words));
        assert!(is_said, "{refused}");
        // Alignment of a type is not what malloc gives.
        assert_eq!(
            refused.contains("aligned("),
            name == "counters",
            "{refused}"
        );
    }
}

/// Nothing tells the type of the memory. That the threads begin equally far apart tells the stride.
#[test]
fn an_allocation_that_is_cut_by_hand_has_a_stride() {
    let place = recorded("cut");
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    let classes = report["unresolved_classes"].as_array().expect("classes");
    let heap = classes.iter().find(|class| class["class"] == "heap");
    let heap = heap.unwrap_or_else(|| panic!("{report:#}"));
    let cut = &heap["hand_cuts"][0];
    assert_eq!(cut["stride"], 40, "{heap:#}");
    assert!(cut["count"].as_u64() >= Some(3), "{cut:#}");
    let text = flowing(&succeed(&place, "report now --all").stdout);
    assert!(text.contains("Space them 64 bytes apart."), "{text}");
}

/// All rooms are shared alike, but the order of the accesses was kept for the first ones only.
#[test]
fn a_gain_on_few_objects_is_doubted() {
    let place = recorded_with("rooms", "--bursts 8000");
    let words = [
        "advise", "now", "room", "--json", "--source", ".", "--patch", "p",
    ];
    let advice = document(&place, &words);
    let advised = &advice["types"][0];
    let doubts = advised["doubts"].as_array().expect("doubts");
    let few = doubts.iter().find(|doubt| doubt["kind"] == "few-objects");
    let few = few.unwrap_or_else(|| panic!("{advised:#}"));
    let words = few["sentence"].as_str().expect("words");
    assert!(words.contains(" of 40 objects with transfers"), "{few}");
    let refused = advised["patch_refused"].as_str().expect("a reason");
    assert!(refused.contains(words), "{refused}");
    assert!(!place.path("p").exists());
}

/// Alignment beyond that of the allocation is offered with the call that has to change, and is not
/// written. Written by hand, it makes accesses that the type forbids.
#[test]
fn alignment_that_calloc_does_not_give_is_not_written() {
    let place = recorded("queues");
    let advice = document(&place, &["advise", "now", "queue", "--json", "--top", "50"]);
    let candidates = advice["types"][0]["candidates"]
        .as_array()
        .expect("candidates");
    let calls =
        |candidate: &&Value| candidate["needs_allocation"].as_array().map(Vec::len) > Some(0);
    let aligned = candidates.iter().find(calls);
    let aligned = aligned.unwrap_or_else(|| panic!("{candidates:#?}"));
    let call = aligned["needs_allocation"][0].as_str().expect("a call");
    assert!(call.starts_with("calloc in main (queues.c:"), "{call}");
    let text = succeed(&place, "advise now queue --all");
    assert!(
        flowing(&text.stdout).contains("with memory aligned to 64 by calloc in main"),
        "{}",
        text.stdout
    );
    let source = fs::read_to_string(place.path("queues.c")).expect("the source");
    let wrong = source.replace(
        "\tunsigned long tail;\n};",
        "\tunsigned long tail;\n} __attribute__((aligned(64)));",
    );
    assert_ne!(source, wrong);
    place.write("queues.c", wrong);
    let (code, errors) = run_with_alignment_checks(&place, "queues");
    assert_ne!(code, Some(0));
    assert!(errors.contains("misaligned address"), "{errors}");
}

/// A program of `tests/data/places`, in which `malloc` or `new` decides where objects begin.
struct AllocatedType<'a> {
    /// File, with its language.
    program: &'a str,
    /// Type that is contended.
    name: &'a str,
    /// Change that is recommended.
    edit: &'a str,
}

impl AllocatedType<'_> {
    /// Returns a folder with the program.
    fn place(&self) -> Place {
        require_programs(&["gcc", "g++", "patch"]);
        let place = recording_place();
        let headers = if self.is_c() { "threads" } else { "cxx" };
        for file in [
            format!("places/{}", self.program),
            "places/before.h".to_owned(),
            format!("{headers}/threads.h"),
        ] {
            let name = file.split('/').next_back().expect("a name");
            place.write(name, fs::read(data(&file)).expect("a file of tests/data"));
        }
        place
    }

    fn is_c(&self) -> bool {
        self.program.ends_with(".c")
    }

    fn build(&self, place: &Place) {
        let compiler = match self.is_c() {
            true => "cc -- gcc",
            false => "c++ -- g++ -std=c++17",
        };
        let flags = "-g -O1 -Wall -pthread -o program";
        succeed(place, &format!("{compiler} {flags} {}", self.program));
    }

    /// Records the program with an allocation of so many bytes before all others, and returns the
    /// transfers of the type.
    fn transfers_behind(&self, place: &Place, bytes: u32) -> u64 {
        let profile = format!("behind-{bytes}");
        let record = format!("record run --force -q --yield 50 -o {profile}");
        succeed(
            place,
            &format!("{record} -- ./program {PLACE_ROUNDS} {bytes}"),
        );
        let report = document(place, &["report", &profile, "--json", "--top", "0"]);
        transfers_of(&report, self.name)
    }

    /// Checks that the recommended patch saves wherever the allocator puts the objects, and that
    /// advice says so.
    fn check(&self) {
        let place = self.place();
        self.build(&place);
        let today: Vec<u64> = { BYTES_BEFORE.iter() }
            .map(|bytes| self.transfers_behind(&place, *bytes))
            .collect();
        let profile = format!("behind-{}", BYTES_BEFORE[0]);
        // The machine may be busy with other tests, which is a doubt.
        let words = ["advise", &profile, self.name, "--json", "--source", "."];
        let words = [&words[..], &["--patch", "fix.patch", "--force"]].concat();
        let advised = document(&place, &words)["types"][0].clone();
        let candidates = advised["candidates"].as_array().expect("candidates");
        let index = advised["recommended"].as_u64().expect("a recommendation");
        let recommended = &candidates[index as usize];
        assert_eq!(recommended["changes"][0], self.edit, "{advised:#}");
        let places = &recommended["places"];
        assert_eq!(places["count"], 4, "{places:#}");
        for change in ["mean_change", "worst_change"] {
            assert!(places[change].as_f64() < Some(-0.9), "{places:#}");
        }
        // As the report says it.
        assert_eq!(
            advised["current"]["transfers_by_place"]
                .as_array()
                .map(Vec::len),
            Some(4)
        );
        let recorded = advised["current"]["transfers_as_recorded"].as_u64();
        // The log of a line begins where it is contended.
        assert!(
            recorded >= Some(today[0] * 9 / 10),
            "{recorded:?} of {today:?}"
        );
        let applied = place.other("/usr/bin/patch", "-p1 -i fix.patch");
        assert_eq!(applied.code, Some(0), "{}", applied.stdout);
        self.build(&place);
        for (bytes, before) in BYTES_BEFORE.iter().zip(&today) {
            let after = self.transfers_behind(&place, *bytes);
            assert!(after * 5 < *before, "{bytes}: {before} to {after}");
        }
    }
}

/// Rounds of which the log in order holds all. It ends after some 65,000 accesses to an object, which are
/// 22,500 transfers of `HashSet`, or 50,000 rounds.
const PLACE_ROUNDS: u32 = 20_000;

/// Bytes that are allocated before the objects, so that these begin at each place of a line.
const BYTES_BEFORE: [u32; 4] = [0, 24, 40, 56];

/// Moving the count behind the others saves all transfers where the object begins 48 bytes into a
/// line, and none elsewhere.
#[test]
fn a_layout_saves_wherever_malloc_puts_the_object() {
    AllocatedType {
        program: "table.c",
        name: "table",
        edit: "add 64 bytes before 'buckets'",
    }
    .check();
}

#[test]
fn a_layout_saves_wherever_new_puts_the_object() {
    AllocatedType {
        program: "set.cc",
        name: "HashSet",
        edit: "align 'buckets_' to 64 bytes",
    }
    .check();
}

/// The objects have one `malloc` or `new` each, and share lines as elements of an array do.
#[test]
fn neighbours_of_an_allocation_each_are_kept_apart() {
    AllocatedType {
        program: "records.c",
        name: "record",
        edit: "add 48 bytes at the end",
    }
    .check();
    AllocatedType {
        program: "records.cc",
        name: "ThreadRecord",
        edit: "align the type to 64 bytes",
    }
    .check();
}

/// A gain at one place of a line alone is no advice: it comes with a doubt, and not as a patch.
#[test]
fn a_layout_that_malloc_can_undo_is_doubted() {
    let table = AllocatedType {
        program: "table.c",
        name: "table",
        edit: "",
    };
    let place = table.place();
    table.build(&place);
    // Each recording begins elsewhere in a line.
    let behind: Vec<u64> = { BYTES_BEFORE.iter() }
        .map(|bytes| table.transfers_behind(&place, *bytes))
        .collect();
    assert!(
        behind.iter().all(|transfers| *transfers > 100),
        "{behind:?}"
    );
    for bytes in BYTES_BEFORE {
        let profile = format!("behind-{bytes}");
        let words = [
            "what-if",
            &profile,
            "table",
            "--json",
            "--move",
            "count:after:mask",
        ];
        let given = document(&place, &words)["given"].clone();
        let places = &given["places"];
        assert_eq!(places["without_gain"], 3, "{given:#}");
        let mean = places["mean_change"].as_f64().expect("a change");
        assert!((-0.4..-0.1).contains(&mean), "{given:#}");
        assert!(places["worst_change"].as_f64() > Some(-0.1), "{given:#}");
    }
    let words = ["advise", "behind-0", "table", "--json", "--top", "50"];
    let advised = document(&place, &words)["types"][0].clone();
    let candidates = advised["candidates"].as_array().expect("candidates");
    let is_move = |candidate: &&Value| {
        candidate["changes"] == serde_json::json!(["move 'count' to after 'mask'"])
    };
    let position = candidates.iter().position(|candidate| is_move(&candidate));
    let number = position.expect("the move was tried") + 1;
    let pick = format!("advise behind-0 table --top 50 --pick {number} --source . --patch lucky");
    let refused = flowing(&place.said(&pick).stdout);
    assert!(
        refused.contains("at 3 of the 4 places that it can give nothing is saved"),
        "{refused}"
    );
    assert!(!place.path("lucky").exists(), "{refused}");
}

/// Builds a program of `tests/data/threads` with more flags and records it.
fn recorded_variant(program: &str, flags: &str) -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    for file in ["threads.h", &format!("{program}.c")] {
        let source = fs::read(data("threads").join(file)).expect("a file of tests/data");
        place.write(file, source);
    }
    let build = format!("cc -- gcc -g -O1 -Wall -pthread {flags} -o {program} {program}.c");
    succeed(&place, &build);
    succeed(
        &place,
        &format!("record run --yield 50 -o now -- ./{program} {ROUNDS}"),
    );
    place
}

/// Returns the recommended candidate and today's layout. The machine may be busy with other tests,
/// which is a doubt.
fn recommended(place: &Place, name: &str) -> [Value; 2] {
    let words = ["advise", "now", name, "--json", "--source", ".", "--force"];
    let advice = document(place, &words);
    let advised = &advice["types"][0];
    let index = advised["recommended"].as_u64();
    let index = index.unwrap_or_else(|| panic!("nothing is recommended: {advised:#}"));
    let candidate = advised["candidates"][index as usize].clone();
    [candidate, advised["current"].clone()]
}

fn replayed_transfers(layout: &Value) -> u64 {
    layout["transfers"].as_u64().expect("transfers")
}

/// The repaired twin has no false sharing, and nothing is recommended.
#[track_caller]
fn check_nothing_recommended(program: &str, name: &str) {
    let place = recorded_variant(program, "-DREPAIRED");
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    if let Some(found) = finding(&report, name) {
        assert_ne!(found["kind"], "false-sharing", "{found:#}");
    }
    let mut command = place.relayout(&["advise", "now", "--source", ".", "--force"]);
    place.with_system(&mut command);
    let advice = place.ended(&mut command).stdout;
    assert!(!advice.contains("Recommended ("), "{advice}");
}

/// Filling and adding up by the main thread break no run; the borders of the runs are rounded, and
/// larger elements are the other choice.
#[test]
fn runs_of_a_static_array_are_rounded_to_lines() {
    let place = recorded_variant("runs", "");
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    let found = finding(&report, "cells").unwrap_or_else(|| panic!("{report:#}"));
    let runs = found["elements"]["runs"].as_array().expect("runs");
    let borders: Vec<[u64; 2]> = { runs.iter() }
        .map(|run| ["first", "last"].map(|key| run[key].as_u64().expect("an index")))
        .collect();
    assert_eq!(
        borders,
        [[0, 24], [25, 49], [50, 74], [75, 99]],
        "{found:#}"
    );
    let users: std::collections::BTreeSet<String> = { runs.iter() }
        .map(|run| run["contexts"].to_string())
        .collect();
    assert_eq!(users.len(), 4, "{found:#}");
    let advice = &found["advice"][0];
    assert_eq!(advice["action"], "round-runs", "{found:#}");
    let words = advice["words"].as_str().expect("words");
    assert!(words.contains("32 elements instead of 25"), "{words}");
    assert!(words.contains("grows by up to 28 elements"), "{words}");
    assert!(words.contains("16 times the memory"), "{words}");
    let ended = succeed(&place, "report now --top 0");
    let said = flowing(&ended.stdout);
    assert!(said.contains("[0..24] by thread"), "{said}");
    let [candidate, current] = recommended(&place, "cells");
    let change = candidate["changes"][0].as_str().expect("a change");
    assert!(change.starts_with("round the runs"), "{candidate:#}");
    assert_eq!(candidate["size"], current["size"], "{candidate:#}");
    assert_eq!(candidate["run_growth_elements"], 28, "{candidate:#}");
    let (then, today) = (replayed_transfers(&candidate), replayed_transfers(&current));
    assert!(today > 100 && then * 20 < today, "{today} to {then}");
    let ended = succeed(&place, "advise now cells --source . --force");
    let (rounded, padded) = ended.stdout.split_once("found 2").expect("another choice");
    assert!(rounded.contains("What to write"), "{}", ended.stdout);
    assert!(padded.contains("align the type to 64"), "{}", ended.stdout);
    check_nothing_recommended("runs", "cells");
}

/// Elements of an array that is a member have a row each, and get lines of their own.
#[test]
fn elements_of_an_array_member_are_spread() {
    let place = recorded_variant("lanes", "");
    let report = document(&place, &["report", "now", "--json", "--top", "0"]);
    let found = finding(&report, "pool").unwrap_or_else(|| panic!("{report:#}"));
    let members = found["members"].as_array().expect("members");
    for index in 0..4 {
        let name = format!("done[{index}]");
        let is_row = |member: &&Value| member["name"] == *name;
        let row = { members.iter() }.find(is_row);
        let row = row.unwrap_or_else(|| panic!("{name}: {found:#}"));
        assert_eq!(
            (&row["writers"], &row["size"]),
            (&1.into(), &8.into()),
            "{row:#}"
        );
    }
    let elements = &found["elements"];
    assert_eq!(elements["member"], "done", "{found:#}");
    assert_eq!(
        elements["runs"].as_array().map(Vec::len),
        Some(4),
        "{found:#}"
    );
    assert_eq!(found["advice"][0]["action"], "pad-elements", "{found:#}");
    let [candidate, current] = recommended(&place, "pool");
    let change = candidate["changes"][0].as_str().expect("a change");
    assert!(change.contains("each element of 'done'"), "{candidate:#}");
    let (then, today) = (replayed_transfers(&candidate), replayed_transfers(&current));
    assert!(today > 100 && then * 20 < today, "{today} to {then}");
    // The uses of the elements change too: the declaration is said, and no patch is written.
    let ended = succeed(
        &place,
        "advise now pool --force --source . --patch fix.patch",
    );
    let said = flowing(&ended.stdout);
    assert!(said.contains("_Alignas(64) T value;"), "{said}");
    assert!(!place.path("fix.patch").exists(), "{said}");
    check_nothing_recommended("lanes", "pool");
}

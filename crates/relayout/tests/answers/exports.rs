//! Files for other programs: CSV tables, pictures, SARIF logs and profiles for the Firefox Profiler.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::disk::SmallDisk;
use crate::common::hot::SOURCE;
use crate::common::programs::recording_place;
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, clocked, json, names, text};
use relayout_profile::AccessKind::{Read, Write};
use relayout_testkit::require_programs;
use relayout_testprofile::Word;
use serde_json::Value;

/// A profile `p` in which one context stores to the word beside the other's.
fn recorded() -> Place {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    let words: Vec<Word> = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    place
}

/// Splits CSV into rows of cells.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut chars, mut is_quoted) = (text.chars().peekable(), false);
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted && chars.next_if_eq(&'\n').is_some() => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(
        cell.is_empty() && row.is_empty() && !is_quoted,
        "{text} ends within a row"
    );
    rows
}

/// Counts the lists of objects in a document by the name of their file, with the number of objects.
fn count_objects(value: &Value, path: &str, counts: &mut BTreeMap<String, usize>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let name = match path {
            "" => key.clone(),
            path => format!("{path}-{key}"),
        };
        match value {
            Value::Array(items) if items.iter().any(Value::is_object) => {
                *counts.entry(format!("{name}.csv")).or_default() += items.len();
                items
                    .iter()
                    .for_each(|item| count_objects(item, &name, counts));
            }
            value => count_objects(value, &name, counts),
        }
    }
}

/// Runs a command with `--csv`, and compares its tables with the document.
#[track_caller]
fn check_tables(place: &Place, words: &str) {
    let folder = place.path("tables");
    let _ = fs::remove_dir_all(&folder);
    let ended = place.run_words(&format!("{words} --csv tables"));
    assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
    assert!(
        ended.stderr.ends_with("tables are in tables\n"),
        "{ended:?}"
    );
    let mut counts = BTreeMap::new();
    count_objects(&json(place, words), "", &mut counts);
    assert!(!counts.is_empty(), "{words}: no lists in the document");
    for name in names(&folder) {
        let rows = csv_rows(&fs::read_to_string(folder.join(&name)).unwrap());
        let columns = rows[0].len();
        assert!(
            rows.iter().all(|row| row.len() == columns),
            "{name}: rows differ in length"
        );
        if let Some(objects) = counts.remove(&name) {
            assert_eq!(rows.len() - 1, objects, "{words}: rows of {name}");
        }
    }
    assert!(counts.is_empty(), "{words}: no tables for {counts:?}");
}

#[test]
fn every_list_of_a_document_is_a_table() {
    let place = recorded();
    text(&place, "report p");
    place.write("layout", "first\nunused\nsecond\n");
    place.compile(
        "changed",
        &SOURCE.replace("\tlong first;", "\tlong more;\n\tlong first;"),
        KERNEL_FLAGS,
    );
    check_tables(&place, "report p --top 0");
    check_tables(&place, "advise p hot");
    check_tables(&place, "what-if p hot --layout layout");
    check_tables(&place, "diff vmlinux changed");
    place.script("bin/work", "exit 0");
    text(
        &place,
        "verify --before bin/work --after bin/work -n 5 --max-lost 100 --save saved",
    );
    check_tables(&place, "verify --load saved");
}

#[test]
fn a_cell_has_the_value_of_the_document() {
    let place = recorded();
    let ended = place.run_words("report p --csv a/b");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let document = json(&place, "report p");
    let read = |name: &str| csv_rows(&fs::read_to_string(place.path("a/b").join(name)).unwrap());
    let members = read("findings-members.csv");
    for (row, member) in members[1..]
        .iter()
        .zip(document["findings"][0]["members"].as_array().unwrap())
    {
        for (column, cell) in members[0].iter().zip(row) {
            match column.as_str() {
                "findings.row" | "findings.rank" => assert_eq!(cell, "1"),
                "findings.type" => assert_eq!(cell, "hot"),
                "row" => {}
                column => match &member[column] {
                    Value::Null => assert_eq!(cell, ""),
                    Value::String(text) => assert_eq!(cell, text),
                    value => assert_eq!(*cell, value.to_string()),
                },
            }
        }
    }
}

#[test]
fn other_files_of_the_folder_stay() {
    let place = recorded();
    fs::create_dir(place.path("tables")).unwrap();
    place.write("tables/mine.csv", "kept");
    place.write("tables/findings.csv", "replaced");
    text(&place, "report p --csv tables");
    let read = |name: &str| fs::read_to_string(place.path("tables").join(name)).unwrap();
    assert_eq!(read("mine.csv"), "kept");
    assert!(read("findings.csv").starts_with("row,rank,kind,type,"));
}

/// A link in the folder could lead to any file of the user, and a full disk could leave tables of
/// two reports.
#[test]
fn tables_are_written_all_or_none_and_not_through_links() {
    let place = recorded();
    fs::create_dir(place.path("tables")).unwrap();
    place.write("thesis", "kept");
    symlink("../thesis", place.path("tables/findings-members.csv")).unwrap();
    let ended = place.run_words("report p --csv tables");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let message = "cannot write tables/findings-members.csv: it is a symbolic link";
    assert!(ended.stderr.contains(message), "{ended:?}");
    assert_eq!(fs::read_to_string(place.path("thesis")).unwrap(), "kept");
    assert_eq!(names(&place.path("tables")), ["findings-members.csv"]);

    fs::create_dir(place.path("disk")).unwrap();
    let disk = SmallDisk::mount(place.path("disk"), "1m");
    text(&place, "report p --csv disk/tables");
    let folder = place.path("disk/tables");
    let tables = || -> Vec<Vec<u8>> {
        let mut files = names(&folder);
        files.sort();
        let files = files.into_iter();
        files
            .map(|name| fs::read(folder.join(name)).unwrap())
            .collect()
    };
    let whole = tables();
    disk.fill();
    let ended = place.run_words("report p --csv disk/tables --top 1");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("No space left on device"),
        "{ended:?}"
    );
    assert_eq!(tables(), whole);
}

/// Elements of an XML document, by name, with their attributes; an XML parser has read it.
#[track_caller]
fn xml_elements(xml: &str) -> Vec<(String, BTreeMap<String, String>)> {
    require_programs(&["python3"]);
    let script = "import json, sys, xml.etree.ElementTree as tree\n\
                  root = tree.fromstring(sys.stdin.buffer.read())\n\
                  print(json.dumps([[e.tag.split('}')[-1], e.attrib] for e in root.iter()]))\n";
    let mut command = Command::new("python3");
    command.args(["-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = crate::common::start(&mut command);
    let mut input = child.stdin.take().unwrap();
    input.write_all(xml.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{xml}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_picture_has_members_to_scale() {
    let place = recorded();
    let svg = text(&place, "report p --format svg");
    let elements = xml_elements(&svg);
    let (root, attributes) = &elements[0];
    assert_eq!(
        (&**root, &*attributes["aria-labelledby"]),
        ("svg", "title description")
    );
    for (name, attributes) in &elements {
        let known = [
            "svg", "title", "desc", "defs", "pattern", "rect", "g", "text",
        ];
        assert!(known.contains(&&**name), "{name}");
        assert!(
            !attributes.keys().any(|key| key.contains("href")),
            "{attributes:?}"
        );
    }
    let width = |fill: &str, nth: usize| -> f64 {
        let mut boxes = elements.iter().filter(|(_, attributes)| {
            attributes.get("fill").is_some_and(|found| found == fill)
                && attributes.contains_key("stroke")
        });
        boxes.nth(nth).unwrap().1["width"].parse().unwrap()
    };
    // The first box of a colour is in the legend. Two members of 8 bytes are on a line of 64.
    let (written, read, line) = (
        width("#e69f00", 1),
        width("#56b4e9", 1),
        width("url(#hatch)", 1),
    );
    assert!((line / 8.0 - written - 1.5).abs() < 0.5, "{line} {written}");
    assert!((line / 8.0 - read).abs() < 1.0, "{line} {read}");
    for words in [
        "<title>first at 0, 8 bytes</title>",
        ">1. hot +0, false-sharing: ",
        "no member that was accessed",
        "after stores to first in",
    ] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
}

#[test]
fn a_picture_without_findings_says_so() {
    let place = recorded();
    let svg = text(&place, "report p --format svg --min-share 100 --type hot");
    xml_elements(&svg);
    let both = place.run_words("report p --format svg --json");
    assert_eq!(both.code, Some(2), "{both:?}");
    assert!(
        both.stderr.contains("cannot be used with '--json'"),
        "{both:?}"
    );
}

#[test]
fn tables_that_cannot_be_written_are_an_error() {
    let place = recorded();
    place.write("file", "");
    for words in [
        "report p",
        "advise p",
        "what-if p hot --pad second=8",
        "diff vmlinux vmlinux",
        "verify --load nothing",
    ] {
        let expect = "relayout: --csv file: it is a file";
        place.refuses(&format!("{words} --csv file"), 2, expect);
    }
    fs::create_dir_all(place.path("tables/findings.csv")).unwrap();
    let ended = place.run_words("report p --csv tables");
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("cannot write tables/findings.csv"),
        "{ended:?}"
    );
    assert!(Path::new(&place.path("tables/findings.csv")).is_dir());
}

#[test]
fn findings_are_results_of_code_scanning() {
    let place = recorded();
    let report = text(&place, "report p --sarif found.sarif");
    assert_eq!(report, text(&place, "report p"), "the text stays");
    let log = read_json(&place, "found.sarif");
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "false-sharing");
    assert_eq!(result["properties"]["transfers"], 400);
    let physical = &result["locations"][0]["physicalLocation"];
    // `second` is in the third line of the source.
    assert_eq!(physical["region"]["startLine"], 3, "{result}");
    let uri = |log: &Value| {
        let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        let uri = location["artifactLocation"]["uri"].as_str().unwrap();
        uri.to_owned()
    };
    let file = uri(&log);
    let (folder, name) = file.rsplit_once('/').unwrap();
    let folder = folder.trim_start_matches("file://");
    text(
        &place,
        &format!("report p --sarif found.sarif --source-root {folder}"),
    );
    assert_eq!(uri(&read_json(&place, "found.sarif")), name);
}

fn read_json(place: &Place, name: &str) -> Value {
    serde_json::from_slice(&fs::read(place.path(name)).unwrap()).unwrap()
}

/// Checks that all columns of a table are as long as it says.
#[track_caller]
fn check_table<'v>(table: &'v Value, name: &str) -> (usize, &'v Value) {
    let length = table["length"].as_u64().unwrap() as usize;
    for (key, column) in table.as_object().unwrap() {
        if let Some(column) = column.as_array() {
            assert_eq!(column.len(), length, "{name}.{key}");
        }
    }
    (length, table)
}

/// Checks that the numbers of a column are rows of a table of `rows`. Null and -1 are none.
#[track_caller]
fn check_indices(table: &Value, key: &str, rows: usize) {
    for index in table[key].as_array().unwrap() {
        let is_none = index.is_null() || *index == -1;
        assert!(
            is_none || index.as_u64().unwrap() < rows as u64,
            "{key}: {index}"
        );
    }
}

/// Checks the tables that version 70 of the format has, by `src/types/profile.ts` of the Firefox Profiler.
fn check_firefox_tables(profile: &Value) {
    let shared = &profile["shared"];
    let strings = shared["stringArray"].as_array().unwrap().len();
    let (stacks, stack_table) = check_table(&shared["stackTable"], "stackTable");
    let (frames, frame_table) = check_table(&shared["frameTable"], "frameTable");
    let (functions, function_table) = check_table(&shared["funcTable"], "funcTable");
    let (sources, source_table) = check_table(&shared["sources"], "sources");
    for name in ["resourceTable", "nativeSymbols", "sourceLocationTable"] {
        assert_eq!(check_table(&shared[name], name).0, 0, "{name}");
    }
    for (row, offset) in { stack_table["prefixOffset"].as_array().unwrap().iter() }.enumerate() {
        assert!(
            offset.as_u64().unwrap() <= row as u64,
            "callers come before"
        );
    }
    let categories = profile["meta"]["categories"].as_array().unwrap().len();
    check_indices(stack_table, "frame", frames);
    check_indices(frame_table, "func", functions);
    check_indices(frame_table, "category", categories);
    check_indices(function_table, "name", strings);
    check_indices(function_table, "source", sources);
    check_indices(source_table, "filename", strings);
    for thread in profile["threads"].as_array().unwrap() {
        let (_, samples) = check_table(&thread["samples"], "samples");
        check_indices(samples, "stack", stacks);
        check_table(&thread["markers"], "markers");
        let times = samples["time"].as_array().unwrap();
        let times: Vec<f64> = times.iter().map(|time| time.as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}

#[test]
fn transfers_over_time_add_up() {
    let place = recorded();
    clocked::add_visits(&place.path("p"));
    text(&place, "report p --firefox-profile p.json");
    let profile = read_json(&place, "p.json");
    check_firefox_tables(&profile);
    let meta = &profile["meta"];
    assert_eq!(meta["preprocessedProfileVersion"], 70);
    let product = meta["product"].as_str().unwrap();
    assert!(product.ends_with("(1 ns is 1 instruction)"), "{product}");
    let threads = profile["threads"].as_array().unwrap();
    let weights = threads.iter().flat_map(|thread| {
        let weights = thread["samples"]["weight"].as_array().unwrap();
        weights.iter().map(|weight| weight.as_u64().unwrap())
    });
    let report = json(&place, "report p");
    assert_eq!(report["transfers_total"], 400);
    assert_eq!(weights.sum::<u64>(), 400);
    assert_eq!(threads.len(), 1, "the other context only stores");
    assert_eq!(threads[0]["name"], "CPU 1");
    let names = profile["shared"]["stringArray"].as_array().unwrap();
    assert!(names.contains(&"hot.second".into()), "{names:?}");
}

/// Samples of the Firefox Profiler's format refer to stacks, frames and functions that are there.
#[test]
fn a_recorded_program_opens_in_the_firefox_profiler() {
    require_programs(&["gcc"]);
    let place = recording_place();
    place.shared("-O1");
    let ended = place.said("record run -o out -- ./shared");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = place.said("report out --firefox-profile out.json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let profile = read_json(&place, "out.json");
    check_firefox_tables(&profile);
    let threads = profile["threads"].as_array().unwrap().iter();
    let samples: u64 = threads
        .map(|thread| thread["samples"]["length"].as_u64().unwrap())
        .sum();
    assert!(samples > 0, "{ended:?}");
    let said = format!("{samples} accesses that moved a line are in out.json");
    assert!(ended.stderr.contains(&said), "{said}: {ended:?}");
}

#[test]
fn without_a_clock_there_is_no_time() {
    let place = recorded();
    let ended = place.run_words("report p --firefox-profile p.json");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let remedy = "record it again with 'relayout record kernel' or 'relayout record run'";
    assert!(ended.stderr.contains(remedy), "{ended:?}");
    assert!(!place.path("p.json").exists());
    for option in ["--sarif", "--firefox-profile"] {
        let expect = format!("relayout: {option} p: it is a folder");
        place.refuses(&format!("report p {option} p"), 2, &expect);
    }
}

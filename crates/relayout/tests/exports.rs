//! Files for other programs: CSV tables, pictures, SARIF logs and profiles for the Firefox Profiler.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use common::hot::SOURCE;
use common::programs::recording_place;
use common::trace::{self, Word};
use common::{KERNEL_FLAGS, Place, json, names, text};
use relayout_profile::AccessKind::{Read, Write};
use relayout_testkit::require_programs;
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
    let mut child = common::start(&mut command);
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

/// Each finding is a result with a rule, a level and a line of a file below the source folder.
#[test]
fn findings_are_results_of_code_scanning() {
    let place = recorded();
    let findings = json(&place, "report p --top 0")["findings"].clone();
    let root = place.path("");
    text(
        &place,
        &format!("report p --sarif p.sarif --source-root {}", root.display()),
    );
    let log = fs::read_to_string(place.path("p.sarif")).unwrap();
    let log: Value = serde_json::from_str(&log).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), findings.as_array().unwrap().len());
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"], "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "vmlinux.c", "{result}");
        assert_eq!(place["region"]["startLine"], 3, "{result}");
    }
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
    let profile = fs::read_to_string(place.path("out.json")).unwrap();
    let profile: Value = serde_json::from_str(&profile).unwrap();
    let shared = &profile["shared"];
    let columns = |table: &str, column: &str, of: &str| {
        let length = shared[of]["length"].as_u64().unwrap();
        let values = shared[table][column].as_array().unwrap().iter();
        for index in values.filter_map(Value::as_u64) {
            assert!(index < length, "{table}.{column}: {index} of {length}");
        }
    };
    columns("stackTable", "frame", "frameTable");
    let offsets = shared["stackTable"]["prefixOffset"].as_array().unwrap();
    let is_before = |(index, offset): (u64, &Value)| offset.as_u64().unwrap() <= index;
    assert!((0..).zip(offsets).all(is_before), "{offsets:?}");
    columns("frameTable", "func", "funcTable");
    let threads = profile["threads"].as_array().unwrap();
    assert!(!threads.is_empty());
    let mut samples = 0;
    for thread in threads {
        let table = &thread["samples"];
        let stacks = table["stack"].as_array().unwrap();
        assert_eq!(table["length"], stacks.len());
        let stack_count = shared["stackTable"]["length"].as_u64().unwrap();
        assert!({ stacks.iter() }.all(|stack| stack.as_u64().unwrap() < stack_count));
        let times = table["time"].as_array().unwrap().iter();
        assert!(times.map(|time| time.as_f64().unwrap()).is_sorted());
        samples += stacks.len();
    }
    let said = format!("{samples} accesses that moved a line are in out.json");
    assert!(ended.stderr.contains(&said), "{said}: {ended:?}");
}

#[test]
fn exports_that_cannot_be_written_are_an_error() {
    let place = recorded();
    for option in ["--sarif", "--firefox-profile"] {
        place.refuses(
            &format!("report p {option} p"),
            2,
            &format!("relayout: {option} p: it is a folder"),
        );
    }
    let without_clock = place.run_words("report p --firefox-profile out.json");
    assert_eq!(without_clock.code, Some(2), "{without_clock:?}");
    let remedy = "the profile has no accesses with a clock; record it again";
    assert!(without_clock.stderr.contains(remedy), "{without_clock:?}");
    assert!(!place.path("out.json").exists());
}

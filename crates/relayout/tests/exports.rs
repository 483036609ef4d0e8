//! Files for other programs: CSV tables, pictures, SARIF logs and profiles for the Firefox Profiler.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::hot::SOURCE;
use common::trace::{self, Word};
use common::{KERNEL_FLAGS, Place, json, names, text};
use relayout_profile::AccessKind::{Read, Write};
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

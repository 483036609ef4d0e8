//! Classes of C++ are found by the names that people write: with a namespace, with integers spelled in
//! any way. Their patches apply, compile without warnings, and save what was predicted.

mod common;

use common::Place;
use common::programs::{data, recording_place, transfers_about};
use relayout_testkit::require_programs;

/// A member of a type, the type's name as reports print it, and others that people write.
const NAMES: [(&str, &str, &[&str]); 3] = [
    ("limit_", "net::Pool", &["Pool", "class net::Pool"]),
    (
        "hits",
        "Stats<unsigned long>",
        &[
            "Stats<long unsigned int>",
            "Stats< unsigned long >",
            "Stats<*>",
        ],
    ),
    ("seen", "Epoch", &["struct Epoch"]),
];

fn recorded_classes() -> Place {
    require_programs(&["g++", "patch"]);
    let place = recording_place();
    std::fs::copy(data("classes.cc"), place.path("classes.cc")).expect("the source");
    record(&place, "out");
    place
}

fn record(place: &Place, output: &str) {
    let flags = "-g -O1 -std=c++17 -Wall -Wextra -Werror -pthread";
    for words in [
        format!("cc -- g++ {flags} -o classes classes.cc"),
        format!("record run --yield 50 -o {output} -- ./classes 60000"),
    ] {
        let ended = place.said(&words);
        assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    }
}

/// Transfers of a type's objects.
fn transfers(place: &Place, profile: &str, name: &str) -> u64 {
    transfers_about(place, profile, |found| found == name)
}

#[test]
fn names_as_people_write_them() {
    let place = recorded_classes();
    let said = |words: &[&str]| {
        let mut command = place.relayout(words);
        place.with_system(&mut command);
        let ended = place.ended(&mut command);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.stderr);
        ended.stdout
    };
    for (member, printed, others) in NAMES {
        let align = format!("{member}=64");
        let shown = said(&["show", "classes", printed]);
        let advised = said(&["advise", "out", printed, "--json"]);
        let reported = said(&["report", "out", "--type", printed, "--json"]);
        let scored = said(&["what-if", "out", printed, "--align", &align, "--json"]);
        for name in others {
            assert_eq!(said(&["show", "classes", name]), shown, "{name}");
            assert_eq!(said(&["advise", "out", name, "--json"]), advised, "{name}");
            let words = ["report", "out", "--type", name, "--json"];
            assert_eq!(said(&words), reported, "{name}");
            let words = ["what-if", "out", name, "--align", &align, "--json"];
            assert_eq!(said(&words), scored, "{name}");
        }
    }
}

/// What `show` prints of a class is a layout of it, with its base classes and access labels.
#[test]
fn the_text_of_show_is_a_layout() {
    let place = recorded_classes();
    for name in ["net::Pool", "Stats<unsigned long>", "Worker"] {
        let shown = place.ended(&mut place.relayout(&["show", "classes", name]));
        assert_eq!(shown.code, Some(0), "{name}: {}", shown.stderr);
        place.write("shown.txt", &shown.stdout);
        let words = ["what-if", "out", name, "--layout", "shown.txt"];
        let scored = place.ended(&mut place.relayout(&words));
        assert_eq!(scored.code, Some(0), "{name}: {}", scored.stderr);
        assert!(
            scored.stdout.contains("* shown "),
            "{name}: {}",
            scored.stdout
        );
        assert!(scored.stdout.contains("+0.0%"), "{name}: {}", scored.stdout);
    }
}

/// Allocated elements are told by their container, and accesses by the line that calls a helper.
#[test]
fn containers_and_callers_are_named() {
    let place = recorded_classes();
    let ended = place.said("report out --top 0");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "operator new in main (classes.cc:82), element of std::vector<Worker> (",
        "classes.cc:15 (net::Pool::use > std::__atomic_base<long>::fetch_add)",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn another_namespace_is_another_type() {
    let place = recorded_classes();
    for words in ["advise out other::Pool", "report out --type other::Pool"] {
        let ended = place.said(words);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stdout);
        assert!(ended.stderr.contains("other::Pool"), "{}", ended.stderr);
    }
}

/// A member of a class with access specifiers, one of a template, one of a base, and elements of a
/// vector.
#[test]
fn patches_of_classes_hold() {
    let place = recorded_classes();
    let names = ["net::Pool", "Stats<unsigned long>", "Epoch", "Worker"];
    for (index, name) in names.iter().enumerate() {
        let patch = format!("{index}.patch");
        let words = ["advise", "out", name, "--source", ".", "--patch", &patch];
        // The machine may be busy with other tests, which is a doubt.
        let mut command = place.relayout(&[&words[..], &["--force"]].concat());
        place.with_system(&mut command);
        let ended = place.ended(&mut command);
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.stderr);
        assert!(place.path(&patch).exists(), "{name}: {}", ended.stdout);
    }
    let types = ["net::Pool", "Stats<unsigned long>", "Domain", "Worker"];
    let before = types.map(|name| transfers(&place, "out", name));
    for index in 0..names.len() {
        let applied = place.other("/usr/bin/patch", &format!("-p1 -i {index}.patch"));
        assert_eq!(applied.code, Some(0), "{}", applied.stdout);
    }
    record(&place, "then");
    for (name, before) in types.into_iter().zip(before) {
        let after = transfers(&place, "then", name);
        assert!(
            after * 10 < before,
            "{name}: {before} before, {after} after"
        );
    }
}

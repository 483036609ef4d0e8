//! Types of C++ are found by the names that people write: with a namespace, with integers spelled in
//! any way, and by a part that is unique.

mod common;

use common::programs::{data, recording_place};
use common::{Place, text};
use relayout_testkit::require_programs;

/// A member of a type, the type's name in the debug information, and others that people write.
const NAMES: [(&str, &str, &[&str]); 3] = [
    ("limit_", "Pool", &["net::Pool", "class net::Pool"]),
    (
        "hits",
        "Stats<long unsigned int>",
        &["Stats<unsigned long>", "Stats< unsigned long >", "Stats<*>"],
    ),
    ("seen", "Epoch", &["struct Epoch"]),
];

fn recorded_classes() -> Place {
    require_programs(&["g++"]);
    let place = recording_place();
    std::fs::copy(data("classes.cc"), place.path("classes.cc")).expect("the source");
    text(
        &place,
        "cc -- g++ -g -O1 -std=c++17 -pthread -o classes classes.cc",
    );
    text(&place, "record run --yield 50 -o out -- ./classes 20000");
    place
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

#[test]
fn another_namespace_is_another_type() {
    let place = recorded_classes();
    for words in ["advise out other::Pool", "report out --type other::Pool"] {
        let ended = place.said(words);
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stdout);
        assert!(ended.stderr.contains("other::Pool"), "{}", ended.stderr);
    }
}

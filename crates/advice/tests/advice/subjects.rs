//! Subjects of advice, by the names that a report prints and that a user types.

use relayout_advice::{AdvisedSubject, LocalDeclaration};

use crate::advice::fixture::address_of;
use crate::advice::recording::{HEAP, Recording, load, named_objects};

/// A recording that has objects of these variables.
fn recording_of(variables: &[&str]) -> Recording {
    let loads = variables.iter().map(|name| load(0, address_of(name)));
    Recording::of_kernel(loads.collect())
}

/// A recording with all of the variables that are arrays.
fn arrays() -> Recording {
    recording_of(&["workers", "stats", "ports", "slots", "counters", "ticket"])
}

/// Tests the heading of what each of the names leads to.
#[track_caller]
fn check(recording: &Recording, names: &[&str], title: &str) {
    for name in names {
        let gathered = recording.gather(name);
        assert_eq!(gathered.advised_subject.title(), title, "{name}");
    }
}

/// Tests the message of the error that a name gets.
#[track_caller]
fn check_refused(recording: &Recording, name: &str, message: &str) {
    assert_eq!(recording.refusal(name), message);
}

#[test]
fn a_struct_is_found_by_its_tag_and_by_its_variables() {
    let recording = arrays();
    let names = ["worker", "struct worker", " struct worker ", "workers"];
    check(&recording, &names, "struct worker");
    check(&recording, &["slot", "union slot", "slots"], "union slot");
}

#[test]
fn a_struct_without_a_tag_is_found_by_its_typedef_or_variable() {
    let recording = arrays();
    check(&recording, &["cache_stats", "stats"], "cache_stats");
    check(&recording, &["ports"], "ports (a type without a name)");
}

#[test]
fn an_array_of_numbers_is_found_by_its_variable() {
    check(&arrays(), &["counters"], "counters (array of long int)");
}

#[test]
fn a_part_of_exactly_one_name_is_enough() {
    let recording = arrays();
    check(&recording, &["work", "orker"], "struct worker");
    check(&recording, &["count"], "counters (array of long int)");
    let message = recording.refusal("t");
    assert!(
        message.starts_with("no object of struct t is in the profile"),
        "{message}"
    );
    assert_eq!(recording.refusal(""), "`` is no type's name");
}

#[test]
fn a_tag_comes_before_a_variable_of_the_same_name() {
    // The variable `queue` is a `struct job`.
    let variable = recording_of(&["queue"]);
    check(&variable, &["queue", "job"], "struct job");
    let queue = named_objects("struct queue", HEAP, 16, 16);
    let mut profile = recording_of(&["queue"]).profile;
    let mut row = profile.counts[0];
    row.addr.0 = HEAP;
    profile.counts.push(row);
    profile.ranges.push(queue);
    let both = Recording::resolve(profile);
    check(&both, &["queue"], "struct queue");
    check(&both, &["job"], "struct job");
}

#[test]
fn a_name_in_several_scopes_means_the_struct_that_is_no_mere_member() {
    let members = recording_of(&["cluster"]);
    let message =
        "Node may be several types of the profile: disk::Node, net::Node; give one of them";
    check_refused(&members, "Node", message);
    check(&members, &["net::Node"], "struct net::Node");
    check(&members, &["disk::Node"], "struct disk::Node");
    let whole = recording_of(&["cluster", "node"]);
    check(&whole, &["Node", "node"], "struct net::Node");
}

#[test]
fn a_subject_has_the_keyword_of_its_definition() {
    let recording = recording_of(&["gauge"]);
    check(&recording, &["Gauge", "class Gauge"], "struct Gauge");
    check(&recording, &["Meter", "struct Meter"], "class Meter");
}

#[test]
fn a_wrapper_of_the_standard_library_leads_to_what_it_holds() {
    let recording = recording_of(&["budget", "ticket"]);
    let names = ["std::wrapper<Budget>", "budget", "Budget"];
    check(&recording, &names, "struct Budget");
    let message = "std::wrapper<long> is a type of the standard library, which lays it out, and holds no struct of \
                   the program";
    check_refused(&recording, "std::wrapper<long>", message);
}

#[test]
fn a_name_that_nothing_has_gets_similar_ones() {
    let message = arrays().refusal("wroker");
    assert!(
        message.starts_with("no object of struct wroker is in the profile"),
        "{message}"
    );
    assert!(message.contains("worker"), "{message}");
    assert!(!message.contains("slots"), "{message}");
}

#[test]
fn the_source_and_the_debug_information_have_names_of_their_own() {
    let check = |variable: &str, name: &str, declared: &str, definition: &str| {
        let recording = recording_of(&[variable]);
        let gathered = recording.gather(variable);
        assert_eq!(gathered.name, name);
        assert_eq!(gathered.declared_name(), declared);
        assert_eq!(gathered.definition_name(), definition);
    };
    check("node", "net::Node", "Node", "net::Node");
    check("hot", "hot", "hot", "hot");
    check("stats", "cache_stats", "cache_stats", "cache_stats");
    check("counters", "counters", "counters", "counters");
}

#[test]
fn the_heading_of_an_array_names_its_function_and_its_elements_once() {
    let check = |name: &str, element: &str, local: Option<&str>, title: &str| {
        let subject = AdvisedSubject::Scalars {
            name: name.to_owned(),
            element: element.to_owned(),
            local: local.map(|function| LocalDeclaration {
                function: function.to_owned(),
                file: String::new(),
                line: 0,
            }),
        };
        assert_eq!(subject.title(), title);
        assert_eq!(subject.name(), name);
    };
    check("sums", "long", None, "sums (array of long)");
    check("sums", "long", Some("main"), "sums of main (array of long)");
    // An allocation has no other name than its type.
    check(
        "unsigned long [8]",
        "unsigned long",
        None,
        "unsigned long [8]",
    );
}

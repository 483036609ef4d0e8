//! Findings of a recording, their names, and variables whose findings are the advice.

use relayout_advice::{
    AdvisedSubject, ContendedType, ContendedVariable, SearchRequest, gather_types, rank_findings,
    recorded_member, recorded_name, recorded_names, split_advised_variables,
};
use relayout_contend::Findings;
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, add, hot_turns, load, turns};

fn findings(recording: &Recording) -> Findings {
    recording.with_names(|names| rank_findings(&recording.resolved(), names, None))
}

/// A recording in which `hot` is contended, and other variables are not.
fn recording() -> Recording {
    let others = ["cluster", "embedded", "served", "workers"].map(address_of);
    let loads = others.map(|address| load(0, address)).to_vec();
    Recording::of_kernel([hot_turns(20), loads].concat())
}

#[test]
fn all_types_and_variables_have_names() {
    let names = recorded_names(&recording().resolved());
    let expect = [
        "Cluster",
        "cluster",
        "disk::Node",
        "embedded",
        "hot",
        "net::Node",
        "served",
        "worker",
        "workers",
    ];
    assert_eq!(Vec::from_iter(&names), expect);
}

/// The name that findings have for what a user types, or the message of the error.
fn found(name: &str) -> Result<String, String> {
    let recording = recording();
    let all = findings(&recording);
    recorded_name(name, &recording.resolved(), &all).map_err(|error| error.to_string())
}

#[test]
fn a_name_is_found_whether_contended_or_not() {
    let check = |name: &str, expect: &str| assert_eq!(found(name), Ok(expect.to_owned()));
    check("hot", "hot");
    check("struct hot", "hot");
    check("served", "served");
    check("struct worker", "worker");
    check("net::Node", "net::Node");
}

#[test]
fn a_name_of_several_types_or_of_none_is_an_error() {
    let several = found("Node").expect_err("two types");
    assert!(several.contains("disk::Node, net::Node"), "{several}");
    let message = found("hott").expect_err("unknown");
    let says = "no type or variable of the profile is named `hott`";
    assert!(message.starts_with(says), "{message}");
    assert!(message.contains("close: hot "), "{message}");
    assert!(
        message.contains("`relayout report PROFILE --top 0`"),
        "{message}"
    );
    // A contended name comes before those that are not.
    let message = found("servd").expect_err("unknown");
    assert!(message.contains("served"), "{message}");
}

#[test]
fn adjacent_lines_are_findings_where_they_cost_something() {
    let hot = address_of("hot");
    let recording = Recording::of_kernel(turns([hot, hot + 64], 100));
    let count = |coefficient| {
        let all =
            recording.with_names(|names| rank_findings(&recording.resolved(), names, coefficient));
        all.findings.len()
    };
    assert_eq!(count(None), 0);
    assert_eq!(count(Some(0.5)), 1);
}

#[test]
fn a_member_of_a_finding_keeps_its_traffic() {
    let recording = recording();
    let all = findings(&recording);
    let member = &all.findings[0].members[1];
    let recorded = recorded_member(member).expect("behind the start of the object");
    assert_eq!(recorded.path, "second");
    assert_eq!((recorded.offset, recorded.size), (8, 8));
    assert_eq!(
        (recorded.reads, recorded.writes, recorded.contexts),
        (20, 20, 1)
    );
    assert_eq!(recorded.transfers, member.transfers);
    let mut before = member.clone();
    before.offset = -8;
    assert!(recorded_member(&before).is_none());
}

/// Variables with advice, and the names of those that stay skipped.
fn split(steps: Vec<Step>) -> (Vec<ContendedVariable>, Vec<String>) {
    let recording = Recording::of_kernel(steps);
    let resolved = recording.resolved();
    let gathered = gather_types(&resolved, &SearchRequest::default());
    let (_, mut skipped) = gathered.expect("no type is named");
    let advised =
        recording.with_names(|names| split_advised_variables(&resolved, names, &mut skipped));
    let names = skipped.into_iter().map(|contended| contended.name);
    (advised, names.collect())
}

#[test]
fn numbers_with_a_remedy_are_advised_on_as_in_a_report() {
    let [served, dropped] = ["served", "dropped"].map(address_of);
    let single = address_of("single");
    let steps = [turns([served, dropped], 100), turns([single, single], 10)].concat();
    let (advised, skipped) = split(steps);
    assert_eq!(skipped, ["single"]);
    let mut names: Vec<&str> = advised
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    names.sort_unstable();
    // Both are on the line of one finding.
    assert_eq!(names, ["dropped", "served"]);
    for variable in &advised {
        assert_eq!(variable.type_name, "long int");
        assert_eq!(variable.declaring, None);
        assert_eq!(variable.findings.len(), 1);
        assert!(!variable.findings[0].remedies.is_empty());
    }
    let transfers: u64 = advised.iter().map(|variable| variable.transfers).sum();
    assert_eq!(transfers, 199);
}

#[test]
fn a_type_is_no_variable_even_if_its_finding_has_remedies() {
    let recording = Recording::of_kernel(hot_turns(100));
    let mut skipped = vec![ContendedType {
        subject: AdvisedSubject::Tagged {
            keyword: "struct",
            tag: "hot".to_owned(),
        },
        name: "hot".to_owned(),
        transfers: 199,
        skip_reason: Some("uncertain".to_owned()),
    }];
    let resolved = recording.resolved();
    let advised =
        recording.with_names(|names| split_advised_variables(&resolved, names, &mut skipped));
    assert!(advised.is_empty());
    assert_eq!(skipped.len(), 1);
}

#[test]
fn a_local_variable_is_not_one_of_the_same_name_elsewhere() {
    let [served, dropped] = ["served", "dropped"].map(address_of);
    let recording = Recording::of_kernel(turns([served, dropped], 100));
    let advised = |name: &str, function: Option<&str>| {
        let local = function.map(|function| relayout_advice::LocalDeclaration {
            function: function.to_owned(),
            file: String::new(),
            line: 0,
        });
        let mut skipped = vec![ContendedType {
            subject: AdvisedSubject::Scalars {
                name: name.to_owned(),
                element: "long int".to_owned(),
                local,
            },
            name: name.to_owned(),
            transfers: 99,
            skip_reason: None,
        }];
        let resolved = recording.resolved();
        let advised =
            recording.with_names(|names| split_advised_variables(&resolved, names, &mut skipped));
        assert_eq!(advised.len() + skipped.len(), 1);
        !advised.is_empty()
    };
    assert!(advised("served", None));
    assert!(!advised("served", Some("main")));
    assert!(!advised("rounds", None));
}

#[test]
fn numbers_that_one_context_uses_at_a_time_are_skipped() {
    let served = address_of("served");
    let (advised, skipped) = split([add(0, served), load(1, served)].repeat(50));
    let remedies = advised
        .iter()
        .map(|variable| variable.findings[0].remedies.len());
    assert!(remedies.into_iter().all(|count| count > 0));
    assert_eq!(advised.len() + skipped.len(), 1);
}

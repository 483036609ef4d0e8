//! `--html`: pages hold the documents of `--json`, and their scripts show them. Node runs these in as much of a document
//! as they use.

use std::process::Command;

use crate::common::hot::SOURCE;
use crate::common::trace;
use crate::common::{KERNEL_FLAGS, Place, json, programs, text};
use relayout_profile::AccessKind::{Read, Write};
use relayout_testkit::require_programs;
use relayout_testprofile::Word;
use serde_json::Value;

/// A profile `p` in which one context stores to what lies beside the other's word.
fn recorded() -> Place {
    let place = Place::new();
    place.compile("vmlinux", SOURCE, KERNEL_FLAGS);
    let words: Vec<Word> = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    place.write("layout", "first\nunused\nsecond\n");
    place
}

/// Runs a command with `--html`, and returns the document in the page.
#[track_caller]
fn document_of_page(place: &Place, words: &str) -> Value {
    let ended = place.run_words(&format!("{words} --html page.html"));
    assert!(
        ended
            .stderr
            .ends_with("relayout: the page is in page.html\n"),
        "{ended:?}"
    );
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("default-src 'none'"), "{page}");
    serde_json::from_str(&run_page(place, &["--document"])).unwrap()
}

/// Returns what the scripts of the page show, at an address in it.
#[track_caller]
fn shown(place: &Place, hash: &str) -> String {
    run_page(place, &["--at", hash])
}

/// Runs the scripts of the page under node.
#[track_caller]
fn run_page(place: &Place, options: &[&str]) -> String {
    require_programs(&["node"]);
    let ended = Command::new("node")
        .arg(programs::data("page/run.mjs"))
        .arg(place.path("page.html"))
        .args(options)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn a_report_is_shown() {
    let place = recorded();
    let document = document_of_page(&place, "report p");
    assert_eq!(document, json(&place, "report p --top 0"));
    let shown = shown(&place, "#finding-1");
    let finding = &document["findings"][0];
    let transfers = format!("transfers: {} (", finding["transfers"]);
    for words in [
        "h2: #1 hot +0: false-sharing",
        &transfers,
        "path: ",
        "button: Transfers",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for member in finding["members"].as_array().unwrap() {
        let name = member["name"].as_str().unwrap();
        assert!(shown.contains(&format!("td: {name}\n")), "{name}: {shown}");
    }
}

/// Lines around an access come from the tree that the user names.
#[test]
fn source_lines_are_in_the_document() {
    let place = Place::new();
    let source = format!(
        "{SOURCE}\nvoid use_hot(void)\n{{\n\thot.first = hot.second;\n\thot.second = 2;\n}}\n"
    );
    let text_at_first_site = [KERNEL_FLAGS, &["-Wl,-Ttext=0x1000"]].concat();
    place.compile("vmlinux", &source, &text_at_first_site);
    let words: Vec<Word> = [(0, Write, 0), (1, Read, 8)].repeat(400);
    trace::write(&place, "p", "vmlinux", "hot", &[words]);
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/vmlinux.c", &source);

    let document = document_of_page(&place, "report p --source tree");
    let file = &document["sources"][0];
    assert_eq!(file["path"], "vmlinux.c", "{document}");
    for excerpt in file["excerpts"].as_array().unwrap() {
        let first = excerpt["first_line"].as_u64().unwrap() as usize;
        let lines = excerpt["lines"].as_array().unwrap().iter();
        let expected: Vec<&str> = source.lines().skip(first - 1).take(lines.len()).collect();
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }
    let shown = shown(&place, "#finding-1");
    assert!(shown.contains("void use_hot(void)"), "{shown}");
    std::fs::create_dir(place.path("empty")).unwrap();
    for words in ["report p", "report p --source empty"] {
        let without = json(&place, words);
        assert!(without.get("sources").is_none(), "{without}");
    }
}

#[test]
fn source_lines_need_a_tree_and_a_document() {
    let place = recorded();
    place.refuses(
        "report p --source vmlinux --json",
        2,
        r#"{"schema":"relayout/error/1","message":"--source vmlinux: not a folder","hint":null,"code":2}"#,
    );
    place.refuses(
        "report p --source .",
        2,
        "relayout: --source: the text has no source lines; add --html FILE or --json",
    );
}

/// A picture of each line, narrow enough for a mail.
#[test]
fn a_report_for_a_mail_is_narrow() {
    let place = recorded();
    let text = text(&place, "report p --format mail");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    for line in [
        "    +0 |AAAAAAAA|bbbbbbbb|........|........|........|........|........|........|",
        "       Capitals are stored to; dots are not accessed.",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let both = place.run_words("report p --format mail --json");
    assert_eq!(both.code, Some(2), "{both:?}");
    assert!(
        both.stderr.contains("cannot be used with '--json'"),
        "{both:?}"
    );
}

#[test]
fn advice_is_shown() {
    let place = recorded();
    text(&place, "report p");
    let document = document_of_page(&place, "advise p hot");
    assert_eq!(document, json(&place, "advise p hot"));
    let candidates = document["types"][0]["candidates"].as_array().unwrap();
    let shown = shown(&place, "");
    for number in 1..=candidates.len() {
        assert!(
            shown.contains(&format!("h3: Candidate {number} of hot")),
            "{shown}"
        );
    }
    let change = candidates[0]["change_percent"]["value"].as_f64().unwrap();
    assert!(shown.contains(&format!("td: {change:.1}%")), "{shown}");
}

#[test]
fn other_documents_are_shown() {
    let place = recorded();
    text(&place, "report p");
    document_of_page(&place, "what-if p hot --layout layout");
    assert!(shown(&place, "").contains("h1: relayout what-if: hot"));
    place.compile(
        "other",
        &SOURCE.replace("int first;", "long more; int first;"),
        KERNEL_FLAGS,
    );
    let document = document_of_page(&place, "diff vmlinux other");
    assert_eq!(document["schema"], "relayout/diff/1");
    assert!(shown(&place, "").contains("h1: relayout diff"));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let place = recorded();
    place.refuses("report p --html p", 2, "relayout: --html p: it is a folder");
    place.refuses(
        "report p --html none/page.html",
        2,
        "relayout: --html none/page.html: there is no folder none",
    );
    assert!(!place.path("none").exists());
}

#[test]
fn an_answer_about_a_fleet_is_shown() {
    let place = Place::new();
    let document = r#"{"schema": "relayout/fleet/1", "data_set": "fleet", "question": "top", "recordings": 3,
        "notes": ["A note."], "tables": [{"name": "members", "rows": [{"rank": 1, "member": "<b>job.lock",
        "mean_share": 0.5, "change": -0.25, "recordings": 1234, "release": null}]}, {"name": "left_out", "rows": []}]}"#;
    place.write("page.html", relayout_report::page(document, "a fleet"));
    let shown = run_page(&place, &[]);
    for words in [
        "relayout fleet top",
        "data set: fleet",
        "<b>job.lock",
        "50.00%",
        "-25.0%",
        "1,234",
        "none",
        "No rows.",
        "A note.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

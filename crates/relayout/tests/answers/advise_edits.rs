//! The recommended edit, other choices of the patch, layouts given as edits, and the judgement that
//! `advise` and `report` share.

use crate::common::programs::{data, recording_place};
use crate::common::{Ended, Place};
use relayout_testkit::require_programs;
use serde_json::Value;

/// A place with a recording of `tests/data/pair.c`, whose two threads write `head` and `tail`.
fn recorded_pair() -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    let source = data("pair.c");
    let source = source.display();
    succeed(
        &place,
        &format!("cc -- gcc -O2 -g -pthread -UDEBUG {source} -o pair"),
    );
    succeed(&place, "record run -o apart.relayout -- ./pair apart");
    place
}

fn succeed(place: &Place, words: &str) -> Ended {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{words}: {}", ended.stderr);
    ended
}

fn json(place: &Place, words: &str) -> Value {
    serde_json::from_str(&succeed(place, words).stdout).expect("JSON")
}

fn source_folder() -> String {
    let source = data("pair.c");
    source.parent().expect("a folder").display().to_string()
}

#[test]
fn recommended_candidate_has_a_reason_and_becomes_the_patch() {
    let place = recorded_pair();
    let source = source_folder();
    let advice = json(
        &place,
        &format!("advise apart.relayout pair --json --force --source {source}"),
    );
    let advised = &advice["types"][0];
    let recommended = advised["recommended"].as_u64().expect("one is recommended") as usize;
    let candidate = &advised["candidates"][recommended];
    assert!(
        candidate["patch"]
            .as_str()
            .expect("a patch")
            .contains("+++ b/pair.c")
    );
    assert!(
        candidate["edits"]["lines"].as_u64() > Some(0),
        "{candidate:#}"
    );
    assert!(
        candidate["edits"]["members"].as_u64() <= Some(3),
        "{candidate:#}"
    );
    assert!(
        candidate["change_percent"]["value"].as_f64() < Some(-50.0),
        "{candidate:#}"
    );
    assert!(
        advised["recommended_why"]
            .as_str()
            .expect("a reason")
            .contains("gain")
    );

    let text = succeed(&place, "advise apart.relayout pair").stdout;
    let questions = [
        "1. Saves",
        "2. Memory",
        "3. Other workloads",
        "4. Configurations",
        "5. Why this edit",
        "6. Comment",
        "7. Order",
    ];
    let places: Vec<Option<usize>> = questions.iter().map(|words| text.find(words)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(text.lines().count() <= 45, "{text}");
    assert!(!text.contains("Today's layout"), "{text}");
    let text = succeed(&place, "advise apart.relayout pair --layouts").stdout;
    assert!(
        text.contains("Today's layout") && text.contains("Recommended: "),
        "{text}"
    );

    let limited = json(&place, "advise apart.relayout pair --json --max-moves 0");
    let limited = &limited["types"][0];
    let recommended = limited["recommended"].as_u64().expect("an alignment helps") as usize;
    assert_eq!(limited["candidates"][recommended]["moved"], 0);
}

#[test]
fn picked_and_given_layouts_become_patches() {
    let place = recorded_pair();
    let source = source_folder();
    let words = format!("advise apart.relayout pair --json --force --source {source}");
    let picked = json(&place, &format!("{words} --pick 2"));
    let candidates = picked["types"][0]["candidates"]
        .as_array()
        .expect("candidates");
    assert!(candidates[1]["patch"].is_string(), "{picked:#}");
    let patches = candidates
        .iter()
        .filter(|candidate| candidate["patch"].is_string());
    assert_eq!(patches.count(), 1);
    let refused = json(&place, &format!("{words} --pick 99"));
    let reason = refused["types"][0]["patch_refused"]
        .as_str()
        .expect("a reason");
    assert!(reason.contains("there is no candidate 99"), "{reason}");
    assert_eq!(place.said(&format!("{words} --pick 0")).code, Some(2));

    place.write("given.txt", "tail\nhead @64\nlimit\n");
    let given = json(&place, &format!("{words} --layout given.txt"));
    let layout = &given["types"][0]["given"][0];
    assert!(
        layout["patch"]
            .as_str()
            .expect("a patch")
            .contains("+++ b/pair.c"),
        "{given:#}"
    );
}

#[test]
fn what_if_takes_edits() {
    let place = recorded_pair();
    let scored = json(&place, "what-if apart.relayout pair --json --align tail=64");
    let (today, given) = (&scored["current"], &scored["given"]);
    assert!(today["transfers"].as_u64() > Some(10), "{today:#}");
    assert!(given["transfers"].as_u64() < Some(10), "{given:#}");
    let padded = json(&place, "what-if apart.relayout pair --json --pad tail=56");
    assert!(
        padded["given"]["transfers"].as_u64() < Some(10),
        "{padded:#}"
    );
    let moved = json(
        &place,
        "what-if apart.relayout pair --json --move head:after:tail",
    );
    let first = &moved["given"]["layout"][0]["name"];
    assert_eq!(first, "tail");
    for (words, says) in [
        ("--move head", "MEMBER:after:MEMBER"),
        ("--move head:after:nobody", "nobody"),
        ("--align tail=63", "power of two"),
        ("", "--layout"),
    ] {
        let ended = place.said(&format!("what-if apart.relayout pair {words}"));
        assert_eq!(ended.code, Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{words}: {}", ended.stderr);
    }
}

#[test]
fn report_and_advise_share_one_judgement() {
    let place = recorded_pair();
    let finding = |words: &str| {
        let report = json(&place, &format!("report apart.relayout --json {words}"));
        report["findings"][0].clone()
    };
    let before = finding("");
    assert_eq!(before["saving"], Value::Null);
    assert_eq!(before["saving_why"], "not searched");
    let judged = finding("--by saving");
    let change = judged["saving"]["change"].as_f64().expect("a saving");
    assert!(change < -0.5, "{judged:#}");
    // It is kept for the report without a search, and advise says the same.
    assert_eq!(finding("")["saving"], judged["saving"]);
    let advice = json(&place, "advise apart.relayout pair --json");
    let advised = &advice["types"][0];
    let recommended = advised["recommended"].as_u64().expect("recommended") as usize;
    let percent = &advised["candidates"][recommended]["change_percent"]["value"];
    let change = finding("")["saving"]["change"].as_f64().expect("a saving");
    assert!((change * 100.0 - percent.as_f64().expect("a change")).abs() < 0.01);
    let text = succeed(&place, "report apart.relayout --all").stdout;
    assert!(
        text.contains("on all lines of pair by another layout"),
        "{text}"
    );
    assert!(!text.contains("does not help"), "{text}");
}

/// Text with one space between words.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words with which a report says that layouts do not help.
const DENIALS: [&str; 4] = [
    "does not help",
    "no layout removes",
    "another layout does not",
    "rather than saving",
];

/// A type in a report, as text and as JSON.
struct ReportedType {
    section: String,
    finding: Value,
}

impl ReportedType {
    fn read(place: &Place, profile: &str, type_name: &str, options: &str) -> Self {
        let text = succeed(place, &format!("report {profile} --all {options}")).stdout;
        let title = format!("{type_name} +0: ");
        let mut sections = text.split("\n#");
        let section =
            sections.find(|section| section.contains(&title) && !section.contains("Rank"));
        let report = json(place, &format!("report {profile} {options} --json"));
        let mut findings = report["findings"].as_array().expect("findings").iter();
        Self {
            section: flowing(section.unwrap_or_else(|| panic!("{text}"))),
            finding: { findings.find(|finding| finding["type"] == type_name) }
                .expect("a finding")
                .clone(),
        }
    }

    /// All that is said of layouts, with the words of the JSON document.
    fn words(&self) -> String {
        let advice = self.finding["advice"].as_array().expect("advice").iter();
        let words = advice.map(|remedy| remedy["words"].as_str().expect("words"));
        let saving = self.finding["saving_words"].as_str().unwrap_or_default();
        let words: Vec<&str> = words.chain([saving, &self.section]).collect();
        words.join("\n")
    }

    fn denies(&self) -> bool {
        let words = self.words().to_lowercase();
        DENIALS.iter().any(|denial| words.contains(denial))
    }
}

/// A place with a recording of a file of `tests/data`, whose two threads take turns.
fn recorded(source: &str, arguments: &str) -> Place {
    require_programs(&["gcc"]);
    let place = recording_place();
    let source = data(source);
    let source = source.display();
    succeed(
        &place,
        &format!("cc -- gcc -O2 -g -pthread {source} -o program"),
    );
    succeed(
        &place,
        &format!("record run -o out.relayout -- ./program {arguments}"),
    );
    place
}

/// A line that is mostly truly shared, and of which another layout saves a quarter: no report denies
/// that, before the search or after it.
#[test]
fn true_sharing_is_no_denial_of_layouts() {
    let place = recorded("mostly.c", "");
    let read = |options| ReportedType::read(&place, "out.relayout", "tally", options);
    let unsearched = read("");
    assert_eq!(unsearched.finding["kind"], "true-sharing");
    assert_eq!(unsearched.finding["outlook"], "not-searched");
    assert!(!unsearched.denies(), "{}", unsearched.words());
    for says in [
        "Mostly true sharing: threads use what others stored, most of it to `total`.",
        "`relayout advise out.relayout tally` searches layouts.",
        "Saving: unknown; try `relayout report out.relayout --by saving`.",
    ] {
        assert!(unsearched.section.contains(says), "{}", unsearched.section);
    }
    // What it names can be typed.
    let advice = json(&place, "advise out.relayout tally --json");
    assert!(advice["types"][0]["recommended"].is_u64(), "{advice:#}");
    let searched = read("");
    assert_eq!(searched.finding["outlook"], "saves");
    assert!(!searched.denies(), "{}", searched.words());
    let says = "Mostly true sharing, but another layout saves a part: ";
    assert!(searched.section.contains(says), "{}", searched.section);
    // Another way to the profile leads to the same, with commands that name it as it was typed.
    let other_way = ReportedType::read(&place, "./out.relayout", "tally", "");
    assert_eq!(other_way.finding["saving"], searched.finding["saving"]);
}

/// Members that all are used in each turn: no layout helps, which only a search with all of its
/// effort may say, and not one that the user limited.
#[test]
fn only_a_thorough_search_says_that_moving_members_does_not_help() {
    let place = recorded("pair.c", "together");
    let read = |options| ReportedType::read(&place, "out.relayout", "pair", options);
    assert!(!read("").denies(), "{}", read("").words());
    let quick = read("--by saving");
    assert_eq!(quick.finding["outlook"], "nothing-recommended");
    assert!(!quick.denies(), "{}", quick.words());
    assert!(
        quick
            .section
            .contains("Saving: unknown; a quick search of pair"),
        "{}",
        quick.section
    );
    let source = source_folder();
    let limited = [
        "--top 1",
        "--max-moves 1",
        "--keep head",
        "--pair-coefficient 0.5",
        &format!("--source {source}"),
    ];
    for options in limited {
        succeed(&place, &format!("advise out.relayout pair {options}"));
        assert!(!read("").denies(), "{options}: {}", read("").words());
    }
    succeed(&place, "advise out.relayout");
    assert!(!read("").denies(), "{}", read("").words());
    succeed(&place, "advise out.relayout pair");
    let thorough = read("");
    assert_eq!(thorough.finding["outlook"], "nothing-helps");
    let says = "Moving members of this line does not help: ";
    assert!(thorough.section.contains(says), "{}", thorough.section);
    // Later searches with less do not take it back.
    succeed(&place, "report out.relayout --by saving");
    for options in limited {
        succeed(&place, &format!("advise out.relayout pair {options}"));
    }
    assert_eq!(read("").finding["outlook"], "nothing-helps");
}

#[test]
fn report_is_no_wider_than_asked() {
    let place = recorded_pair();
    for width in [60, 80, 100] {
        let text = succeed(
            &place,
            &format!("report apart.relayout --all --width {width}"),
        )
        .stdout;
        let is_too_wide =
            |line: &&str| line.chars().count() > width && line.trim_start().contains(' ');
        assert_eq!(text.lines().find(is_too_wide), None, "{width}: {text}");
    }
    assert_eq!(place.said("report apart.relayout --width 10").code, Some(2));
}

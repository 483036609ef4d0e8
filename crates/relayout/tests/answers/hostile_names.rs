//! Names from files that anybody may have made reach the terminal escaped, and JSON unchanged.

use std::fs;

use crate::common::{Place, clocked, hostile, hot, names, profile};

/// Sets the title of the terminal, colours it, and turns the direction of writing around.
const HOSTILE: &str = "\x1b]0;owned\x07\x1b[31m\u{202e}\r\u{9b}2J/*hid";
const ESCAPED: &str = r"\u{1b}]0;owned\u{7}\u{1b}[31m\u{202e}\u{d}\u{9b}2J/*hid";

/// Writes an ELF file with a member and a type whose names in `.debug_str` are hostile.
fn hostile_elf(place: &Place, name: &str, before: &str) {
    hostile::write_elf(place, name, before, HOSTILE);
}

#[track_caller]
fn check_harmless(text: &str) {
    let active = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
    let found = text.find(active);
    assert_eq!(found, None, "{text:?}");
}

#[test]
fn show_and_diff() {
    let place = Place::new();
    hostile_elf(&place, "old", "");
    hostile_elf(&place, "new", "long pushing;");
    for (words, code) in [
        ("show old", 0),
        ("show old --expand", 0),
        ("show old --sizes", 0),
        ("diff old new --verbose", 0),
        ("show old nothing_like_it", 2),
    ] {
        let ended = place.run_words(words);
        assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
        check_harmless(&ended.stdout);
        check_harmless(&ended.stderr);
        assert!(
            code != 0 || ended.stdout.contains(ESCAPED),
            "{words}: {}",
            ended.stdout
        );
    }
}

#[test]
fn json_is_escaped_as_json() {
    let place = Place::new();
    hostile_elf(&place, "old", "");
    hostile_elf(&place, "new", "long pushing;");
    let name = hostile::padded(HOSTILE);
    for words in ["show old --json", "diff old new --json"] {
        let ended = place.run_words(words);
        check_harmless(&ended.stdout);
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(document["types"][0]["name"], name, "{words}");
    }
}

#[test]
fn sarif_and_firefox_profile_of_a_report() {
    let place = Place::new();
    hostile_elf(&place, "vmlinux", "");
    let path = hot::write(&place, "p", "vmlinux", "origin", [0, 4]);
    clocked::add_visits(&path);
    profile::edit_meta(&path, "made up", r"<script>made up\u001b[31m\u202e");
    let ended = place.run_words("report p --sarif p.sarif --firefox-profile p.json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_harmless(&ended.stderr);
    let read = |name| fs::read_to_string(place.path(name)).unwrap();
    let (sarif, firefox) = (read("p.sarif"), read("p.json"));
    check_harmless(&sarif);
    check_harmless(&firefox);
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    let message = &sarif["runs"][0]["results"][0]["message"]["text"];
    assert!(message.as_str().unwrap().contains(HOSTILE), "{message}");
    let firefox: serde_json::Value = serde_json::from_str(&firefox).unwrap();
    let mut names = firefox["shared"]["stringArray"].as_array().unwrap().iter();
    assert!(names.any(|name| name.as_str().unwrap().contains(ESCAPED)));
    let product = firefox["meta"]["product"].as_str().unwrap();
    assert!(
        product.contains(r"<script>made up\u{1b}[31m\u{202e}"),
        "{product}"
    );
}

#[test]
fn check_text_and_sarif() {
    let place = Place::new();
    hostile_elf(&place, "old", "");
    place.write(
        "relayout.toml",
        "[[type]]\nname = '*'\nsize = 1\nreason = \"\\u001b[31m\\u202e\"\n",
    );
    for words in [
        "check old",
        "check --sarif old",
        "check --json old",
        "check --emit static-assert old",
    ] {
        let ended = place.run_words(words);
        assert_eq!(ended.code, Some(1), "{words}: {ended:?}");
        check_harmless(&ended.stdout);
        check_harmless(&ended.stderr);
    }
    let sarif: serde_json::Value =
        serde_json::from_str(&place.run_words("check --sarif old").stdout).unwrap();
    let message = sarif["runs"][0]["results"][0]["message"]["text"]
        .as_str()
        .unwrap();
    assert!(
        message.contains(HOSTILE) && message.ends_with("(\x1b[31m\u{202e})"),
        "{message:?}"
    );
}

#[test]
fn report_and_advise() {
    let place = Place::new();
    hostile_elf(&place, "vmlinux", "");
    let path = hot::write(&place, "p", "vmlinux", "origin", [0, 4]);
    profile::edit_meta(&path, "made up", r"made up\u001b[31m\u202e");
    for words in [
        "report p",
        "report p --format mail",
        "report p --format svg",
        "report p --json",
        "report p --explain 1",
        "advise p",
        "advise p --json",
    ] {
        let ended = place.run_words(words);
        assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        check_harmless(&ended.stdout);
        check_harmless(&ended.stderr);
    }
    for words in ["report p", "advise p"] {
        place.run_words(&format!("{words} --html page.html"));
        check_harmless(&fs::read_to_string(place.path("page.html")).unwrap());
        place.run_words(&format!("{words} --csv tables"));
    }
    let picture = place.run_words("report p --format svg").stdout;
    assert!(
        picture.contains(ESCAPED) && !picture.contains("<script"),
        "{picture}"
    );
    for name in names(&place.path("tables")) {
        let table = fs::read_to_string(place.path("tables").join(name)).unwrap();
        check_harmless(&table.replace("\r\n", "\n"));
    }
    let text = place.run_words("report p").stdout;
    assert!(text.contains(ESCAPED), "{text}");
    assert!(
        place
            .run_words("report p")
            .stdout
            .contains(r"made up\u{1b}[31m\u{202e}")
    );
    let path = profile::write(&place, "q", "/no/such\x1b[31m".as_ref(), "00");
    let ended = place.run(&["report".as_ref(), path.as_os_str()]);
    check_harmless(&ended.stderr);
    assert!(
        ended.stderr.contains(r"/no/such\u{1b}[31m"),
        "{}",
        ended.stderr
    );
}

//! `relayout check`: what it says and how it ends.

mod bisect;
mod conditions;
mod hot;
mod rules;

use crate::common::Place;

const HEADER: &str = "\
struct lock { long count; long owner; };
struct mm {
	int users;
	char tag;
	struct lock lock;
	char pad[40];
	long flags;
	unsigned low : 3, high : 5;
	struct lock slots[4];
};
";

const RULES: &str = r#"
[[type]]
name = "mm"
reason = "measured"
size_max = 160
same_line = ["lock.count", "lock.owner"]
different_lines = ["users", "flags"]
at = { flags = 64 }
"#;

/// A folder with the header compiled to `a.o`, and the rules.
fn place(header: &str, rules: &str) -> Place {
    let place = Place::new();
    compile(&place, "a.o", header);
    place.write("relayout.toml", rules);
    place
}

fn compile(place: &Place, name: &str, header: &str) {
    place.write("mm.h", header);
    let include = format!("-I{}", place.path("").display());
    let source = "#include \"mm.h\"\nstruct mm mm;\n";
    place.compile(name, source, &["-g", "-c", &include]);
}

#[track_caller]
fn check(place: &Place, words: &str, code: i32, stdout: &str) {
    let ended = place.run_words(words);
    let (stdout, expect) = (ended.stdout.trim_end(), stdout.trim());
    assert_eq!(stdout, expect, "{}", ended.stderr);
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
}

#[test]
fn all_hold() {
    let place = place(HEADER, RULES);
    check(
        &place,
        "check a.o",
        0,
        "4 assertions checked, none violated",
    );
}

#[test]
fn a_member_was_pushed() {
    let place = place(HEADER, RULES);
    let changed = HEADER.replace("\tstruct lock lock;", "\tlong seq[6];\n\tstruct lock lock;");
    compile(&place, "b.o", &changed);
    let expect = "
[DIR]/mm.h:2: mm violates size_max
  expected   at most 160 bytes
  found      192 bytes
  pushed by  seq, which is new (48 bytes): +48 bytes
  because    measured
  rule       relayout.toml:5, in b.o

[DIR]/mm.h:6: mm.lock.owner violates same_line
  expected   on one line with lock.count
  found      lock.count at 56 on line 0, lock.owner at 64 on line 1
  pushed by  seq, which is new (48 bytes): +48 bytes
  because    measured
  rule       relayout.toml:6, in b.o

[DIR]/mm.h:8: mm.flags violates at
  expected   offset 64
  found      offset 112
  pushed by  seq, which is new (48 bytes): +48 bytes
  because    measured
  rule       relayout.toml:8, in b.o

4 assertions checked, 3 violated
";
    check(&place, "check --baseline a.o b.o", 1, expect);
    // The lock file knows as much.
    let written = "a.o: 0 types with 0 hot members\nwritten to relayout.lock";
    check(&place, "check --update a.o", 0, written);
    check(&place, "check b.o", 1, expect);
}

#[test]
fn rules_that_cannot_be_used() {
    let place = place(HEADER, "[[type]]\nname = 'mm'\nsize_mx = 1\nalign = 3\n");
    place.refuses(
        "check a.o",
        2,
        "relayout: relayout.toml:3:1: unknown key `size_mx`; did you mean `size_max`?\n\
         relayout.toml:4:9: 3 is no power of two",
    );
    place.write(
        "relayout.toml",
        "[[section]]\nfiles = 'vmlinux'\ntype = [{ name = 'mm', size = 1 }]",
    );
    place.refuses(
        "check a.o",
        2,
        "relayout: no rule applies to a.o\n\
         relayout: relayout.toml: no rule applies to any of the files, so nothing was checked",
    );
    place.write("relayout.toml", "[[type]]\nname = 'mm'\nsize = 144");
    place.write("relayout.lock", "version = 9");
    place.refuses(
        "check a.o",
        2,
        "relayout: relayout.lock:1:11: this relayout reads lock files of version 1, not 9; write \
         it again with `relayout check --update`",
    );
    place.refuses(
        "check --lock none a.o",
        2,
        "relayout: cannot read none: No such file or directory (os error 2)",
    );
    let updated = place.run_words("check --lock new.lock --update a.o");
    assert_eq!(updated.code, Some(0), "{updated:?}");
    assert!(place.path("new.lock").exists());
    place.refuses(
        "check --config none a.o",
        2,
        "relayout: cannot read none: No such file or directory (os error 2)",
    );
}

#[test]
fn rules_are_found_above() {
    let place = place(HEADER, RULES);
    let below = place.path("deep/er");
    std::fs::create_dir_all(&below).unwrap();
    let mut command = place.relayout(&["check", "../../a.o"]);
    let ended = place.ended(command.current_dir(&below));
    assert_eq!(ended.stdout, "4 assertions checked, none violated\n");
    std::fs::remove_file(place.path("relayout.toml")).unwrap();
    let mut command = place.relayout(&["check", "../../a.o"]);
    let ended = place.ended(command.current_dir(&below));
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (
            Some(2),
            "relayout: there is no relayout.toml in [DIR]/deep/er or above; write one (`relayout \
             check --help` shows how) or give one with --config FILE\n"
        )
    );
}

#[test]
fn the_same_for_scripts() {
    let place = place(HEADER, RULES);
    let changed = HEADER.replace("\tstruct lock lock;", "\tlong seq[6];\n\tstruct lock lock;");
    compile(&place, "b.o", &changed);
    let ended = place.run_words("check --json --baseline a.o b.o");
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.code, Some(1));
    assert_eq!(document["schema"], "relayout/check/1");
    assert_eq!(document["checked"], 4);
    assert_eq!(document["waived"], serde_json::json!([]));
    let expect = serde_json::json!({
        "type": "mm",
        "member": "flags",
        "rule": "at",
        "expected": "offset 64",
        "found": "offset 112",
        "pushed_by": ["seq"],
        "file": "b.o",
        "configurations": [],
        "members": [{ "name": "flags", "offset": 112, "size": 8, "line": 1 }],
        "pushes": [{
            "member": "seq",
            "how": "added",
            "words": "seq, which is new (48 bytes)",
            "pushed_bits": 384,
            "new_size_bits": 384,
        }],
        "between": [],
        "declared": { "file": "[DIR]/mm.h", "line": 8 },
        "reason": "measured",
        "config_line": 8,
        "config_column": 8,
    });
    assert_eq!(document["violations"][2], expect);

    let ended = place.run_words("check --sarif --baseline a.o b.o");
    let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let result = &document["runs"][0]["results"][2];
    assert_eq!(
        result["message"]["text"],
        "mm.flags: expected offset 64, found offset 112; pushed by seq, which is new (48 bytes) (measured)"
    );
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        *place,
        serde_json::json!({
            "artifactLocation": { "uri": "mm.h", "uriBaseId": "SRCROOT" },
            "region": { "startLine": 8 },
        })
    );
}

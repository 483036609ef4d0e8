//! `relayout check`: what it says and how it ends.

mod common;

use common::Place;

const HEADER: &str = "\
struct lock { long count; long owner; };
struct mm {
	int users;
	char tag;
	struct lock lock;
	char pad[40];
	long flags;
	unsigned low : 3, high : 5;
};
";

const RULES: &str = r#"
[[type]]
name = "mm"
reason = "measured"
size_max = 96
same_line = ["lock.count", "lock.owner"]
different_lines = ["users", "flags"]
at = { flags = 64 }
"#;

/// A folder with the header, its object file `name` and the rules.
fn place(header: &str, rules: &str) -> Place {
    let place = Place::new();
    compile(&place, "a.o", header);
    place.write("relayout.toml", rules);
    place
}

fn compile(place: &Place, name: &str, header: &str) {
    place.write("mm.h", header);
    let flags = ["-g", "-c"];
    let include = format!("-I{}", place.path("").display());
    let flags: Vec<&str> = flags.into_iter().chain([include.as_str()]).collect();
    place.compile(name, "#include \"mm.h\"\nstruct mm mm;\n", &flags);
}

#[track_caller]
fn check(place: &Place, words: &str, code: i32, stdout: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    let ended = place.run(&words);
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
    check(
        &place,
        "check --baseline a.o b.o",
        1,
        "
[DIR]/mm.h:2: mm violates size_max
  expected   at most 96 bytes
  found      128 bytes
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
",
    );
}

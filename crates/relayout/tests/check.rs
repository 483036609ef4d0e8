//! `relayout check`: what it says and how it ends.

#[path = "check/bisect.rs"]
mod bisect;
mod common;
#[path = "check/hot.rs"]
mod hot;

use common::{Ended, Place};

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

fn run(place: &Place, words: &str) -> Ended {
    place.run(&words.split(' ').collect::<Vec<&str>>())
}

#[track_caller]
fn check(place: &Place, words: &str, code: i32, stdout: &str) {
    let ended = run(place, words);
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

/// Judges one rule on `struct mm`; gives what is expected and what is found where it is violated.
#[track_caller]
fn judge(place: &Place, rule: &str, expect: &str) {
    place.write("relayout.toml", format!("[[type]]\nname = 'mm'\n{rule}\n"));
    let ended = run(place, "check a.o");
    let mut words = Vec::new();
    for line in ended.stdout.lines() {
        match line.trim().split_once("  ") {
            Some(("expected", text)) => words.push(text.trim().to_owned()),
            Some(("found", text)) => words.push(text.trim().to_owned()),
            _ => {}
        }
    }
    let code = if expect.is_empty() { 0 } else { 1 };
    assert_eq!(words.join(" / "), expect, "{rule}\n{}", ended.stderr);
    assert_eq!(ended.code, Some(code), "{rule}\n{}", ended.stderr);
}

#[test]
fn each_rule_holds_and_does_not() {
    let place = place(HEADER, "");
    for (rule, expect) in [
        ("size_max = 144", ""),
        ("size_max = 143", "at most 143 bytes / 144 bytes"),
        ("size = 144", ""),
        ("size = 136", "136 bytes / 144 bytes"),
        ("align = 8", ""),
        ("align = 64", "aligned to 64 bytes / aligned to 8 bytes"),
        ("at = { high = 72 }", ""),
        ("at = { 'slots[1].owner' = 104 }", ""),
        ("at.lock.owner = 8", "offset 8 / offset 16"),
        ("aligned = { flags = 8 }", ""),
        (
            "aligned = { flags = 64 }",
            "aligned to 64 bytes / offset 64, but the type itself is aligned to 8 bytes",
        ),
        ("aligned = { lock = 16 }", "aligned to 16 bytes / offset 8"),
        ("same_line = ['flags', 'high', 'slots']", ""),
        (
            "same_line = ['users', 'flags']",
            "on one line with users / users at 0 on line 0, flags at 64 on line 1",
        ),
        ("within_line = ['users', 'tag', 'lock', 'pad']", ""),
        (
            "within_line = ['flags', 'slots']",
            "all of flags and slots within one line / flags at 64 on line 1, slots at 80 on lines 1 to 2",
        ),
        ("different_lines = ['lock.*', 'flags']", ""),
        (
            "different_lines = ['users', 'lock.*']",
            "users, lock.count and lock.owner on different lines / \
             users at 0 on line 0, lock.count at 8 on line 0, lock.owner at 16 on line 0",
        ),
        ("different_pairs = ['users', 'slots[3]']", ""),
        (
            "different_pairs = ['users', 'flags']",
            "users and flags on different 128-byte pairs of lines / \
             users at 0 on line 0, flags at 64 on line 1: all on pair 0",
        ),
        ("no_straddle = ['lock', 'pad']", ""),
        (
            "no_straddle = ['slots']",
            "on one line / 64 bytes at 80 on lines 1 to 2",
        ),
        ("no_straddle = ['slots[2]']", ""),
    ] {
        judge(&place, rule, expect);
    }
}

#[test]
fn what_is_not_there_is_violated() {
    let place = place(HEADER, "");
    for (rule, expect) in [
        ("at = { flag = 64 }", "a member flag / none; close: flags"),
        (
            "at = { lock.ownr = 1 }",
            "a member lock.ownr / none; close: lock.owner, lock.count",
        ),
        (
            "at = { users.x = 1 }",
            "a member users.x / none; close: users",
        ),
        ("at = { 'slots[4]' = 1 }", "a member slots[4] / none"),
        ("no_straddle = ['x*']", "a member x* / none"),
        ("optional = true\nat = { flag = 64 }", ""),
    ] {
        judge(&place, rule, expect);
    }
    for (name, found) in [
        ("nm", "none; close: mm"),
        ("mm_*", "none"),
        ("union mm", "none"),
    ] {
        place.write(
            "relayout.toml",
            format!("[[type]]\nname = '{name}'\nsize = 1\n"),
        );
        check(
            &place,
            "check a.o",
            1,
            &format!(
                "a.o: {name} violates exists\n  expected   a type {name}\n  found      {found}\n  \
                 rule       relayout.toml:1, in a.o\n\n1 assertion checked, 1 violated"
            ),
        );
    }
}

#[test]
fn globs_mean_all_that_match() {
    let rules = "[[type]]\nname = '*'\nsize_max = 100\n[[type]]\nname = 'l*k'\nsize = 16\n";
    let place = place(HEADER, rules);
    check(
        &place,
        "check a.o",
        1,
        "[DIR]/mm.h:2: mm violates size_max\n  expected   at most 100 bytes\n  found      144 bytes\n  \
         rule       relayout.toml:3, in a.o\n\n3 assertions checked, 1 violated",
    );
}

#[test]
fn sections_apply_where_their_conditions_hold() {
    let rules = "\
[configuration.debug]
kconfig = ['CONFIG_LOCKDEP=y']
cacheline_size = 128
[configuration.other]

[[section]]
has = ['mm.lock.owner', '!mm.nothing', 'struct lock']
type = [{ name = 'mm', size = 1 }]
[[section]]
configuration = 'debug'
type = [{ name = 'mm', same_line = ['users', 'flags'] }, { name = 'mm', size = 2 }]
[[section]]
not_configuration = ['debug', 'other']
type = [{ name = 'mm', size = 3 }]
[[section]]
configuration = 'other'
type = [{ name = 'mm', size = 4 }]
[[section]]
files = ['b.o', '*/c.o']
type = [{ name = 'mm', size = 5 }]
[[section]]
has = '!mm.lock'
type = [{ name = 'mm', size = 6 }]
";
    let place = place(HEADER, rules);
    let sizes = |words: &str| {
        let ended = run(&place, &format!("check {words}"));
        let found = ended.stdout.lines().filter_map(|line| {
            let rest = line.trim().strip_prefix("expected")?;
            Some(rest.trim().split(' ').next()?.to_owned())
        });
        (found.collect::<Vec<_>>().join(" "), ended.stderr)
    };
    place.write("lockdep", "CONFIG_LOCKDEP=y\n");
    place.write("plain", "CONFIG_SMP=y\n# CONFIG_LOCKDEP is not set\n");
    let check = |words: &str, expect: &str, stderr: &str| {
        let (found, said) = sizes(words);
        assert_eq!(
            (found.as_str(), said.trim_end()),
            (expect, stderr),
            "{words}"
        );
    };
    check("--kconfig plain a.o", "1 3", "");
    check(
        "--kconfig plain b.o",
        "",
        "relayout: cannot read the types of b.o: No such file or directory (os error 2)",
    );
    std::fs::copy(place.path("a.o"), place.path("b.o")).unwrap();
    check("--kconfig plain b.o", "1 3 5", "");
    check("--kconfig lockdep a.o", "1 2", "");
    check("--kconfig plain --configuration other a.o", "1 4", "");
    check(
        "a.o",
        "",
        "relayout: whether the rules at 1:16 apply to a.o cannot be told: they need kconfig \
         CONFIG_LOCKDEP=y, and the kernel's .config was not given (--kconfig FILE)",
    );
    check(
        "--kconfig plain --configuration debug a.o",
        "",
        "relayout: a.o is not of configuration `debug`: that needs kconfig CONFIG_LOCKDEP=y",
    );
    check(
        "--kconfig plain --configuration debg a.o",
        "",
        "relayout: the configuration file has no configuration `debg`; did you mean `debug`?",
    );
    check(
        "--kconfig mm.h a.o",
        "",
        "relayout: mm.h is no kernel configuration: no line of it sets an option",
    );
    // As a kernel's build leaves it.
    place.write(".config", "CONFIG_LOCKDEP=y\n");
    check("a.o", "1 2", "");
}

#[test]
fn waivers_hold_until_their_day() {
    let rules = "\
[[type]]
name = 'mm'
size = 1
align = 64
[[waiver]]
type = 'm*'
rule = 'size'
reason = 'grew for good'
expires = 2027-01-31
[[waiver]]
type = 'nothing'
reason = 'old'
expires = 2030-01-01
[[waiver]]
type = 'mm'
rule = 'align'
reason = 'slab aligns it'
expires = 2026-01-31
";
    let place = place(HEADER, rules);
    let expired = |waived: &str, count: &str| {
        format!(
            "{waived}[DIR]/mm.h:2: mm violates align\n  expected   aligned to 64 bytes\n  found      aligned to 8 bytes\n  \
             waived     until 2026-01-31, which is past: slab aligns it (relayout.toml:14)\n  \
             rule       relayout.toml:4, in a.o\n\n{count}"
        )
    };
    let waived = "waived until 2027-01-31: mm violates size: expected 1 byte, found 144 bytes\n  \
                  because    grew for good (relayout.toml:5)\n\n";
    check(
        &place,
        "check --today 2027-01-31 a.o",
        1,
        &expired(
            "",
            &format!("{waived}2 assertions checked, 1 violated; 1 waived"),
        ),
    );
    let size = "[DIR]/mm.h:2: mm violates size\n  expected   1 byte\n  found      144 bytes\n  \
                waived     until 2027-01-31, which is past: grew for good (relayout.toml:5)\n  \
                rule       relayout.toml:3, in a.o\n\n";
    check(
        &place,
        "check --today 2027-02-01 a.o",
        1,
        &expired(size, "2 assertions checked, 2 violated"),
    );
    let both = "waived until 2027-01-31: mm violates size: expected 1 byte, found 144 bytes\n  \
         because    grew for good (relayout.toml:5)\n\nwaived until 2026-01-31: mm violates align: \
         expected aligned to 64 bytes, found aligned to 8 bytes\n  because    slab aligns it \
         (relayout.toml:14)\n\n2 assertions checked, none violated; 2 waived";
    check(&place, "check --today 2026-01-31 a.o", 0, both);
    // 2026-01-31 in the afternoon.
    let mut command = place.relayout(&["check", "a.o"]);
    let ended = place.ended(command.env("SOURCE_DATE_EPOCH", "1769871600"));
    assert_eq!(ended.stdout.trim_end(), both);
    assert_eq!(
        ended.stderr,
        "relayout: relayout.toml:10:1: the waiver for nothing matches no violation; take it out\n"
    );
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
    let ended = run(&place, "check --json --baseline a.o b.o");
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
        "pushes": [{ "member": "seq", "how": "added", "pushed_bits": 384, "new_size_bits": 384 }],
        "between": [],
        "declared": { "file": "[DIR]/mm.h", "line": 8 },
        "reason": "measured",
        "config_line": 8,
        "config_column": 8,
    });
    assert_eq!(document["violations"][2], expect);

    let ended = run(&place, "check --sarif --baseline a.o b.o");
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

/// Several files, of another processor too; conditions tell them apart.
#[cfg(target_arch = "x86_64")]
#[test]
fn files_of_two_sizes_of_pointers() {
    let rules = "\
[configuration.wide]
pointer_size = 8
machine = 'x86_64'
[[section]]
configuration = 'wide'
type = [{ name = 'mm', size = 144 }]
[[section]]
machine = 'i386'
pointer_size = 4
endian = 'little'
cacheline_size = 32
type = [{ name = 'mm', size = 1, same_line = ['users', 'flags'] }]
";
    let place = place(HEADER, rules);
    let include = format!("-I{}", place.path("").display());
    let source = "#include \"mm.h\"\nstruct mm mm;\n";
    place.compile("b.o", source, &["-g", "-c", "-m32", &include]);
    check(
        &place,
        "check a.o b.o",
        1,
        "
[DIR]/mm.h:2: mm violates size
  expected   1 byte
  found      96 bytes
  rule       relayout.toml:12, in b.o

[DIR]/mm.h:7: mm.flags violates same_line
  expected   on one line with users
  found      users at 0 on line 0, flags at 56 on line 1
  between    pad, lock, tag
  rule       relayout.toml:12, in b.o

3 assertions checked, 2 violated",
    );
}

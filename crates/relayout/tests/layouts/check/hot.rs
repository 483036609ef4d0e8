//! Hot members: from a profile to the lock file, and what is said when they move.

use super::check;
use crate::common::{KERNEL_FLAGS, Place, profile};

/// The profile of `common::profile` has two contexts that write the words at its line's 0 and 4.
const PAIR: &str = "int mine; int yours; long cold[8]; int far;";

/// A kernel whose variable `pair` lies where the profile has its line.
fn compile(place: &Place, name: &str, members: &str) {
    let source = format!(
        "struct pair {{ {members} }} __attribute__((aligned(64)));\n\
         struct pair pair = {{ 1 }};\n\
         const char linux_banner[] = \"Linux version 6.1.0-test (a@b) (gcc) #1 SMP\\n\";\n"
    );
    let data = format!("-Wl,-Tdata={:#x}", profile::LINE);
    let flags = [KERNEL_FLAGS, &[&data]].concat();
    place.compile(name, &source, &flags);
}

fn recorded() -> Place {
    let place = Place::new();
    compile(&place, "vmlinux", PAIR);
    profile::write(&place, "p", &place.path("vmlinux"), "");
    place.write(
        "relayout.toml",
        "[[type]]\nname = 'pair'\nas_recorded = true\n",
    );
    check(
        &place,
        "check --update --profile p vmlinux",
        0,
        "vmlinux: 1 type with 2 hot members, shown by made up\n  pair                               \
         2 on lines 0\nwritten to relayout.lock",
    );
    place
}

#[test]
fn the_lock_file_pins_what_was_hot() {
    let place = recorded();
    let text = std::fs::read_to_string(place.path("relayout.lock")).unwrap();
    let start = text.find("[[record.type]]").unwrap();
    assert_eq!(
        &text[start..],
        "[[record.type]]
name = \"pair\"
size = 128
cacheline_size = 64
hot = [
  # line 0
  { member = \"mine\", offset = 0, size = 4, reads = 0, writes = 100, contexts = 1, transfers = 90 },
  { member = \"yours\", offset = 4, size = 4, reads = 0, writes = 100, contexts = 1, transfers = 90 },
]
members = [
  \"0 4 mine\",
  \"4 4 yours\",
  \"8 64 cold\",
  \"72 4 far\",
]
"
    );
    check(
        &place,
        "check vmlinux",
        0,
        "1 assertion checked, none violated",
    );
    // Written again, it is the same.
    place.run_words("check --update --profile p vmlinux");
    let again = std::fs::read_to_string(place.path("relayout.lock")).unwrap();
    assert_eq!(again, text);
}

#[test]
fn cold_members_may_move() {
    let place = recorded();
    compile(&place, "b", "int mine; int yours; long new; long cold[8];");
    check(&place, "check b", 0, "1 assertion checked, none violated");
    compile(&place, "c", "long new; int mine; int yours; long cold[8];");
    check(&place, "check c", 0, "1 assertion checked, none violated");
}

#[test]
fn hot_members_that_come_apart() {
    let place = recorded();
    compile(
        &place,
        "b",
        "int mine; long new[8]; int yours; long cold[8]; int far;",
    );
    check(
        &place,
        "check b",
        1,
        "
[DIR]/b.c:1: pair.yours violates as_recorded
  expected   mine and yours on one line
  found      mine at 0 on line 0, yours at 72 on line 1
  pushed by  new, which is new (64 bytes): +68 bytes
  rule       relayout.toml:3, in b

1 assertion checked, 1 violated",
    );
    // The new layout is accepted: the same members are hot, and apart.
    place.run_words("check --update b");
    check(&place, "check b", 0, "1 assertion checked, none violated");
    check(
        &place,
        "check vmlinux",
        1,
        "
[DIR]/vmlinux.c:1: pair.mine violates as_recorded
  expected   on different lines: mine; yours
  found      mine at 0 on line 0, yours at 4 on line 0
  pushed by  new, which is gone (64 bytes): -68 bytes
  rule       relayout.toml:3, in vmlinux

1 assertion checked, 1 violated",
    );
}

#[test]
fn hot_members_that_are_gone_and_records_that_are_missing() {
    let place = recorded();
    compile(&place, "b", "int mine; long cold[8];");
    let gone = "
[DIR]/b.c:1: pair.yours violates exists
  expected   a member yours
  found      none
  rule       relayout.toml:3, in b

1 assertion checked, 1 violated";
    check(&place, "check b", 1, gone);
    let missing = |found: &str| {
        format!(
            "b: nothing_hot violates as_recorded\n  expected   hot members in the lock file\n  \
             found      {found}\n  rule       relayout.toml:3, in b\n\n1 assertion checked, 1 violated"
        )
    };
    place.write(
        "relayout.toml",
        "[[type]]\nname = 'nothing_hot'\nas_recorded = true\n",
    );
    let no_type = "no such type in it; `relayout check --update --profile P` writes those that P shows to be hot";
    check(&place, "check b", 1, &missing(no_type));
    std::fs::remove_file(place.path("relayout.lock")).unwrap();
    let no_record = "no record of this configuration and machine; `relayout check --update --profile P` writes one";
    check(&place, "check b", 1, &missing(no_record));
}

#[test]
fn offsets_are_pinned_where_asked() {
    let place = recorded();
    place.write(
        "relayout.toml",
        "[[type]]\nname = 'p*'\nas_recorded = 'offsets'\n",
    );
    check(
        &place,
        "check vmlinux",
        0,
        "1 assertion checked, none violated",
    );
    compile(&place, "c", "long new; int mine; int yours; long cold[8];");
    let ended = place.run_words("check c");
    assert!(
        ended
            .stdout
            .contains("expected   offset 4\n  found      offset 12\n"),
        "{}",
        ended.stdout
    );
    assert!(
        ended.stdout.contains("1 assertion checked, 2 violated"),
        "{}",
        ended.stdout
    );
}

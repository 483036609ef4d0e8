//! Each rule: where it holds, where it does not, and what is said of a type or member that is not
//! there.

use super::{HEADER, check, place};
use crate::common::Place;

/// Judges one rule on `struct mm`; gives what is expected and what is found where it is violated.
#[track_caller]
fn judge(place: &Place, rule: &str, expect: &str) {
    place.write("relayout.toml", format!("[[type]]\nname = 'mm'\n{rule}\n"));
    let ended = place.run_words("check a.o");
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
            "users and (lock.count, lock.owner) on different lines / \
             users at 0 on line 0, lock.count at 8 on line 0, lock.owner at 16 on line 0",
        ),
        // A glob's matches may share lines with each other, and a member is not apart from itself.
        (
            "different_lines = ['flags', 'slots']",
            "flags and slots on different lines / \
             flags at 64 on line 1, slots at 80 on lines 1 to 2",
        ),
        (
            "different_lines = ['pad', 'p*', 'flags']",
            "a member p* that no other entry of the group names / none",
        ),
        (
            "different_lines = ['lock.*', 'lock.owner', 'flags']",
            "lock.count and lock.owner on different lines / \
             lock.count at 8 on line 0, lock.owner at 16 on line 0",
        ),
        (
            "different_lines = ['lock.*', 'lock.o*r', 'flags']",
            "a member lock.o*r that no other entry of the group names / none",
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

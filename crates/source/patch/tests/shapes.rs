//! Edits of a small header that holds the shapes of kernel structs.

use relayout_patch::{
    EditRefusal, MemberPosition, SourceChange, WrittenAlignment, edit_struct, member_order,
    unified_diff,
};

const SHAPES: &str = include_str!("fixtures/shapes.h");
const NAME: &str = "mm/shapes.h";

fn move_to(member: &str, after: Option<&str>) -> SourceChange {
    SourceChange::MoveMembers {
        members: vec![member.into()],
        to: MemberPosition::after(after),
        spacing: None,
        reason: None,
    }
}

fn align(member: &str, alignment: WrittenAlignment, reason: Option<&str>) -> SourceChange {
    SourceChange::AlignMember {
        member: member.into(),
        alignment,
        reason: reason.map(Into::into),
    }
}

fn in_smp() -> WrittenAlignment {
    WrittenAlignment::Macro("____cacheline_aligned_in_smp".into())
}

/// The changed lines of the patch, in order, with their signs.
fn changed(name: &str, change: SourceChange) -> String {
    let new = edit_struct(NAME, SHAPES, name, None, &[change]).unwrap();
    let diff = unified_diff(NAME, SHAPES, &new);
    let lines = diff
        .lines()
        .skip(3)
        .filter(|line| line.starts_with(['+', '-']));
    lines.map(|line| format!("{line}\n")).collect()
}

fn check_order(name: &str, member: &str, after: Option<&str>, expect: &[&str]) {
    let new = edit_struct(NAME, SHAPES, name, None, &[move_to(member, after)]).unwrap();
    assert_eq!(member_order(NAME, &new, name).unwrap(), expect);
}

fn check_refused(name: &str, change: SourceChange, expect: &str) {
    assert_eq!(
        edit_struct(NAME, SHAPES, name, None, &[change])
            .unwrap_err()
            .to_string(),
        expect
    );
}

#[test]
fn comments_go_with_their_member() {
    let refs = "\t/*\n\t * Counts users of the object.\n\t */\n\tatomic_t\t\trefs;\n";
    let new = edit_struct(
        NAME,
        SHAPES,
        "plain",
        None,
        &[move_to("refs", Some("flags"))],
    )
    .unwrap();
    assert!(
        new.contains(&format!("\tunsigned long\t\tflags;\n{refs}\n")),
        "{new}"
    );
    let lock = "\tspinlock_t\t\tlock;\t\t/* guards below */\n";
    let new = edit_struct(
        NAME,
        SHAPES,
        "plain",
        None,
        &[move_to("lock", Some("flags"))],
    )
    .unwrap();
    assert!(
        new.contains(&format!("\tunsigned long\t\tflags;\n{lock}\n")),
        "{new}"
    );
    let trailing = "\tstruct list_head\tfirst;\t\t/* must stay\n\t\t\t\t\t\t * in front */\n";
    let new = edit_struct(
        NAME,
        SHAPES,
        "plain",
        None,
        &[move_to("first", Some("flags"))],
    )
    .unwrap();
    assert!(
        new.contains(&format!("\tunsigned long\t\tflags;\n{trailing}\n")),
        "{new}"
    );
}

#[test]
fn a_heading_stays() {
    let new = edit_struct(
        NAME,
        SHAPES,
        "plain",
        None,
        &[move_to("rx_len", Some("tx_len"))],
    )
    .unwrap();
    assert!(
        new.contains("\t/* lengths: */\n\tu32\t\t\ttx_len;\n\tu32\t\t\trx_len;\n"),
        "{new}"
    );
}

#[test]
fn declarations_of_every_shape_move() {
    let order = |name: &str| {
        let new = edit_struct(NAME, SHAPES, "plain", None, &[move_to(name, None)]).unwrap();
        member_order(NAME, &new, "plain").unwrap()[0].clone()
    };
    for name in ["refs", "lock", "release", "seen", "next"] {
        assert_eq!(order(name), name);
    }
}

#[test]
fn groups_go_along_or_are_left_behind() {
    let group = "#ifdef CONFIG_NUMA\n\tint\t\t\tnode;\n#endif\n";
    let new = edit_struct(
        NAME,
        SHAPES,
        "conditional",
        None,
        &[move_to("node", Some("count"))],
    )
    .unwrap();
    assert!(
        new.contains(&format!("\tlong\t\t\tcount;\n{group}#ifdef CONFIG_STATS")),
        "{new}"
    );
    let new = edit_struct(
        NAME,
        SHAPES,
        "conditional",
        None,
        &[move_to("state", Some("node"))],
    )
    .unwrap();
    assert!(
        new.contains(&format!("{group}\tint\t\t\tstate;\n\tlong")),
        "{new}"
    );
    check_order(
        "conditional",
        "id",
        Some("misses"),
        &["node", "count", "hits", "misses", "nothing", "id", "state"],
    );
    check_order(
        "conditional",
        "hits",
        Some("misses"),
        &["id", "node", "count", "misses", "hits", "nothing", "state"],
    );
}

#[test]
fn groups_are_taken_apart() {
    check_order(
        "conditional",
        "id",
        Some("hits"),
        &["node", "count", "hits", "id", "misses", "nothing", "state"],
    );
    check_order(
        "conditional",
        "nothing",
        None,
        &["nothing", "id", "node", "count", "hits", "misses", "state"],
    );
}

#[test]
fn nested_members_move_inside_their_struct() {
    check_move_fails_nowhere("inner_a", "inner_b");
    let new = edit_struct(
        NAME,
        SHAPES,
        "nested",
        None,
        &[move_to("part.head", Some("part.body"))],
    )
    .unwrap();
    assert!(
        new.contains("\t\tlong\t\tbody;\n\t\tint\t\thead;\n\t} part;"),
        "{new}"
    );
    let new = edit_struct(NAME, SHAPES, "nested", None, &[move_to("id", Some("ptr"))]).unwrap();
    assert!(
        new.contains("\t\tvoid\t\t*ptr;\n\t};\n\tint\t\t\tid;\n"),
        "{new}"
    );
    let new = edit_struct(
        NAME,
        SHAPES,
        "nested",
        None,
        &[move_to("part", Some("inner_b"))],
    )
    .unwrap();
    assert!(
        new.contains(
            "inner_b;\n\t};\n\tstruct {\n\t\tint\t\thead;\n\t\tlong\t\tbody;\n\t} part;\n"
        ),
        "{new}"
    );
}

fn check_move_fails_nowhere(member: &str, after: &str) {
    let new = edit_struct(
        NAME,
        SHAPES,
        "nested",
        None,
        &[move_to(member, Some(after))],
    )
    .unwrap();
    let order = member_order(NAME, &new, "nested").unwrap();
    let at = |name: &str| order.iter().position(|member| member == name);
    assert!(at(member) > at(after));
}

#[test]
fn typedefs_of_unnamed_structs_are_found() {
    check_order("unnamed_t", "two", None, &["two", "one"]);
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let check = check_refused;
    check(
        "plain",
        move_to("bit0", None),
        "mm/shapes.h:33: bit0 would break a run of bitfields",
    );
    check(
        "plain",
        move_to("lock", Some("bit0")),
        "mm/shapes.h:34: lock would break a run of bitfields",
    );
    check(
        "plain",
        move_to("lock", Some("tail")),
        "mm/shapes.h:35: tail is a flexible or zero-length array, which must stay where it is",
    );
    check(
        "plain",
        move_to("lock", Some("refs")),
        "mm/shapes.h:21: lock is there already",
    );
    check(
        "plain",
        move_to("gone", None),
        "mm/shapes.h:14: struct plain has no member gone that can be told from its text",
    );
    check(
        "nested",
        move_to("id", Some("inner_a")),
        "mm/shapes.h:64: id would leave or enter a nested struct",
    );
    check(
        "nested",
        move_to("ptr", Some("key")),
        "mm/shapes.h:61: ptr is a union or a member of one",
    );
    check(
        "nested",
        move_to("_pad", None),
        "mm/shapes.h:73: _pad comes from a macro or from a statement that is not understood",
    );
    check(
        "nested",
        move_to("random", None),
        "mm/shapes.h:70: random would cross randomized_struct_fields_start",
    );
    check(
        "nested",
        align("last", WrittenAlignment::Bytes(64), None),
        "mm/shapes.h:74: last shares a line with other code",
    );
    check(
        "either",
        move_to("y", None),
        "mm/shapes.h:77: either is a union or a member of one",
    );
    check(
        "twice",
        move_to("b", None),
        "mm/shapes.h:83: struct twice is defined again at mm/shapes.h:88",
    );
    check(
        "absent",
        move_to("b", None),
        "mm/shapes.h: no definition of struct absent",
    );
}

#[test]
fn of_several_definitions_the_one_at_the_hint_is_edited() {
    let edit = |line, member| {
        let change = move_to(member, None);
        edit_struct(NAME, SHAPES, "twice", Some(line), &[change])
    };
    let second = "#else\nstruct twice {\n\tint\t\t\ta;\n\tint\t\t\tb;\n};";
    assert!(edit(88, "a").unwrap().contains(second));
    assert!(
        edit(83, "b")
            .unwrap()
            .contains("_RT\nstruct twice {\n\tint\t\t\tb;\n")
    );
    assert!(edit(70, "b").is_err());
}

#[test]
fn user_space_abi_is_refused() {
    let refusal = edit_struct(
        "include/uapi/linux/s.h",
        SHAPES,
        "plain",
        None,
        &[move_to("lock", None)],
    )
    .unwrap_err();
    assert!(matches!(refusal, EditRefusal::Uapi { .. }));
}

#[test]
fn alignment_brings_include_and_reason() {
    assert_eq!(
        changed(
            "plain",
            align(
                "refs",
                in_smp(),
                Some("Contended: keep it off the readers' line.")
            )
        ),
        "+#include <linux/cache.h>\n\
         -\tatomic_t\t\trefs;\n\
         +\t/* Contended: keep it off the readers' line. */\n\
         +\tatomic_t\t\trefs ____cacheline_aligned_in_smp;\n"
    );
}

#[test]
fn a_trailing_comment_that_no_longer_fits_goes_above() {
    assert_eq!(
        changed(
            "plain",
            align(
                "lock",
                in_smp(),
                Some("Contended: keep it off the readers' line.")
            )
        ),
        "+#include <linux/cache.h>\n\
         -\tspinlock_t\t\tlock;\t\t/* guards below */\n\
         +\n\
         +\t/*\n\
         +\t * guards below\n\
         +\t *\n\
         +\t * Contended: keep it off the readers' line.\n\
         +\t */\n\
         +\tspinlock_t\t\tlock ____cacheline_aligned_in_smp;\n"
    );
}

#[test]
fn the_include_stands_in_order() {
    let new = edit_struct(
        NAME,
        SHAPES,
        "plain",
        None,
        &[align("refs", in_smp(), None)],
    )
    .unwrap();
    assert!(new.contains(
        "#include <linux/atomic.h>\n#include <linux/cache.h>\n#include <linux/list.h>\n"
    ));
    let again = edit_struct(NAME, &new, "plain", None, &[align("flags", in_smp(), None)]).unwrap();
    assert_eq!(again.matches("linux/cache.h").count(), 1);
}

#[test]
fn a_guard_alone_gets_the_include_below_it() {
    let bare = "#ifndef A_H\n#define A_H\nstruct s {\n\tint a;\n};\n#endif\n";
    let new = edit_struct("a.h", bare, "s", None, &[align("a", in_smp(), None)]).unwrap();
    assert!(
        new.starts_with("#ifndef A_H\n#define A_H\n\n#include <linux/cache.h>\n\nstruct s {"),
        "{new}"
    );
    let refusal = edit_struct(
        "a.h",
        "struct s {\n\tint a;\n};\n",
        "s",
        None,
        &[align("a", in_smp(), None)],
    );
    assert!(matches!(
        refusal,
        Err(EditRefusal::NoPlaceForInclude { .. })
    ));
}

#[test]
fn whole_types_are_aligned_behind_the_brace() {
    let change = SourceChange::AlignType {
        alignment: WrittenAlignment::Bytes(32),
        reason: Some("Never crosses a line.".into()),
    };
    assert_eq!(
        changed("conditional", change),
        "-};\n+\t/* Never crosses a line. */\n+} __aligned(32);\n"
    );
    let user = "struct s {\n\tint a;\n};\n";
    let change = SourceChange::AlignType {
        alignment: WrittenAlignment::Bytes(64),
        reason: None,
    };
    let new = edit_struct("s.c", user, "s", None, &[change]).unwrap();
    assert_eq!(
        new,
        "struct s {\n\tint a;\n} __attribute__((aligned(64)));\n"
    );
}

#[test]
fn alignments_that_cannot_be_are_refused() {
    let check =
        |member, alignment, expect| check_refused("plain", align(member, alignment, None), expect);
    check(
        "next",
        in_smp(),
        "mm/shapes.h:32: next has an alignment already",
    );
    check(
        "bit0",
        in_smp(),
        "mm/shapes.h:33: bit0 is a bitfield and cannot be aligned",
    );
    check(
        "seen",
        in_smp(),
        "mm/shapes.h:31: seen comes from a macro or from a statement that is not understood",
    );
    check(
        "lock",
        WrittenAlignment::Bytes(48),
        "48 is not an alignment: no power of two",
    );
    check(
        "lock",
        WrittenAlignment::Macro("____mine".into()),
        "mm/shapes.h: macro ____mine is not known to be defined for this file",
    );
    check_refused(
        "plain",
        align("lock", in_smp(), Some("*/ int x; /*")),
        "a reason for lock holds a comment delimiter",
    );
}

#[test]
fn a_reason_stands_above_the_moved_member() {
    let change = SourceChange::MoveMembers {
        members: vec!["lock".into()],
        to: MemberPosition::First,
        spacing: None,
        reason: Some("First: it is taken before anything else is read.".into()),
    };
    let new = edit_struct(NAME, SHAPES, "plain", None, &[change]).unwrap();
    assert!(
        new.contains("struct plain {\n\t/* First: it is taken before anything else is read. */\n\tspinlock_t\t\tlock;\t\t/* guards below */\n"),
        "{new}"
    );
}

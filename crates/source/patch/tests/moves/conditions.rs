//! `#if` groups around what moves, and around where it goes.

use super::{after, before, body, change, check, check_refused, edited};
use relayout_patch::{MemberPosition, SourceChange, edit_struct};

#[test]
fn conditions_are_kept() {
    let old =
        "\tint a;\n#ifdef X\n\tint b;\n\tint c;\n#else\n\tint d;\n\tint e;\n#endif\n\tint f;\n";
    check(
        old,
        "b",
        after("f"),
        "\tint a;\n#ifdef X\n\tint c;\n#else\n\tint d;\n\tint e;\n#endif\n\tint f;\n#ifdef X\n\tint b;\n#endif\n",
    );
    let new = body(old);
    let moved = edit_struct(
        "s.h",
        &new,
        "s",
        None,
        &[change("e", MemberPosition::First)],
    )
    .unwrap();
    assert!(
        moved.starts_with("struct s {\n#ifndef X\n\tint e;\n#endif\n\tint a;\n"),
        "{moved}"
    );
    check(
        "#if A\n\tint a;\n#elif B || C\n\tint b;\n\tint c;\n#endif\n\tint d;\n",
        "c",
        after("d"),
        "#if A\n\tint a;\n#elif B || C\n\tint b;\n#endif\n\tint d;\n#if !A && (B || C)\n\tint c;\n#endif\n",
    );
    check(
        "#ifdef X\n\tint a;\n#else\n\tlong a;\n#endif\n\tint b;\n",
        "a",
        after("b"),
        "\tint b;\n#ifdef X\n\tint a;\n#else\n\tlong a;\n#endif\n",
    );
}

/// As `nr_switches` behind `cpu_capacity` of `struct rq`.
#[test]
fn a_group_ends_before_what_comes_into_its_middle() {
    let group = "#ifdef X\n\tint b;\n\n\t/* of c */\n\tint c;\n#endif /* X */\n";
    check(
        &format!("\tint a;\n{group}\tint d;\n"),
        "d",
        after("b"),
        "\tint a;\n#ifdef X\n\tint b;\n#endif /* X */\n\tint d;\n\n#ifdef X\n\t/* of c */\n\tint c;\n#endif /* X */\n",
    );
    // Out of a group, into the middle of another.
    check(
        &format!("#if Y\n\tint a;\n\tint e;\n#endif\n{group}\tint d;\n"),
        "e",
        before("c"),
        "#if Y\n\tint a;\n#endif\n#ifdef X\n\tint b;\n#endif /* X */\n\n#if Y\n\tint e;\n#endif\n#ifdef X\n\t/* of c */\n\tint c;\n#endif /* X */\n\tint d;\n",
    );
    // Groups in groups end and begin in the order that this asks for.
    check(
        "\tint a;\n#if X\n\tint b;\n#if Y\n\tint c;\n\tint d;\n#endif\n#endif\n",
        "a",
        after("c"),
        "#if X\n\tint b;\n#if Y\n\tint c;\n#endif\n#endif\n\tint a;\n#if X\n#if Y\n\tint d;\n#endif\n#endif\n",
    );
    check(
        "\tint a;\n#if X\n#if Y\n\tint b;\n#endif\n#if Y\n\tint c;\n#endif\n#endif\n",
        "a",
        after("b"),
        "#if X\n#if Y\n\tint b;\n#endif\n#endif\n\tint a;\n#if X\n#if Y\n\tint c;\n#endif\n#endif\n",
    );
    // What goes in behind `b` has the condition of its branch already.
    check(
        "#ifndef X\n\tint a;\n#endif\n#ifdef X\n\tint b;\n#else\n\tint c;\n\tint d;\n#endif\n",
        "a",
        after("c"),
        "#ifdef X\n\tint b;\n#else\n\tint c;\n\tint a;\n\tint d;\n#endif\n",
    );
}

/// As `hook` of `struct pci_fixup`: an alternative that moves alone leaves the other where it is.
#[test]
fn all_of_a_branch_leaves_the_other() {
    check(
        "\tint a;\n#ifdef X\n\tint b;\n#else /* !X */\n\tint c;\n#endif\n\tint d;\n",
        "c",
        MemberPosition::First,
        "#ifndef X\n\tint c;\n#endif\n\tint a;\n#ifdef X\n\tint b;\n#endif\n\tint d;\n",
    );
    check(
        "\tint a;\n#ifdef X\n\tint b;\n#else\n\tint c;\n#endif\n\tint d;\n",
        "b",
        after("d"),
        "\tint a;\n#ifndef X\n\tint c;\n#endif\n\tint d;\n#ifdef X\n\tint b;\n#endif\n",
    );
    check(
        "\tint a;\n#if X > 1\n\tint b;\n#elif defined Y\n\tint c;\n#endif\n",
        "c",
        MemberPosition::First,
        "#if !(X > 1) && defined(Y)\n\tint c;\n#endif\n\tint a;\n#if X > 1\n\tint b;\n#endif\n",
    );
    // From a branch into the middle of another group.
    check(
        "#ifdef X\n\tint a;\n\tint b;\n#endif\n#ifdef Y\n\tint c;\n#else\n\tint d;\n#endif\n",
        "c",
        after("a"),
        "#ifdef X\n\tint a;\n#endif\n#ifdef Y\n\tint c;\n#endif\n#ifdef X\n\tint b;\n#endif\n#ifndef Y\n\tint d;\n#endif\n",
    );
    // The last branch would get another condition.
    check_refused(
        "#if X\n\tint a;\n#elif Y\n\tint b;\n#else\n\tint c;\n#endif\n\tint d;\n",
        "a",
        after("d"),
        "s.h:2: a would leave or enter an #if group",
    );
    check_refused(
        "#ifdef X\n\tint a;\n#else\n\tint b;\n\tint c;\n#endif\n",
        "a",
        after("b"),
        "s.h:2: a would leave or enter an #if group",
    );
}

#[test]
fn groups_are_joined_where_no_condition_changes() {
    let join = |behind: &str, line: Option<&str>| SourceChange::JoinGroups {
        behind: behind.to_owned(),
        line: line.map(str::to_owned),
    };
    let old =
        "#ifdef X\n\tint a;\n#endif\n\n#ifdef X\n\tint b;\n#endif\n#ifdef Y\n\tint c;\n#endif\n";
    let joined = "#ifdef X\n\tint a;\n\n\tint b;\n#endif\n#ifdef Y\n\tint c;\n#endif\n";
    assert_eq!(edited(&body(old), join("a", None)), body(joined));
    let check_not_joined = |member: &str, line: Option<&str>, place: u32| {
        let refused =
            format!("s.h:{place}: behind {member} no two #if groups stand that could be one");
        assert_eq!(edited(&body(old), join(member, line)), refused);
    };
    check_not_joined("a", Some("#else"), 3);
    check_not_joined("b", None, 7);
    check_not_joined("b", Some("#else"), 7);
    check_not_joined("b", Some("#elif Y"), 7);
    check_not_joined("c", None, 10);
    check_not_joined("a", Some("int c;"), 3);
    let defines = "#ifdef X\n\tint a;\n#endif\n#ifndef X\n\tint b;\n#else\n#define B\n#endif\n";
    let refused = "s.h:3: behind a no two #if groups stand that could be one";
    assert_eq!(edited(&body(defines), join("a", Some("#else"))), refused);
}

/// As `mrt` and `mr_tables` of `struct netns_ipv4`, `ksm_merging_pages` of `struct mm_struct` and
/// `robust_list` of `struct task_struct`.
#[test]
fn conditions_in_conditions_go_along() {
    check(
        "\tint a;\n#if X\n#ifndef Y\n\tint b;\n#else\n\tint c;\n\tint d;\n#endif\n#endif\n",
        "c",
        after("a"),
        "\tint a;\n#if X\n#ifdef Y\n\tint c;\n#endif\n#endif\n#if X\n#ifndef Y\n\tint b;\n#else\n\tint d;\n#endif\n#endif\n",
    );
    check(
        "\tint a;\n#if X\n#ifndef Y\n\tint b;\n#else\n\tint c;\n#endif\n#endif\n",
        "b",
        MemberPosition::First,
        "#if X\n#ifndef Y\n\tint b;\n#endif\n#endif\n\tint a;\n#if X\n#ifdef Y\n\tint c;\n#endif\n#endif\n",
    );
    check(
        "\tint a;\t/* of a */\n\tint b;\n#if X\n\tint c;\n\tint d;\n#endif\n",
        "c",
        after("a"),
        "\tint a;\t/* of a */\n#if X\n\tint c;\n#endif\n\tint b;\n#if X\n\tint d;\n#endif\n",
    );
    check(
        "\tint a;\n\tint b;\n#if X\n\tint c;\n#if Y\n\tint d;\n#endif\n\tint e;\n#endif\n",
        "c",
        after("a"),
        "\tint a;\n#if X\n\tint c;\n#endif\n\tint b;\n#if X\n#if Y\n\tint d;\n#endif\n\tint e;\n#endif\n",
    );
}

/// As `lock` of `struct prev_cputime`: what stands right beside its group may as well stand in it.
#[test]
fn a_place_beside_its_own_group_is_inside() {
    let group = "#ifdef X\n\t/* of b */\n\tint b;\n\tint c;\n\tint d;\n#endif\n";
    let first = "#ifdef X\n\tint d;\n\t/* of b */\n\tint b;\n\tint c;\n#endif\n";
    check(group, "d", MemberPosition::First, first);
    let around = |group: &str| format!("\tint a;\n{group}\tint e;\n");
    check(&around(group), "d", after("a"), &around(first));
    check(
        &around(group),
        "c",
        before("e"),
        &around("#ifdef X\n\t/* of b */\n\tint b;\n\tint d;\n\tint c;\n#endif\n"),
    );
    check_refused(&around(group), "b", after("a"), "s.h:5: b is there already");
}

/// The last member behind a `#define` goes back below it.
#[test]
fn back_to_the_end() {
    check(
        "\tint a;\n\tint b;\n#define B 1\n\tint c;\n",
        "c",
        MemberPosition::First,
        "\tint c;\n\tint a;\n\tint b;\n#define B 1\n",
    );
    let last = |old: &str, expect: &str| check(old, "a", MemberPosition::Last, expect);
    last("\tint a;\n\tint b;\n", "\tint b;\n\tint a;\n");
    last(
        "\tint a;\n#if X\n\tint b;\n#endif\n",
        "#if X\n\tint b;\n#endif\n\tint a;\n",
    );
    let end = "s.h:3: a is a flexible or zero-length array, which must stay where it is";
    check_refused("\tint a;\n\tint b[];\n", "a", MemberPosition::Last, end);
    check_refused(
        "\tint a;\n",
        "a",
        MemberPosition::Last,
        "s.h:2: a is there already",
    );
}

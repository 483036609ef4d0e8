//! Comments and blank lines around what moves.

use super::{after, body, change, check};
use relayout_patch::{MemberPosition, edit_struct, inverse_changes};

#[test]
fn blank_lines_come_back() {
    for (old, to) in [
        ("\tint a;\n\n\tint b;\n\tint c;\n\n\tint d;\n", after("c")),
        ("\tint a;\n\n\tint b;\n\n\tint c;\n\tint d;\n", after("d")),
        (
            "\tint a;\n\tint b;\n\n\tint c;\n\n\tint d;\n",
            MemberPosition::First,
        ),
        (
            "\tint a;\n\n\t/* of b */\n\tint b;\n\tint c;\n\tint d;\n",
            after("c"),
        ),
        (
            "\tint a;\n\n\t/* other */\n\n\tint b;\n\tint c;\n",
            after("c"),
        ),
    ] {
        let old = body(old);
        let change = change("b", to);
        let new = edit_struct("s.h", &old, "s", None, std::slice::from_ref(&change)).unwrap();
        assert!(
            !new.contains("\n\n\n") && !new.contains("{\n\n") && !new.contains("\n\n}"),
            "{new}"
        );
        let back = inverse_changes("s.h", &old, "s", None, &change).unwrap();
        assert_eq!(edit_struct("s.h", &new, "s", None, &back).unwrap(), old);
    }
}

#[test]
fn entries_of_the_comment_above_follow() {
    let text = |entries: &str, members: &str| {
        format!("/**\n * struct s - it\n{entries} *\n * More.\n */\nstruct s {{\n{members}}};\n")
    };
    let old = text(
        " * @a: first\n * @b: second,\n *     on two lines\n *\n * @c: third\n",
        "\tint a;\n\tint b;\n\tint c;\n",
    );
    let asked = change("b", after("c"));
    let new = edit_struct("s.h", &old, "s", None, std::slice::from_ref(&asked)).unwrap();
    let expect = text(
        " * @a: first\n * @c: third\n *\n * @b: second,\n *     on two lines\n",
        "\tint a;\n\tint c;\n\tint b;\n",
    );
    assert_eq!(new, expect);
    let back = inverse_changes("s.h", &old, "s", None, &asked).unwrap();
    assert_eq!(edit_struct("s.h", &new, "s", None, &back).unwrap(), old);
    // Entries in an order of their own keep it.
    let own = text(
        " * @c: third\n * @a: first\n",
        "\tint a;\n\tint b;\n\tint c;\n",
    );
    let new = edit_struct("s.h", &own, "s", None, &[asked]).unwrap();
    assert!(new.contains(" * @c: third\n * @a: first\n"));
}

#[test]
fn a_comment_below_and_further_in_is_the_members() {
    check(
        "\tint a;\n\t\t\t/* of a,\n\t\t\t * on two lines */\n\tint b;\n\t/* of c */\n\tint c;\n",
        "a",
        after("b"),
        "\tint b;\n\tint a;\n\t\t\t/* of a,\n\t\t\t * on two lines */\n\t/* of c */\n\tint c;\n",
    );
}

/// A comment that is left behind comes to stand above another member, and below the one that goes
/// back.
#[test]
fn back_above_a_comment_that_stayed() {
    check(
        "\tint a;\n\tint b;\n\t/* b is one of two */\n\tint c;\t/* last */\n\tint d;\t/* more */\n",
        "c",
        MemberPosition::First,
        "\tint c;\t/* last */\n\tint a;\n\tint b;\n\t/* b is one of two */\n\tint d;\t/* more */\n",
    );
}

#[test]
fn below_the_comment_above_a_member() {
    let old = body("\tint a;\n\tint b;\n\t/* of c */\n\tint c;\n");
    let place = |place: fn(String) -> MemberPosition, expect: &str| {
        let change = change("a", place("c".to_owned()));
        let new = edit_struct("s.h", &old, "s", None, &[change]).unwrap();
        assert_eq!(new, body(expect));
    };
    place(
        MemberPosition::Below,
        "\tint b;\n\t/* of c */\n\tint a;\n\tint c;\n",
    );
    place(
        MemberPosition::Before,
        "\tint b;\n\tint a;\n\t/* of c */\n\tint c;\n",
    );
}

#[test]
fn a_comment_below_a_group_belongs_to_what_follows() {
    check(
        "\tint a;\n#ifdef X\n\tint b;\n#endif\n\t/* See c. */\n\tint c;\n",
        "a",
        after("b"),
        "#ifdef X\n\tint b;\n#endif\n\tint a;\n\t/* See c. */\n\tint c;\n",
    );
    check(
        "\tint a;\n#ifdef X\n\tDECLARE_BITMAP(b, N);\n#endif\n\t/* See c. */\n\tunsigned long c[0];\n",
        "a",
        after("b"),
        "#ifdef X\n\tDECLARE_BITMAP(b, N);\n#endif\n\tint a;\n\t/* See c. */\n\tunsigned long c[0];\n",
    );
}

/// As `extended_cpuid_level` of `struct cpuinfo_x86` has it.
#[test]
fn a_comment_with_a_colon_is_no_heading_elsewhere() {
    check(
        "\tint a;\n\t/* Max level: */\n\tint b;\n\t/* Other. */\n\tint c;\n\tint d;\n\tint e;\n",
        "b",
        after("d"),
        "\tint a;\n\t/* Other. */\n\tint c;\n\tint d;\n\t/* Max level: */\n\tint b;\n\n\tint e;\n",
    );
}

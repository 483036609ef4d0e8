//! Members that move together: runs of bitfields, nested structs, several members, members of a
//! macro; and structs on one line.

use super::{after, before, change, check, check_refused};
use relayout_patch::{MemberPosition, SourceChange, edit_struct, inverse_changes};

#[test]
fn a_run_of_bitfields_moves_whole() {
    let old = "\tint a;\n\tu32 b:1;\n\tu32 c:2;\n\tu32 :0;\n\tint d;\n";
    let new = "\tint a;\n\tint d;\n\tu32 b:1;\n\tu32 c:2;\n\tu32 :0;\n";
    check(old, "b c", after("d"), new);
    check_refused(
        old,
        "c",
        after("d"),
        "s.h:4: c would break a run of bitfields",
    );
    check(
        "\tu32 b:1, c:2;\n\tint d;\n",
        "b c",
        after("d"),
        "\tint d;\n\tu32 b:1, c:2;\n",
    );
    check(
        "\tu32 b:1;\n#ifdef X\n\tu32 x:1;\n#endif\n\tu32 c:2;\n\tint d;\n",
        "b c",
        after("d"),
        "\tint d;\n\tu32 b:1;\n#ifdef X\n\tu32 x:1;\n#endif\n\tu32 c:2;\n",
    );
}

#[test]
fn anonymous_structs_and_unions_move_by_their_members() {
    let old =
        "\tint a;\n\tunion {\n\t\tint b;\n\t\tstruct {\n\t\t\tchar c, d;\n\t\t};\n\t};\n\tint e;\n";
    let new =
        "\tint a;\n\tint e;\n\tunion {\n\t\tint b;\n\t\tstruct {\n\t\t\tchar c, d;\n\t\t};\n\t};\n";
    check(old, "b c d", after("e"), new);
    check_refused(
        old,
        "b c",
        after("e"),
        "s.h:5: b would leave or enter a nested struct",
    );
    let there = "s.h:2: a is there already";
    check_refused(old, "a", before("b"), there);
}

#[test]
fn struct_groups_are_structs() {
    let old = "\tint a;\n\tstruct_group(g,\n\t\tint b;\n\t\tint c;\n\t);\n\tint d;\n";
    check(
        old,
        "c",
        before("b"),
        "\tint a;\n\tstruct_group(g,\n\t\tint c;\n\t\tint b;\n\t);\n\tint d;\n",
    );
    check(
        old,
        "b c g",
        after("d"),
        "\tint a;\n\tint d;\n\tstruct_group(g,\n\t\tint b;\n\t\tint c;\n\t);\n",
    );
    check(
        old,
        "a",
        after("g"),
        "\tstruct_group(g,\n\t\tint b;\n\t\tint c;\n\t);\n\tint a;\n\tint d;\n",
    );
}

#[test]
fn several_members_must_stand_together() {
    let old = "\tint a;\n\tint b;\n\tint c;\n";
    check(old, "a b", after("c"), "\tint c;\n\tint a;\n\tint b;\n");
    check_refused(
        old,
        "a c",
        MemberPosition::First,
        "s.h:3: this stands between a and others that are to move with it",
    );
}

#[test]
fn macros_that_declare_their_argument_move() {
    let old =
        "\tint a;\n\tCACHELINE_PADDING(_pad1_);\n\tSTACK_OF(X509) *b;\n\tDECLARE_BITMAP(c, 8);\n";
    check(
        old,
        "_pad1_",
        MemberPosition::First,
        "\tCACHELINE_PADDING(_pad1_);\n\tint a;\n\tSTACK_OF(X509) *b;\n\tDECLARE_BITMAP(c, 8);\n",
    );
    check(
        old,
        "b",
        MemberPosition::First,
        "\tSTACK_OF(X509) *b;\n\tint a;\n\tCACHELINE_PADDING(_pad1_);\n\tDECLARE_BITMAP(c, 8);\n",
    );
    check(
        old,
        "a",
        before("c"),
        "\tCACHELINE_PADDING(_pad1_);\n\tSTACK_OF(X509) *b;\n\tint a;\n\tDECLARE_BITMAP(c, 8);\n",
    );
}

#[test]
fn a_member_that_a_macro_renames_moves_with_its_union() {
    let old = "\tint a;\n\tunion {\n\t\tint b;\n\t\tstruct rcu_head rcu_head;\n\t};\n";
    let new = "\tunion {\n\t\tint b;\n\t\tstruct rcu_head rcu_head;\n\t};\n\tint a;\n";
    check(old, "b callback_head", MemberPosition::First, new);
}

/// As `struct tree_descr`.
#[test]
fn structs_on_one_line_stay_on_it() {
    let moved = |old: &str, members: &str, to: MemberPosition| {
        let change = change(members, to);
        let new = edit_struct("s.h", old, "s", None, std::slice::from_ref(&change)).unwrap();
        let back = inverse_changes("s.h", old, "s", None, &change).unwrap();
        assert_eq!(edit_struct("s.h", &new, "s", None, &back).unwrap(), old);
        new
    };
    let on_one_line = "struct s { const char *a; int (*b)(int, int); int c; };\n";
    assert_eq!(
        moved(on_one_line, "c", after("a")),
        "struct s { const char *a; int c; int (*b)(int, int); };\n"
    );
    assert_eq!(
        moved(
            "struct s {int a;  int b; int c;};",
            "a",
            MemberPosition::Last
        ),
        "struct s {int b;  int c; int a;};"
    );
    assert_eq!(
        moved("struct s { int a, b; char c; };", "a", after("c")),
        "struct s { int b; char c; int a; };"
    );
    assert_eq!(
        moved(
            "struct s {\n\tint a;\n\tstruct { u8 lo, x; u8 hi; } b;\n};\n",
            "b.hi",
            MemberPosition::First
        ),
        "struct s {\n\tint a;\n\tstruct { u8 hi; u8 lo, x; } b;\n};\n"
    );
    let commented = "struct s { int a; /* of a */ int b; };\n";
    let refused = edit_struct(
        "s.h",
        commented,
        "s",
        None,
        &[change("b", MemberPosition::First)],
    );
    let expect = "s.h:1: b shares a line with other code";
    assert_eq!(refused.unwrap_err().to_string(), expect);
    let reason = |to| SourceChange::MoveMembers {
        members: vec!["c".to_owned()],
        to,
        spacing: None,
        reason: Some("Read first.".to_owned()),
    };
    // A comment needs lines.
    assert_eq!(
        edit_struct(
            "s.h",
            on_one_line,
            "s",
            None,
            &[reason(MemberPosition::First)]
        )
        .unwrap(),
        "struct s {\n\t/* Read first. */\n\tint c;\n\tconst char *a;\n\tint (*b)(int, int);\n};\n"
    );
}

/// As `data` of libuv's `uv_poll_s`: the macro stays, and says so.
#[test]
fn members_of_a_macro_are_refused_where_it_stands() {
    let old =
        "#define FIELDS \\\n\tvoid *data; \\\n\tint type;\n\nstruct s {\n\tFIELDS\n\tint a;\n};\n";
    let expect = "s.h:6: data comes from a macro or from a statement that is not understood";
    for change in [change("data", after("a")), change("a", after("data"))] {
        let refused = edit_struct("s.h", old, "s", None, &[change]).unwrap_err();
        assert_eq!(refused.to_string(), expect);
    }
}

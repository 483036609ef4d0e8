//! Moves of what is more than a member on a line of its own, each as the struct before and after.

use relayout_patch::{Change, Position, edit_struct, inverse};

fn change(members: &str, to: Position) -> Change {
    Change::MoveMembers {
        members: members.split(' ').map(str::to_owned).collect(),
        to,
        spacing: None,
        reason: None,
    }
}

fn after(member: &str) -> Position {
    Position::After(member.to_owned())
}

fn before(member: &str) -> Position {
    Position::Before(member.to_owned())
}

fn body(lines: &str) -> String {
    format!("struct s {{\n{lines}}};\n")
}

/// The members in `old`, one statement per line, after a move, and back again.
fn check(old: &str, members: &str, to: Position, expect: &str) {
    let old = body(old);
    let change = change(members, to);
    let new = edit_struct("s.h", &old, "s", None, std::slice::from_ref(&change)).unwrap();
    assert_eq!(new, body(expect));
    let back = inverse("s.h", &old, "s", None, &change).unwrap();
    assert_eq!(edit_struct("s.h", &new, "s", None, &back).unwrap(), old);
}

fn check_refused(old: &str, members: &str, to: Position, expect: &str) {
    let refused = edit_struct("s.h", &body(old), "s", None, &[change(members, to)]);
    assert_eq!(refused.unwrap_err().to_string(), expect);
}

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
fn declarations_of_several_are_taken_apart() {
    let old = "\tint\ta, *b, c[2];\t/* three */\n\tlong\td;\n";
    check(
        old,
        "a",
        after("d"),
        "\tint\t*b, c[2];\t/* three */\n\tlong\td;\n\tint\ta;\n",
    );
    check(
        old,
        "b",
        after("d"),
        "\tint\ta;\n\tint\tc[2];\t/* three */\n\tlong\td;\n\tint\t*b;\n",
    );
    check(
        old,
        "c",
        Position::First,
        "\tint\tc[2];\n\tint\ta, *b;\t/* three */\n\tlong\td;\n",
    );
    check(
        old,
        "d",
        after("a"),
        "\tint\ta;\n\tlong\td;\n\tint\t*b, c[2];\t/* three */\n",
    );
    check(
        old,
        "a b c",
        after("d"),
        "\tlong\td;\n\tint\ta, *b, c[2];\t/* three */\n",
    );
    check_refused(
        "\tint (*a)(int), b;\n\tint c;\n",
        "b",
        after("c"),
        "s.h:2: b shares a declaration with other members",
    );
}

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
    let moved = edit_struct("s.h", &new, "s", None, &[change("e", Position::First)]).unwrap();
    assert!(
        moved.starts_with("struct s {\n#ifndef X\n\tint e;\n#endif\n\tint a;\n"),
        "{moved}"
    );
    check_refused(
        "#if A\n\tint a;\n#elif B\n\tint b;\n\tint c;\n#endif\n\tint d;\n",
        "c",
        after("d"),
        "s.h:2: c would leave or enter an #if group",
    );
    check(
        "#ifdef X\n\tint a;\n#else\n\tlong a;\n#endif\n\tint b;\n",
        "a",
        after("b"),
        "\tint b;\n#ifdef X\n\tint a;\n#else\n\tlong a;\n#endif\n",
    );
}

#[test]
fn blank_lines_come_back() {
    for (old, to) in [
        ("\tint a;\n\n\tint b;\n\tint c;\n\n\tint d;\n", after("c")),
        ("\tint a;\n\n\tint b;\n\n\tint c;\n\tint d;\n", after("d")),
        (
            "\tint a;\n\tint b;\n\n\tint c;\n\n\tint d;\n",
            Position::First,
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
        let back = inverse("s.h", &old, "s", None, &change).unwrap();
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
    let back = inverse("s.h", &old, "s", None, &asked).unwrap();
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
fn several_members_must_stand_together() {
    let old = "\tint a;\n\tint b;\n\tint c;\n";
    check(old, "a b", after("c"), "\tint c;\n\tint a;\n\tint b;\n");
    check_refused(
        old,
        "a c",
        Position::First,
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
        Position::First,
        "\tCACHELINE_PADDING(_pad1_);\n\tint a;\n\tSTACK_OF(X509) *b;\n\tDECLARE_BITMAP(c, 8);\n",
    );
    check(
        old,
        "b",
        Position::First,
        "\tSTACK_OF(X509) *b;\n\tint a;\n\tCACHELINE_PADDING(_pad1_);\n\tDECLARE_BITMAP(c, 8);\n",
    );
    check(
        old,
        "a",
        before("c"),
        "\tCACHELINE_PADDING(_pad1_);\n\tSTACK_OF(X509) *b;\n\tint a;\n\tDECLARE_BITMAP(c, 8);\n",
    );
}

fn edited(old: &str, change: Change) -> String {
    match edit_struct("s.h", old, "s", None, &[change]) {
        Ok(new) => new,
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn alignments_are_taken_away() {
    let check = |line: &str, expect: &str| {
        let member = Some("a".to_owned());
        let new = edited(&body(line), Change::RemoveAlignment { member });
        assert_eq!(new, body(expect));
    };
    check("\tint a ____cacheline_aligned_in_smp;\n", "\tint a;\n");
    check("\tint a __aligned(8) __rcu;\n", "\tint a __rcu;\n");
    check(
        "\tint a __attribute__((aligned(64)));\t/* x */\n",
        "\tint a;\t/* x */\n",
    );
    check("\t_Alignas(8) int a;\n", "\tint a;\n");
    let old = "struct s {\n\tint a;\n} __aligned(64);\n";
    let new = edited(old, Change::RemoveAlignment { member: None });
    assert_eq!(new, body("\tint a;\n"));
    let refused = |old: &str| edited(old, Change::RemoveAlignment { member: None });
    let two = "struct s {\n\tint a;\n} __attribute__((packed, aligned(4)));\n";
    assert_eq!(
        refused(two),
        "s.h:3: no alignment of s stands here by itself"
    );
    assert_eq!(
        refused(&body("\tint a;\n")),
        "s.h:3: no alignment of s stands here by itself"
    );
}

#[test]
fn padding_comes_and_goes() {
    let old = body(
        "\tint a;\n\tunion {\n\t\tint b;\n\t};\n#ifdef X\n\tint c;\n\tint d;\n#endif\n\tu32 e:1;\n\tu32 f:1;\n",
    );
    let add = |to| {
        let (name, reason) = (
            "_pad1_".to_owned(),
            Some("Keeps b off a's line.".to_owned()),
        );
        edited(
            &old,
            Change::AddPadding {
                name,
                bytes: 60,
                to,
                reason,
            },
        )
    };
    let new = add(after("a"));
    let lines = "\t/* Keeps b off a's line. */\n\tunsigned char _pad1_[60];\n";
    assert!(new.contains(&format!("\tint a;\n{lines}\tunion")), "{new}");
    let away = Change::RemovePadding {
        member: "_pad1_".to_owned(),
    };
    // The comment is about the padding, and goes with it.
    assert_eq!(edited(&new, away.clone()), old);
    assert_eq!(add(before("b")), new);
    assert!(add(after("b")).contains(&format!("\t}};\n{lines}#ifdef")));
    assert_eq!(
        add(after("c")),
        "s.h:6: _pad1_ would leave or enter an #if group"
    );
    assert_eq!(
        add(after("e")),
        "s.h:11: _pad1_ would break a run of bitfields"
    );
    let not = |member: &str| {
        edited(
            &old,
            Change::RemovePadding {
                member: member.to_owned(),
            },
        )
    };
    assert_eq!(
        not("a"),
        "s.h:2: a is no array of bytes and no padding macro"
    );
    assert_eq!(
        edited(
            &new,
            Change::AddPadding {
                name: "_pad1_".into(),
                bytes: 1,
                to: after("a"),
                reason: None
            }
        ),
        "s.h:1: '_pad1_' with 1 bytes cannot be a new member of it"
    );
}

#[test]
fn packed_structs_and_interfaces_stay() {
    let change = || change("b", Position::First);
    let packed = "struct s {\n\tint a;\n\tint b;\n} __packed;\n";
    assert_eq!(
        edited(packed, change()),
        "s.h:4: struct s is packed: others rely on its layout"
    );
    let user = "/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */\n";
    let text = user.to_owned() + &body("\tint a;\n\tint b;\n");
    assert_eq!(
        edited(&text, change()),
        "s.h: user-space ABI, its structs must keep their layout"
    );
}

#[test]
fn asserted_layouts_stay() {
    let text = body("\tint a;\n\tint b;\n") + "static_assert(offsetof(struct s, b) == 4);\n";
    let expect =
        "s.h:5: the size or a place in struct s is asserted here: change this with it by hand";
    assert_eq!(edited(&text, change("b", Position::First)), expect);
}

#[test]
fn a_member_that_a_macro_renames_moves_with_its_union() {
    let old = "\tint a;\n\tunion {\n\t\tint b;\n\t\tstruct rcu_head rcu_head;\n\t};\n";
    let new = "\tunion {\n\t\tint b;\n\t\tstruct rcu_head rcu_head;\n\t};\n\tint a;\n";
    check(old, "b callback_head", Position::First, new);
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

/// A comment that is left behind comes to stand above another member, and below the one that goes back.
#[test]
fn back_above_a_comment_that_stayed() {
    check(
        "\tint a;\n\tint b;\n\t/* b is one of two */\n\tint c;\t/* last */\n\tint d;\t/* more */\n",
        "c",
        Position::First,
        "\tint c;\t/* last */\n\tint a;\n\tint b;\n\t/* b is one of two */\n\tint d;\t/* more */\n",
    );
}

#[test]
fn below_the_comment_above_a_member() {
    let old = body("\tint a;\n\tint b;\n\t/* of c */\n\tint c;\n");
    let place = |place: fn(String) -> Position, expect: &str| {
        let change = change("a", place("c".to_owned()));
        let new = edit_struct("s.h", &old, "s", None, &[change]).unwrap();
        assert_eq!(new, body(expect));
    };
    place(
        Position::Below,
        "\tint b;\n\t/* of c */\n\tint a;\n\tint c;\n",
    );
    place(
        Position::Before,
        "\tint b;\n\tint a;\n\t/* of c */\n\tint c;\n",
    );
}

#[test]
fn declarations_are_joined() {
    let check = |old: &str, text: &str, expect: Result<&str, &str>| {
        let text = text.to_owned();
        let joined = edit_struct("s.h", &body(old), "s", None, &[Change::Join { text }]);
        let joined = joined.map_err(|refusal| refusal.to_string());
        let expect = expect.map(body).map_err(|why| format!("s.h:{why}"));
        assert_eq!(joined, expect, "{old}");
    };
    let two = "\tint b[2];\t/* b */\n\tint *a;\n\tint c;\n";
    check(
        two,
        "int *a, b[2];",
        Ok("\tint *a, b[2];\t/* b */\n\tint c;\n"),
    );
    check(
        two,
        "int *a, c;",
        Ok("\tint b[2];\t/* b */\n\tint *a, c;\n"),
    );
    let not =
        |line: u32, text: &str| format!("{line}: what stands here cannot be declared as '{text}'");
    for text in [
        "int a, b[2];",
        "int *a, b;",
        "long *a, b[2];",
        "int b[2], c;",
    ] {
        check(two, text, Err(&not(2, text)));
    }
    for text in ["int *a; int c;", "int *a, c; }", "int *a, c", ""] {
        check(two, text, Err(&not(1, text)));
    }
    let comments = "\tint a;\t/* a */\n\tint b;\t/* b */\n";
    check(comments, "int a, b;", Err(&not(2, "int a, b;")));
    let nested = "\tlong c;\n\tint b;\n\tstruct {\n\t\tint a;\n\t};\n";
    check(nested, "int a, b;", Err(&not(5, "int a, b;")));
    let between = "\tint a;\n\t/* b */\n\tint b;\n";
    check(between, "int a, b;", Err(&not(2, "int a, b;")));
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

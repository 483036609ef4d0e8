//! Declarations of several members: taken apart, and joined.

use super::{after, body, check, check_refused};
use relayout_patch::{MemberPosition, SourceChange, edit_struct};

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
        MemberPosition::First,
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
fn declarations_are_joined() {
    let check = |old: &str, text: &str, expect: Result<&str, &str>| {
        let text = text.to_owned();
        let joined = edit_struct(
            "s.h",
            &body(old),
            "s",
            None,
            &[SourceChange::JoinDeclarations { text }],
        );
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

/// As `wb_offset` and what stands below it in `struct nfs_page`.
#[test]
fn comments_behind_commas_go_with_what_they_are_about() {
    let old = "\tint\ta,\t/* of a */\n\t\tb,\t/* of b */\n\t\tc;\t/* of c */\n\tlong\td;\n";
    check(
        old,
        "b",
        after("d"),
        "\tint\ta;\t/* of a */\n\tint\tc;\t/* of c */\n\tlong\td;\n\tint\tb;\t/* of b */\n",
    );
    check(
        old,
        "c",
        MemberPosition::First,
        "\tint\tc;\t/* of c */\n\tint\ta,\t/* of a */\n\t\tb;\t/* of b */\n\tlong\td;\n",
    );
    check(
        "\tu8\ta:1,\t/* of a */\n\t\tb:1;\n\tint\tc;\n",
        "c",
        MemberPosition::First,
        "\tint\tc;\n\tu8\ta:1,\t/* of a */\n\t\tb:1;\n",
    );
    check_refused(
        "\tint a, MACRO b;\n\tint c;\n",
        "a",
        after("c"),
        "s.h:2: a shares a declaration with other members",
    );
    check_refused(
        "\tint a,\n\t\t/* of b */\n\t\tb;\n\tint c;\n",
        "b",
        after("c"),
        "s.h:2: b shares a declaration with other members",
    );
}

/// As `route_pref` of `struct route_info`: no declaration is taken apart for nothing.
#[test]
fn what_is_there_stays_as_it_is() {
    check_refused(
        "\tint a, b;\n",
        "b",
        after("a"),
        "s.h:3: b is there already",
    );
    check_refused(
        "\tu8 a;\n#if X\n\tu8 b:3, c:2;\n#else\n\tu8 c:2, b:3;\n#endif\n",
        "c",
        after("a"),
        "s.h:4: c is there already",
    );
}

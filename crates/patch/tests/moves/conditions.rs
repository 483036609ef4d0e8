//! `#if` groups around what moves, and around where it goes.

use super::{after, body, change, check, check_refused};
use relayout_patch::{Position, edit_struct};

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

//! Structs whose layout others count on.

use super::{body, change, edited};
use relayout_patch::Position;

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

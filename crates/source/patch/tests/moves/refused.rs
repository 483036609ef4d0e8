//! Structs whose layout others count on.

use super::{body, change, edited};
use relayout_patch::MemberPosition;

#[test]
fn packed_structs_and_interfaces_stay() {
    let change = || change("b", MemberPosition::First);
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

/// As `struct cper_sec_pcie`, whose header packs all of its structs.
#[test]
fn structs_below_a_pragma_stay() {
    let struct_s = body("\tint a;\n\tint b;\n");
    let moved = |head: &str| {
        edited(
            &(head.to_owned() + &struct_s),
            change("b", MemberPosition::First),
        )
    };
    let expect = |line: u32| format!("s.h:{line}: struct s is packed: others rely on its layout");
    assert_eq!(moved("#pragma pack(1)\n"), expect(1));
    assert_eq!(moved("#pragma pack(push)\n#pragma pack(2)\n"), expect(2));
    assert_eq!(
        moved("# pragma pack(push, 1)\n#pragma pack(push)\n#pragma pack(pop)\n"),
        expect(1)
    );
    for head in [
        "#pragma pack(1)\n#pragma pack()\n",
        "#pragma pack(push, 1)\n#pragma pack(pop)\n",
        "#pragma once\n",
    ] {
        assert_eq!(moved(head), head.to_owned() + &body("\tint b;\n\tint a;\n"));
    }
}

#[test]
fn asserted_layouts_stay() {
    let text = body("\tint a;\n\tint b;\n") + "static_assert(offsetof(struct s, b) == 4);\n";
    let expect =
        "s.h:5: the size or a place in struct s is asserted here: change this with it by hand";
    assert_eq!(edited(&text, change("b", MemberPosition::First)), expect);
}

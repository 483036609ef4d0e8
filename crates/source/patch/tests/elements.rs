//! Elements of arrays: alignment and padding of types without a tag, of unions, and of types on one
//! line.

use relayout_patch::{MemberPosition, SourceChange, WrittenAlignment, edit_struct};

fn aligned() -> SourceChange {
    SourceChange::AlignType {
        alignment: WrittenAlignment::Bytes(64),
        reason: None,
    }
}

fn padded(bytes: u64, to: MemberPosition) -> SourceChange {
    SourceChange::AddPadding {
        name: "_pad1_".to_owned(),
        bytes,
        to,
        reason: None,
    }
}

#[track_caller]
fn check(source: &str, name: &str, change: SourceChange, expect: &str) {
    let new = edit_struct("x.c", source, name, None, &[change]);
    assert_eq!(new.as_deref(), Ok(expect));
}

#[test]
fn types_without_a_tag_are_found_by_typedef_and_by_variable() {
    check(
        "typedef struct {\n\tint a;\n} one_t;\n",
        "one_t",
        aligned(),
        "typedef struct {\n\tint a;\n} __attribute__((aligned(64))) one_t;\n",
    );
    for (behind, name) in [
        ("w[4];", "w"),
        ("w = { 1 };", "w"),
        ("w, v;", "w"),
        ("w;", "w"),
    ] {
        check(
            &format!("static struct {{\n\tint a;\n}} {behind}\n"),
            name,
            aligned(),
            &format!("static struct {{\n\tint a;\n}} __attribute__((aligned(64))) {behind}\n"),
        );
    }
}

#[test]
fn unions_are_aligned_and_padded() {
    let source = "union u {\n\tlong word;\n\tdouble real;\n};\n";
    check(
        source,
        "u",
        aligned(),
        "union u {\n\tlong word;\n\tdouble real;\n} __attribute__((aligned(64)));\n",
    );
    check(
        source,
        "u",
        padded(64, MemberPosition::Last),
        "union u {\n\tlong word;\n\tdouble real;\n\tunsigned char _pad1_[64];\n};\n",
    );
    let moved = SourceChange::MoveMembers {
        members: vec!["real".to_owned()],
        to: MemberPosition::First,
        spacing: None,
        reason: None,
    };
    let refused = edit_struct("x.c", source, "u", None, &[moved]).expect_err("a union");
    assert!(refused.to_string().contains("is a union"), "{refused}");
}

#[test]
fn a_type_on_one_line_stays_on_one() {
    check(
        "struct q { long head; long tail; };\n",
        "q",
        padded(48, MemberPosition::After("tail".to_owned())),
        "struct q { long head; long tail; unsigned char _pad1_[48]; };\n",
    );
}

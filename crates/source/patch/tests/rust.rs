//! Rust structs.

use relayout_patch::{
    MemberPosition, SourceChange, WrittenAlignment, edit_struct, inverse_changes, member_order,
};

const SOURCE: &str = r#"
use std::sync::atomic::AtomicU64; // struct Shared { in a comment

/// Shared by 'all workers.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Shared<'a, T: Fn() -> u8> {
    /// Written by each.
    pub count: AtomicU64, // hot
    #[cfg(feature = "names")]
    names: std::collections::HashMap<String, (u8, &'a str)>,

    // Read only.
    limit: u64,
    call: T,
}

const QUOTE: char = '\'';
const RAW: &str = r"struct Free { \";

struct Free {
    a: u8,
    b: u64
}

#[repr(C)]
#[derive(PartialEq, PartialOrd)]
struct Ordered { a: u8, b: u8 }

struct Tuple(u8, u64);
"#;

fn edited(name: &str, change: SourceChange) -> String {
    match edit_struct("src/shared.rs", SOURCE, name, None, &[change]) {
        Ok(new) => new,
        Err(refusal) => refusal.to_string(),
    }
}

fn moved(member: &str, to: MemberPosition) -> SourceChange {
    SourceChange::MoveMembers {
        members: vec![member.to_owned()],
        to,
        spacing: None,
        reason: None,
    }
}

/// The fields' order after a move, and the old bytes after its inverse.
fn check(member: &str, to: MemberPosition, expect: &[&str]) {
    let change = moved(member, to);
    let new = edited("Shared", change.clone());
    assert_eq!(
        member_order("a.rs", &new, "Shared").unwrap(),
        expect,
        "{new}"
    );
    let back = inverse_changes("src/shared.rs", SOURCE, "Shared", None, &change).unwrap();
    let old = edit_struct("src/shared.rs", &new, "Shared", None, &back).unwrap();
    assert_eq!(old, SOURCE);
}

#[test]
fn fields_move_with_comments_and_attributes() {
    let after = |name: &str| MemberPosition::After(name.to_owned());
    check(
        "count",
        after("limit"),
        &["names", "limit", "count", "call"],
    );
    check(
        "call",
        MemberPosition::First,
        &["call", "count", "names", "limit"],
    );
    check(
        "limit",
        MemberPosition::Before("names".to_owned()),
        &["count", "limit", "names", "call"],
    );
    let new = edited("Shared", moved("names", after("call")));
    let tail = "    call: T,\n    #[cfg(feature = \"names\")]\n    names: std::collections::HashMap<String, (u8, &'a str)>,\n}\n";
    assert!(new.contains(tail), "{new}");
    let new = edited("Shared", moved("count", after("call")));
    assert!(
        new.contains("    call: T,\n    /// Written by each.\n    pub count: AtomicU64, // hot\n}"),
        "{new}"
    );
}

#[test]
fn the_compiler_orders_other_structs() {
    assert_eq!(
        edited("Free", moved("b", MemberPosition::First)),
        "src/shared.rs:21: struct Free stays as it is: without #[repr(C)] the compiler orders the fields itself: align the type, or add #[repr(C)] first"
    );
    assert_eq!(
        edited("Tuple", moved("0", MemberPosition::First)),
        "src/shared.rs:30: struct Tuple stays as it is: it has no named fields"
    );
    let shared = "src/shared.rs:28: a shares a line with other code";
    assert_eq!(edited("Ordered", moved("b", MemberPosition::First)), shared);
    let sorted = "#[repr(C)]\n#[derive(Ord)]\nstruct S {\n    a: u8,\n    b: u8,\n}\n";
    let refused = edit_struct(
        "s.rs",
        sorted,
        "S",
        None,
        &[moved("b", MemberPosition::First)],
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "s.rs:3: struct S stays as it is: an order is derived, which compares the fields in their order"
    );
}

#[test]
fn types_are_aligned() {
    let align = |name: &str| {
        let reason = Some("Its neighbours are written by others.".to_owned());
        let alignment = WrittenAlignment::Bytes(64);
        edited(name, SourceChange::AlignType { alignment, reason })
    };
    let new = align("Shared");
    assert!(
        new.contains(
            "// Its neighbours are written by others.\n#[repr(C, align(64))]\npub(crate) struct"
        ),
        "{new}"
    );
    let new = align("Free");
    assert!(
        new.contains(
            "\n// Its neighbours are written by others.\n#[repr(align(64))]\nstruct Free {"
        ),
        "{new}"
    );
    let away = |text: &str, name: &str| {
        let change = SourceChange::RemoveAlignment { member: None };
        edit_struct("src/shared.rs", text, name, None, &[change]).unwrap()
    };
    let plain = |text: &str| text.replace("// Its neighbours are written by others.\n", "");
    assert_eq!(plain(&away(&new, "Free")), SOURCE);
    assert_eq!(plain(&away(&align("Shared"), "Shared")), SOURCE);
    let member = SourceChange::AlignMember {
        member: "a".to_owned(),
        alignment: WrittenAlignment::Bytes(64),
        reason: None,
    };
    assert!(edited("Free", member).contains("a field has no alignment of its own"));
}

#[test]
fn what_is_no_field_ends_the_fields() {
    let order = |source: &str| member_order("a.rs", source, "S").unwrap();
    assert_eq!(order("struct S {\n    : u8,\n}\n"), [""; 0]);
    assert_eq!(order("struct S {\n    a: u8,\n    :\n}\n"), ["a"]);
}

#[test]
fn positions_are_bytes_of_the_text() {
    let move_b = moved("b", MemberPosition::First);
    let old = "\u{feff}/* é */ m! {\n    #[repr(C)]\n    struct S {\n        a: &'static str, /// of a\n        // é\n        b: r#type<(), 3>, // of b\n    }\n}\n";
    let new = "\u{feff}/* é */ m! {\n    #[repr(C)]\n    struct S {\n        // é\n        b: r#type<(), 3>, // of b\n        a: &'static str, /// of a\n    }\n}\n";
    let edited = edit_struct("s.rs", old, "S", None, &[move_b]).unwrap();
    assert_eq!(edited, new);
}

#[test]
fn deep_nesting_is_read() {
    let source = format!(
        "struct S {{\n    a: {}u8{},\n    b: {}u8,\n}}\n",
        "(".repeat(100_000),
        ")".repeat(100_000),
        "&".repeat(100_000)
    );
    assert_eq!(member_order("s.rs", &source, "S").unwrap(), ["a", "b"]);
    let refused = member_order("s.rs", "struct S {\n    a: u8,\n", "S");
    assert_eq!(
        refused.unwrap_err().to_string(),
        "s.rs:1: struct S stays as it is: from here on, the file cannot be read as Rust"
    );
}

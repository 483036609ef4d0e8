//! Alignments and padding, put in and taken away.

use super::{after, before, body, edited};
use relayout_patch::{SourceChange, WrittenAlignment};

#[test]
fn alignments_are_taken_away() {
    let check = |line: &str, expect: &str| {
        let member = Some("a".to_owned());
        let new = edited(&body(line), SourceChange::RemoveAlignment { member });
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
    let new = edited(old, SourceChange::RemoveAlignment { member: None });
    assert_eq!(new, body("\tint a;\n"));
    let refused = |old: &str| edited(old, SourceChange::RemoveAlignment { member: None });
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

/// As `conns` and `fails` of a server's peers.
#[test]
fn members_that_share_a_declaration_are_aligned_alone() {
    let check = |member: &str, old: &str, expect: &str| {
        let change = SourceChange::AlignMember {
            member: member.to_owned(),
            alignment: WrittenAlignment::Bytes(64),
            reason: Some("Written by all.".to_owned()),
        };
        let expect = match expect.starts_with("s.h") {
            true => expect.to_owned(),
            false => body(expect),
        };
        assert_eq!(edited(&body(old), change), expect);
    };
    let old = "\tlong a;\n\n\tatomic_ulong                    conns,\n\t                                \
               fails;          /* both are counted */\n\tlong b;\n";
    check(
        "conns",
        old,
        "\tlong a;\n\n\t/* Written by all. */\n\tatomic_ulong                    conns \
         __attribute__((aligned(64)));\n\tatomic_ulong                    fails;          /* both are counted \
         */\n\tlong b;\n",
    );
    check(
        "fails",
        old,
        "\tlong a;\n\n\tatomic_ulong                    conns;          /* both are counted */\n\n\t/* Written by \
         all. */\n\tatomic_ulong                    fails __attribute__((aligned(64)));\n\tlong b;\n",
    );
    check(
        "b",
        "\tint *a, b, c[2];\n",
        "\tint *a;\n\n\t/* Written by all. */\n\tint b __attribute__((aligned(64)));\n\tint c[2];\n",
    );
    check(
        "b",
        "\tint (*a)(int), b;\n",
        "s.h:2: b shares a declaration with other members",
    );
}

#[test]
fn members_on_one_line_are_aligned() {
    let align = |reason: Option<&str>| SourceChange::AlignMember {
        member: "b".to_owned(),
        alignment: WrittenAlignment::Bytes(64),
        reason: reason.map(str::to_owned),
    };
    let old = "struct s { int a, b; };\n";
    assert_eq!(
        edited(old, align(None)),
        "struct s { int a; int b __attribute__((aligned(64))); };\n"
    );
    assert_eq!(
        edited(old, align(Some("Written."))),
        "struct s {\n\tint a;\n\n\t/* Written. */\n\tint b __attribute__((aligned(64)));\n};\n"
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
            SourceChange::AddPadding {
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
    let away = SourceChange::RemovePadding {
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
            SourceChange::RemovePadding {
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
            SourceChange::AddPadding {
                name: "_pad1_".into(),
                bytes: 1,
                to: after("a"),
                reason: None
            }
        ),
        "s.h:1: '_pad1_' with 1 bytes cannot be a new member of it"
    );
}

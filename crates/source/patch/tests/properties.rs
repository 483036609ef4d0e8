//! Any text: no panic, and nothing changes outside of the definition.

use proptest::prelude::*;
use relayout_patch::{
    MemberPosition, SourceChange, WrittenAlignment, edit_struct, find_suspicious_uses, guard_store,
    inverse_changes, member_order, unified_diff,
};

/// Pieces of C in any order: mostly broken structs.
fn c_like() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "struct s {\n",
        "struct s",
        "};\n",
        "}",
        "{",
        "\tint a;\n",
        "\tint b, *c;\n",
        "\tunsigned d:1;\n",
        "\tunion {\n",
        "\tstruct {\n",
        "\t} e;\n",
        "\tvoid (*f)(int);\n",
        "#ifdef X\n",
        "#else\n",
        "#elif Y\n",
        "struct s { int a; int b; };\n",
        "\tint c,\t/* c */\n\t\td;\n",
        "#endif\n",
        "/* one */\n",
        "\t/*\n\t * two\n\t */\n",
        "\t/* open",
        "// line\n",
        "\n",
        "\tDECLARE_BITMAP(g, 4);\n",
        "PAD(x)\n",
        "thing\n",
        "\tint h[];\n",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "=",
        "\"",
        "'",
        "\\",
        "é",
        "\r\n",
        " ",
        "#define M \\\n",
        "____cacheline_aligned",
        "#include <linux/list.h>\n",
        "offsetof(struct s, a)",
        "typedef ",
        "= { 1, 2 };\n",
        "__attribute__((packed))",
        "randomized_struct_fields_start\n",
        "struct_group(g,\n",
        "\tSTACK_OF(X) *i;\n",
        "public:\n",
        "alignas(64) ",
        "a = 1;",
        "r#\"",
        "\tint i;\t/* x */\n",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a", "b", "c", "d", "e", "e.a", "f", "g", "h", "i", "", ".", "é",
    ])
    .prop_map(str::to_owned)
}

fn change() -> impl Strategy<Value = SourceChange> {
    let reason = prop::option::of(Just("because".to_owned()));
    let alignment = prop_oneof![
        Just(WrittenAlignment::Bytes(64)),
        Just(WrittenAlignment::Macro(
            "____cacheline_aligned_in_smp".into()
        ))
    ];
    prop_oneof![
        (name(), prop::option::of(name()), reason.clone()).prop_map(|(member, after, reason)| {
            SourceChange::MoveMembers {
                members: vec![member],
                to: MemberPosition::after(after),
                spacing: None,
                reason,
            }
        }),
        (name(), alignment.clone(), reason.clone()).prop_map(|(member, alignment, reason)| {
            SourceChange::AlignMember {
                member,
                alignment,
                reason,
            }
        }),
        (alignment, reason)
            .prop_map(|(alignment, reason)| SourceChange::AlignType { alignment, reason }),
    ]
}

/// A well-formed struct of `int` members, some with comments and blank lines.
fn members() -> impl Strategy<Value = Vec<(bool, bool, bool)>> {
    prop::collection::vec(any::<(bool, bool, bool)>(), 2..12)
}

fn render(members: &[(bool, bool, bool)]) -> String {
    let lines = members
        .iter()
        .enumerate()
        .map(|(index, &(blank, above, trailing))| {
            let blank = if blank && index > 0 { "\n" } else { "" };
            let above = if above {
                format!("\t/* about m{index} */\n")
            } else {
                String::new()
            };
            let trailing = if trailing { "\t/* trailing */" } else { "" };
            format!("{blank}{above}\tint m{index};{trailing}\n")
        });
    format!(
        "/* before */\nstruct s {{\n{}}};\nint after;\n",
        lines.collect::<String>()
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_text_is_read_without_panic(text in c_like(), change in change()) {
        let _ = member_order("f.h", &text, "s");
        let _ = find_suspicious_uses("f.h", &text, "s");
        if let Ok(new) = edit_struct("f.h", &text, "s", None, &[change]) {
            unified_diff("f.h", &text, &new);
            // A C++ class may not read as C, before as after.
            let read = |text: &str| member_order("f.h", text, "s").is_ok();
            prop_assert!(read(&new) || !read(&text));
        }
    }

    /// Whatever can be taken back gives the old bytes, and a move loses no word.
    #[test]
    fn inverse_moves_give_the_old_bytes(
        text in c_like(),
        members in prop::collection::vec(name(), 1..3),
        at in name(),
        place in prop::sample::select(vec![MemberPosition::After, MemberPosition::Before, MemberPosition::Below, |_| MemberPosition::Last]),
    ) {
        let to = place(at);
        let change = SourceChange::MoveMembers { members, to, spacing: None, reason: None };
        let edit = |text: &str, changes: &[SourceChange]| edit_struct("f.h", text, "s", None, changes);
        if let Ok(new) = edit(&text, std::slice::from_ref(&change))
            && let Ok(back) = inverse_changes("f.h", &text, "s", None, &change)
        {
            prop_assert_eq!(edit(&new, &back).unwrap(), text.clone());
            // A condition that goes along is written twice, and the type of what was taken apart.
            let joins = back.len() > 1;
            if !joins && text.matches('#').count() == new.matches('#').count() {
                let words = |text: &str| {
                    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                    words.sort();
                    words
                };
                prop_assert_eq!(words(&text), words(&new));
            }
        }
    }

    /// As C++, as Rust, and as a line with a store.
    #[test]
    fn any_text_is_read_as_other_languages(text in c_like(), change in change(), line in 0_u32..9) {
        for file in ["f.cc", "f.rs"] {
            let _ = member_order(file, &text, "s");
            let _ = edit_struct(file, &text, "s", None, std::slice::from_ref(&change));
            let _ = inverse_changes(file, &text, "s", None, &change);
        }
        let _ = guard_store("f.c", &text, line, "a", None);
    }

    #[test]
    fn any_characters_are_read_without_panic(text in "\\PC*") {
        let text = format!("struct s {{\nint a;\n{text}\nint b;\n}};");
        let change = SourceChange::MoveMembers { members: vec!["b".into()], to: MemberPosition::First, spacing: None, reason: None };
        let _ = edit_struct("f.h", &text, "s", None, &[change]);
        let _ = find_suspicious_uses("f.h", &text, "s");
        for file in ["f.cc", "f.rs"] {
            let change = SourceChange::AlignType { alignment: WrittenAlignment::Bytes(64), reason: None };
            let _ = edit_struct(file, &text, "s", None, &[change]);
        }
    }

    #[test]
    fn moves_keep_every_line_and_all_bytes_outside(
        members in members(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let old = render(&members);
        let (from, to) = (from.index(members.len()), to.index(members.len() + 1));
        let to = if to == from || to == from + 1 { (from + 2) % (members.len() + 1) } else { to };
        let stays = to == from || to == from + 1;
        prop_assume!(!stays);
        let after = to.checked_sub(1).map(|index| format!("m{index}"));
        let change = SourceChange::MoveMembers { members: vec![format!("m{from}")], to: MemberPosition::after(after), spacing: None, reason: None };
        let new = edit_struct("f.h", &old, "s", None, std::slice::from_ref(&change)).unwrap();

        let mut order: Vec<usize> = (0..members.len()).filter(|&index| index != from).collect();
        order.insert(if to > from { to - 1 } else { to }, from);
        let order: Vec<String> = order.iter().map(|index| format!("m{index}")).collect();
        prop_assert_eq!(member_order("f.h", &new, "s").unwrap(), order);

        let back = inverse_changes("f.h", &old, "s", None, &change).unwrap();
        prop_assert_eq!(&edit_struct("f.h", &new, "s", None, &back).unwrap(), &old);

        let lines = |text: &str| {
            let mut lines: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        prop_assert_eq!(lines(&old), lines(&new));
        let outside = new.starts_with("/* before */\nstruct s {\n") && new.ends_with("};\nint after;\n");
        prop_assert!(outside, "{}", new);
        prop_assert!(!new.contains("\n\n\n"), "{}", new);
    }
}

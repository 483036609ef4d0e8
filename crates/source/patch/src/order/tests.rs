use super::*;

fn query() -> OrderQuery {
    OrderQuery {
        tag: "s".to_owned(),
        typedef_names: vec!["s_t".to_owned()],
        members: ["first", "a", "b", "c"].map(str::to_owned).to_vec(),
        first_members: vec!["first".to_owned()],
        first_types: vec!["base".to_owned()],
    }
}

/// Facts as line and words.
fn facts_in(file: &str, text: &str) -> Vec<(u32, String)> {
    let facts = find_order_facts(file, text, &query());
    assert!(
        facts.is_empty() || may_rely_on_order(text, &query()),
        "{text}"
    );
    { facts.into_iter() }
        .map(|fact| (fact.place.line, words(&fact.reliance)))
        .collect()
}

fn words(reliance: &OrderReliance) -> String {
    match reliance {
        OrderReliance::Range { operation, borders } => {
            let border = |border: &RangeBorder| match border.side {
                BorderSide::Before => format!("|{}", border.member),
                BorderSide::After => format!("{}|", border.member),
            };
            let borders: Vec<String> = borders.iter().map(border).collect();
            format!("{operation}: {}", borders.join(" "))
        }
        OrderReliance::DefinitionBorder {
            mark,
            before,
            after,
        } => {
            format!("{mark}: {before:?} | {after:?}")
        }
        OrderReliance::Assertion { members, size } => format!("assert {members:?} {size:?}"),
        OrderReliance::OffsetLimit { member, below, .. } => format!("{member} below {below}"),
        OrderReliance::FirstMember(reliance) => format!("{reliance:?}"),
        OrderReliance::Initializer { values } => format!("{values} values"),
        OrderReliance::Randomized => "randomized".to_owned(),
        OrderReliance::Undecided {
            member, expression, ..
        } => format!("{expression}? {member}"),
    }
}

#[track_caller]
fn check(text: &str, expect: &[(u32, &str)]) {
    let found = facts_in("f.c", text);
    let found: Vec<(u32, &str)> = { found.iter() }
        .map(|(line, words)| (*line, words.as_str()))
        .collect();
    assert_eq!(found, expect, "{text}");
}

#[test]
fn borders_of_memset_macros() {
    check(
        "void f(struct s *p)\n{\n\tmemset_startat(p, 0, b);\n\tmemset_after(p, 0, a);\n}\n",
        &[(3, "memset_startat: |b"), (4, "memset_after: a|")],
    );
    check("void f(struct other *p) { memset_after(p, 0, a); }", &[]);
    check(
        "void f(void) { memset_after(x->y, 0, a); memset_after(x->y, 0, other); }",
        &[(1, "x->y? a")],
    );
}

#[test]
fn offsets_in_lengths() {
    check("memcpy(p, q, offsetof(struct s, b));", &[(1, "memcpy: |b")]);
    check(
        "memset(p, 0, offsetofend(struct s, b.x));",
        &[(1, "memset: b.x|")],
    );
    check(
        "void f(s_t *p) { memset(p, 0, offsetof(typeof(*p), c)); }",
        &[(1, "memset: |c")],
    );
    check(
        "void f(s_t *p) { memset(&p->b, 0, sizeof(*p) - offsetof(s_t, b)); }",
        &[(1, "memset: |b")],
    );
    check(
        "void f(struct s *p, struct s *q)\n\
         { memcpy(&p->a, &q->a, (char *)&p->c - (char *)&p->a); }",
        &[(2, "memcpy: |c |a")],
    );
    // The length is that of one member, wherever it is.
    check(
        "void f(struct s *p) { memset(&p->b, 0, sizeof(p->b)); }\n\
         void g(char *p) { memcpy(p + offsetof(struct s, b), q, sizeof(int)); }",
        &[],
    );
    check("memcpy(p, q, offsetof(struct other, b));", &[]);
    check(
        "#define LENGTH (offsetof(struct s, c) - offsetof(struct s, a))\n",
        &[(1, "a length between members: |c |a")],
    );
}

#[test]
fn regions_of_user_copies() {
    let create = |size: &str| {
        format!(
            "kmem_cache_create_usercopy(\"s\", sizeof(struct s), 0, 0, offsetof(struct s, a), {size}, 0);"
        )
    };
    check(&create("sizeof_field(struct s, a)"), &[]);
    check(
        &create("offsetofend(struct s, b) - offsetof(struct s, a)"),
        &[(1, "kmem_cache_create_usercopy: b| |a")],
    );
}

#[test]
fn assertions_name_members_and_size() {
    check(
        "BUILD_BUG_ON(offsetof(struct s, b) != offsetof(struct other, x));",
        &[(1, "assert [\"b\"] None")],
    );
    check(
        "static_assert(sizeof(struct s) == 64);\nBUILD_BUG_ON(sizeof(struct s) > 64);\n\
         BUILD_BUG_ON(sizeof_field(struct s, a) != 4);\n\
         CHECK_MEMBER_AT_END_OF(struct s, c);\n",
        &[
            (1, "assert [] Some(Exact)"),
            (2, "assert [] Some(Limit)"),
            (4, "assert [\"c\"] None"),
        ],
    );
}

#[test]
fn reclaimed_members_have_a_limit() {
    check(
        "void f(struct s *p, struct other *q)\n{ kfree_rcu(p, c); kfree_rcu(q, c); }",
        &[(2, "c below 4096")],
    );
}

#[test]
fn casts_between_the_struct_and_its_first_member() {
    check(
        "static struct base *up(struct s *p) { return (struct base *)p; }",
        &[(1, "CastToFirst { to: \"base\" }")],
    );
    check(
        "struct s *down(const struct base *p)\n{\n\treturn (struct s *)p;\n}\n\
         struct s *none(void *p, struct other *q) { g((struct base *)q); return (struct s *)p; }",
        &[(3, "CastFromFirst { from: \"base\" }")],
    );
    check(
        "void f(struct s x) { g((struct base *)&x); g((struct base *)x.other); }",
        &[(1, "CastToFirst { to: \"base\" }")],
    );
}

#[test]
fn containers_of_the_first_member() {
    let container = |operation: &str| format!("ContainerOf {{ operation: \"{operation}\" }}");
    check(
        "x = container_of(p, struct s, first);",
        &[(1, &container("container_of"))],
    );
    check(
        "x = list_entry(h, struct s, first.link);",
        &[(1, &container("list_entry"))],
    );
    check("x = container_of(p, struct s, b);", &[]);
}

#[test]
fn offsets_for_assembly() {
    let text = "void f(void)\n{\n\tOFFSET(S_FIRST, s, first);\n\tOFFSET(S_B, s, b);\n\
                \tDEFINE(S_F, offsetof(struct s, first));\n}\n";
    let found = facts_in("arch/x86/kernel/asm-offsets.c", text);
    let lines: Vec<u32> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [3, 5], "{found:?}");
    assert_eq!(facts_in("f.c", text), []);
}

#[test]
fn values_by_position_are_counted() {
    check("struct s x = { 1, 2, .c = 3 };", &[(1, "2 values")]);
    check("s_t x[] = { { 1, 2, 3 }, { 1 } };", &[(1, "3 values")]);
    check("struct s x = { .a = 1 };", &[]);
}

#[test]
fn other_names_are_found() {
    assert_eq!(
        find_typedef_names(
            "typedef struct s s_t;\ntypedef struct s { int a; } *p_t, t;",
            "s"
        ),
        ["s_t", "t"]
    );
    assert_eq!(find_typedef_names("typedef struct s", "s"), [] as [&str; 0]);
    let members = ["common".to_owned()];
    assert_eq!(
        find_member_macros(
            "#define x common.y\n#define z 1\n#define w(a) common.y\n",
            &members
        ),
        [("x".to_owned(), "common.y".to_owned())]
    );
}

proptest::proptest! {
    /// Any text, and any text made of words that mean something here, is read without panic.
    #[test]
    fn no_text_panics(
        words in proptest::collection::vec(
            proptest::sample::select(vec![
                "struct", "s", "s_t", "base", "first", "a", "b", "*", "&", "(", ")", "{", "}", "[",
                "]", ",", ";", "=", "-", ">", ".", "memset", "memset_startat", "memset_after",
                "offsetof", "offsetofend", "sizeof", "typeof", "container_of", "BUILD_BUG_ON",
                "kfree_rcu", "kmem_cache_create_usercopy", "#define", "typedef", "\n", "const",
                "OFFSET", "DEFINE", "0", "__randomize_layout", "\"", "/*", "é",
            ]),
            0..60,
        ),
    ) {
        let text = words.join(" ");
        let _ = may_rely_on_order(&text, &query());
        let _ = find_order_facts("asm-offsets.c", &text, &query());
        let _ = find_order_facts("f.cpp", &text, &query());
        let _ = find_typedef_names(&text, "s");
        let _ = find_member_macros(&text, &query().members);
    }
}

/// Members on both sides of marks in the definition; those of cache line groups are members.
#[test]
fn borders_of_the_definition() {
    let text = "struct s {\n\tint first;\n\trandomized_struct_fields_start\n\tstruct {\n\t\tint a;\n\t};\n\
                \t__cacheline_group_begin(hot);\n\tint b;\n\trandomized_struct_fields_end\n\tint c;\n};\n";
    check(
        text,
        &[
            (
                3,
                r#"randomized_struct_fields_start: ["first"] | ["a", "__cacheline_group_begin__hot", "b", "c"]"#,
            ),
            (
                9,
                r#"randomized_struct_fields_end: ["first", "a", "__cacheline_group_begin__hot", "b"] | ["c"]"#,
            ),
        ],
    );
    let text = "struct s {\n\tint a;\nprivate:\n\tint b;\n};\n";
    let found = facts_in("f.cc", text);
    assert_eq!(found, [(3, r#"private: ["a"] | ["b"]"#.to_owned())]);
    check(
        "struct other {\n\tint a;\n\trandomized_struct_fields_start\n\tint b;\n};\n",
        &[],
    );
}

/// Demands of the definition on its first and its last member. Demands on others, and comments that
/// only have the word, are none.
#[test]
fn demands_of_comments() {
    check(
        "struct s {\n\tint first;\t/* Keep this\n\t\t\t * first */\n\tint a;\n\tint b;\t/* must be last */\n};\n",
        &[
            (
                2,
                r#"StatedByComment { comment: "/* Keep this\n\t\t\t * first */" }"#,
            ),
            (5, r#"/* must be last */: ["first", "a"] | ["b"]"#),
        ],
    );
    check(
        "struct s {\n\t/* These must be first. */\n\tint first;\n\tint a;\n\tint b;\n};\n",
        &[(
            2,
            r#"StatedByComment { comment: "/* These must be first. */" }"#,
        )],
    );
    check(
        "struct s {\n\tint first;\t/* first of the list */\n\tint a; /* must be first */\n\
         \tint b; /* last used */\n};\n",
        &[],
    );
}

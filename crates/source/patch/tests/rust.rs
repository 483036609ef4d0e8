//! Rust structs.

use relayout_patch::{
    MemberPosition, SourceChange, SourceText, StructSource, WrittenAlignment, edit_struct,
    edit_struct_in_tree, inverse_changes, member_order,
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
    assert!(edited("Free", member).contains("    a: OwnLine<u8>,\n    b: u64\n}\n\n/// A value"));
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

fn wrapped(
    files: &[(&str, &str)],
    field: &str,
    module: Option<&str>,
) -> Result<Vec<String>, String> {
    let alignment = match module {
        Some(module) => WrittenAlignment::CachePadded {
            module: module.to_owned(),
        },
        None => WrittenAlignment::Bytes(64),
    };
    let change = SourceChange::AlignMember {
        member: field.to_owned(),
        alignment,
        reason: None,
    };
    let others = { files[1..].iter() }.map(|(path, text)| SourceText {
        file: (*path).to_owned(),
        text: (*text).to_owned(),
    });
    let mut others: Vec<SourceText> = others.collect();
    let (file, text) = files[0];
    let source = StructSource::new(file, text, "Stats", None);
    let edited = edit_struct_in_tree(source, &[change], &others);
    let edited = edited.map_err(|refusal| refusal.to_string())?;
    for new in edited.others {
        let old = others.iter_mut().find(|old| old.file == new.file);
        old.expect("a file of the crate").text = new.text;
    }
    let others = others.into_iter().map(|other| other.text);
    Ok(std::iter::once(edited.definition).chain(others).collect())
}

const STATS: &str = r#"//! Counters.
pub struct Stats<T> {
    /// Seen.
    pub hits: AtomicU64,
    kind: T,
    count: u64,
}

impl<T: Default> Stats<T> {
    pub fn new(hits: AtomicU64) -> Self {
        Self { hits, kind: T::default(), count: 0 }
    }

    fn add(&mut self, other: Stats<T>) -> u64 {
        self.count += 1; // one more
        self.count = self.count + other.count;
        self.hits.fetch_add(self.count, Relaxed);
        println!("{} {:?}", self.count, vec![Stats::<u8> { hits: 0.into(), kind: 1, count: 2 }].len());
        let Stats { kind: _, .. } = other;
        *&self.count
    }
}
"#;

/// Lines of the new text that the old one does not have.
fn new_lines(old: &str, new: &str) -> Vec<String> {
    let lines = new
        .lines()
        .filter(|line| !old.lines().any(|other| other == *line));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_field_is_wrapped_where_the_struct_is_built() {
    let other = "use crate::stats::Stats;\n\nfn make() -> Stats<u8> {\n    Stats { hits: a.b, ..base() }\n}\n";
    let files = [("src/stats.rs", STATS), ("src/main.rs", other)];
    let new = wrapped(&files, "hits", None).unwrap();
    let lines = new_lines(STATS, &new[0]);
    for line in [
        "pub hits: OwnLine<AtomicU64>,",
        "Self { hits: OwnLine(hits), kind: T::default(), count: 0 }",
        "println!(\"{} {:?}\", self.count, vec![Stats::<u8> { hits: OwnLine(0.into()), kind: 1, count: 2 }].len());",
        "pub struct OwnLine<T>(pub T);",
    ] {
        assert!(lines.contains(&line.to_owned()), "{line}: {lines:#?}");
    }
    assert!(
        new[1].contains("Stats { hits: crate::stats::OwnLine(a.b), ..base() }"),
        "{}",
        new[1]
    );
    // A second field takes the same type.
    let again = wrapped(&[("src/stats.rs", &new[0])], "count", None).unwrap();
    assert_eq!(
        again[0].matches("struct OwnLine").count(),
        1,
        "{}",
        again[0]
    );
}

#[test]
fn values_are_taken_out_of_the_wrapper() {
    let files = [("src/stats.rs", STATS)];
    let lines =
        |module: Option<&str>| new_lines(STATS, &wrapped(&files, "count", module).unwrap()[0]);
    let own = lines(None);
    for line in [
        "*self.count += 1; // one more",
        "*self.count = self.count.0 + other.count.0;",
        "self.hits.fetch_add(self.count.0, Relaxed);",
        "*&*self.count",
    ] {
        assert!(own.contains(&line.to_owned()), "{line}: {own:#?}");
    }
    let padded = lines(Some("crossbeam_utils"));
    for line in [
        "count: crossbeam_utils::CachePadded<u64>,",
        "*self.count = *self.count + *other.count;",
        "Self { hits, kind: T::default(), count: crossbeam_utils::CachePadded::new(0) }",
    ] {
        assert!(padded.contains(&line.to_owned()), "{line}: {padded:#?}");
    }
}

#[test]
fn unclear_uses_are_refused_with_their_line() {
    let refusal = |other: &str| {
        let files = [("src/stats.rs", STATS), ("src/main.rs", other)];
        wrapped(&files, "count", None).unwrap_err()
    };
    let bound = refusal("fn f(Stats { count, .. }: Stats<u8>) {}\n");
    assert!(
        bound.starts_with("src/main.rs:1: struct Stats stays as it is: a pattern binds"),
        "{bound}"
    );
    let unclear = refusal(
        "struct Other { count: u8 }\n\nfn f(o: Other, s: Stats<u8>) -> u8 {\n    o.count\n}\n",
    );
    assert!(
        unclear
            .starts_with("src/stats.rs:16: struct Stats stays as it is: the field has to be named"),
        "{unclear}"
    );
    let twice = refusal("struct Stats { a: u8 }\n");
    assert!(
        twice.contains("another struct of the crate has its name"),
        "{twice}"
    );
    let in_macro = refusal("fn f() {\n    html!(<a> { s.count } </a>);\n}\n");
    assert!(
        in_macro.starts_with("src/main.rs:2: struct Stats stays as it is: a macro's"),
        "{in_macro}"
    );
    let derived = STATS.replace("pub struct", "#[derive(Serialize)]\npub struct");
    let files = [("src/stats.rs", derived.as_str())];
    let derived = wrapped(&files, "count", None).unwrap_err();
    assert!(derived.contains("a trait is derived"), "{derived}");
}

#[test]
fn an_order_is_fixed_by_repr_c() {
    let change = |fields: &[&str]| SourceChange::FixOrder {
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    let new = edited("Free", change(&["b", "a"]));
    assert!(
        new.contains("#[repr(C)]\nstruct Free {\n    b: u64,\n    a: u8,\n}"),
        "{new}"
    );
    let sorted = "#[derive(Hash)]\nstruct S {\n    a: u8,\n    b: u8,\n}\n";
    let refused = edit_struct("s.rs", sorted, "S", None, &[change(&["b", "a"])]);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("a hash is derived")
    );
}

#[test]
fn cut_texts_are_refused_or_edited() {
    let ends = (0..STATS.len()).filter(|end| STATS.is_char_boundary(*end));
    let refused = ends.filter(|end| {
        let files = [("src/stats.rs", &STATS[..*end]), ("src/main.rs", STATS)];
        wrapped(&files, "count", None).is_err()
    });
    // The definition is in the second file too, so all are refused.
    assert_eq!(refused.count(), STATS.len());
}

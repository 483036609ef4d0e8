//! Members that only some configurations have.

use relayout_patch::{EditRefusal, StructSource};

fn conditional(source: &str, line: Option<u32>) -> Result<Vec<String>, EditRefusal> {
    let source = StructSource::new("s.h", source, "s", line);
    source.language().conditional_members(source)
}

fn check(source: &str, line: Option<u32>, expect: &[&str]) {
    let found = conditional(source, line).unwrap();
    assert_eq!(found, expect, "{source}");
}

#[test]
fn those_between_if_and_endif() {
    let source = "\
#ifndef S_H
#define S_H
struct s {
	int always;
#ifdef A
	int a, *also;
#if B
	struct {
		int b;
	};
	struct { int count; } stats;
#endif
#else
	int other;
#endif
	int last;
};
#endif
";
    let expect = ["a", "also", "b", "stats", "stats.count", "other"];
    check(source, None, &expect);
}

#[test]
fn of_several_definitions_that_of_the_line() {
    let source = "\
#ifdef SMALL
struct s {
	int a;
};
#else
struct s {
	int a;
#ifdef DEBUG
	int b;
#endif
};
#endif
";
    check(source, Some(2), &[]);
    check(source, Some(6), &["b"]);
    assert!(conditional(source, None).is_err());
}

#[test]
fn what_is_conditional_inside_of_a_member() {
    let source = "\
struct s {
	struct {
#ifdef DEBUG
		int b;
#endif
		int c;
	} in;
};
";
    check(source, None, &["in.b"]);
}

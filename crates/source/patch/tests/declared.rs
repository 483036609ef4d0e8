//! Declarations read from a proposed layout.

use relayout_patch::{DeclaredAlignment, read_declared_struct};

/// `name: type bounds @align`, one member per line.
fn describe_declared(source: &str) -> String {
    let found = read_declared_struct("s.h", source, "s").unwrap_or_else(|e| panic!("{e}"));
    let align = |align: Option<DeclaredAlignment>| match align {
        None => String::new(),
        Some(DeclaredAlignment::CacheLine) => " @line".to_owned(),
        Some(DeclaredAlignment::Bytes(bytes)) => format!(" @{bytes}"),
    };
    let mut text = String::new();
    for member in &found.members {
        let type_text = match member.is_special {
            true => "-".to_owned(),
            false => format!(
                "{}{}",
                member.type_text,
                member
                    .bounds
                    .iter()
                    .map(|b| format!("[{b}]"))
                    .collect::<String>()
            ),
        };
        text += &format!(
            "{}: {type_text}{}\n",
            member.names.join(" "),
            align(member.alignment)
        );
    }
    text + &format!("type{}\n", align(found.alignment))
}

#[test]
fn header_with_attributes() {
    let source = "\
struct s {
\tstruct list_head list;\t/* linked */
\tint free_bytes;
\tunsigned long *bound_map;
\tvoid *base_addr ____cacheline_aligned_in_smp;
\tchar pad[40] __attribute__((aligned(8)));
\tbool immutable:1, isolated:1;
\tvoid (*call)(void *data);
\tunion {
\t\tint a;
\t\tstruct { long b, c; };
\t};
\tunsigned long populated[];
} __aligned(0x80);
";
    let expect = "\
list: struct list_head
free_bytes: int
bound_map: unsigned long *
base_addr: void * @line
pad: char[40] @8
immutable isolated: -
call: -
a b c: -
populated: -
type @128
";
    assert_eq!(describe_declared(source), expect);
}

#[test]
fn several_declarators_of_one_statement() {
    let source = "\
struct s {
\tunsigned long head, *tail, **all[4] __aligned(16), last __aligned(8);
\tstruct page *one, two;
\t__aligned(64) int a, b;
\tint (*call)(int x, int y), many[2][3];
};
";
    let expect = "\
head: unsigned long
tail: unsigned long *
all: unsigned long * *[4] @16
last: unsigned long @8
one: struct page *
two: struct page
a: int @64
b: int @64
call: -
many: int[2][3]
type
";
    assert_eq!(describe_declared(source), expect);
}

#[test]
fn output_of_pahole() {
    let source = "\
struct s {
\tstruct list_head           list;                 /*     0    16 */
\tint                        free_bytes;           /*    16     4 */

\t/* XXX 44 bytes hole, try to pack */

\t/* --- cacheline 1 boundary (64 bytes) --- */
\tvoid *                     base_addr __attribute__((__aligned__(64))); /*    64     8 */

\t/* size: 128, cachelines: 2, members: 3 */
} __attribute__((__aligned__(64)));
";
    let expect = "list: struct list_head\nfree_bytes: int\nbase_addr: void * @64\ntype @64\n";
    assert_eq!(describe_declared(source), expect);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let check = |source: &str, expect: &str| {
        assert_eq!(
            read_declared_struct("s.h", source, "s")
                .unwrap_err()
                .to_string(),
            expect
        );
    };
    check(
        "struct s {\n\tint a __aligned(SIZE);\n};\n",
        "s.h:2: the alignment 'SIZE' is not read: write a power of two up to 4096, as in __aligned(64)",
    );
    check(
        "struct s {\n#ifdef CONFIG_X\n\tint a;\n#endif\n};\n",
        "s.h:2: the preprocessor or brackets cut through the definition",
    );
    check("struct t { int a; };\n", "s.h: no definition of struct s");
}

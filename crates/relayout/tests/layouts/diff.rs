//! `relayout diff` on small compiled pairs: every sentence that it has, JSON, exit codes.

use crate::common::{Ended, Place};
use serde_json::Value;

/// A place with two object files.
struct Pair(Place);

impl Pair {
    fn new(old: &str, new: &str) -> Self {
        Self::with_flags(old, new, &[], &[])
    }

    fn with_flags(old: &str, new: &str, old_flags: &[&str], new_flags: &[&str]) -> Self {
        let place = Place::new();
        for (name, source, flags) in [("old", old, old_flags), ("new", new, new_flags)] {
            let mut all_flags = vec!["-g", "-c"];
            all_flags.extend(flags);
            place.compile(name, source, &all_flags);
        }
        Self(place)
    }

    fn run(&self, words: &str) -> Ended {
        self.0.run_words(&format!("diff old new {words}"))
    }

    /// Standard output of a command that has to succeed without a message.
    #[track_caller]
    fn text(&self, words: &str) -> String {
        let ended = self.run(words);
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{words}");
        ended.stdout
    }

    #[track_caller]
    fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.text(&format!("--json {words}"))).unwrap()
    }
}

/// The text for a struct `s` with these members before and after, as kept.
#[track_caller]
fn check(name: &str, old: &str, new: &str) {
    let source = |members: &str| format!("{TYPES} struct s {{ {members} }} s;");
    let pair = Pair::new(&source(old), &source(new));
    insta::assert_snapshot!(name, pair.text("s"));
}

const TYPES: &str = "struct pair { int a, b; }; typedef struct { int locked; } lock_t;";

#[test]
fn member_added() {
    check("fills_a_hole", "char a; int b;", "char a; short n; int b;");
    check("fills_padding", "long a; char b;", "long a; char b; int n;");
    check(
        "takes_unused_bits",
        "int a:3; int z;",
        "int a:3; int n:4; int z;",
    );
    check(
        "takes_unused_bits_and_pushes",
        "int a:3, b:2;",
        "int a:3, n:4, b:2;",
    );
    check(
        "joins_a_union",
        "int a; union { long u; int v; }; int z;",
        "int a; union { long u; int v; short n; }; int z;",
    );
    check(
        "grows_a_union",
        "int a; union { long u; int v; }; long z;",
        "int a; union { struct pair n[2]; long u; int v; }; long z;",
    );
    check(
        "pushes",
        "int a; long b, c, d;",
        "int a; long n; long b, c, d;",
    );
    check(
        "pushes_partly_out_of_a_hole",
        "char a; long b; int c;",
        "char a; struct pair n[2]; long b; int c;",
    );
    check("at_the_end", "long a;", "long a; long n;");
    check(
        "two_pushers",
        "int a; int b; int c; long z;",
        "int n; int a; int b; int m; int k; int c; long z;",
    );
}

#[test]
fn member_removed() {
    check(
        "leaves_a_hole",
        "char a; short gone; int b;",
        "char a; int b;",
    );
    check("pulls", "long a, gone, b, c;", "long a, b, c;");
    check(
        "renamed",
        "long a; int before; int c;",
        "long a; int after; int c;",
    );
    check(
        "replaced",
        "long a; long before; int c;",
        "long a; int x; int y; int c;",
    );
}

/// `struct_group()` of the kernel declares its members twice, without and with a name.
#[test]
fn members_of_a_group_are_printed_once() {
    let group = |members: &str| {
        format!("long a; union {{ struct {{ {members} }}; struct {{ {members} }} fast; }}; long z;")
    };
    let source = |members: &str| format!("struct s {{ {} }} s;", group(members));
    let pair = Pair::new(&source("int x, y;"), &source("int y, x;"));
    let text = pair.text("s");
    assert!(!text.contains("fast."), "{text}");
    let found = pair.json("s");
    let members = found["types"][0]["members"].as_array().unwrap().iter();
    let names: Vec<&str> = members
        .map(|member| member["name"].as_str().unwrap())
        .collect();
    let moved = ["x", "y"].map(|name| names.iter().filter(|found| **found == name).count());
    assert_eq!(moved, [1, 1], "{found}");
    // Members that differ from those beside them are others, and are all printed.
    let other = "union { struct { int x; }; struct { int y, x; } fast; }; long z;";
    let pair = Pair::new(
        &format!("struct s {{ {other} }} s;"),
        "struct s { long z; } s;",
    );
    assert!(pair.text("s").contains("fast.x"));
}

#[test]
fn member_changed() {
    check("grew", "int a; int b; int c;", "int a; long b; int c;");
    check(
        "shrank",
        "long a; long b; long c;",
        "long a; int b; long c;",
    );
    check("reordered", "long a, b, c, d;", "long d, a, b, c;");
    check(
        "held_type_changed_name_only",
        "unsigned long a; long b;",
        "unsigned long int a; unsigned long b;",
    );
    check(
        "packed",
        "char a; long b; char c;",
        "char a; long b __attribute__((packed)); char c;",
    );
    check(
        "aligned",
        "long a; long b;",
        "long a; long b __attribute__((aligned(64)));",
    );
    check(
        "in_an_anonymous_struct",
        "int a; struct { int x; int y; }; int z;",
        "int a; struct { int x; long n; int y; }; int z;",
    );
    check(
        "in_an_array_of_anonymous",
        "struct { int x, y; } slots[4]; int z;",
        "struct { int x, n, y; } slots[4]; int z;",
    );
}

#[test]
fn lines() {
    let members = "char pad[48]; long a, b; long c, d; char more[56]; int z;";
    check("together_and_apart", members, &format!("long n; {members}"));
    check(
        "a_whole_line_further",
        members,
        &format!("char n[64]; {members}"),
    );
}

/// A change inside a type is said there, with who holds it, and not again for each of them.
#[test]
fn change_is_said_at_its_origin() {
    let source = |lock: &str| {
        format!(
            "struct lock {{ {lock} }};
             typedef struct {{ struct lock inner; int seq; }} seqlock_t;
             struct inode {{ long a; seqlock_t lock; long b; }} inode;
             struct file {{ struct inode i[2]; int end; }} file;
             struct mixed {{ struct lock lock; int own; }} mixed;"
        )
    };
    let new = source("long word;").replace("int own;", "int own; char n;");
    let pair = Pair::new(&source("int word;"), &new);
    insta::assert_snapshot!("origin", pair.text(""));
    insta::assert_snapshot!("origin_affected", pair.text("--affected"));
    insta::assert_snapshot!("origin_named", pair.text("file"));
    let json = pair.json("");
    let lock = json["types"]
        .as_array()
        .unwrap()
        .iter()
        .find(|each| each["name"] == "lock")
        .unwrap();
    assert_eq!(
        lock["affects"],
        serde_json::json!(["inode", "file", "mixed", "seqlock_t"])
    );
}

#[test]
fn types_added_and_removed() {
    let pair = Pair::new(
        "struct gone { int a; } g; union u { int a; } u;",
        "struct come { long a; } c; union u { int a; } u;",
    );
    insta::assert_snapshot!("added_and_removed", pair.text("--all"));
    insta::assert_snapshot!("added_only", pair.text("--status added"));
}

#[test]
fn json() {
    let pair = Pair::new(
        "struct s { char a; int gone; int flag:3; int tail:2; long b; } s;",
        "struct s { char a; short n; int flag:3; int wide:7; int tail:2; long b; } s;",
    );
    insta::assert_snapshot!("json", pair.text("--json"));
}

/// Of several definitions of a name, those declared in one place are compared.
#[test]
fn same_names_are_told_apart() {
    let place = Place::new();
    place.write("first.h", "struct s { int first; };\n");
    place.write("second.h", "struct s { long second, more; };\n");
    let compile_object = |name: &str, header: &str| {
        let source = format!("#include \"{header}\"\nstruct s {name};\n");
        place.compile(name, &source, &["-g", "-c"])
    };
    let (first, second) = (
        compile_object("one", "first.h"),
        compile_object("two", "second.h"),
    );
    for (out, objects) in [("old", [&first, &second]), ("new", [&second, &first])] {
        let objects = objects.map(|object| object.display().to_string());
        place.compile(out, "", &["-nostdlib", "-r", &objects[0], &objects[1]]);
    }
    let ended = place.run(&["diff", "old", "new", "--exit-code"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    place.write("second.h", "struct s { long second, more, n; };\n");
    let second = compile_object("two", "second.h").display().to_string();
    let first = first.display().to_string();
    place.compile("new", "", &["-nostdlib", "-r", &second, &first]);
    let ended = place.run(&["diff", "old", "new"]);
    insta::assert_snapshot!("same_names", ended.stdout);
}

#[test]
fn exit_codes() {
    let pair = Pair::new("struct s { int a; } s;", "struct s { long a; } s;");
    assert_eq!(pair.run("").code, Some(0));
    assert_eq!(pair.run("--exit-code").code, Some(1));
    assert_eq!(pair.run("--exit-code --json").code, Some(1));
    let same = Pair::new("struct s { int a; } s;", "struct s { unsigned a; } s;");
    assert_eq!(same.run("--exit-code").code, Some(0));
    pair.0.refuses(
        "diff old new sr",
        2,
        "relayout: neither old nor new has a struct, union or class named `sr`; close: s",
    );
    pair.0.refuses(
        "diff old missing",
        2,
        "relayout: cannot read the types of missing: No such file or directory (os error 2)",
    );
}

/// Types in another debug format are no difference.
#[test]
fn formats_and_versions_do_not_differ() {
    let source = "#include <stdbool.h>
        enum kind { A, B };
        struct list { struct list *next, *prev; };
        struct s { unsigned long a; bool flag; enum kind kind; long long big; struct list l;
            unsigned u:3; int v:13; union { short x; char y[3]; }; char name[16];
            int (*call)(long); struct { int p, q; } in[2]; long double ld; char tail[]; } s;
        struct __attribute__((packed)) packed { char a; long b; } p;
        struct aligned { int a; } __attribute__((aligned(64))) q;";
    for flags in [["-gdwarf-4"], ["-gdwarf-5"], ["-O2"], ["-gz"]] {
        let pair = Pair::with_flags(source, source, &["-gdwarf-5"], &flags);
        let ended = pair.run("--exit-code");
        assert_eq!(ended.code, Some(0), "{flags:?}: {}", ended.stdout);
    }
}

/// Two builds of a program with a variable `m`, and a profile of the old one in which the members
/// at these offsets are stored to by two contexts.
fn pair_with_profile(old: &str, new: &str, offsets: [u64; 2]) -> Pair {
    let pair = Pair(Place::new());
    let types = "struct lock { int count, reserved, owner, more; };";
    for (name, members) in [("old", old), ("new", new)] {
        let source = format!(
            "{types} struct mm {{ {members} }} m __attribute__((aligned(64)));
             const char linux_banner[] = \"Linux version 6.1.0-test\\n\";"
        );
        pair.0.compile(name, &source, crate::common::KERNEL_FLAGS);
    }
    crate::common::hot::write(&pair.0, "profile", "old", "m", offsets);
    pair
}

/// The sentence that a reviewer wants.
#[test]
fn hot_members_come_together() {
    let old = "char a[120]; struct lock mmap_lock; long rest[20];";
    let new = "char a[120]; int write_protect_seq; struct lock mmap_lock __attribute__((aligned(8))); long rest[20];";
    let pair = pair_with_profile(old, new, [120, 128]);
    let text = pair.text("--profile profile");
    insta::assert_snapshot!("hot_together", text);
    let sentence =
        "write_protect_seq pushed mmap_lock from 120 to 128: count and owner now share line 2";
    assert!(text.contains(sentence), "{text}");
    let json = pair.json("--profile profile");
    let hot = &json["types"][0]["hot"];
    assert_eq!(hot["sentences"][0], sentence);
    assert_eq!(hot["members"][0]["writes"], 100);
    assert_eq!(
        hot["pairs"][0]["members"],
        serde_json::json!(["mmap_lock.count", "mmap_lock.owner"])
    );
}

#[test]
fn hot_members_go_apart() {
    let old = "char a[52]; int x; int y; struct lock l; long rest[20];";
    let new = "char a[52]; int x; int n[2]; int y; struct lock l; long rest[20];";
    insta::assert_snapshot!(
        "hot_apart",
        pair_with_profile(old, new, [52, 56]).text("--profile profile")
    );
}

#[test]
fn hot_member_is_gone() {
    let old = "int x; int y; long rest[20];";
    let pair = pair_with_profile(old, &old.replace("int y", "int z"), [0, 4]);
    let text = pair.text("--profile profile");
    assert!(
        text.contains("\n  hot members that are gone: y\n"),
        "{text}"
    );
}

/// A type that changed only because of what it holds is shown if it is hot.
#[test]
fn hot_types_are_shown_first_and_in_full() {
    let types = |lock: &str| {
        format!(
            "struct other {{ {lock} a; }} other;
             struct inner {{ {lock} w; }};
             struct mm {{ int x; struct inner l; char pad[52]; int y; }}
                 m __attribute__((aligned(64)));
             const char linux_banner[] = \"Linux version 6.1.0-test\\n\";"
        )
    };
    let pair = Pair(Place::new());
    pair.0
        .compile("old", &types("int"), crate::common::KERNEL_FLAGS);
    pair.0
        .compile("new", &types("long"), crate::common::KERNEL_FLAGS);
    crate::common::hot::write(&pair.0, "profile", "old", "m", [0, 60]);
    insta::assert_snapshot!("hot_first", pair.text("--profile profile"));
}

/// clang names virtual tables in its own way and leaves out classes of the C++ library.
#[test]
fn compilers_do_not_differ() {
    let source = "#include <string>
        #include <map>
        namespace a { struct X { int v; }; }
        struct Base { virtual ~Base() {} int b; };
        struct Mid : virtual Base { int m; };
        template<class T> struct Box { T t; const char *n; };
        struct D : Mid { a::X x; std::string s; std::map<unsigned long, const char *> m;
            Box<const unsigned long *> box; };
        struct Holds { D d[2]; } holds;";
    let place = Place::new();
    let compilers = [("old", "g++"), ("new", "clang++")];
    relayout_testkit::require_programs(&["g++", "clang++"]);
    for (name, compiler) in compilers {
        place.write(&format!("{name}.cc"), source);
        let mut command = std::process::Command::new(compiler);
        command.args(["-g", "-c", "-o"]).arg(place.path(name));
        command.arg(place.path(&format!("{name}.cc")));
        assert!(crate::common::start(&mut command).wait().unwrap().success());
    }
    for types in ["Holds", "D", "Base", "Mid", "Box<*"] {
        let ended = place.run(&["diff", "old", "new", "--exit-code", types]);
        assert_eq!(ended.code, Some(0), "{types}: {}", ended.stdout);
    }
}

/// A target of another word size.
#[test]
fn word_size() {
    let source = "struct list { struct list *next, *prev; };
        struct s { char a; long b; struct list l; int c; } s;";
    let place = Place::new();
    place.compile("old", source, &["-g", "-c"]);
    // Needs no headers, and so no gcc-multilib.
    place.compile("new", source, &["-g", "-c", "-m32"]);
    insta::assert_snapshot!("word_size", place.run(&["diff", "old", "new"]).stdout);
}

/// BTF knows no alignments, and neither file any order of the other's.
#[test]
fn btf_and_dwarf_do_not_differ() {
    let source = "struct list { struct list *next, *prev; };
        struct s { char a; int f:3, g:9; struct list l[2]; union { int x; long y; }; } s;
        struct q { int a; } __attribute__((aligned(64))) q;";
    let place = Place::new();
    place.compile("old", source, &["-g", "-c"]);
    place.compile("object", source, &["-g0", "-gbtf", "-c"]);
    let mut command = std::process::Command::new("objcopy");
    command
        .arg("--dump-section")
        .arg(format!(".BTF={}", place.path("new").display()));
    command.arg(place.path("object"));
    assert!(crate::common::start(&mut command).wait().unwrap().success());
    let ended = place.run(&["diff", "old", "new", "--exit-code"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(" 3 the same"), "{ended:?}");
}

//! Unnamed members of tagged structs in C (`-fms-extensions`), and base classes of C++, in every
//! command that reads layouts.

use crate::common::{Ended, KERNEL_FLAGS, Place, trace};
use relayout_profile::AccessKind;
use serde_json::Value;

const COUNTERS: &str = "struct counters { void *freelist; unsigned long count; };";
const SLAB: &str = "struct slab {
	unsigned long flags;
	struct counters;
	union { struct { struct counters; } inner; long whole; };
	int last;
} slab;";

/// A place with the object `slab.o` of this source.
fn place(name: &str, source: &str) -> Place {
    let place = Place::new();
    place.compile(name, source, &["-g", "-c", "-fms-extensions", "-w"]);
    place
}

#[track_caller]
fn succeeded(ended: &Ended) -> &str {
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    &ended.stdout
}

#[test]
fn show_json_has_the_members_inside() {
    let place = place("slab.o", &format!("{COUNTERS}\n{SLAB}"));
    let ended = place.run_words("show slab.o slab --json");
    let document: Value = serde_json::from_str(succeeded(&ended)).unwrap();
    let member = &document["types"][0]["members"][1];
    assert_eq!(member["name"], Value::Null, "{document:#}");
    assert_eq!(member["type"], "struct counters");
    assert_eq!(member["members"][1]["name"], "count");
    assert_eq!(member["members"][1]["offset"], 16);
    // Members of an anonymous struct are those of the struct around it.
    let ended = place.run_words("show slab.o --contains counters --sizes");
    assert_eq!(succeeded(&ended), "slab\t48\t0\n");
}

/// A base class is no anonymous member: its members are not listed again.
#[test]
fn show_json_of_a_base_class() {
    let place = Place::new();
    place.write(
        "derived.cc",
        "struct base { int a; }; struct derived : base { int b; } d;",
    );
    let source = place.path("derived.cc");
    place.compile(
        "derived.o",
        "",
        &["-g", "-c", "-x", "c++", &source.to_string_lossy()],
    );
    let text = place.run_words("show derived.o derived");
    assert!(
        succeeded(&text).starts_with("struct derived : base {\n"),
        "{text:?}"
    );
    let ended = place.run_words("show derived.o derived --json");
    let document: Value = serde_json::from_str(succeeded(&ended)).unwrap();
    let member = &document["types"][0]["members"][0];
    assert_eq!(
        (&member["type"], &member["members"]),
        (&"struct base".into(), &Value::Null)
    );
}

/// Taking members out into a tagged struct moves nothing, and a change inside of it is a change of
/// the members of the struct around it.
#[test]
fn diff_sees_the_members_inside() {
    let flat = SLAB.replace(
        "	struct counters;\n",
        "	void *freelist; unsigned long count;\n",
    );
    let place = place("old.o", &format!("{COUNTERS}\n{flat}"));
    let flags = ["-g", "-c", "-fms-extensions", "-w"];
    place.compile("new.o", &format!("{COUNTERS}\n{SLAB}"), &flags);
    let ended = place.run_words("diff old.o new.o --exit-code");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let longer = COUNTERS.replace("void *freelist;", "void *freelist; long added;");
    place.compile("longer.o", &format!("{longer}\n{SLAB}"), &flags);
    let ended = place.run_words("diff new.o longer.o slab");
    insta::assert_snapshot!("unnamed_members_diff", succeeded(&ended));
}

#[test]
fn check_names_the_members_inside() {
    let place = place("slab.o", &format!("{COUNTERS}\n{SLAB}"));
    place.write(
        "relayout.toml",
        "[[type]]\nname = \"slab\"\nat = { count = 16 }\nsame_line = [\"flags\", \"freelist\"]\n\
         different_lines = [\"count\", \"last\"]\n",
    );
    let ended = place.run_words("check slab.o");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    insta::assert_snapshot!("unnamed_members_check", ended.stdout);
}

const HOT: &str = "\
struct counters {
	long first;
	long second;
};
struct hot {
	long writes;
	struct counters;
	char name[24];
	char more[24];
	char rest[24];
};
struct hot hot __attribute__((aligned(64)));
";

/// A place with a recording in which one CPU reads what another one stores beside it.
fn recorded() -> Place {
    let place = Place::new();
    let flags = [KERNEL_FLAGS, &["-fms-extensions"]].concat();
    place.compile("vmlinux", HOT, &flags);
    let steps = [
        (0, AccessKind::Read, 8),
        (0, AccessKind::Read, 16),
        (1, AccessKind::Write, 0),
    ];
    trace::write(&place, "p", "vmlinux", "hot", &[steps.repeat(400)]);
    place
}

/// One that is in the way moves as it is declared, and not into the members of its struct.
#[test]
fn a_patch_moves_the_declaration() {
    let place = recorded();
    std::fs::create_dir(place.path("tree")).unwrap();
    place.write("tree/vmlinux.c", HOT);
    let ended = place.run_words("advise p hot --source tree --keep writes --patch mail.patch");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let patch = std::fs::read_to_string(place.path("mail.patch")).unwrap();
    let changed = patch.lines().filter(|line| {
        let changed = line.strip_prefix(['+', '-']).unwrap_or_default();
        changed.starts_with('\t')
    });
    let changed: Vec<&str> = changed.collect();
    assert!(changed.contains(&"-\tstruct counters;"), "{patch}");
    assert!(changed.contains(&"+\tstruct counters;"), "{patch}");
    assert!(!patch.contains("-\tlong first"), "{patch}");
}

/// Layouts name it by its tag, or by a member inside.
#[test]
fn what_if_takes_it_by_tag_and_by_member() {
    let place = recorded();
    let c = "struct hot {\n\tlong writes;\n\tchar name[24], more[24], rest[24];\n\
             \tstruct counters;\n};\n";
    let pahole = "struct hot {\n\tlong int                   writes;               /*     0     8 */\n\
                  \tchar                       name[24];             /*     8    24 */\n\
                  \tchar                       more[24];             /*    32    24 */\n\
                  \tchar                       rest[24];             /*    56    24 */\n\
                  \tstruct counters            ;                     /*    80    16 */\n};\n";
    for layout in [c, pahole, "writes\nname\nmore\nrest\nfirst\n"] {
        place.write("given", layout);
        let ended = place.run_words("what-if p hot --layout given --json");
        let scored: Value = serde_json::from_str(succeeded(&ended)).unwrap();
        let given = &scored["given"];
        assert!(
            scored["current"]["transfers"].as_u64() > Some(100),
            "{scored:#}"
        );
        assert!(given["transfers"].as_u64() < Some(10), "{scored:#}");
        assert_eq!(given["size"], 96);
    }
}

//! Tests of the emitted assertions with compilers: C and C++, 64 and 32 bits, both output forms.
//! The compiler accepts the asserted layout and rejects another layout.

use crate::compilers::{C, CPP, Project, Target};
use relayout_check::emit::EmitForm;
use relayout_check::{
    KnownType, LayoutLock, LockRecord, MachineArchitecture, RecordedHotMember, RecordedType,
};

const HEADER: &str = "
struct list { struct list *next, *prev; };
struct lock { int count; struct list waiters; };
union word { long whole; char parts[sizeof(long)]; };
struct task {
	long state;
	struct lock lock;
	struct { int pid; int tgid; };
	char comm[16];
	struct list lists[3];
	unsigned int flag:1;
	union word word;
	long hot __attribute__((aligned(64)));
	char tail[];
} __attribute__((aligned(64)));
typedef struct { long a; int b; } pair_t;
";

const CONFIG: &str = r#"
[[type]]
name = "task"
size_max = 192
align = 64
at = { pid = 32, "lock.waiters.next" = 16 }
aligned = { hot = 64 }
same_line = [["state", "lock.count"], ["pid", "tgid"]]
within_line = [["state", "lock", "pid"]]
different_lines = [["hot", "pid"], ["lists[2].next", "hot"]]
different_pairs = [["state", "hot"]]
no_straddle = ["comm", "tail", "lists[1]"]

[[type]]
name = "pair_t"
size = 16
at = { b = 8 }

[[type]]
name = "word"
size = 8
"#;

/// Change of the header, and true if the change violates the assertions.
const CHANGES: [(&str, &str, bool); 10] = [
    // No change, and a change that keeps the layout.
    ("long state;", "long state; /* as ever */", false),
    ("int pid; int tgid;", "int tgid; int pid;", true),
    // New member that moves later members.
    ("long state;", "long state; long pushed[8];", true),
    ("struct lock lock;", "struct lock lock; long pushed;", true),
    // New member that fills the hole after `lock.count`, before the list.
    ("int count;", "int count; char filler;", false),
    ("long hot __attribute__((aligned(64)));", "long hot;", true),
    ("char tail[];", "char large[128];", true),
    ("char comm[16];", "char comm[48];", true),
    ("int b; } pair_t", "long b; long c; } pair_t", true),
    (
        "char parts[sizeof(long)]",
        "char parts[sizeof(long) + 1]",
        true,
    ),
];

#[test]
fn accepted_as_it_is_and_refused_when_broken() {
    for form in [EmitForm::StaticAssert, EmitForm::Kernel] {
        for target in Target::all() {
            // The kernel is written in C.
            if form == EmitForm::Kernel && target.language == CPP {
                continue;
            }
            let wide = Target::wide(target.language);
            let emitted = Project::new(HEADER).emit(&wide, CONFIG, form);
            Project::new(HEADER).accepts(&target, &emitted);
            for (from, to, breaks) in CHANGES {
                let changed = HEADER.replace(from, to);
                assert_ne!(changed, HEADER, "{from}");
                let project = Project::new(&changed);
                if !breaks {
                    project.accepts(&target, &emitted);
                } else if target == wide {
                    project.refuses(&target, &emitted);
                }
            }
        }
    }
}

#[test]
fn relations_are_asserted_on_32_bits_too_and_numbers_are_not() {
    let config = "[[type]]\nname = \"task\"\nat = { pid = 32 }\nsame_line = [\"state\", \"pid\"]\n";
    let wide = Target::wide(C);
    for form in [EmitForm::StaticAssert, EmitForm::Kernel] {
        let emitted = Project::new(HEADER).emit(&wide, config, form);
        for target in Target::all()
            .into_iter()
            .filter(|t| t.language == C && *t != wide)
        {
            let project = Project::new(&HEADER.replace("long state;", "long state, pushed[16];"));
            if target.is_narrow {
                // `pid` has another offset here. A guard limits the offset claim to 64 bits.
                Project::new(HEADER).accepts(&target, &emitted);
            }
            project.refuses(&target, &emitted);
        }
    }
}

#[test]
fn numbers_that_were_seen_on_both_are_asserted_on_both() {
    let narrow = Target::all().into_iter().find(|target| target.is_narrow);
    let narrow = narrow.expect("a compiler for 32 bits is among the targets");
    let header = "struct wire { int a; int b; };\n";
    let config = "[[type]]\nname = \"wire\"\nsize = 8\nat = { b = 4 }\n";
    let project = Project::new(header);
    let emitted = project.emit_for(
        &[Target::wide(C), narrow.clone()],
        config,
        EmitForm::StaticAssert,
    );
    assert!(!emitted.contains("__SIZEOF_POINTER__"), "{emitted}");
    let longer = Project::new(&header.replace("int b;", "int x; int b;"));
    longer.refuses(&narrow, &emitted);
    longer.refuses(&Target::wide(C), &emitted);
}

#[test]
fn classes_with_scopes_bases_and_templates() {
    let header = "
namespace net {
struct Base { long id; };
class Socket : public Base {
public:
	int state; char buffer[72];
	long &peer;
	struct Stats { long sent, received; } stats;
	Socket(long &p) : peer(p) {}
};
template <typename T, int N> struct Ring { T slots[N]; long head; };
typedef Ring<int, 4> Small;
static Ring<int, 4> ring __attribute__((unused));
}
";
    let config = r#"
[[type]]
name = "net::Socket"
same_line = [["state", "id"]]
different_lines = [["id", "stats.received"]]
no_straddle = ["peer"]
size_max = 120
[[type]]
name = "Stats"
within_line = [["sent", "received"]]
[[type]]
name = "Ring<int, 4>"
at = { head = 16 }
"#;
    let project = Project::new(header);
    for target in Target::all().into_iter().filter(|t| t.language == CPP) {
        let emitted = project.emit(&Target::wide(CPP), config, EmitForm::StaticAssert);
        assert!(emitted.contains("struct net::Socket::Stats"), "{emitted}");
        project.accepts(&target, &emitted);
        let moved = Project::new(&header.replace("int state;", "char pad[64]; int state;"));
        moved.refuses(&target, &emitted);
    }
    let emitted = project.emit(&Target::wide(CPP), config, EmitForm::StaticAssert);
    Project::new(&header.replace("T slots[N]", "T slots[N + 2]"))
        .refuses(&Target::wide(CPP), &emitted);
}

#[test]
fn groups_of_the_kernel() {
    let header = "
struct sock {
	long flags;
	__cacheline_group_begin(rx) __attribute__((aligned(64)));
	int drops; int peek; void *dst;
	__cacheline_group_end(rx);
	long other;
};
";
    let config = "[[type]]\nname = \"sock\"\nwithin_line = [\"drops\", \"peek\", \"dst\"]\n";
    let project = Project::new(header);
    let emitted = project.emit(&Target::wide(C), config, EmitForm::Kernel);
    for line in [
        "\tCACHELINE_ASSERT_GROUP_MEMBER(struct sock, rx, peek);\n",
        "\tCACHELINE_ASSERT_GROUP_SIZE(struct sock, rx, SMP_CACHE_BYTES);\n",
    ] {
        assert!(emitted.contains(line), "{emitted}");
    }
    for target in Target::all()
        .into_iter()
        .filter(|target| target.language == C)
    {
        project.accepts(&target, &emitted);
        let wide = Target::wide(C);
        let out = "	long other;";
        // The member leaves its group, but stays on its cache line.
        let left = header
            .replace("int peek;", "")
            .replace(out, "int peek; long other;");
        if target == wide {
            Project::new(&left).refuses(&target, &emitted);
        }
        let grown = header.replace("int peek;", "char grown[80]; int peek;");
        Project::new(&grown).refuses(&target, &emitted);
    }
    // Without marks, the text contains the reason.
    let unmarked = header.replace(
        "__cacheline_group_begin(rx) __attribute__((aligned(64)));",
        "",
    );
    let unmarked = Project::new(&unmarked.replace("__cacheline_group_end(rx);", ""));
    let emitted = unmarked.emit(&Target::wide(C), config, EmitForm::Kernel);
    assert!(
        emitted.contains("sock has no __cacheline_group markers"),
        "{emitted}"
    );
    unmarked.accepts(&Target::wide(C), &emitted);
}

#[test]
fn sections_are_guarded_by_their_conditions() {
    let header = "struct s { long a; };\n#ifdef CONFIG_BIG\nstruct big { long a; };\n#endif\n";
    let config = r#"
[configuration.big]
kconfig = ["CONFIG_BIG=y"]
[configuration.other]
[[section]]
configuration = ["big"]
[[section.type]]
name = "big"
size = 8
[[section]]
not_configuration = ["other"]
machine = ["x86_64"]
[[section.type]]
name = "s"
size = 8
[[section]]
files = ["*"]
[[section.type]]
name = "s"
size_max = 9
[[section]]
pointer_size = 4
[[section.type]]
name = "s"
size = 4
"#;
    let wide = Target::wide(C);
    let with_big = Project::new(&format!("#define CONFIG_BIG 1\n{header}"));
    let emitted = with_big.emit(&wide, config, EmitForm::StaticAssert);
    with_big.accepts(&wide, &emitted);
    // Without the option, the type does not exist.
    Project::new(header).accepts(&wide, &emitted);
    Project::new(&format!(
        "#define CONFIG_BIG 1\n{}",
        header.replace("struct big {", "struct big { int x;")
    ))
    .refuses(&wide, &emitted);
    let other = "#define RELAYOUT_CONFIGURATION_OTHER\n";
    let larger = header.replace("struct s {", "struct s { int x;");
    Project::new(&larger).refuses(&wide, &emitted);
    Project::new(&format!("{other}{larger}")).accepts(&wide, &emitted);
    for part in [
        "RELAYOUT_CONFIGURATION_OTHER.",
        "not asserted: C cannot ask for the file's name",
        "applies to none of the files given",
    ] {
        assert!(emitted.contains(part), "{part} in\n{emitted}");
    }
}

#[test]
fn what_c_cannot_ask_becomes_a_comment() {
    let header = "struct s { int a; unsigned b:3; int c; int d:32; };\n";
    let config = r#"
[[type]]
name = "s"
same_line = ["a", "b", "d"]
at = { c = 8, none = 1 }
optional = false
[[type]]
name = "t*"
size = 1
[[type]]
name = "s"
size_max = 16
optional = true
[[type]]
name = "s"
size = 1
align = 4
[[waiver]]
type = "s"
rule = "size"
reason = "grows */ until then"
expires = 2026-02-01
"#;
    let project = Project::new(header);
    let wide = Target::wide(C);
    let emitted = project.emit(&wide, config, EmitForm::StaticAssert);
    project.accepts(&wide, &emitted);
    for part in [
        "not asserted (same_line): b is a bit-field, which has no offset in C",
        "not asserted (same_line): d is a bit-field, which has no offset in C",
        "at: s has no member `none`",
        "has no type `t*`",
        "not asserted: it is optional",
        "waived until 2026-02-01: grows * / until then",
    ] {
        assert!(
            emitted.replace("\n * ", " ").contains(part),
            "{part} in\n{emitted}"
        );
    }
    assert!(emitted.contains("alignof(struct s) >= 4"), "{emitted}");
}

/// A struct whose objects begin in the middle of a cache line: `a` and `b` are on the first line,
/// `c` and `d` on the second, `e` on the fourth.
const RECORDED: &str = "
struct s {
	long a; int b; char name[56];
	long c; struct { long first, second; } d;
	char rest[64];
	long e;
};
";

const RECORDED_CONFIG: &str = "[configuration.fast]\nkconfig = [\"CONFIG_BIG=y\"]\n\
    [configuration.slow]\nkconfig = [\"CONFIG_BIG=n\"]\n\
    [[type]]\nname = \"s\"\nas_recorded = ";

fn lock_of_recorded() -> LayoutLock {
    let hot = |path: &str, offset, size| RecordedHotMember {
        path: path.to_owned(),
        offset,
        size,
        ..RecordedHotMember::default()
    };
    let record = LockRecord {
        configurations: vec!["fast".to_owned()],
        machine: Some(MachineArchitecture::X86_64),
        pointer_bytes: Some(8),
        types: vec![RecordedType {
            line_bytes: 64,
            phase: 32,
            hot: vec![
                hot("a", 0, 8),
                hot("b", 8, 4),
                hot("c", 72, 8),
                hot("d", 80, 16),
                hot("e", 160, 8),
            ],
            layout: KnownType {
                name: "s".to_owned(),
                ..KnownType::default()
            },
        }],
        ..LockRecord::default()
    };
    LayoutLock {
        records: vec![record],
    }
}

fn in_configuration(text: &str) -> Project {
    Project::new(&format!("#define CONFIG_BIG 1\n{text}"))
}

/// Emits the rule `as_recorded = how` for a wide target.
fn emit_as_recorded(how: &str, form: EmitForm) -> String {
    Project::new(RECORDED).emit_recorded(
        &[Target::wide(C)],
        &format!("{RECORDED_CONFIG}{how}\n"),
        Some(&lock_of_recorded()),
        form,
    )
}

#[test]
fn recorded_lines_are_asserted_where_they_were_recorded() {
    let wide = Target::wide(C);
    let emitted = emit_as_recorded("true", EmitForm::StaticAssert);
    in_configuration(RECORDED).accepts(&wide, &emitted);
    for (from, to, breaks) in [
        // Changes within a line; then `d` straddles, or leaves the line of `c`; then other lines,
        // and one line.
        ("long a; int b;", "int b; long a;", false),
        ("long c; struct", "long c, more; struct", true),
        ("long c; struct", "long c, more[4]; struct", true),
        ("char name[56];", "char name[20];", false),
        ("char name[56];", "char name[4];", true),
        ("char rest[64];", "char rest[16];", false),
        ("long a; int b;", "long a; char gap[32]; int b;", true),
    ] {
        let changed = in_configuration(&RECORDED.replace(from, to));
        match breaks {
            true => changed.refuses(&wide, &emitted),
            false => changed.accepts(&wide, &emitted),
        }
        // The lock file has no record of the other configuration.
        Project::new(&RECORDED.replace(from, to)).accepts(&wide, &emitted);
    }
}

#[test]
fn recorded_offsets_are_asserted_where_they_were_recorded() {
    let wide = Target::wide(C);
    let emitted = emit_as_recorded("\"offsets\"", EmitForm::Kernel);
    in_configuration(RECORDED).accepts(&wide, &emitted);
    in_configuration(&RECORDED.replace("long a; int b;", "int b; long a;"))
        .refuses(&wide, &emitted);
    // The lock file has no record of narrower pointers or other machines.
    for target in Target::all()
        .into_iter()
        .filter(|target| target.is_narrow && target.language == C)
    {
        in_configuration(RECORDED).accepts(&target, &emitted);
    }
    let none = Project::new(RECORDED).emit(
        &wide,
        &format!("{RECORDED_CONFIG}\"offsets\"\n"),
        EmitForm::Kernel,
    );
    assert!(
        none.contains("as_recorded: the lock file has no hot members of s"),
        "{none}"
    );
}

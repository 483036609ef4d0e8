//! `relayout cc` is the compiler, but for what it adds.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::common::programs::{data, recording_place};
use crate::common::{Ended, Place, json, start};
use relayout_testkit::require_programs;
use serde_json::Value;

const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// A folder with `a.c`, and `b.c` that has an error.
fn place() -> Place {
    let place = recording_place();
    place.write("a.c", "extern long x; long f(long *p) { return *p + x; }\n");
    place.write("b.c", "int f(void) { return nonsense; }\n");
    place.write(
        "m.c",
        "long x; long f(long *); int main(void) { return f(&x); }\n",
    );
    place
}

fn with_each_compiler(check: impl Fn(&Place, &str)) {
    require_programs(&COMPILERS);
    for compiler in COMPILERS {
        check(&place(), compiler);
    }
}

#[track_caller]
fn succeeds(place: &Place, words: &str) -> Ended {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
    ended
}

/// Names that an object or program refers to or defines.
fn symbols(place: &Place, file: &str) -> String {
    let ended = place.other("/usr/bin/nm", file);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

/// The libraries that a program asks for.
fn needs_runtime(place: &Place, file: &str) -> bool {
    let ended = place.other("/usr/bin/readelf", &format!("-d {file}"));
    ended
        .stdout
        .lines()
        .any(|l| l.contains("NEEDED") && l.contains("librelayout_rt.so"))
}

/// A link is one word, for builds that do not take `relayout cc` for a compiler.
#[test]
fn links_are_compilers() {
    require_programs(&["gcc", "g++"]);
    let place = place();
    fs::create_dir(place.path("links")).unwrap();
    let made = succeeds(&place, "cc --relayout-links links").stdout;
    assert_eq!(made, "links/relayout-cc\nlinks/relayout-c++\n");
    let link = |name: &str, words: &str| place.other(place.path(name).to_str().unwrap(), words);
    for (name, compiler) in [("links/relayout-cc", "gcc"), ("links/relayout-c++", "g++")] {
        for words in ["-dumpmachine", "-print-prog-name=ld", "--version"] {
            let expect = place.other(&format!("/usr/bin/{compiler}"), words).stdout;
            let said = link(name, words).stdout;
            // gcc tells by which name it was called.
            let tail = |text: &str| text.split_once(' ').map(|(_, tail)| tail.to_owned());
            match words {
                "--version" => assert_eq!(tail(&said), tail(&expect)),
                _ => assert_eq!(said, expect),
            }
        }
    }
    let linked = link("links/relayout-cc", "a.c m.c -o program");
    assert_eq!(linked.code, Some(0), "{linked:?}");
    assert!(needs_runtime(&place, "program"));
    // Again is as well; a file of the user's stays.
    succeeds(&place, "cc --relayout-links links");
    fs::create_dir(place.path("own")).unwrap();
    place.write("own/relayout-c++", "");
    let refused = place.said("cc --relayout-links own");
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("own/relayout-c++ is there, and no link"),
        "{refused:?}"
    );
}

#[test]
fn answers_are_those_of_the_compiler() {
    with_each_compiler(|place, compiler| {
        for words in [
            "",
            "--version",
            "-dumpmachine",
            "-dumpversion",
            "-print-search-dirs",
            "-print-prog-name=ld",
            "-print-file-name=libc.so",
            "--help",
            "-v",
            "-E a.c",
            "-E -dM a.c",
            "-M a.c",
            "-MM a.c m.c",
            "-c b.c",
            "-fsyntax-only -Wall -Werror a.c",
            "-c none.c",
            "--no-such-option -c a.c",
            "-o",
        ] {
            let own = place.other(&format!("/usr/bin/{compiler}"), words);
            let ours = place.said(&format!("cc -- {compiler} {words}"));
            let code_and_stdout = |ended: &Ended| (ended.code, ended.stdout.clone());
            assert_eq!(
                code_and_stdout(&ours),
                code_and_stdout(&own),
                "{compiler} {words}: {}",
                ours.stderr
            );
            // Clang says by which path it was started.
            let path = |text: &str| text.replace(&format!("/usr/bin/{compiler}"), compiler);
            assert_eq!(path(&ours.stderr), path(&own.stderr), "{compiler} {words}");
        }
    });
}

#[test]
fn objects_announce_their_accesses() {
    with_each_compiler(|place, compiler| {
        let cc = format!("cc -- {compiler}");
        for words in [
            "-c a.c -o a.o",
            "-O2 -Wall -Werror -c a.c -o a.o",
            "-MD -MP -c a.c -o a.o",
        ] {
            let ended = succeeds(place, &format!("{cc} {words}"));
            assert_eq!((&*ended.stdout, &*ended.stderr), ("", ""), "{words}");
            assert!(symbols(place, "a.o").contains("U __tsan_read8"), "{words}");
        }
        place.write("arguments", "-O1 -c a.c\n-o 'with blank.o'");
        succeeds(place, &format!("{cc} @arguments"));
        assert!(place.path("with blank.o").is_file());
        succeeds(place, &format!("{cc} -S a.c -o a.s"));
        succeeds(place, &format!("{cc} -c a.s -o s.o"));
        assert!(symbols(place, "s.o").contains("U __tsan_read8"));
        let macros = succeeds(place, &format!("{cc} -dM -E a.c")).stdout;
        assert!(!macros.contains("__SANITIZE_THREAD__"), "{macros}");
    });
}

#[test]
fn programs_and_libraries_load_the_runtime() {
    with_each_compiler(|place, compiler| {
        let cc = format!("cc -- {compiler}");
        for (words, file) in [
            ("a.c m.c -o one_step", "one_step"),
            ("-c a.c m.c", ""),
            ("a.o m.o -o linked", "linked"),
            ("-no-pie -fno-pie a.c m.c -o fixed", "fixed"),
            ("-pie -fPIE a.c m.c -o pie", "pie"),
            ("-Wl,--as-needed a.o m.o -o as_needed", "as_needed"),
            (
                "-shared -fPIC -Wl,-z,defs -Dextern= a.c -o liba.so",
                "liba.so",
            ),
            ("m.o -L. -la -Wl,-rpath,. -o with_library", "with_library"),
        ] {
            let ended = succeeds(place, &format!("{cc} {words}"));
            assert_eq!((&*ended.stdout, &*ended.stderr), ("", ""), "{words}");
            if file.is_empty() {
                continue;
            }
            assert!(needs_runtime(place, file), "{compiler} {words}");
            assert!(
                !place.other("/usr/bin/ldd", file).stdout.contains("libtsan"),
                "{words}"
            );
            if !file.ends_with(".so") {
                let ended = place.other(&format!("./{file}"), "");
                assert_eq!(
                    (ended.code, &*ended.stderr),
                    (Some(0), ""),
                    "{compiler} {words}"
                );
            }
        }
        assert_eq!(place.other("/usr/bin/ar", "rcs liba.a a.o").code, Some(0));
        succeeds(place, &format!("{cc} m.o liba.a -o archive"));
        assert_eq!(place.other("./archive", "").code, Some(0));
        succeeds(place, &format!("{cc} -r a.o m.o -o joined.o"));
        succeeds(place, &format!("{cc} joined.o -o joined"));
    });
}

#[test]
fn cxx_is_the_other_compiler() {
    require_programs(&["g++"]);
    let place = place();
    place.write(
        "a.cc",
        "#include <iostream>\nint main() { std::cout << \"hello\\n\"; }\n",
    );
    succeeds(&place, "c++ a.cc -o hello");
    assert_eq!(place.other("./hello", "").stdout, "hello\n");
    assert!(needs_runtime(&place, "hello"));
    let ended = place.ended(place.tool("c++ --version").env("RELAYOUT_CXX", "gcc -Wall"));
    assert_eq!(
        ended.stdout,
        place.other("/usr/bin/gcc", "--version").stdout
    );
}

#[test]
fn reads_standard_input() {
    with_each_compiler(|place, compiler| {
        let mut command = place.tool(&format!("cc -- {compiler} -c -o in.o -x c -"));
        let mut child = start(command.stdin(Stdio::piped()));
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"long f(long *p) { return *p; }\n")
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert!(symbols(place, "in.o").contains("U __tsan_read8"));
    });
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    with_each_compiler(|place, compiler| {
        let check = |words: &str, code, why: &str| {
            let ended = place.said(&format!("cc -- {compiler} {words}"));
            assert_eq!(ended.code, Some(code), "{words}: {ended:?}");
            assert!(ended.stderr.contains(why), "{words}: {ended:?}");
        };
        check("-static a.c m.c", 2, "-static does not go with recording");
        check(
            "-fsanitize=address -c a.c",
            2,
            "-fsanitize=address does not go with recording",
        );
        check("-m32 -c a.c", 2, "-m32 does not go with recording");
    });
    let place = place();
    let ended = place.said("cc --compiler no-such-compiler -c a.c");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("cannot run the compiler no-such-compiler"),
        "{ended:?}"
    );
    let own = env!("CARGO_BIN_EXE_relayout");
    let ended = place.ended(place.tool("cc -c a.c").env("RELAYOUT_CC", own));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let ended = place.ended(
        place
            .tool("cc -c a.c")
            .env("RELAYOUT_CC", format!("{own} cc")),
    );
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("is relayout cc itself"), "{ended:?}");
    place.script("bin/other-cc", "echo some compiler");
    let ended = place.said("cc --compiler other-cc -c a.c");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("neither gcc nor clang"), "{ended:?}");
}

#[test]
fn link_time_optimisation_is_left_out_with_a_note() {
    with_each_compiler(|place, compiler| {
        let cc = format!("cc -- {compiler}");
        let ended = succeeds(place, &format!("{cc} -flto -O2 -c a.c m.c"));
        assert_eq!(ended.stderr, "");
        let ended = succeeds(place, &format!("{cc} -flto a.o m.o -o program"));
        assert!(
            ended
                .stderr
                .starts_with("relayout cc: note: link-time optimisation"),
            "{ended:?}"
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(symbols(place, "a.o").contains("U __tsan_read8"));
    });
}

#[test]
fn help_is_ours_by_its_own_name() {
    let place = Place::new();
    let ended = place.said("help cc");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("make CC=\"relayout cc\""),
        "{ended:?}"
    );
    assert!(
        ended.stdout.lines().all(|line| line.len() <= 100),
        "{ended:?}"
    );
    assert_eq!(place.said("cc --relayout-help").code, Some(0));
}

/// The built program runs, is recorded, and both of its parts are seen in one struct.
#[track_caller]
fn check_project(place: &Place, program: &str) {
    let plain = place.other(program, "");
    assert_eq!(
        (plain.code, &*plain.stdout),
        (Some(0), "200000\n"),
        "{plain:?}"
    );
    let ended = succeeds(place, &format!("record run -o out --yield 50 -- {program}"));
    assert!(ended.stdout.starts_with("200000\nout: "), "{ended:?}");
    let report = succeeds(place, "report out --json").stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let found = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["type"] == "pair");
    let members = &found.unwrap_or_else(|| panic!("{report}"))["members"];
    let names: Vec<_> = members
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["name"])
        .collect();
    assert_eq!(names, ["left", "right"], "{report}");
}

#[test]
fn a_cmake_project_builds_unchanged() {
    require_programs(&["cmake", "make", "gcc", "g++"]);
    let place = place();
    let mut configure = place.command(Path::new("/usr/bin/cmake"), &["-B", "build", "-S"]);
    place.with_system(
        configure
            .arg(data("cmake"))
            .env("CC", "relayout cc")
            .env("CXX", "relayout c++"),
    );
    let ended = place.ended(&mut configure);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = place.other("/usr/bin/make", "-C build");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_project(&place, "build/counting");
}

#[test]
fn an_autotools_project_builds_unchanged() {
    let tools = ["autoreconf", "automake", "libtoolize", "make", "gcc", "g++"];
    require_programs(&tools);
    let place = place();
    for folder in ["autotools", "parts"] {
        for name in crate::common::names(&data(folder)) {
            fs::copy(data(folder).join(&name), place.path(&name)).unwrap();
        }
    }
    let ended = place.other("/usr/bin/autoreconf", "-i");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut configure = place.command(
        Path::new("./configure"),
        &["CC=relayout cc", "CXX=relayout c++"],
    );
    place.with_system(&mut configure);
    let ended = place.ended(&mut configure);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = place.other("/usr/bin/make", "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    check_project(&place, "./counting");
}

/// Names of the functions that the report of a recording gives as places.
fn functions_in_report(place: &Place) -> BTreeSet<String> {
    fn gather(value: &Value, functions: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                functions.extend(
                    members
                        .get("function")
                        .and_then(Value::as_str)
                        .map(Into::into),
                );
                members
                    .values()
                    .for_each(|member| gather(member, functions));
            }
            Value::Array(items) => items.iter().for_each(|item| gather(item, functions)),
            _ => {}
        }
    }
    let mut functions = BTreeSet::new();
    gather(&json(place, "report out --top 0"), &mut functions);
    functions
}

/// Copies, fills and comparisons by the C library's functions are seen, at the place of the call,
/// whatever code the compiler would make of it: calls at a function's end, too.
#[test]
fn library_calls_of_constant_size_are_seen() {
    require_programs(&["gcc", "g++", "clang", "clang++"]);
    let place = recording_place();
    let source = fs::read_to_string(data("library_calls.c")).unwrap();
    place.write("library_calls.c", &source);
    let (both, cxx) = source.rsplit_once("#ifdef __cplusplus\nKIND").unwrap();
    let kinds = |text: &str| {
        let names = text
            .split("KIND(")
            .skip(1)
            .filter_map(|rest| rest.split_once(','));
        let names = names.map(|(name, _)| format!("kind_{name}"));
        names
            .filter(|name| name != "kind_name")
            .collect::<BTreeSet<String>>()
    };
    let (both, cxx) = (kinds(both), kinds(&format!("KIND{cxx}")));
    assert_eq!((both.len(), cxx.len()), (19, 3));
    for compiler in [
        "cc -- gcc -O0",
        "cc -- gcc -O1",
        "cc -- gcc -Os",
        "cc -- gcc -O2 -D_FORTIFY_SOURCE=2",
        "cc -- gcc -O3 -mavx2",
        "c++ -- g++ -x c++ -O2",
        "c++ -- g++ -x c++ -O2 -D_FORTIFY_SOURCE=2 -std=c++20",
        "cc -- clang -O2",
        "c++ -- clang++ -x c++ -O2 -D_FORTIFY_SOURCE=2",
    ] {
        let words =
            format!("{compiler} -pthread -Wall -Werror -Wno-deprecated library_calls.c -o calls");
        succeeds(&place, &words);
        succeeds(&place, "record run -q --force -o out -- ./calls");
        let mut expect = both.clone();
        if compiler.starts_with("c++") {
            expect.extend(cxx.clone());
        }
        let seen = functions_in_report(&place);
        let missing: Vec<&String> = expect.difference(&seen).collect();
        assert!(missing.is_empty(), "{compiler}: {missing:?}");
    }
}

/// Constants that the compiler itself computes stay constants.
#[test]
fn constant_expressions_compile() {
    require_programs(&["g++"]);
    let place = recording_place();
    place.write(
        "constants.cc",
        "#include <bits/stdc++.h>\n\
         constexpr bool same(const char *a, const char *b) { return __builtin_memcmp(a, b, 3) == 0; }\n\
         static_assert(same(\"abc\", \"abc\"), \"\");\n\
         static_assert(!same(\"abc\", \"abd\"), \"\");\n\
         #if __cplusplus >= 201703L\n\
         static_assert(std::string_view(\"abcd\").find(\"cd\") == 2);\n\
         #endif\n\
         bool same_now(const char *a, const char *b) { return same(a, b); }\n",
    );
    for flags in ["-std=c++11", "-std=c++17", "-std=c++20 -D_FORTIFY_SOURCE=2"] {
        let words = format!("c++ -O2 -Wall -Wextra -pedantic -Werror {flags} -c constants.cc");
        let ended = succeeds(&place, &words);
        assert_eq!(ended.stderr, "", "{flags}");
    }
}

/// A function that ends by an atomic operation is the place of the operation, and not its caller.
#[test]
fn operations_at_the_end_of_functions_have_their_own_place() {
    let files = [
        (
            "counter.h",
            "#include <stdatomic.h>\nstruct counters { atomic_long hits; atomic_long misses; };\n",
        ),
        (
            "counter.c",
            "#include \"counter.h\"\n\
             void count_hit(struct counters *c) { atomic_fetch_add(&c->hits, 1); }\n\
             long count_miss(struct counters *c) { return atomic_fetch_sub(&c->misses, 1); }\n",
        ),
        (
            "main.c",
            "#include <pthread.h>\n#include \"counter.h\"\n\
             void count_hit(struct counters *);\nlong count_miss(struct counters *);\n\
             static struct counters counters __attribute__((aligned(64)));\n\
             static pthread_barrier_t turn;\n\
             static void *hit(void *arg) { for (int i = 0; i < 50; i++) {\n\
             count_hit(&counters); pthread_barrier_wait(&turn); pthread_barrier_wait(&turn); } return arg; }\n\
             static void *miss(void *arg) { for (int i = 0; i < 50; i++) {\n\
             pthread_barrier_wait(&turn); count_miss(&counters); pthread_barrier_wait(&turn); } return arg; }\n\
             int main(void) {\n\
             pthread_barrier_init(&turn, 0, 2);\n\
             pthread_t a, b; pthread_create(&a, 0, hit, 0); pthread_create(&b, 0, miss, 0);\n\
             pthread_join(a, 0); pthread_join(b, 0); return 0; }\n",
        ),
    ];
    with_each_compiler(|place, compiler| {
        for (name, text) in files {
            place.write(name, text);
        }
        let cc = format!("cc -- {compiler} -O2 -pthread");
        let check = |program: &str| {
            succeeds(
                place,
                &format!("record run -q --force --yield 50 -o out -- ./{program}"),
            );
            let seen = functions_in_report(place);
            for function in ["count_hit", "count_miss"] {
                assert!(seen.contains(function), "{compiler} {program}: {seen:?}");
            }
        };
        succeeds(place, &format!("{cc} main.c counter.c -o counting"));
        check("counting");
        // A plain program that loads a library with such code.
        succeeds(
            place,
            &format!("{cc} -shared -fPIC counter.c -o libcounter.so"),
        );
        let plain = format!(
            "-O2 -g -pthread main.c -o plain -L{0} -lcounter -Wl,-rpath,{0}",
            place.path("").display()
        );
        let built = place.other(&format!("/usr/bin/{compiler}"), &plain);
        assert_eq!(built.code, Some(0), "{built:?}");
        check("plain");
    });
}

/// GCC warns at each fence that ThreadSanitizer does not understand it. The runtime need not.
#[test]
fn fences_are_no_errors() {
    with_each_compiler(|place, compiler| {
        place.write(
            "fence.c",
            "#include <stdatomic.h>\nint ready, data;\n\
             void put(int v) { data = v; atomic_thread_fence(memory_order_release); ready = 1; }\n\
             int main(void) { put(3); return ready - 1; }\n",
        );
        let words = format!("cc -- {compiler} -O2 -Wall -Wextra -Werror fence.c -o fence");
        assert_eq!(succeeds(place, &words).stderr, "");
        assert!(symbols(place, "fence").contains("__tsan_atomic_thread_fence"));
        assert_eq!(place.other("./fence", "").code, Some(0));
    });
}

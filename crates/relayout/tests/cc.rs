//! `relayout cc` is the compiler, but for what it adds.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use common::programs::{data, recording_place};
use common::{Ended, Place, start};
use relayout_testkit::require_programs;

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
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
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
        for name in common::names(&data(folder)) {
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

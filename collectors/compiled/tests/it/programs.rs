//! Programs of many kinds, and what is recorded of them.

use std::process::Command;

use relayout_profile::RangeKind;

use crate::stand::{BOTH, Bench, Compiler, record, runtime_dir, source};

#[test]
fn signals_in_the_midst() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let run = record(&bench.build("signals.c", &[]), &[]);
        run.check_whole();
        assert_eq!(run.printed_number("ok"), 1);
        let line = run.printed_number("line");
        assert!(run.events(line, line + 8) > 0);
    }
}

#[test]
fn threads_that_come_and_go() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("threads.c", &[]);
    let run = record(&program, &["125", "4"]);
    run.check_whole();
    assert_eq!(run.printed_number("sum"), 1000);
    assert_eq!(run.threads_lost(), 0);
    // 500 threads and the first one have a line each; two increments each.
    assert_eq!(run.map.threads.len(), 501);
    for n in [0, 250, 499] {
        let name = format!("worker {n}");
        let of_name = run.map.threads.iter().filter(|t| t.name == name);
        assert_eq!(of_name.count(), 1, "{name}");
    }
    // More live threads than get contexts of their own at once.
    let run = record(&program, &["1", "100"]);
    run.check_whole();
    assert_eq!(run.printed_number("sum"), 200);
    assert_eq!(run.threads_lost(), 0);
}

#[test]
fn libraries_loaded_late() {
    let bench = Bench::new(Compiler::Gcc);
    let library = bench.instrument("library.c", &["-fPIC"]);
    let library = bench.link(
        "library.c",
        "liblate.so",
        &["-shared", &library.to_string_lossy()],
    );
    let program = bench.build("loads.c", &[]);
    let path = library.to_string_lossy().into_owned();
    let run = record(&program, &[&path]);
    run.check_whole();
    let line = run.printed_number("line");
    assert!(run.accesses(line).1 >= 40_000);
    assert!(run.events(line, line + 8) > 0);
    let module = run.map.modules.iter().find(|m| m.path == path);
    let module = module.expect("a module line");
    assert!((module.start..module.end).contains(&line));
}

#[test]
fn kinds_of_executables() {
    let bench = Bench::new(Compiler::Gcc);
    for (n, flags) in [&["-fPIE", "-pie"][..], &["-fno-pie", "-no-pie"]]
        .iter()
        .enumerate()
    {
        let object = bench.instrument("sharing.c", &flags[..1]);
        let archive = bench.path(&format!("lib{n}.a"));
        let made = Command::new("ar")
            .arg("rcs")
            .arg(&archive)
            .arg(&object)
            .status();
        assert!(made.expect("ar runs").success());
        // `main` is in a static archive.
        let program = bench.link(
            "sharing.c",
            &format!("program{n}"),
            &[flags[1], &archive.to_string_lossy()],
        );
        let run = record(&program, &[]);
        run.check_whole();
        let shared = run.printed_number("shared");
        assert!(run.events(shared, shared + 8) > 0, "{flags:?}");
        let program = run.map.program.as_ref().expect("a module");
        assert_eq!(program.bias == 0, flags[1] == "-no-pie");
    }
}

/// With the flags of README.md, against the standard library as it comes.
#[test]
fn a_rust_program() {
    relayout_testkit::require_rust_toolchain("nightly");
    let dir = tempfile::tempdir().expect("a folder");
    let program = dir.path().join("counters");
    let runtime = runtime_dir();
    let output = Command::new("rustc")
        .args(["+nightly", "--edition=2024", "-O", "-g"])
        .args(["-Cforce-frame-pointers=yes", "-Zsanitizer=thread"])
        .args([
            "-Zexternal-clangrt",
            "-Cunsafe-allow-abi-mismatch=sanitizer",
        ])
        .args(["-Zpre-link-arg=-Wl,--push-state,--no-as-needed"])
        .arg(format!("-Zpre-link-arg=-L{}", runtime.display()))
        .args(["-Zpre-link-arg=-lrelayout_rt"])
        .args(["-Zpre-link-arg=-Wl,--pop-state"])
        .arg(format!("-Zpre-link-arg=-Wl,-rpath,{}", runtime.display()))
        .arg(source("counters.rs"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("rustc starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let run = record(&program, &[]);
    run.check_whole();
    assert_eq!(run.printed_number("sum"), 100_000);
    assert_eq!(run.printed_number("list"), 1564);
    let shared = run.printed_number("shared");
    assert!(run.events(shared, shared + 8) > 0);
    assert!(run.accesses(shared).1 >= 100_000);
    // Rust's allocator is libc's, which the runtime interposes.
    let ranges = &run.program.assembled.profile.ranges;
    assert!(ranges.iter().any(|r| r.kind == RangeKind::Heap));
}

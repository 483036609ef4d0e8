//! Records of memory that threads share.

use relayout_profile::{Addr, RangeKind};

use crate::stand::{BOTH, Bench, Compiler, record, start};

#[test]
fn two_counters_on_a_line_and_a_mutex() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let run = record(&bench.build("sharing.c", &[]), &[]);
        run.check_whole();
        let shared = run.printed_number("shared");
        assert_eq!(run.printed_number("sum"), 200_000);
        assert_eq!(run.printed_number("guarded"), 12_500);
        // Each increment is a load and a store, which clang's flags join.
        let (reads, writes) = run.accesses(shared);
        assert!((200_000..201_000).contains(&reads), "{reads}");
        assert!((200_000..201_000).contains(&writes), "{writes}");
        assert!(
            run.events(shared, shared + 8) > 100,
            "{compiler:?}: {}",
            run.events(shared, shared + 8)
        );
        // The word of the mutex is the first four bytes at 64: twice for each of 12,500 rounds.
        let profile = &run.program.assembled.profile;
        let words = profile
            .counts
            .iter()
            .filter(|row| row.addr == Addr(shared + 64));
        let words: u64 = words
            .inspect(|row| assert_eq!(row.size, 4))
            .map(|row| row.count)
            .sum();
        assert!((20_000..60_000).contains(&words), "{compiler:?}: {words}");
        assert!(run.events(shared + 64, shared + 64) > 0);
        check_heap(&run, shared);
        check_sites(&run);
    }
}

/// Verifies that the object is the one allocation of 192 bytes there, by a call in the program.
fn check_heap(run: &crate::stand::Recorded, shared: u64) {
    let ranges = &run.program.assembled.profile.ranges;
    let heap: Vec<_> = ranges
        .iter()
        .filter(|range| range.kind == RangeKind::Heap && range.start == Addr(shared))
        .collect();
    assert_eq!(heap.len(), 1, "{ranges:?}");
    assert_eq!(heap[0].bytes, 192);
    let caller = heap[0].owner.split(' ').next().expect("a frame");
    let caller = u64::from_str_radix(caller.trim_start_matches("0x"), 16).expect("hex");
    let program = run.map.program.as_ref().expect("a module");
    assert!((program.start..program.end).contains(&caller));
}

/// Verifies that every site is a call in a module.
fn check_sites(run: &crate::stand::Recorded) {
    let sites = &run.program.assembled.profile.sites;
    assert!(!sites.is_empty());
    for site in sites {
        assert!(site.is_call());
        let module = run.map.modules.iter();
        let mut within = module.filter(|m| (m.start..m.end).contains(&site.pc));
        assert!(within.next().is_some(), "{:#x}", site.pc);
    }
}

/// GCC announces the copy of a struct, and then makes it by a call.
#[test]
fn copies_and_fills_are_seen_once() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let flags: &[&str] = match compiler {
            Compiler::Gcc => &["-O2", "-mstringop-strategy=libcall"],
            Compiler::Clang => &["-O2"],
        };
        let run = record(&bench.build("copies.c", flags), &[]);
        run.check_whole();
        let accesses = |name: &str| run.accesses(run.printed_number(name));
        assert_eq!(accesses("source"), (2000, 0), "{compiler:?}");
        for written in ["copy", "filled", "cleared"] {
            assert_eq!(accesses(written), (0, 2000), "{compiler:?}: {written}");
        }
    }
}

#[test]
fn virtual_tables_packed_members_and_new() {
    for compiler in BOTH {
        let bench = Bench::new(compiler);
        let run = record(&bench.build("objects_cxx.cc", &[]), &[]);
        run.check_whole();
        assert_eq!(run.printed_number("caught"), 2);
        assert_eq!(run.printed_number("value"), 3000);
        assert_eq!(run.printed_number("words"), 1000);
        assert_eq!(run.printed_number("hits"), 40_000);
        let shared = run.printed_number("shared");
        // The pointer to the virtual table is read for each call, beside the counters that are
        // written.
        let profile = &run.program.assembled.profile;
        let table: u64 = profile
            .counts
            .iter()
            .filter(|row| row.addr == Addr(shared) && row.size == 8)
            .map(|row| row.count)
            .sum();
        assert!(table > 20_000, "{compiler:?}: {table}");
        let (reads, writes) = run.accesses(run.printed_number("packed"));
        assert!(reads >= 2000 && writes >= 2000, "{reads} {writes}");
        let ranges = &profile.ranges;
        let object = ranges
            .iter()
            .find(|range| range.kind == RangeKind::Heap && range.start == Addr(shared))
            .expect("the object that new made");
        let first = object.owner.split(' ').next().expect("a frame");
        let first = u64::from_str_radix(first.trim_start_matches("0x"), 16).expect("hex");
        let program = run.map.program.as_ref().expect("a module");
        assert!(
            (program.start..program.end).contains(&first),
            "new's caller, not new: {}",
            object.owner
        );
    }
}

#[test]
fn named_objects_operations_and_window() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("objects.c", &[]);
    let run = record(&program, &["window"]);
    run.check_whole();
    let (pair, array) = (run.printed_number("pair"), run.printed_number("array"));
    assert_eq!(
        run.accesses(run.printed_number("outside")),
        (0, 0),
        "outside the window"
    );
    assert!(run.accesses(pair).1 >= 40_000);
    let summary = run.program.assembled.summary.expect("a summary");
    assert_eq!(summary.operations, 800);
    assert_eq!(summary.window_closed, 1);
    let named = |start| {
        let ranges = run.program.assembled.profile.ranges.iter();
        let mut matching = ranges.filter(move |r| r.kind == RangeKind::Named && r.start == start);
        matching.next()
    };
    let object = named(Addr(pair)).expect("the object");
    assert_eq!((&*object.owner, object.bytes), ("struct pair", 16));
    let object = named(Addr(array)).expect("the array");
    assert_eq!(
        (&*object.owner, object.bytes, object.stride),
        ("struct pair", 256, 16)
    );
}

#[test]
fn without_the_runtime_the_header_does_nothing() {
    let bench = Bench::new(Compiler::Gcc);
    for name in ["objects.c", "sharing.c"] {
        let native = bench.build_native(name, &[]);
        assert!(
            std::process::Command::new(native)
                .output()
                .unwrap()
                .status
                .success()
        );
    }
}

#[test]
fn paused_by_the_host() {
    let bench = Bench::new(Compiler::Gcc);
    let mut control = [0; 4096];
    control[std::mem::offset_of!(relayout_shadow::control::RecordingControl, paused)] = 1;
    let run = start(&bench.build("sharing.c", &[]), &[], "", &control).wait();
    run.check_whole();
    assert_eq!(
        run.program.assembled.summary.expect("a summary").accesses,
        0
    );
    assert!(run.program.assembled.profile.lines.is_empty());
}

#[test]
fn all_counts() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("sharing.c", &[]);
    let counted = |options| {
        let run = start(&program, &[], options, &[]).wait();
        run.check_whole();
        let counts: u64 = run
            .program
            .assembled
            .profile
            .counts
            .iter()
            .map(|r| r.count)
            .sum();
        (counts, run.program.assembled.summary.expect("one").accesses)
    };
    let (all, accesses) = counted("counts=all");
    assert_eq!(all, accesses);
    let (shared, accesses) = counted("counts=shared,yield=100");
    assert!(shared < accesses);
}

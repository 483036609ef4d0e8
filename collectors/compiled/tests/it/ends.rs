//! Ends of a program: every kind of exit and signal.

use std::time::Duration;

use relayout_shadow::control::RecordingStage;

use crate::stand::{Bench, Compiler, Recorded, record, start};

fn check(how: &[&str], expect: impl Fn(&Recorded)) {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("ends.c", &["-Wno-infinite-recursion"]);
    let run = record(&program, how);
    run.check_finished();
    let (reads, writes) = run.accesses(run.printed_number("counters"));
    assert!(
        reads > 10_000 && writes > 10_000,
        "{how:?}: {reads} {writes}"
    );
    expect(&run);
}

#[test]
fn orderly() {
    for how in ["exit", "_exit", "_Exit", "quick_exit"] {
        check(&[how], |run| {
            assert_eq!(run.status.code(), Some(0), "{how}")
        });
        check(&[how, "thread"], |run| {
            assert_eq!(run.status.code(), Some(0), "{how} in a thread");
        });
    }
    check(&["-", "return"], |run| assert!(run.status.success()));
}

#[test]
fn by_signals() {
    for (how, signal) in [
        ("abort", libc::SIGABRT),
        ("fault", libc::SIGSEGV),
        ("overflow", libc::SIGSEGV),
        ("raise", libc::SIGTERM),
        ("divide", libc::SIGFPE),
    ] {
        for place in [&[how][..], &[how, "thread"]] {
            check(place, |run| {
                assert_eq!(run.ended_by(), Some(signal), "{how}")
            });
        }
    }
}

#[test]
fn other_programs() {
    for how in ["execve", "execvp"] {
        check(&[how], |run| assert!(run.status.success(), "{how}"));
        check(&[how, "thread"], |run| {
            assert!(run.status.success(), "{how}")
        });
    }
    check(&["no such program"], |run| {
        let (_, writes) = run.accesses(run.printed_number("counters"));
        assert!(
            writes > 110_000,
            "what comes after is recorded too: {writes}"
        );
    });
}

#[test]
fn children_are_not_followed() {
    check(&["children"], |run| {
        assert!(run.status.success());
        assert!(run.others() >= 2, "{}", run.others());
    });
}

#[test]
fn killed_from_outside() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("ends.c", &["-Wno-infinite-recursion"]);
    // Not SIGINT: a shell starts background processes with that signal ignored.
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let running = start(&program, &["wait"], "", &[]);
        std::thread::sleep(Duration::from_millis(2500));
        // SAFETY: our own child, which has not been waited for.
        unsafe { libc::kill(running.child.id() as i32, signal) };
        let run = running.wait();
        assert_eq!(run.ended_by(), Some(signal));
        if signal == libc::SIGKILL {
            assert_eq!(run.stage(), RecordingStage::Recording);
            assert!(run.program.assembled.summary.is_none());
        } else {
            run.check_finished();
        }
        let counters = run.printed_number("counters");
        assert!(
            run.events(counters, counters + 8) > 0,
            "what there was is kept"
        );
    }
}

#[test]
fn a_second_program_of_the_same_recording_is_not_recorded() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("sharing.c", &[]);
    let mut control = [0; 4096];
    let process = std::mem::offset_of!(relayout_shadow::control::RecordingControl, process);
    control[process..process + 4].copy_from_slice(&1u32.to_le_bytes());
    let run = start(&program, &[], "", &control).wait();
    assert!(run.status.success());
    assert_eq!(run.others(), 1);
    assert!(run.map.modules.is_empty());
}

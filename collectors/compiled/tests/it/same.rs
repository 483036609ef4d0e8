//! Programs that must run as without the runtime.

use std::process::Command;

use crate::stand::{BOTH, Bench, Compiler, program_command, record};

/// Compares standard output and the way of ending without the runtime, with it, and while it
/// records.
fn check_with(compiler: Compiler, name: &str, flags: &[&str], arguments: &[&str]) {
    let run = |mut command: Command| {
        let output = command.args(arguments).output().expect("it runs");
        let stdout = String::from_utf8(output.stdout).expect("text");
        (stdout, output.status)
    };
    let bench = Bench::new(compiler);
    let plain = run(Command::new(bench.build_native(name, flags)));
    assert!(plain.0.lines().count() > 0, "{arguments:?} prints nothing");
    let program = bench.build(name, flags);
    let inert = run(program_command(&program));
    assert_eq!(inert, plain, "{compiler:?} {arguments:?}, not recorded");
    let recorded = record(&program, arguments);
    let stderr = &recorded.stderr;
    let ended = (recorded.stdout.clone(), recorded.status);
    assert_eq!(ended, plain, "{compiler:?} {arguments:?}: {stderr}");
    recorded.check_finished();
}

fn check_same(name: &str, flags: &[&str], arguments: &[&str]) {
    for compiler in BOTH {
        check_with(compiler, name, flags, arguments);
    }
}

#[test]
fn results_of_atomics() {
    check_same("atomics.c", &["-mcx16"], &[]);
}

#[test]
fn results_of_the_c_library() {
    check_same("libc.c", &["-fno-builtin"], &[]);
    check_same("libc.c", &["-O2", "-D_FORTIFY_SOURCE=2"], &[]);
}

#[test]
fn cancelled_threads() {
    check_same("cancel.c", &[], &["8"]);
}

/// With frames that the compiler can unwind from any instruction, as C++ does.
#[test]
fn cancelled_threads_with_exceptions() {
    let flags = ["-fexceptions", "-fnon-call-exceptions"];
    check_with(Compiler::Gcc, "cancel.c", &flags, &["8"]);
}

#[test]
fn forked_children() {
    check_same("lives.c", &[], &["forks"]);
}

#[test]
fn spawned_children() {
    check_same("lives.c", &[], &["spawns"]);
}

#[test]
fn daemons() {
    check_same("lives.c", &[], &["daemon"]);
}

#[test]
fn libraries_loaded_in_threads() {
    check_same("lives.c", &[], &["loads"]);
}

#[test]
fn jumps_out_of_signal_handlers() {
    check_same("lives.c", &[], &["jumps"]);
}

#[test]
fn maps_of_gigabytes() {
    check_same("lives.c", &[], &["maps"]);
}

/// A walk over the pages of the address space that the program reserves would take hours.
#[test]
fn address_space_of_petabytes() {
    check_same("lives.c", &[], &["reserves"]);
}

#[test]
fn short_threads() {
    check_with(Compiler::Gcc, "lives.c", &[], &["threads", "5000"]);
}

#[test]
#[ignore = "needs a minute"]
fn a_hundred_thousand_short_threads() {
    check_with(Compiler::Gcc, "lives.c", &[], &["threads", "100000"]);
}

#[test]
fn two_hundred_threads_at_once() {
    check_same("lives.c", &[], &["alive", "200"]);
}

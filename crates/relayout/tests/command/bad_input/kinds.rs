//! Something else than a regular file where one is needed: no command waits for it, and each names
//! it and its kind.

use std::path::Path;
use std::process::Command;

use relayout_profile::AccessKind::Write;

use super::kernel;
use crate::common::{Place, profile, trace};

/// Seconds that a command may take to refuse its input.
const PATIENCE_S: &str = "60";

const RULES: &str = "[[type]]\nname = \"point\"\nreason = \"measured\"\nsize = 16\n";

/// A place with all input, and things that are no regular files.
fn place() -> Place {
    let place = kernel();
    profile::write(&place, "p", &place.path("vmlinux"), "");
    let steps = [(0, Write, 8), (1, Write, 8)].repeat(100);
    trace::write(&place, "traced", "vmlinux", "origin", &[steps]);
    place.write("rules.toml", RULES);
    place.write("a.patch", "");
    place.write("a.h", "struct s { int i; };\n");
    std::fs::create_dir(place.path("tree")).unwrap();
    let made = Command::new("mkfifo").arg(place.path("fifo")).status();
    assert!(made.unwrap().success());
    place
}

/// The command must name the file, and its kind, within [`PATIENCE_S`].
#[track_caller]
fn check(place: &Place, words: &str, file: &str, kind: &str) {
    let relayout = env!("CARGO_BIN_EXE_relayout");
    let words: Vec<&str> = [PATIENCE_S, relayout]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    let mut command = place.command(Path::new("/usr/bin/timeout"), &words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.path("bin").display()));
    let ended = place.ended(&mut command);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(2), ""),
        "{words:?}: {ended:?}"
    );
    let named = ended.stderr.contains(file) && ended.stderr.contains(kind);
    assert!(named, "{words:?}: {ended:?}");
}

const FIFO: &str = "it is a FIFO, and a regular file is needed";

#[test]
fn input_that_is_a_fifo() {
    let place = place();
    for words in [
        "show fifo",
        "show vmlinux --btf-base fifo",
        "diff fifo vmlinux",
        "diff vmlinux fifo",
        "check vmlinux --config fifo",
        "check vmlinux --config rules.toml --lock fifo",
        "check vmlinux --config rules.toml --kconfig fifo",
        "check vmlinux --config rules.toml --baseline fifo",
        "check fifo --config rules.toml",
        "report p --debug fifo",
        "report p --production fifo",
        "advise p --debug fifo",
        "advise traced point --layout fifo",
        "advise p --machine fifo",
        "what-if traced point --layout fifo",
        "verify --load fifo",
        "verify --patch fifo --source tree --build true --bench true",
        "record perf fifo -o out",
        "record kernel -o out --workload mntns --image fifo --debug vmlinux",
        "record kernel -o out --workload mntns --image bzImage --debug fifo",
        "verify kernel --patch fifo --source tree --workload mntns",
    ] {
        check(&place, words, "fifo", FIFO);
    }
}

#[test]
fn other_kinds_of_input() {
    let place = place();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    let socket = "it is a socket, and a regular file is needed";
    check(&place, "show socket", "socket", socket);
    let device = "it is a device, and a regular file is needed";
    check(&place, "show /dev/zero", "/dev/zero", device);
    check(
        &place,
        "what-if traced point --layout /dev/zero",
        "/dev/zero",
        device,
    );
    check(&place, "show /dev/stdin", "/dev/stdin", device);
    for words in [
        "show tree",
        "check vmlinux --config tree",
        "verify --load tree",
    ] {
        check(&place, words, "tree", "irectory");
    }
}

/// A device or pipe is not replaced by a file.
#[test]
fn output_that_is_none() {
    let place = place();
    check(
        &place,
        "check vmlinux --config rules.toml --lock fifo --update",
        "fifo",
        FIFO,
    );
    let device = "it is a device, and a regular file is needed";
    std::os::unix::fs::symlink("/dev/null", place.path("null")).unwrap();
    check(&place, "probe -o null", "null", device);
    assert!(place.path("null").is_symlink());
}

/// A pipe that the shell opened has a writer.
#[test]
fn a_pipe_of_the_shell_is_read() {
    let place = place();
    let relayout = env!("CARGO_BIN_EXE_relayout");
    let script = format!("cat vmlinux | {relayout} show /dev/stdin point");
    let mut command = place.command(Path::new("/bin/sh"), &["-c", &script]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let ended = place.ended(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("struct point {"), "{ended:?}");
}

//! Files that other files name: a profile names its debug file, a program its split-off parts. Anybody may
//! have written the names, so only files that prove to be the right ones are read.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use crate::common::{KERNEL_FLAGS, Place, hot, profile, start};

fn make_pipe(path: &Path) {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

/// A place with `vmlinux`, and a profile `p` of that build that names the file `debug_file`.
fn profile_naming(debug_file: &str) -> Place {
    let place = Place::new();
    let source = "struct point { int x, y; } origin __attribute__((aligned(64)));";
    place.compile("vmlinux", source, KERNEL_FLAGS);
    let path = hot::write(&place, "p", "vmlinux", "origin", [0, 4]);
    let vmlinux = place.path("vmlinux").display().to_string();
    let named = place.path(debug_file).display().to_string();
    profile::edit_meta(&path, &vmlinux, &named);
    place
}

#[track_caller]
fn check_refused(place: &Place, path: &str, reason: &str) {
    for command in ["report p", "advise p", "what-if p point --layout vmlinux.c"] {
        let ended = place.run_words(command);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{command}");
        let start =
            format!("relayout: cannot read the debug file {path}; give the vmlinux with build id ");
        assert!(ended.stderr.starts_with(&start), "{}", ended.stderr);
        assert!(
            ended
                .stderr
                .ends_with(&format!(" with --debug FILE: {reason}\n")),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_profile_names_no_pipe_device_or_text() {
    let place = profile_naming("pipe");
    make_pipe(&place.path("pipe"));
    let pipe = "it is a FIFO, and a regular file is needed";
    check_refused(&place, "[DIR]/pipe", pipe);

    let place = profile_naming("secret");
    place.write("secret", "root:x:0:0");
    check_refused(&place, "[DIR]/secret", "it is not an ELF file");

    for (path, reason) in [
        ("/dev/zero", "it is a device, and a regular file is needed"),
        ("/proc/self/environ", "it is empty"),
    ] {
        check_refused(&profile_naming(path), path, reason);
    }
}

#[test]
fn the_hint_of_a_document_is_the_remedy() {
    let place = profile_naming("gone");
    let ended = place.run_words("report p --json");
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    let error: serde_json::Value = serde_json::from_str(&ended.stderr).expect("a document");
    assert_eq!(
        error["message"],
        "cannot read the debug file [DIR]/gone: No such file or directory (os error 2)"
    );
    let hint = error["hint"].as_str().expect("a remedy");
    assert!(
        hint.starts_with("give the vmlinux with build id "),
        "{hint}"
    );
    assert!(hint.ends_with(" with --debug FILE"), "{hint}");
}

#[test]
fn a_file_of_another_build_is_not_read() {
    let place = profile_naming("other");
    place.compile(
        "other",
        "int main(void) { return 0; }",
        &["-g", "-Wl,--build-id=0x0102"],
    );
    let ended = place.run_words("report p");
    let start =
        "relayout: [DIR]/other is of another build than the recording: its build id is 0102, ";
    assert!(ended.stderr.starts_with(start), "{}", ended.stderr);
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
}

/// The user's own recording needs no option, and no warning.
#[test]
fn the_recorded_build_is_read_without_a_word() {
    let place = profile_naming("vmlinux");
    let ended = place.run_words("report p");
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    assert!(ended.stdout.contains("origin"), "{}", ended.stdout);
}

#[test]
fn a_file_without_proof_is_named_once() {
    let place = without_build_id();
    let ended = place.run_words("report p");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let words = "warning: the profile names [DIR]/vmlinux, but no build id";
    assert_eq!(ended.stderr.matches(words).count(), 1, "{}", ended.stderr);
    let ended = place.run_words("report p --debug vmlinux");
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
}

#[test]
#[ignore = "needs root: gives a file to another user"]
fn a_file_without_proof_of_another_user_is_not_read() {
    let place = without_build_id();
    std::os::unix::fs::chown(place.path("vmlinux"), Some(12345), None).unwrap();
    let message = "relayout: the profile names the debug file [DIR]/vmlinux without a build id, and the file \
                   belongs to another user; if it is the recorded vmlinux, give it with --debug";
    place.refuses("report p", 2, message);
    assert_eq!(place.run_words("report p --debug vmlinux").code, Some(0));
}

fn without_build_id() -> Place {
    let place = profile_naming("vmlinux");
    let id = profile::build_id(&place.path("vmlinux"));
    profile::edit_meta(&place.path("p"), &id, "");
    place
}

/// Before, opening the pipe waited for a writer without end.
#[test]
fn a_program_names_no_pipe_as_its_split_off_part() {
    let place = Place::new();
    let source = "struct point { int x; long y; } origin; int main(void) { return 0; }";
    place.compile("program", source, &["-g", "-gsplit-dwarf"]);
    let dwo = crate::common::names(&place.path(""))
        .into_iter()
        .find(|name| name.ends_with(".dwo"));
    let dwo = place.path(&dwo.expect("a .dwo file"));
    std::fs::remove_file(&dwo).unwrap();
    make_pipe(&dwo);
    let ended = place.run_words("show program point");
    assert_eq!(ended.code, Some(2), "{ended:?}");

    place.compile("program", source, &["-g"]);
    place.write("debug", "any");
    objcopy(
        &place,
        &["--strip-debug", "--add-gnu-debuglink=debug", "program"],
    );
    std::fs::remove_file(place.path("debug")).unwrap();
    make_pipe(&place.path("debug"));
    let ended = place.run_words("show program point");
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

/// The name in a debug link has no folder.
#[test]
fn a_debug_link_does_not_leave_its_folder() {
    let place = Place::new();
    let source = "struct point { int x; long y; } origin; int main(void) { return 0; }";
    place.compile("program", source, &["-g"]);
    std::fs::create_dir(place.path("sub")).unwrap();
    objcopy(&place, &["--only-keep-debug", "program", "xx.debug"]);
    let link = place.path("xx.debug");
    objcopy(
        &place,
        &[
            "--strip-debug",
            &format!("--add-gnu-debuglink={}", link.display()),
            "program",
        ],
    );
    let bytes = std::fs::read(place.path("program")).unwrap();
    let shows = |place: &Place| place.run_words("show sub/program point").code;
    place.write("sub/program", &bytes);
    std::fs::rename(place.path("xx.debug"), place.path("sub/xx.debug")).unwrap();
    assert_eq!(shows(&place), Some(0), "beside it");
    let at = bytes
        .windows(8)
        .position(|name| name == b"xx.debug")
        .unwrap();
    let mut climbing = bytes;
    climbing[at..at + 8].copy_from_slice(b"../x.dbg");
    place.write("sub/program", &climbing);
    std::fs::rename(place.path("sub/xx.debug"), place.path("x.dbg")).unwrap();
    assert_eq!(shows(&place), Some(2), "above it");
}

fn objcopy(place: &Place, arguments: &[&str]) {
    let mut command = Command::new("objcopy");
    command.args(arguments).current_dir(place.path(""));
    let status = start(&mut command).wait().unwrap();
    assert!(status.success(), "objcopy (package binutils) {arguments:?}");
}

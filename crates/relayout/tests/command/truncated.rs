//! A debug file that is cut short, as by a linker that runs again, while a command reads it.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::Place;

/// For a file to be mapped by a process that has started.
const PATIENCE: Duration = Duration::from_secs(60);

/// The command is stopped once it has mapped the file, so that it cannot have read all.
#[test]
fn the_file_is_named() {
    let place = Place::new();
    let vmlinux = place.path("vmlinux");
    fs::copy(relayout_testkit::vmlinux(), &vmlinux).unwrap();
    let mut command = place.relayout(&["show", "vmlinux"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = crate::common::start(&mut command);
    let process = child.id() as libc::pid_t;
    let mappings = format!("/proc/{process}/maps");
    let deadline = Instant::now() + PATIENCE;
    while !fs::read_to_string(&mappings).is_ok_and(|text| text.contains("vmlinux")) {
        assert!(Instant::now() < deadline, "never mapped");
    }
    // SAFETY: a process that this test started.
    unsafe { libc::kill(process, libc::SIGSTOP) };
    let file = fs::File::options().write(true).open(&vmlinux).unwrap();
    file.set_len(1 << 16).unwrap();
    // SAFETY: as above.
    unsafe { libc::kill(process, libc::SIGCONT) };
    let output = child.wait_with_output().unwrap();
    let expect = format!(
        "relayout: {} was cut short while it was read; try again when it is complete\n",
        vmlinux.display()
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), expect);
    assert_eq!(output.status.code(), Some(2));
}

//! Programs that have more rights than the user who starts them.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::stand::{Bench, Compiler, program_command};

/// Gives the program the rights of a group that this process does not run as, so that the C library
/// treats it as a privileged program.
fn give_group(program: &std::path::Path) {
    // SAFETY: no arguments; then a buffer of the stated size.
    let (own, groups) = unsafe {
        let mut groups = [0; 64];
        let count = libc::getgroups(64, groups.as_mut_ptr());
        (
            libc::getgid(),
            groups[..usize::try_from(count).unwrap_or(0)].to_vec(),
        )
    };
    // Root may use any group, others one of their own.
    let other = groups.into_iter().find(|group| *group != own);
    let group = other.unwrap_or(own + 1);
    std::os::unix::fs::chown(program, None, Some(group))
        .expect("this test needs root, or a second group of the user");
    let mode = std::fs::Permissions::from_mode(0o2755);
    std::fs::set_permissions(program, mode).expect("the file is ours");
}

#[test]
#[ignore = "needs root or a second group"]
fn the_environment_does_not_lead_a_privileged_program() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("sharing.c", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let run = || {
        std::fs::write(folder.path().join("control"), [0; 4096]).expect("a control file");
        let mut command = program_command(&program);
        let status = command.env("RELAYOUT_DIR", folder.path()).output();
        assert!(status.expect("it runs").status.success());
        let made = folder.path().join("map").exists();
        let control = std::fs::read(folder.path().join("control")).expect("a control file");
        (made, control == [0; 4096])
    };
    give_group(&program);
    assert_eq!(run(), (false, true), "nothing is written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("the file is ours");
    assert_eq!(run(), (true, false), "the same program is recorded");
}

#[test]
fn a_control_file_is_no_link() {
    let bench = Bench::new(Compiler::Gcc);
    let program = bench.build("sharing.c", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("precious");
    std::fs::write(&target, [0; 4096]).expect("a file");
    symlink(&target, folder.path().join("control")).expect("a link");
    let mut command: Command = program_command(&program);
    let output = command.env("RELAYOUT_DIR", folder.path()).output();
    let output = output.expect("it runs");
    assert!(output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cannot record into"), "{stderr}");
    assert_eq!(std::fs::read(&target).expect("a file"), [0; 4096]);
}

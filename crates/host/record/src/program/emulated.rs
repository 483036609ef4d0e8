//! Programs as they are, under qemu-user with our plugin.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use relayout_files::{CacheFolder, cannot, map_file};
use relayout_profile::program::SiteNaming;

use super::inspect::{InspectedProgram, ProgramKind};
use super::{AttachedProgram, CountedAccesses, ProgramBackend, ProgramRecording};
use crate::marker::has_start_marker;
use crate::qemu::{find_program_collector, path_option};
use crate::workspace::{RecordingWorkspace, collector_options};
use crate::{Error, GuestMachine};

/// All features of QEMU's CPU, so that programs for newer CPUs run. Without the fast string
/// instructions: libc would use them for every copy, and QEMU executes them byte by byte.
const CPU: &str = "max,la57=off,erms=off,fsrm=off";

/// Permission bits of programs that run as another user or group.
const SET_ID: u32 = 0o6000;

/// Returns QEMU with the plugin and the program as arguments.
///
/// # Errors
/// QEMU or the plugin is missing, or the program cannot be recorded under it.
pub fn attach_qemu(
    recording: &ProgramRecording,
    inspected: &InspectedProgram,
    workspace: &RecordingWorkspace,
) -> Result<AttachedProgram, Error> {
    refuse_unrecordable(recording, inspected)?;
    let collector = find_program_collector(CacheFolder::locate().as_ref())?;
    let path = &inspected.path;
    let program = map_file(path).map_err(cannot("read", path))?;
    let options = plugin_options(
        recording,
        workspace,
        has_start_marker(&program, GuestMachine::X86),
    );
    let mut command = Command::new(&collector.qemu);
    command
        .args(["-cpu", CPU, "-plugin"])
        .arg(collector.plugin_argument(&options))
        .arg("-0")
        .arg(&recording.program)
        .arg(path)
        .args(&recording.arguments);
    Ok(AttachedProgram {
        command,
        naming: SiteNaming::Defined,
        collector: format!("qemu-user: {}", collector.describe()),
    })
}

fn refuse_unrecordable(
    recording: &ProgramRecording,
    inspected: &InspectedProgram,
) -> Result<(), Error> {
    let path = &inspected.path;
    let refuse = |why: &str| {
        Err(Error::Unrecordable {
            path: path.clone(),
            why: why.into(),
        })
    };
    if inspected.kind == ProgramKind::Script {
        return refuse(
            "it is a script, and qemu-user records one program, not what that starts: name the program that \
             runs in the end",
        );
    }
    let mode = fs::metadata(path)
        .map_err(cannot("look at", path))?
        .permissions()
        .mode();
    if mode & SET_ID != 0 {
        return refuse(
            "it runs as another user or group (setuid, setgid), which it does not under qemu-user: record \
             a copy without that bit, as the user that it needs",
        );
    }
    if recording.follow_forks == Some(true) {
        return refuse(
            "qemu-user records one process: leave out --follow-forks, or build it with relayout cc",
        );
    }
    if recording.counts == CountedAccesses::All {
        return refuse(
            "under qemu-user accesses are counted where lines are written and shared only: leave out \
             --counts, or build it with relayout cc",
        );
    }
    Ok(())
}

fn plugin_options(
    recording: &ProgramRecording,
    workspace: &RecordingWorkspace,
    own_markers: bool,
) -> OsString {
    let yield_every = ProgramBackend::QemuUser.yield_every(recording);
    let mut options = collector_options(yield_every, recording.seed, recording.bursts);
    if own_markers {
        options.push_str(",own=1");
    }
    path_option(format!("{options},dir="), workspace.dir())
}

//! Child processes and the search of `$PATH`.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Asks the kernel to kill the calling process when the thread that started it ends. Fails if the
/// process `parent` has ended already. Async-signal-safe: for use between fork and exec.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    match getppid().map(|process| process.as_raw_nonzero().get()) {
        Some(current) if current as u32 == parent => Ok(()),
        _ => Err(rustix::io::Errno::SRCH.into()),
    }
}

/// Returns the first file called `name` in the folders of `$PATH`.
///
/// ```
/// assert!(relayout_files::find_in_path("sh").is_some());
/// assert!(relayout_files::find_in_path("no-such-program").is_none());
/// ```
pub fn find_in_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(name.as_ref()))
        .find(|path| path.is_file())
}

/// Folders with programs of administrators, which `$PATH` of other users may lack.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Returns a program of administrators, which may be in a folder that `$PATH` lacks.
///
/// ```
/// assert!(relayout_files::find_system_program("no-such-program").is_none());
/// ```
pub fn find_system_program(name: impl AsRef<Path>) -> Option<PathBuf> {
    let listed = SYSTEM_FOLDERS.map(|folder| Path::new(folder).join(name.as_ref()));
    find_in_path(name).or_else(|| listed.into_iter().find(|path| path.is_file()))
}

/// Returns the program to start for `program`, which a command names: a relative path with folders
/// is relative to `directory`, where the program is started.
pub fn program_in(program: &str, directory: Option<&Path>) -> PathBuf {
    match directory {
        Some(directory) if program.contains('/') => directory.join(program),
        _ => program.into(),
    }
}

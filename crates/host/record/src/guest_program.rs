//! A user's program for the guest, with all that it needs: its libraries, its interpreter, further
//! files.

mod files;
mod libraries;
mod script_tools;
mod walk;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use relayout_files::{cannot, map_file};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub use self::files::{DiskFolder, GuestEntry, GuestFiles};
use self::libraries::LibrarySearch;
use self::script_tools::{is_shell_script, script_tools};
pub use self::walk::{FolderSize, MOUNT_POINTS};
use crate::elf::{is_for_machine, requested_loader};
use crate::marker::has_start_marker;
use crate::program::{ProgramKind, find_program, inspect_program};
use crate::{Error, GuestMachine};

/// Folders of the guest's commands.
const GUEST_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Files with the guest's orders, of which `collectors/guest/program.h` speaks.
const ORDERS: &str = "/run/relayout-";
/// Scripts that run each other's interpreters, at most: the kernel follows as many.
const INTERPRETERS_MAX: usize = 4;

/// A program of the user's, and what the guest gets beside it.
#[derive(Clone, Debug)]
pub struct ProgramWork {
    /// The program: a file of this machine, or of `root`.
    pub path: PathBuf,
    /// Its arguments, without its own name.
    pub arguments: Vec<String>,
    /// Further files and folders of this machine, which have the same paths in the guest.
    pub files: Vec<PathBuf>,
    /// Folder whose content is the guest's root.
    pub root: Option<PathBuf>,
    /// When the window opens and closes, unless the program has markers.
    pub window: ProgramWindow,
}

impl ProgramWork {
    /// Looks into a program of this machine that is to be recorded itself, by its path or its name in `$PATH`.
    ///
    /// # Errors
    /// The program is missing or cannot run in the guest, it is a script, or an argument is no text.
    pub fn inspect(program: &OsStr, arguments: &[OsString]) -> Result<Self, Error> {
        let inspected = inspect_program(program)?;
        let refuse = |why: &str| {
            Err(Error::Unrecordable {
                path: inspected.path.clone(),
                why: why.into(),
            })
        };
        if inspected.kind == ProgramKind::Script {
            return refuse(
                "it is a script, and one program is recorded in simulated time, not what that starts: name the \
                 program that runs in the end",
            );
        }
        let texts = arguments.iter().map(|argument| argument.to_str());
        let texts: Option<Vec<String>> = texts.map(|text| text.map(str::to_owned)).collect();
        let Some(arguments) = texts else {
            return refuse("an argument is not UTF-8, which arguments in the guest are");
        };
        Ok(Self {
            path: absolute(&inspected.path)?,
            arguments,
            files: Vec::new(),
            root: None,
            window: ProgramWindow::default(),
        })
    }
}

/// When the window of a program opens and closes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramWindow {
    /// Time from the program's start, or from the line that opens the window, to its opening.
    pub after: Duration,
    /// Its length; `None`: to the program's end.
    pub length: Option<Duration>,
    /// Text in a line of the program's output that opens it.
    pub from_line: Option<String>,
    /// Text in a line of the program's output that closes it.
    pub to_line: Option<String>,
}

/// A program that is ready for the guest.
pub struct PackedProgram {
    /// Its files and orders.
    pub files: GuestFiles,
    /// The program has markers, which open and close its window.
    pub has_marker: bool,
}

impl PackedProgram {
    /// No program, for a guest with `memory_bytes` of memory.
    pub fn without_program(memory_bytes: u64) -> Self {
        Self {
            files: GuestFiles::new(memory_bytes),
            has_marker: false,
        }
    }

    /// Finds all that the program of `work` needs, for a guest of this machine with `memory_bytes` of
    /// memory.
    ///
    /// # Errors
    /// Something is missing, cannot be read, does not run in the guest, or does not fit.
    pub fn pack(
        work: &ProgramWork,
        machine: GuestMachine,
        memory_bytes: u64,
    ) -> Result<Self, Error> {
        let mut packing = ProgramPacking {
            files: GuestFiles::new(memory_bytes),
            search: LibrarySearch::new(machine),
            machine,
            library_folders: Vec::new(),
            has_marker: false,
        };
        let path = packing.add_program(work)?;
        for file in &work.files {
            packing.add_further(file)?;
        }
        let times_itself = work.window != ProgramWindow::default();
        if packing.has_marker && times_itself {
            return Err(Error::Program {
                path: work.path.clone(),
                why:
                    "it has markers, which open and close its window: --after, --for and the like \
                      cannot do so too"
                        .to_owned(),
            });
        }
        packing.add_orders(work, &path)?;
        Ok(Self {
            files: packing.files,
            has_marker: packing.has_marker,
        })
    }
}

struct ProgramPacking {
    machine: GuestMachine,
    files: GuestFiles,
    search: LibrarySearch,
    library_folders: Vec<PathBuf>,
    has_marker: bool,
}

impl ProgramPacking {
    /// Adds the program and its root. Returns its path in the guest.
    fn add_program(&mut self, work: &ProgramWork) -> Result<PathBuf, Error> {
        if let Some(root) = &work.root {
            self.files.add_folder(root, Path::new("/"))?;
            if let Some(bytes) = read_below(root, &work.path)? {
                require_runnable(&work.path, &bytes, self.machine)?;
                self.has_marker |= has_start_marker(&bytes, self.machine);
                return Ok(Path::new("/").join(&work.path));
            }
        }
        // A file of this folder needs no ./ before it.
        let named = match work.path.exists() {
            true => absolute(&work.path)?,
            false => work.path.clone(),
        };
        let host = absolute(&find_program(named.as_os_str())?)?;
        self.add_runnable(&work.path, &host, INTERPRETERS_MAX)?;
        Ok(host)
    }

    /// Adds a program or script of this machine with what runs it. Errors speak of it as `name`.
    fn add_runnable(&mut self, name: &Path, host: &Path, interpreters: usize) -> Result<(), Error> {
        let bytes = map_file(host).map_err(cannot("read", host))?;
        require_runnable(name, &bytes, self.machine)?;
        self.files.add_file(host, host)?;
        if let Some(line) = script_line(&bytes) {
            let refuse = |why: String| Error::Program {
                path: name.to_owned(),
                why,
            };
            let interpreters = interpreters
                .checked_sub(1)
                .ok_or_else(|| refuse("its interpreters are scripts in turn".to_owned()))?;
            for program in script_programs(line) {
                let path = find_program(program).map_err(|error| refuse(format!("{error}")))?;
                let path = absolute(&path)?;
                self.add_runnable(&path, &path, interpreters)?;
            }
            if is_shell_script(line) {
                self.add_tools(&bytes, interpreters);
            }
            return Ok(());
        }
        self.has_marker |= has_start_marker(&bytes, self.machine);
        self.add_libraries(name, host, &bytes)
    }

    /// Adds the programs that a shell script calls. One that cannot run in the guest is left out: it may not be called.
    fn add_tools(&mut self, script: &[u8], interpreters: usize) {
        for tool in script_tools(script) {
            if !self.files.has_file(&tool) {
                let _ = self.add_runnable(&tool, &tool, interpreters);
            }
        }
    }

    fn add_libraries(&mut self, name: &Path, host: &Path, bytes: &[u8]) -> Result<(), Error> {
        let libraries = self.search.find_all(name, host, bytes)?;
        for library in &libraries.files {
            self.files.add_file(library, library)?;
        }
        for folder in libraries.folders {
            if !self.library_folders.contains(&folder) {
                self.library_folders.push(folder);
            }
        }
        Ok(())
    }

    /// Adds a further file or folder of this machine; a program with its libraries.
    fn add_further(&mut self, file: &Path) -> Result<(), Error> {
        let host = absolute(file)?;
        if host.is_dir() {
            return self.files.add_folder(file, &host);
        }
        self.files.add_file(file, &host)?;
        let bytes = map_file(file).map_err(cannot("read", file))?;
        if !is_for_machine(&bytes, self.machine) {
            return Ok(());
        }
        self.has_marker |= has_start_marker(&bytes, self.machine);
        self.add_libraries(file, &host, &bytes)
    }

    fn add_orders(&mut self, work: &ProgramWork, program: &Path) -> Result<(), Error> {
        let folder = match work.root {
            Some(_) => PathBuf::from("/"),
            None => std::env::current_dir().map_err(cannot("find", Path::new(".")))?,
        };
        self.files.require_folder(&folder);
        let mut environment = format!("PATH={GUEST_PATH}\0HOME=/tmp\0TERM=linux\0");
        if !self.library_folders.is_empty() {
            let folders = std::env::join_paths(&self.library_folders).unwrap_or_default();
            let _ = write!(environment, "LD_LIBRARY_PATH={}\0", folders.display());
        }
        let mut arguments = nul_ended(program.as_os_str());
        for argument in &work.arguments {
            arguments.extend(nul_ended(argument.as_ref()));
        }
        let line = |line: &Option<String>| nul_ended(line.as_deref().unwrap_or_default().as_ref());
        let lines = [line(&work.window.from_line), line(&work.window.to_line)].concat();
        let orders = [
            ("arguments", arguments),
            ("environment", environment.into_bytes()),
            ("folder", nul_ended(folder.as_os_str())),
            ("lines", lines),
        ];
        for (name, bytes) in orders {
            let path = format!("{ORDERS}{name}");
            self.files.add_bytes(Path::new(&path), bytes, 0o600);
        }
        Ok(())
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    Ok(std::path::absolute(path).map_err(cannot("find", path))?)
}

fn nul_ended(text: &OsStr) -> Vec<u8> {
    let mut bytes = text.to_owned().into_vec();
    bytes.push(0);
    bytes
}

/// Reads the file `path` of the root folder `root`, whose links lead to places in it; `None` if it
/// has none.
fn read_below(root: &Path, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root_fd = rustix::fs::openat(CWD, root, folder, Mode::empty())
        .map_err(|error| cannot("open", root)(error.into()))?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(&root_fd, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    let place = root.join(path.strip_prefix("/").unwrap_or(path));
    match opened {
        Ok(file) => {
            let mut file = File::from(file);
            let mut bytes = Vec::new();
            let is_file = file.metadata().map(|found| found.is_file());
            if !is_file.map_err(cannot("look at", &place))? {
                return Err(Error::Program {
                    path: place,
                    why: "it is not a regular file".to_owned(),
                });
            }
            file.read_to_end(&mut bytes)
                .map_err(cannot("read", &place))?;
            Ok(Some(bytes))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(cannot("open", &place)(error.into()).into()),
    }
}

/// The line of a script that says what runs it, without `#!`.
fn script_line(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(b"#!")?;
    rest.split(|byte| *byte == b'\n').next()
}

/// The interpreter that a script's first line names. Of `/usr/bin/env`, also the program that it is
/// to find.
fn script_programs(line: &[u8]) -> impl Iterator<Item = &OsStr> {
    let mut words = { line.split(u8::is_ascii_whitespace) }
        .filter(|word| !word.is_empty())
        .map(OsStr::from_bytes);
    let interpreter = words.next();
    let is_env =
        interpreter.is_some_and(|path| Path::new(path).file_name() == Some("env".as_ref()));
    let is_program = |word: &&OsStr| {
        let bytes = word.as_bytes();
        !bytes.starts_with(b"-") && !bytes.contains(&b'=')
    };
    let found = words.find(is_program).filter(|_| is_env);
    interpreter.into_iter().chain(found)
}

/// Fails unless the guest can run a file with this content.
fn require_runnable(path: &Path, bytes: &[u8], machine: GuestMachine) -> Result<(), Error> {
    use object::{Object as _, ObjectKind};
    let refuse = |why: &str| {
        Err(Error::Program {
            path: path.to_owned(),
            why: why.to_owned(),
        })
    };
    if script_line(bytes).is_some() {
        return Ok(());
    }
    let Ok(file) = object::File::parse(bytes) else {
        return refuse(
            "it is neither an ELF program nor a script: a script's first line says what runs it, as \
             #!/bin/sh does",
        );
    };
    if GuestMachine::from_architecture(file.architecture()) != Some(machine) {
        return refuse(match machine {
            GuestMachine::X86 => "it is not an x86-64 program",
            GuestMachine::Aarch64 => "it is not an AArch64 program, as the kernel is",
        });
    }
    let is_library = file.kind() == ObjectKind::Dynamic
        && requested_loader(bytes).is_none()
        && file.entry() == 0;
    match file.kind() {
        ObjectKind::Executable | ObjectKind::Dynamic if !is_library => Ok(()),
        _ => refuse("it is not a linked program"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_what_runs_them() {
        let check = |text: &str, expect: &[&str]| {
            let line = script_line(text.as_bytes()).expect("a script");
            let found: Vec<_> = script_programs(line).collect();
            assert_eq!(found, expect, "{text}");
        };
        check("#!/bin/sh\necho", &["/bin/sh"]);
        check("#! /bin/bash -e\n", &["/bin/bash"]);
        check("#!/usr/bin/env python3\n", &["/usr/bin/env", "python3"]);
        check("#!/usr/bin/env -S A=1 perl -w", &["/usr/bin/env", "perl"]);
        check("#!\n", &[]);
        assert_eq!(script_line(b"\x7fELF"), None);
    }
}

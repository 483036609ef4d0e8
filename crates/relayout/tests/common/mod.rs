//! The built command in a folder of its own, and input files for it.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod clocked;
pub mod disk;
pub mod hostile;
pub mod hot;
pub mod profile;
pub mod programs;
pub mod restricted;
pub mod terminal;
pub mod trace;

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// Variables of kernels that guests can run, in C.
pub const KERNEL_NEEDS: &str = "char initrd_start, univ8250_console, devtmpfs_init, cgroup_init;\n\
                                unsigned long __per_cpu_offset[8];";
/// Banner of [`Place::vmlinux`].
pub const BANNER: &str = "Linux version 6.1.0-test (a@b) (gcc) #1 SMP (2024-01-01)\n";
/// The same build, as a boot image says it.
pub const IMAGE_VERSION: &str = "6.1.0-test (a@b) #1 SMP (2024-01-01)";

/// Lock held while a program file is open for writing, and while a process starts. A child that
/// has not called exec yet would hold the file open, and its start would fail with "Text file
/// busy".
static PROGRAMS: Mutex<()> = Mutex::new(());

/// Starts a command that heeds Ctrl-C: a shell starts background processes, as these tests may
/// be, with the signal ignored.
pub fn start(command: &mut Command) -> Child {
    let _guard = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let heed = || {
        // SAFETY: a plain system call.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: `signal` may be called between `fork` and `exec`.
    unsafe { command.pre_exec(heed) };
    command.spawn().unwrap()
}

/// A folder to run `relayout` in. It has an empty cache, and `$PATH` has no programs but those
/// that a test puts there.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for dir in ["bin", "cache", "plugins", "tmp"] {
            fs::create_dir(place.path(dir)).unwrap();
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes an executable shell script.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        self.program(name, format!("#!/bin/sh\n{body}\n").as_bytes())
    }

    /// Writes an executable file.
    pub fn program(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let _guard = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.write(name, bytes);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Compiles C text with the compiler that the guest's program was built with.
    pub fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let code = self.write(&format!("{name}.c"), source);
        let out = self.path(name);
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(compiler);
        command.arg("-o").arg(&out).arg(&code).args(flags);
        assert!(
            start(&mut command).wait().unwrap().success(),
            "cannot compile {}",
            code.display()
        );
        out
    }

    /// Compiles an ELF file with a kernel's banner and little else.
    pub fn vmlinux(&self) -> PathBuf {
        self.vmlinux_with(KERNEL_NEEDS)
    }

    /// Compiles such a file with these variables.
    pub fn vmlinux_with(&self, variables: &str) -> PathBuf {
        let banner = BANNER.trim_end();
        let source = format!(
            "struct point {{ int x; char tag; long y; }} origin;\n\
             const char linux_banner[] = \"{banner}\\n\";\n{variables}\n"
        );
        self.compile("vmlinux", &source, KERNEL_FLAGS)
    }

    /// Writes the head of a boot image of this version.
    pub fn image(&self, version: &str) -> PathBuf {
        let mut bytes = vec![0; 0x400];
        bytes[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        bytes[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
        self.write("bzImage", bytes)
    }

    /// Writes a program that answers like a QEMU that loads the plugin, but runs nothing.
    pub fn qemu(&self) -> PathBuf {
        for interface in [1, 4] {
            self.write(&format!("plugins/librelayout_qemu_api{interface}.so"), "");
        }
        let answers = "case $1 in\n\
                       --version) echo 'QEMU emulator version 9.9.9 (test)';;\n\
                       *) echo 'relayout plugin: loaded' >&2;;\n\
                       esac";
        self.script("bin/qemu-system-x86_64", answers)
    }

    /// The command, not yet started.
    pub fn relayout<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        self.command(env!("CARGO_BIN_EXE_relayout").as_ref(), arguments)
    }

    /// `program`, a copy of the command.
    pub fn command<S: AsRef<OsStr>>(&self, program: &Path, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("TMPDIR", self.path("tmp"))
            .env("RELAYOUT_CACHE", self.path("cache"))
            .env("RELAYOUT_PLUGIN_DIR", self.path("plugins"))
            .stdin(Stdio::null());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ended {
        self.ended(&mut self.relayout(arguments))
    }

    /// Runs the command with words separated by spaces.
    pub fn run_words(&self, words: &str) -> Ended {
        self.run(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a command; its output has `[DIR]` for the path of this folder.
    pub fn ended(&self, command: &mut Command) -> Ended {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = start(command).wait_with_output().unwrap();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.replace(&self.0.path().display().to_string(), "[DIR]")
        };
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Ended {
            code: output.status.code(),
            stdout,
            stderr,
        }
    }

    /// Runs the command with words separated by spaces, which must refuse with exactly this message
    /// and this exit code, write nothing to standard output and leave every file as it was.
    #[track_caller]
    pub fn refuses(&self, words: &str, code: i32, message: &str) {
        let before = self.files();
        let ended = self.run_words(words);
        assert_eq!(ended.stderr.trim_end(), message, "relayout {words}");
        assert_eq!(
            (ended.code, &*ended.stdout),
            (Some(code), ""),
            "relayout {words}"
        );
        assert_eq!(self.files(), before, "relayout {words}: files changed");
    }

    /// All files and folders with their lengths, without the cache of resolved debug files.
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.metadata().unwrap();
                if entry.path() == self.path("cache/resolved") {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(entry.path());
                }
                found.push((entry.path(), if kind.is_dir() { 0 } else { kind.len() }));
            }
        }
        found.sort();
        found
    }
}

/// Flags for an ELF file at a kernel's addresses, with debug information and build id.
pub const KERNEL_FLAGS: &[&str] = &[
    "-g",
    "-O0",
    "-nostdlib",
    "-static",
    "-fno-pie",
    "-no-pie",
    "-Wl,-e,0",
    "-Wl,--build-id",
];

/// Exit code and output of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Names of the files and folders in a folder.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// A text without its line breaks.
pub fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Standard output of a command that has to succeed; `words` are its arguments.
pub fn text(place: &Place, words: &str) -> String {
    let ended = place.said(words);
    assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
    ended.stdout
}

/// Document that a command prints with `--json`.
pub fn json(place: &Place, words: &str) -> serde_json::Value {
    serde_json::from_str(&text(place, &format!("{words} --json"))).unwrap()
}

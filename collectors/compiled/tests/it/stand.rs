//! Builds a program with a compiler's own flags, runs it as the host does, and reads the files of
//! the runtime.

use relayout_profile::{Addr, RunId};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use relayout_profile::program::{AssembledProgram, ProgramMap, SiteNaming, assemble};
use relayout_shadow::control::{CONTROL_BYTES, RecordingStage};

/// Compiler of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    Gcc,
    Clang,
}

pub const BOTH: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

impl Compiler {
    fn program(self, is_cxx: bool) -> &'static str {
        match (self, is_cxx) {
            (Self::Gcc, false) => "gcc",
            (Self::Gcc, true) => "g++",
            (Self::Clang, false) => "clang",
            (Self::Clang, true) => "clang++",
        }
    }

    /// Flags of README.md that announce accesses.
    fn instrument(self) -> &'static [&'static str] {
        match self {
            Self::Gcc => &[
                "-fsanitize=thread",
                "--param=tsan-instrument-func-entry-exit=0",
            ],
            Self::Clang => &[
                "-fsanitize=thread",
                "-mllvm",
                "-tsan-instrument-func-entry-exit=0",
                "-mllvm",
                "-tsan-compound-read-before-write=1",
            ],
        }
    }
}

/// Folder for the files that a test builds.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub compiler: Compiler,
}

/// Returns a file of `tests/programs`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// Returns the folder of the runtime that cargo built with the tests.
pub fn runtime_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the test's own path");
    let dir = exe.parent().expect("it lies in a folder").to_owned();
    assert!(
        dir.join("librelayout_rt.so").exists(),
        "no runtime in {}",
        dir.display()
    );
    dir
}

impl Bench {
    /// Makes an empty folder. The test fails unless the compiler is installed.
    pub fn new(compiler: Compiler) -> Self {
        relayout_testkit::require_programs(&[compiler.program(false), compiler.program(true)]);
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            compiler,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn compiler(&self, name: &str) -> Command {
        let mut command = Command::new(self.compiler.program(name.ends_with(".cc")));
        command.current_dir(self.dir.path());
        command
    }

    /// Compiles a source of `tests/programs` to an object file.
    pub fn compile(&self, name: &str, flags: &[&str]) -> PathBuf {
        let object = self.path(&format!("{name}.o"));
        let mut command = self.compiler(name);
        command
            .args(["-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "-c"])
            .args(flags)
            .arg("-I")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
            .arg(source(name))
            .arg("-o")
            .arg(&object);
        run(command);
        object
    }

    /// Compiles a source with announced accesses.
    pub fn instrument(&self, name: &str, flags: &[&str]) -> PathBuf {
        let flags = [self.compiler.instrument(), flags].concat();
        self.compile(name, &flags)
    }

    /// Links objects (and flags) with the runtime. `like` is a source in the right language.
    pub fn link(&self, like: &str, output: &str, arguments: &[&str]) -> PathBuf {
        let runtime = runtime_dir();
        let output = self.path(output);
        let mut command = self.compiler(like);
        command
            .args(["-pthread", "-Wl,--push-state,--no-as-needed", "-L"])
            .arg(&runtime)
            .args(["-lrelayout_rt", "-Wl,--pop-state"])
            .arg(format!("-Wl,-rpath,{}", runtime.display()))
            .args(arguments)
            .args(["-ldl", "-o"])
            .arg(&output);
        run(command);
        output
    }

    /// Builds a program of one source.
    pub fn build(&self, name: &str, flags: &[&str]) -> PathBuf {
        let object = self.instrument(name, flags);
        self.link(name, &format!("{name}.run"), &[&object.to_string_lossy()])
    }

    /// Builds a program of one source without the runtime.
    pub fn build_native(&self, name: &str, flags: &[&str]) -> PathBuf {
        let object = self.compile(name, flags);
        let output = self.path(&format!("{name}.native"));
        let mut command = self.compiler(name);
        command
            .arg("-pthread")
            .arg(object)
            .arg("-latomic")
            .arg("-o");
        command.arg(&output);
        run(command);
        output
    }
}

fn run(mut command: Command) {
    let output = command.output().expect("the compiler starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns the command of a built program. Cargo's variable would let the linker find the runtime
/// of another build.
///
/// The host fixes addresses where it can, and so do we: with random ones, one run in a few hundred
/// has two modules whose addresses share their low 32 bits, and no place in them can be told.
pub fn program_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_LIBRARY_PATH");
    // SAFETY: a plain system call. A container may refuse it, and then addresses stay random.
    unsafe {
        command.pre_exec(|| {
            let now = libc::personality(0xffff_ffff) as libc::c_ulong;
            libc::personality(now | libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            Ok(())
        });
    }
    command
}

/// Program that runs under the runtime.
pub struct Running {
    pub folder: tempfile::TempDir,
    pub child: Child,
}

/// Result of a run.
pub struct Recorded {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    control: Vec<u8>,
    pub map: ProgramMap,
    pub program: AssembledProgram,
}

/// Starts `program` as the host does.
pub fn start(program: &Path, arguments: &[&str], options: &str, control: &[u8]) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let mut page = control.to_vec();
    page.resize(CONTROL_BYTES, 0);
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(folder.path().join("control"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, &page))
        .expect("a control file");
    let child = program_command(program)
        .args(arguments)
        .env("RELAYOUT_DIR", folder.path())
        .env("RELAYOUT_OPTIONS", options)
        // Files, since a pipe that nobody reads would fill.
        .stdout(std::fs::File::create(folder.path().join("stdout")).expect("a file"))
        .stderr(std::fs::File::create(folder.path().join("stderr")).expect("a file"))
        .spawn()
        .expect("the program starts");
    Running { folder, child }
}

/// Runs `program` to its end.
pub fn record(program: &Path, arguments: &[&str]) -> Recorded {
    start(program, arguments, "yield=500,seed=1", &[]).wait()
}

impl Running {
    /// Waits for the end, for at most a minute.
    pub fn wait(mut self) -> Recorded {
        let id = self.child.id() as i32;
        let mut left = Duration::from_secs(60);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            let step = Duration::from_millis(10);
            if left < step {
                let _ = self.child.kill();
                panic!("process {id} hangs");
            }
            std::thread::sleep(step);
            left -= step;
        };
        Recorded::read(self.folder.path(), status)
    }
}

impl Recorded {
    fn read(folder: &Path, status: ExitStatus) -> Self {
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_default();
        let mut segments: Vec<(u16, Vec<u8>)> = (0..relayout_shadow::CONTEXTS_MAX as u16)
            .filter_map(|n| Some((n, std::fs::read(folder.join(format!("ctx-{n}.seg"))).ok()?)))
            .collect();
        // As the recorder does: an empty file in front of others is that of a thread that accessed
        // nothing while it was watched.
        while segments.last().is_some_and(|(_, bytes)| bytes.is_empty()) {
            segments.pop();
        }
        let files: Vec<(u16, &[u8])> = segments.iter().map(|(n, b)| (*n, &b[..])).collect();
        let map = ProgramMap::parse(&read("map"));
        let program =
            assemble(&files, &map, RunId(0), SiteNaming::ReturnAddresses).expect("sound segments");
        Self {
            status,
            stdout: String::from_utf8_lossy(&read("stdout")).into_owned(),
            stderr: String::from_utf8_lossy(&read("stderr")).into_owned(),
            control: read("control"),
            map,
            program,
        }
    }

    fn word(&self, offset: usize) -> u32 {
        let bytes = self
            .control
            .get(offset..offset + 4)
            .expect("a control page");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    pub fn stage(&self) -> RecordingStage {
        RecordingStage::from_u32(self.word(8))
    }

    pub fn others(&self) -> u32 {
        self.word(std::mem::offset_of!(
            relayout_shadow::control::RecordingControl,
            others
        ))
    }

    pub fn threads_lost(&self) -> u32 {
        self.word(std::mem::offset_of!(
            relayout_shadow::control::RecordingControl,
            threads_lost
        ))
    }

    /// Returns the number after `name` and a blank on a line of standard output; hexadecimal with
    /// `0x`.
    pub fn printed_number(&self, name: &str) -> u64 {
        let rest = self
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
            .unwrap_or_else(|| panic!("no {name} in {:?}, {}", self.stdout, self.stderr));
        match rest.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => rest.parse(),
        }
        .unwrap_or_else(|_| panic!("{name} is {rest}"))
    }

    /// Verifies that the program succeeded and its recording is complete.
    pub fn check_whole(&self) {
        assert!(
            self.status.success(),
            "{:?}: {}{}",
            self.status,
            self.stdout,
            self.stderr
        );
        self.check_finished();
    }

    /// Verifies that the recording is complete, however the program ended.
    pub fn check_finished(&self) {
        assert_eq!(
            self.stage(),
            RecordingStage::Finished,
            "{:?}",
            self.status.signal()
        );
        assert!(self.program.assembled.summary.is_some());
        assert_eq!(self.program.assembled.torn, []);
        let mut losses = self.program.assembled.losses;
        // Site 0: the other side of a line's first events may be unknown.
        losses.unplaced_sites = losses.unplaced_sites.saturating_sub(1);
        assert!(losses.unknown_other_side < 100);
        losses.unknown_other_side = 0;
        assert_eq!(losses, Default::default());
        assert_eq!(self.stderr, "");
    }

    /// Returns the loads and stores counted on the line at `addr`.
    pub fn accesses(&self, addr: u64) -> (u64, u64) {
        let lines = &self.program.assembled.profile.lines;
        let of_line = lines.iter().filter(|row| row.line == Addr(addr & !63));
        of_line.fold((0, 0), |(r, w), row| (r + row.reads, w + row.writes))
    }

    /// Returns the coherence events between `addr` and `other_addr`, in either direction.
    pub fn events(&self, addr: u64, other_addr: u64) -> u64 {
        let conflicts = &self.program.assembled.profile.conflicts;
        let between = conflicts.iter().filter(|row| {
            (row.addr, row.other_addr) == (Addr(addr), Addr(other_addr))
                || (row.addr, row.other_addr) == (Addr(other_addr), Addr(addr))
        });
        between.map(|row| row.count).sum()
    }

    pub fn ended_by(&self) -> Option<i32> {
        self.status.signal()
    }
}

//! Runs the compiler, in a private folder.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use relayout_files::{
    InterruptFlag, TemporaryFolder, cannot, die_with_parent, private_dir, program_in,
};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{CompileRecipe, Error, HeaderUnit};

/// Interval at which the end of the compiler and Ctrl-C are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Bytes of the compiler's output that are kept.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;
/// Lines of it that are shown; the first are the cause.
const SHOWN_LINES_MAX: usize = 30;

/// Debug information of everything that the unit includes, used or not. Sizes and offsets are all
/// that is wanted, so warnings are off.
const UNIT_FLAGS: &[&str] = &[
    "-w",
    "-g",
    "-fno-eliminate-unused-debug-types",
    "-fno-lto",
    "-c",
];
/// Flags for Clang, which leaves out types that it expects in another unit.
const CLANG_FLAGS: &[&str] = &["-fstandalone-debug"];

/// Compiles units. Its folder is removed, with all that the compiler leaves in it, when it is
/// dropped.
pub struct UnitCompiler {
    dir: TemporaryFolder,
    interrupt: InterruptFlag,
}

impl UnitCompiler {
    /// Makes the folder.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(interrupt: InterruptFlag) -> Result<Self, Error> {
        Ok(Self {
            dir: private_dir(&std::env::temp_dir())?,
            interrupt,
        })
    }

    /// Compiles the unit with the recipe, and returns the bytes of the object file.
    ///
    /// # Errors
    /// The compiler is missing or refuses the unit, or the user stopped it.
    pub fn compile(&self, recipe: &CompileRecipe, unit: &HeaderUnit) -> Result<Vec<u8>, Error> {
        let source = self.dir.path().join("unit");
        let object = self.dir.path().join("unit.o");
        std::fs::write(&source, unit.source_text()?).map_err(cannot("write", &source))?;
        let mut arguments: Vec<&OsStr> = UNIT_FLAGS.iter().map(OsStr::new).collect();
        if self.is_clang(recipe)? {
            arguments.extend(CLANG_FLAGS.iter().map(OsStr::new));
        }
        // Places are named as the project's own build names them, which starts in this folder.
        let directory: PathBuf = recipe.directory.components().collect();
        let prefix_map = format!("-fdebug-prefix-map={}/=", directory.display());
        arguments.push(OsStr::new(&prefix_map));
        let language = recipe.language.option_value();
        arguments.extend(["-x", language].map(OsStr::new));
        arguments.extend([source.as_os_str(), OsStr::new("-o"), object.as_os_str()]);
        let output = self.run(recipe, &recipe.flags, &arguments)?;
        if !output.status.success() {
            return Err(Error::Refused {
                compiler: recipe.compiler.join(" "),
                header: unit.header.display().to_string(),
                like: recipe.source_file.clone(),
                output: output.first_lines(&source),
            });
        }
        let bytes = std::fs::read(&object).map_err(cannot("read", &object))?;
        // A unit that yields none must not be answered with this one's.
        std::fs::remove_file(&object).map_err(cannot("remove", &object))?;
        Ok(bytes)
    }

    #[cfg(test)]
    pub(super) fn folder(&self) -> &Path {
        self.dir.path()
    }

    fn is_clang(&self, recipe: &CompileRecipe) -> Result<bool, Error> {
        let output = self.run(recipe, &[], &[OsStr::new("--version")])?;
        Ok(output.stdout.contains("clang"))
    }

    fn run(
        &self,
        recipe: &CompileRecipe,
        flags: &[String],
        more_arguments: &[&OsStr],
    ) -> Result<CompilerOutput, Error> {
        let Some((program, words)) = recipe.compiler.split_first() else {
            return Err(no_compiler_error(recipe));
        };
        let mut command = Command::new(program_in(program, Some(&recipe.directory)));
        command
            .args(words)
            .args(flags)
            .args(more_arguments)
            .current_dir(&recipe.directory)
            .env("TMPDIR", self.dir.path())
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C is for relayout, which then ends the compiler and its children.
        command.process_group(0);
        let parent = std::process::id();
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(move || die_with_parent(parent));
        }
        let child = command.spawn().map_err(|source| {
            let directory_is_there = recipe.directory.is_dir();
            match source.kind() {
                std::io::ErrorKind::NotFound if directory_is_there => no_compiler_error(recipe),
                _ if !directory_is_there => cannot("enter", &recipe.directory)(source).into(),
                _ => cannot("run", Path::new(program))(source).into(),
            }
        })?;
        self.wait(child)
    }

    fn wait(&self, mut child: Child) -> Result<CompilerOutput, Error> {
        let stdout = child.stdout.take().map(read_in_background);
        let stderr = child.stderr.take().map(read_in_background);
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if self.interrupt.is_set() => {
                    kill_group(&child);
                    let _ = child.wait();
                    return Err(Error::Interrupted);
                }
                Ok(None) => thread::sleep(POLL_INTERVAL),
                Err(source) => {
                    return Err(cannot("wait for", Path::new("the compiler"))(source).into());
                }
            }
        };
        let collect_text = |from: Option<JoinHandle<Vec<u8>>>| {
            let bytes = from.and_then(|thread| thread.join().ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        Ok(CompilerOutput {
            status,
            stdout: collect_text(stdout),
            stderr: collect_text(stderr),
        })
    }
}

/// Exit status and output of a compiler.
struct CompilerOutput {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl CompilerOutput {
    /// Returns the first lines of the compiler's messages, without the path of the unit, which is
    /// removed.
    fn first_lines(&self, unit: &Path) -> String {
        let text = self
            .stderr
            .replace(&unit.display().to_string(), "relayout's unit");
        let mut lines: Vec<&str> = text.lines().take(SHOWN_LINES_MAX + 1).collect();
        if lines.len() > SHOWN_LINES_MAX {
            lines[SHOWN_LINES_MAX] = "...";
        }
        if lines.is_empty() {
            return self.status.to_string();
        }
        lines.join("\n")
    }
}

/// Reads all, so that the writer does not wait, and keeps the beginning.
fn read_in_background(from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut first = from.take(OUTPUT_BYTES_MAX);
        let _ = first.read_to_end(&mut kept);
        let _ = std::io::copy(&mut first.into_inner(), &mut std::io::sink());
        kept
    })
}

fn no_compiler_error(recipe: &CompileRecipe) -> Error {
    Error::NoCompiler {
        compiler: recipe.compiler.join(" "),
        from: recipe.source_file.clone(),
    }
}

fn kill_group(child: &Child) {
    // The compiler has not been waited for, so that the number of its group is still its own.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

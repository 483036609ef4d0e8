//! One running QEMU.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use relayout_files::{cannot, die_with_parent, present_cpu, run_on_cpus};
use serde_json::{Value, json};

use super::QemuCollector;
use super::option::path_option;
use super::qmp::QmpConnection;
use crate::child::OwnedChild;
use crate::guest_disks::GuestDisks;
use crate::host_load::process_cpu_ns;
use crate::workspace::{GuestMemory, RecordingWorkspace};
use crate::{Error, GuestMachine};

/// Time that QEMU may take to end when asked; the plugin writes its last records then.
const QUIT_LIMIT: Duration = Duration::from_secs(60);
/// Time after which a QEMU that answers no more has ended.
const END_LIMIT: Duration = Duration::from_secs(2);
/// Time in which QEMU notices a command on a busy host. If it takes longer, a held guest runs on for as
/// long, which does no harm.
const STOP_NOTICE: Duration = Duration::from_millis(20);
/// Lines of the console that are kept in messages.
const TAIL_LINES: usize = 12;

/// Returns the CPU model of a machine that is started with these additional arguments.
pub fn cpu_model(machine: GuestMachine, extra_arguments: &[String]) -> &str {
    let mut pairs = extra_arguments.windows(2);
    let last = pairs.rfind(|pair| matches!(&*pair[0], "-cpu" | "--cpu"));
    last.map_or(machine.model().cpu, |pair| &pair[1])
}

/// Returns the arguments that decide what a guest finds, without the user's and without files.
pub fn machine_arguments(
    machine: GuestMachine,
    cpus: u16,
    memory_bytes: u64,
    command_line: &str,
) -> Vec<String> {
    let model = machine.model();
    let words = [
        "-nodefaults",
        "-no-user-config",
        "-nic",
        "none",
        "-display",
        "none",
        "-no-reboot",
        "-M",
        &format!("{},memory-backend=mem", model.machine),
        "-m",
        &format!("{}M", memory_bytes >> 20),
        "-cpu",
        model.cpu,
        "-smp",
        &cpus.to_string(),
        "-accel",
        "tcg,thread=multi,tb-size=512",
        "-append",
        command_line,
    ];
    words.map(str::to_owned).to_vec()
}

/// A machine to boot.
pub struct QemuConfig<'c> {
    pub collector: &'c QemuCollector,
    /// Result of [`machine_arguments`].
    pub arguments: Vec<String>,
    pub image: PathBuf,
    pub initrd: PathBuf,
    pub memory: &'c GuestMemory,
    pub disks: &'c GuestDisks,
    pub plugin_options: OsString,
    pub extra_arguments: &'c [String],
    pub origin: MachineOrigin<'c>,
    /// All of QEMU runs on one CPU of the host: its threads take turns, and a turn passes faster within a CPU.
    pub takes_turns: bool,
}

/// Origin of a machine's state.
#[derive(Clone, Copy)]
pub enum MachineOrigin<'c> {
    /// The machine boots.
    Boot,
    /// The machine boots, and can be saved to this file.
    SavedBoot(&'c File),
    /// The machine is restored from this file, and stands still.
    Restored(&'c File),
}

impl MachineOrigin<'_> {
    fn file_number(self) -> Option<RawFd> {
        match self {
            Self::Boot => None,
            Self::SavedBoot(file) | Self::Restored(file) => Some(file.as_raw_fd()),
        }
    }
}

/// A QEMU that was started; killed when dropped.
pub struct QemuMachine {
    child: OwnedChild,
    qmp: QmpConnection,
    console: PathBuf,
    errors: PathBuf,
}

impl QemuMachine {
    /// Starts QEMU, with its console, its messages and its plugin's files in `workspace`.
    pub fn start(config: &QemuConfig<'_>, workspace: &RecordingWorkspace) -> Result<Self, Error> {
        let errors = workspace.file_path("stderr");
        let log = File::create(&errors).map_err(cannot("create", &errors))?;
        let program = &config.collector.qemu;
        // Sockets with a name have one of at most 108 bytes.
        let (socket, qemu_socket) = UnixStream::pair().map_err(cannot("run", program))?;
        let files = InheritedFiles {
            memory: config.memory.file().as_raw_fd(),
            socket: qemu_socket.as_raw_fd(),
        };
        let mut inherited = config.disks.file_numbers();
        inherited.extend([files.memory, files.socket]);
        inherited.extend(config.origin.file_number());
        let mut command = Command::new(program);
        add_arguments(&mut command, config, workspace, files);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // A terminal's Ctrl-C is for relayout, which then ends QEMU in good order.
        command.process_group(0);
        let parent = std::process::id();
        let host_cpu = config.takes_turns.then(present_cpu);
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                for &file in &inherited {
                    // QEMU gets the file under its number here. It fails to open one that it lacks.
                    libc::fcntl(file, libc::F_SETFD, 0);
                }
                if let Some(cpu) = host_cpu {
                    // On more CPUs it is only slower.
                    let _ = run_on_cpus(&[cpu]);
                }
                die_with_parent(parent)
            });
        }
        let child = command.spawn().map_err(cannot("run", program))?;
        Ok(Self {
            child: OwnedChild(child),
            qmp: QmpConnection::new(socket).map_err(cannot("run", program))?,
            console: workspace.file_path("console"),
            errors,
        })
    }

    /// Returns the exit status, if QEMU has ended.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.exit_status()
    }

    /// Returns the CPU time of QEMU so far; `None` if it has ended.
    pub fn cpu_time(&self) -> Option<Duration> {
        process_cpu_ns(self.child.0.id()).map(Duration::from_nanos)
    }

    /// Stops all CPUs. A QEMU that is ending by itself, because its guest powers off, needs no stop.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.send_command("stop")
            .or_else(|error| match self.ends_within(END_LIMIT) {
                true => Ok(()),
                false => Err(error),
            })
    }

    /// Stops all CPUs, and calls `release` when QEMU waits for those that do not stop.
    pub fn stop_held(&mut self, release: impl FnOnce()) -> Result<(), Error> {
        let given = self.qmp.give_command("stop", json!({}));
        std::thread::sleep(STOP_NOTICE);
        release();
        let answer = given.and_then(|()| self.qmp.read_answer("stop"));
        (answer.map(drop)).map_err(|error| self.command_error("stop", &error))
    }

    /// Ends QEMU and waits, so that the plugin's last records are written. Kills QEMU if that takes
    /// too long.
    pub fn quit(&mut self) -> Result<(), Error> {
        if self.exit_status().is_some() {
            return Ok(());
        }
        // QEMU may close the connection before it answers.
        let _ = self.send_command("quit");
        match self.ends_within(QUIT_LIMIT) {
            true => Ok(()),
            false => {
                self.child.kill();
                Err(self.qemu_error("did not end when asked to and was killed"))
            }
        }
    }

    /// Waits until QEMU ends, and returns whether it did within this time.
    fn ends_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.exit_status().is_none() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Everything on the console so far.
    pub fn console(&self) -> String {
        let bytes = fs::read(&self.console).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\r', "")
    }

    /// The last lines of the console, as many as a message can bear.
    pub fn console_tail(&self) -> Vec<String> {
        self.console_lines(TAIL_LINES)
    }

    /// The last `most` lines of the console that are not blank.
    pub fn console_lines(&self, lines_max: usize) -> Vec<String> {
        let text = self.console();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(lines_max)..]
            .iter()
            .map(|l| printable(l))
            .collect()
    }

    /// Returns an error with the event and QEMU's own output.
    pub fn qemu_error(&self, why: &str) -> Error {
        let stderr = fs::read(&self.errors).unwrap_or_default();
        Error::Qemu {
            why: why.to_owned(),
            stderr: printable(&String::from_utf8_lossy(&stderr)),
        }
    }

    fn send_command(&mut self, name: &str) -> Result<(), Error> {
        self.run_command(name, json!({})).map(drop)
    }

    /// Gives a command of QEMU's machine protocol and returns its answer.
    pub fn run_command(&mut self, name: &str, arguments: Value) -> Result<Value, Error> {
        let answer = self.qmp.run_command(name, arguments);
        answer.map_err(|error| self.command_error(name, &error))
    }

    fn command_error(&self, name: &str, error: &io::Error) -> Error {
        self.qemu_error(&format!("did not take the command '{name}' ({error})"))
    }
}

/// Guest output as it may be shown: no control characters.
fn printable(line: &str) -> String {
    line.chars()
        .filter(|c| *c == '\n' || *c == '\t' || !c.is_control())
        .collect()
}

/// Numbers of the open files that QEMU inherits.
#[derive(Clone, Copy)]
struct InheritedFiles {
    memory: RawFd,
    socket: RawFd,
}

fn add_arguments(
    command: &mut Command,
    config: &QemuConfig<'_>,
    workspace: &RecordingWorkspace,
    files: InheritedFiles,
) {
    let memory = format!(
        "memory-backend-file,id=mem,size={},mem-path=/proc/self/fd/{},share=on",
        config.memory.bytes(),
        files.memory
    );
    command
        .args(&config.arguments)
        .args(config.collector.sandbox_arguments())
        .args(["-object", &memory])
        .arg("-chardev")
        .arg(path_option(
            "file,id=console,append=on,path=",
            &workspace.file_path("console"),
        ))
        .args(["-serial", "chardev:console"])
        .args([
            "-chardev",
            &format!("socket,id=qmp,fd={}", files.socket),
            "-mon",
            "chardev=qmp,mode=control",
        ])
        .arg("-initrd")
        .arg(&config.initrd)
        .arg("-kernel")
        .arg(&config.image)
        .arg("-plugin")
        .arg(config.collector.plugin_argument(&config.plugin_options))
        .args(config.disks.qemu_arguments());
    if let MachineOrigin::Restored(_) = config.origin {
        command.args(["-incoming", "defer"]);
    }
    command.args(config.extra_arguments);
}

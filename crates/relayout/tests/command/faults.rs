//! Commands that are killed at random times, or that run out of space: each output is whole, marked
//! as incomplete, or not there; nothing that was started stays; and after the next run no temporary
//! file is left.
//!
//! `RELAYOUT_FAULT_ROUNDS=N` repeats all N times; docs/long-tests.md has the last table.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::disk::SmallDisk;
use crate::common::programs::data;
use crate::common::{Place, names, start};

/// For started processes to be gone after their parent.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a command whose /dev/shm is full.
const WITHOUT_SHARED_MEMORY: [&str; 6] = [
    "/usr/bin/unshare",
    "-m",
    "/bin/sh",
    "-c",
    "mount -t tmpfs -o size=4k tmpfs /dev/shm && exec \"$@\"",
    "sh",
];

/// A command, and the way to tell that its output is whole.
#[derive(Clone, Copy)]
struct FaultyCommand {
    name: &'static str,
    /// Arguments; `{out}` is the path of the output.
    words: &'static str,
    /// Arguments of the run that follows.
    next: &'static str,
    output: OutputKind,
}

#[derive(Clone, Copy, PartialEq)]
enum OutputKind {
    /// A folder that `report` reads.
    Profile,
    /// A JSON document.
    Json,
    /// The same bytes each time.
    Text,
    /// Standard output, the same each time.
    Printed,
}

/// State of an output after a fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum OutputState {
    Whole,
    Marked,
    Absent,
    Broken,
}

#[derive(Clone, Copy)]
enum InjectedFault {
    Signal(i32),
    /// A full disk for the output.
    OutputDisk,
    /// A full disk for temporary files.
    TemporaryDisk,
    /// No space in /dev/shm.
    SharedMemory,
    /// Another run beside this one, which is killed.
    Parallel,
}

const SIGNALS: [InjectedFault; 3] = [
    InjectedFault::Signal(libc::SIGKILL),
    InjectedFault::Signal(libc::SIGTERM),
    InjectedFault::Signal(libc::SIGINT),
];
const SHORTAGES: [InjectedFault; 4] = [
    InjectedFault::OutputDisk,
    InjectedFault::TemporaryDisk,
    InjectedFault::SharedMemory,
    InjectedFault::Parallel,
];

const fn command(name: &'static str, words: &'static str, output: OutputKind) -> FaultyCommand {
    FaultyCommand {
        name,
        words,
        next: words,
        output,
    }
}

const QUICK: [FaultyCommand; 8] = [
    command(
        "record run",
        "record run -q -o {out} --force -- ./shared",
        OutputKind::Profile,
    ),
    command("report", "report p --json", OutputKind::Printed),
    command(
        "advise",
        "advise p pair --source . --patch {out} --force",
        OutputKind::Text,
    ),
    command("show", "show shared", OutputKind::Printed),
    command("diff", "diff shared tree/other --json", OutputKind::Printed),
    command(
        "check",
        "check --header tree/shared.h --config rules.toml --json",
        OutputKind::Printed,
    ),
    command(
        "check --update",
        "check shared --config rules.toml --lock {out} --update",
        OutputKind::Text,
    ),
    command(
        "verify",
        "verify --before ./shared --after ./shared --runs 2 --save {out}",
        OutputKind::Json,
    ),
];

const SLOW: [FaultyCommand; 2] = [
    FaultyCommand {
        name: "record kernel",
        words: "record kernel -q -o {out} --force --workload mntns --iterations 20 --memory 512M",
        next: "record kernel -q -o {out} --force --workload mntns --time-limit 1",
        output: OutputKind::Profile,
    },
    command("probe", "probe -o {out}", OutputKind::Json),
];

/// Sums over the cases of one command.
#[derive(Default)]
struct CaseCounts {
    outputs: BTreeMap<OutputState, u32>,
    cases: u32,
    leaked: usize,
    leaked_after_next: usize,
    left_running: usize,
}

/// The folder, and what undisturbed runs gave.
struct FaultStand {
    place: Place,
    random: u64,
}

impl FaultStand {
    fn new(seed: u64) -> Self {
        crate::common::programs::require_runtime();
        let stand = Self {
            place: Place::new(),
            random: seed,
        };
        let place = &stand.place;
        for folder in ["tree", "output"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        for name in ["shared.c", "pair_counts.h"] {
            place.write(&format!("tree/{name}"), fs::read(data(name)).unwrap());
        }
        place.write("tree/shared.h", "struct pair { long left; long right; };\n");
        place.write(
            "tree/other.c",
            "#include \"shared.h\"\nstruct pair pair; int main(void) { return 0; }\n",
        );
        place.write(
            "rules.toml",
            "[[type]]\nname = \"pair\"\nreason = \"measured\"\nsize = 16\n",
        );
        let entry = serde_json::json!([{
            "directory": place.path("tree"), "file": "other.c", "command": "gcc -c other.c -o other.o",
        }]);
        place.write("tree/compile_commands.json", entry.to_string());
        for words in [
            "cc -- gcc -g -O1 tree/shared.c -o shared",
            "cc -- gcc -g tree/other.c -o tree/other",
            "record run -q -o p -- ./shared",
        ] {
            let ended = place.said(words);
            assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        }
        stand
    }

    /// A number below `limit`: a linear congruential generator (Knuth's MMIX).
    fn random_below(&mut self, limit: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit.max(1)
    }

    fn output(&self) -> PathBuf {
        self.place.path("output/out")
    }

    /// The command, whose output goes to the file `printed`.
    fn start(&self, words: &str, temporary: &Path, wrapper: &[&str]) -> std::process::Child {
        let words = words.replace("{out}", &self.output().display().to_string());
        let own = env!("CARGO_BIN_EXE_relayout");
        let all: Vec<&str> = wrapper
            .iter()
            .copied()
            .chain([own])
            .chain(words.split_whitespace())
            .collect();
        let mut command: Command = self.place.command(all[0].as_ref(), &all[1..]);
        self.place.with_system(&mut command);
        command
            .env("TMPDIR", temporary)
            .env_remove("RELAYOUT_PLUGIN_DIR");
        if words.starts_with("record kernel") {
            command.env("RELAYOUT_CACHE", relayout_testkit::cache_folder());
            command.env("RELAYOUT_SNAPSHOTS_MIB", "0");
        }
        let printed = fs::File::create(self.place.path("output/printed")).unwrap();
        let errors = fs::File::create(self.place.path("errors")).unwrap();
        command
            .stdout(printed)
            .stderr(Stdio::from(errors))
            .process_group(0);
        start(&mut command)
    }

    /// Runs the command undisturbed; returns its time and output.
    fn reference(&self, command: FaultyCommand) -> (Duration, Vec<u8>) {
        self.clear_output();
        let began = Instant::now();
        let mut child = self.start(command.words, &self.place.path("tmp"), &[]);
        let status = child.wait().unwrap();
        let errors = fs::read_to_string(self.place.path("errors")).unwrap();
        assert!(
            matches!(status.code(), Some(0 | 1)),
            "{}: {status} {errors}",
            command.name
        );
        let bytes = match command.output {
            OutputKind::Printed => fs::read(self.place.path("output/printed")).unwrap(),
            OutputKind::Profile => Vec::new(),
            OutputKind::Json | OutputKind::Text => fs::read(self.output()).unwrap(),
        };
        (began.elapsed(), bytes)
    }

    fn clear_output(&self) {
        let _ = fs::remove_dir_all(self.output());
        let _ = fs::remove_file(self.output());
    }

    /// Runs one case; returns the state of the output, while its disk is still there.
    fn run_case(
        &mut self,
        command: FaultyCommand,
        fault: InjectedFault,
        reference: &(Duration, Vec<u8>),
    ) -> OutputState {
        self.clear_output();
        let random_size = |stand: &mut Self| format!("{}k", 4 * (1 + stand.random_below(64)));
        let mut disk = None;
        let mut temporary = self.place.path("tmp");
        let mut wrapper: &[&str] = &[];
        match fault {
            InjectedFault::OutputDisk => {
                disk = Some(SmallDisk::mount(
                    self.place.path("output"),
                    &random_size(self),
                ));
            }
            InjectedFault::TemporaryDisk => {
                temporary = self.place.path("small");
                let _ = fs::create_dir(&temporary);
                disk = Some(SmallDisk::mount(temporary.clone(), &random_size(self)));
            }
            InjectedFault::SharedMemory => {
                wrapper = &WITHOUT_SHARED_MEMORY;
            }
            InjectedFault::Signal(_) | InjectedFault::Parallel => {}
        }
        let mut child = self.start(command.words, &temporary, wrapper);
        let delay = Duration::from_micros(self.random_below(reference.0.as_micros() as u64));
        match fault {
            InjectedFault::Signal(signal) => {
                std::thread::sleep(delay);
                send(child.id(), signal);
            }
            InjectedFault::Parallel => {
                // Its own output is a standard one, which nobody compares.
                let mut other = self.start(
                    "verify --before ./shared --after ./shared --runs 2",
                    &temporary,
                    &[],
                );
                std::thread::sleep(delay);
                send(other.id(), libc::SIGKILL);
                other.wait().unwrap();
            }
            _ => {}
        }
        let status = child.wait().unwrap();
        let state = self.output_state(
            command,
            status.success(),
            &reference.1,
            matches!(fault, InjectedFault::Parallel),
        );
        if matches!(fault, InjectedFault::TemporaryDisk) {
            let left = leaked_names(&temporary);
            assert!(
                left.is_empty(),
                "{}: {left:?} in a full TMPDIR",
                command.name
            );
        }
        drop(disk);
        state
    }

    fn output_state(
        &self,
        command: FaultyCommand,
        succeeded: bool,
        reference: &[u8],
        shared: bool,
    ) -> OutputState {
        let output = self.output();
        let whole_if = |is_whole| {
            if is_whole {
                OutputState::Whole
            } else {
                OutputState::Broken
            }
        };
        match command.output {
            // What was printed before a failure is a part, and the exit code says so.
            OutputKind::Printed if !succeeded || shared => OutputState::Absent,
            OutputKind::Printed => {
                whole_if(fs::read(self.place.path("output/printed")).unwrap() == reference)
            }
            _ if !output.exists() => OutputState::Absent,
            OutputKind::Text => whole_if(fs::read(output).unwrap() == reference),
            OutputKind::Json => {
                let bytes = fs::read(output).unwrap();
                whole_if(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok())
            }
            OutputKind::Profile => {
                let ended = self.place.said("report output/out --json --top 1");
                let document = serde_json::from_str::<serde_json::Value>(&ended.stdout);
                match document.map(|document| document["runs"][0]["complete"].clone()) {
                    Ok(serde_json::Value::Bool(true)) => OutputState::Whole,
                    Ok(serde_json::Value::Bool(false)) => OutputState::Marked,
                    _ => OutputState::Broken,
                }
            }
        }
    }

    /// Temporary files and folders that are left anywhere.
    fn leaks(&self) -> Vec<String> {
        ["tmp", "output", "cache/resolved", "", "tree"]
            .into_iter()
            .flat_map(|folder| leaked_names(&self.place.path(folder)))
            .collect()
    }

    /// Processes with the environment of this stand that are left after [`PATIENCE`].
    fn left_running(&self) -> usize {
        let marker = format!("RELAYOUT_CACHE={}", self.place.path("cache").display());
        let tmp = format!("TMPDIR={}", self.place.path("tmp").display());
        let is_ours = |process: &fs::DirEntry| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            let text = String::from_utf8_lossy(&environment);
            text.contains(&marker) || text.contains(&tmp)
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            let count = fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .filter(is_ours)
                .count();
            if count == 0 || Instant::now() > deadline {
                return count;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn run_cases(
        &mut self,
        command: FaultyCommand,
        faults: &[InjectedFault],
        cases_each: u32,
    ) -> CaseCounts {
        let reference = self.reference(command);
        let mut counts = CaseCounts::default();
        for &fault in faults {
            for _ in 0..cases_each {
                let state = self.run_case(command, fault, &reference);
                counts.left_running += self.left_running();
                counts.leaked += self.leaks().len();
                let mut next = self.start(command.next, &self.place.path("tmp"), &[]);
                next.wait().unwrap();
                counts.leaked_after_next += self.leaks().len();
                counts.cases += 1;
                *counts.outputs.entry(state).or_default() += 1;
            }
        }
        counts
    }
}

/// Names in a folder that nobody asked for.
fn leaked_names(folder: &Path) -> Vec<String> {
    let listed = if folder.is_dir() {
        names(folder)
    } else {
        Vec::new()
    };
    let is_temporary = |name: &String| {
        let parts = ["relayout-work-", ".relayout-partial-", ".tmp", ".partial"];
        parts.iter().any(|part| name.contains(part))
    };
    listed.into_iter().filter(is_temporary).collect()
}

fn send(process: u32, signal: i32) {
    // SAFETY: a child that was not waited for.
    unsafe { libc::kill(process as libc::pid_t, signal) };
}

/// Prints the table, and fails the test if a command broke a promise.
fn judge(all: &[(&str, CaseCounts)]) {
    println!(
        "| command | cases | whole | marked | absent | broken | left at once | after the next run | processes |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, counts) in all {
        let state = |state| counts.outputs.get(&state).copied().unwrap_or(0);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            counts.cases,
            state(OutputState::Whole),
            state(OutputState::Marked),
            state(OutputState::Absent),
            state(OutputState::Broken),
            counts.leaked,
            counts.leaked_after_next,
            counts.left_running,
        );
    }
    for (name, counts) in all {
        let broken = counts
            .outputs
            .get(&OutputState::Broken)
            .copied()
            .unwrap_or(0);
        let kept = (broken, counts.leaked_after_next, counts.left_running);
        assert_eq!(
            kept,
            (0, 0, 0),
            "{name}: broken outputs, leaks after the next run, processes"
        );
    }
}

fn rounds() -> u32 {
    let given = std::env::var("RELAYOUT_FAULT_ROUNDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn signals_at_random_times() {
    let mut stand = FaultStand::new(1);
    let counts = QUICK.map(|command| (command.name, stand.run_cases(command, &SIGNALS, 1)));
    judge(&counts);
}

fn run_all_faults(commands: &[FaultyCommand], cases_each: u32) {
    let mut stand = FaultStand::new(2);
    let faults = [&SIGNALS[..], &SHORTAGES[..]].concat();
    let count =
        |command: &FaultyCommand| (command.name, stand.run_cases(*command, &faults, cases_each));
    let counts: Vec<_> = commands.iter().map(count).collect();
    judge(&counts);
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn all_faults() {
    run_all_faults(&QUICK, 4 * rounds());
}

#[test]
#[ignore = "needs the right to mount a file system, and takes minutes"]
fn all_faults_of_slow_commands() {
    run_all_faults(&SLOW, rounds());
}
